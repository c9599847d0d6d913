/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/array_request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ksub/submission.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST_AT_ONCE INT64_C(1000000000)

/* Parses the text after the percent sign; 0 is no limit in Slurm. */
static int
parse_throttle(const char *text, bool is_slurms, int64_t *ret_throttle, struct error *err)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number > MOST_AT_ONCE)
        return error_set(err, -EINVAL,
                         "'%%%s': expected the number of tasks that may run "
                         "at once after the percent sign (0-99%%4)",
                         text);
    if (number == 0 && !is_slurms)
        return error_set(err, -EINVAL,
                         "'%%0' would start no task; leave it out for no "
                         "limit, or submit the array held (-H)");
    *ret_throttle = number;
    return 0;
}

/* Slurm's own output has the list in brackets, and a person types blanks after commas. */
static char *
without_decoration(struct arena *arena, const char *text, size_t length)
{
    char *out = arena_strndup(arena, text, length);
    size_t n = 0;

    if (length > 1 && out[0] == '[' && out[length - 1] == ']') {
        out[length - 1] = '\0';
        out++;
    }
    for (const char *p = out; *p != '\0'; p++)
        if (*p != ' ')
            out[n++] = *p;
    out[n] = '\0';
    return out;
}

int
array_request_parse(const char *text, bool is_slurms, struct submission *submission,
                    struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const size_t length = strcspn(text, "%");
    struct submission_array array = {.text = text, .length = length};
    struct task_list tasks;
    int r = task_list_parse(arena, without_decoration(arena, text, length), &tasks, err);

    if (r == 0 && tasks.total == 0)
        r = error_set(err, -EINVAL,
                      "no task is given; use task ids and ranges (0-99, "
                      "1-1000:7 or 3,5,9-12)");
    if (r == 0 && text[length] == '%')
        r = parse_throttle(text + length + 1, is_slurms, &array.throttle, err);
    if (r == 0)
        submission->array = array;
    return r;
}

/* Whether the path has the pattern for a task's id, which only an array has. */
static bool
has_task_pattern(const char *path)
{
    for (const char *p = path; p != NULL && (p = strchr(p, '%')) != NULL;) {
        p++;
        p += strspn(p, "0123456789");
        if (*p == 'a')
            return true;
        p += *p != '\0';
    }
    return false;
}

int
array_request_add(struct arena *arena, const struct submission *s, struct json *spec,
                  struct error *err)
{
    const char *const paths[] = {s->input, s->output, s->error};
    struct json *array;

    if (s->array.text == NULL) {
        for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
            if (has_task_pattern(paths[i]) && !s->is_slurms)
                return error_set(err, -EINVAL,
                                 "'%s': %%a is the task of a job array, but "
                                 "this job is not an array; -a makes it one",
                                 paths[i]);
        if (s->array_fail_fast)
            return error_set(err, -EINVAL,
                             "--array-fail-fast requires a job array; -a "
                             "makes it one");
        return 0;
    }
    array = json_make_object(arena, spec, "array");
    json_set_string(arena, array, "tasks",
                    without_decoration(arena, s->array.text, s->array.length));
    if (s->array.throttle > 0)
        json_set_int(arena, array, "throttle", s->array.throttle);
    if (s->array_fail_fast)
        json_set_bool(arena, array, "failFast", true);
    /* A task's failure must not fail the other tasks. */
    json_remove(spec, "backoffLimit");
    json_set_int(arena, spec, "backoffLimitPerIndex", 0);
    return 0;
}
