/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_array.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/check.h"
#include "lib/api/value/task_list.h"
#include "lib/api/value/task_sets.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

bool
job_is_array(const struct job *job)
{
    return job->spec.array != NULL && job->spec.array->tasks != NULL;
}

int64_t
job_array_requeues(const struct job *job)
{
    return job->spec.array != NULL ? job->spec.array->requeues : 0;
}

bool
job_has_unstarted_tasks(const struct job *job)
{
    return job->status.array != NULL && job->status.array->unstarted != NULL;
}

bool
job_array_is_asked(const struct json *spec)
{
    return check_is_set(spec, "array");
}

static bool
read_list(struct arena *arena, const struct json *array, const char *name,
          struct task_list *ret_list, struct error *err)
{
    const char *text = check_text(array, name);

    *ret_list = (struct task_list){0};
    if (strlen(text) > JOB_ARRAY_TEXT_MAX) {
        error_set(err, -E2BIG, "a list of task ids can have at most %d bytes", JOB_ARRAY_TEXT_MAX);
        return false;
    }
    return task_list_parse(arena, text, ret_list, err) == 0;
}

static int64_t
count_tasks(struct arena *arena, const struct json *spec)
{
    struct task_list tasks;
    struct error err = {0};

    return read_list(arena, json_get(spec, "array"), "tasks", &tasks, &err) ? tasks.total : 0;
}

int64_t
job_array_parallelism(struct arena *arena, const struct json *spec)
{
    const struct json *array = json_get(spec, "array");
    int64_t count = count_tasks(arena, spec);
    int64_t throttle = json_get_int(array, "throttle", count);

    return throttle >= 0 && throttle < count ? throttle : count;
}

int64_t
job_array_last_task(struct arena *arena, const struct json *spec)
{
    struct task_list tasks;
    struct error err = {0};

    if (!read_list(arena, json_get(spec, "array"), "tasks", &tasks, &err) || tasks.total == 0)
        return -1;
    return task_list_at(&tasks, tasks.total - 1);
}

/* ---- Defaults ---- */

static void
shorten(struct arena *arena, struct json *array, const char *name)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct task_list list;
    struct error err = {0};

    if (!check_is_set(array, name) || !read_list(arena, array, name, &list, &err))
        return;
    task_list_format(&list, &text);
    if (text.length == 0)
        json_remove(array, name);
    else if (strcmp(text.text, check_text(array, name)) != 0)
        json_set_string(arena, array, name, arena_strdup(arena, text.text));
}

static void
default_to(struct arena *arena, struct json *spec, const char *name, int64_t n)
{
    if (!check_is_set(spec, name))
        json_set_int(arena, spec, name, n);
}

/* Fields that follow from the array are derived from it, and a value that contradicts it is refused
 * below: two sources that are merged would differ (doc/decisions.md, 214).
 */
void
job_array_set_defaults(struct arena *arena, struct json *spec)
{
    struct json *array = json_get(spec, "array");

    if (!json_is(array, JSON_OBJECT))
        return;
    shorten(arena, array, "tasks");
    shorten(arena, array, "held");
    shorten(arena, array, "cancelled");
    default_to(arena, spec, "completions", count_tasks(arena, spec));
    default_to(arena, spec, "parallelism", job_array_parallelism(arena, spec));
    default_to(arena, spec, "backoffLimitPerIndex", 0);
    if (!check_is_set(spec, "completionMode"))
        json_set_string(arena, spec, "completionMode", "Indexed");
}

/* ---- Rules ---- */

static void
check_list(struct causes *c, const struct json *array, const char *name,
           const struct task_list *tasks)
{
    struct error err = {0};
    struct task_list list, strange;

    if (!read_list(c->arena, array, name, &list, &err)) {
        causes_add(c, CAUSE_INVALID, name, json_get(array, name), "%s", err.text);
        return;
    }
    if (tasks == NULL)
        return;
    if (task_sets_subtract(c->arena, &list, tasks, &strange, &err) < 0)
        causes_add(c, CAUSE_INVALID, name, json_get(array, name), "%s", err.text);
    else if (strange.total > 0)
        causes_add(c, CAUSE_INVALID, name, json_get(array, name),
                   "%" PRId64 " is not one of the array's tasks", task_list_at(&strange, 0));
}

static void
check_derived(struct causes *c, const struct json *spec, const char *name, int64_t wanted,
              const char *from)
{
    if (json_get_int(spec, name, -1) != wanted)
        causes_add(c, CAUSE_INVALID, name, json_get(spec, name),
                   "must be %" PRId64 ", as implied by spec.array.%s; leave "
                   "it out",
                   wanted, from);
}

void
job_array_check(struct causes *c, const struct json *spec)
{
    const struct json *array = json_get(spec, "array");
    struct task_list tasks;
    struct error err = {0};
    unsigned at = causes_enter(c, "array");
    bool is_right = read_list(c->arena, array, "tasks", &tasks, &err);

    if (!is_right)
        causes_add(c, CAUSE_INVALID, "tasks", json_get(array, "tasks"), "%s", err.text);
    else if (tasks.total == 0) {
        causes_add(c, CAUSE_REQUIRED, "tasks", NULL,
                   "the numbers of the elements, as \"0-99\", \"1-1000:7\" or "
                   "\"3,5,9-12\"");
        is_right = false;
    }
    check_not_negative(c, array, "throttle");
    check_list(c, array, "held", is_right ? &tasks : NULL);
    check_list(c, array, "cancelled", is_right ? &tasks : NULL);
    causes_leave(c, at);
    if (check_is_set(spec, "successPolicy"))
        causes_add(c, CAUSE_INVALID, "successPolicy", json_get(spec, "successPolicy"),
                   "is not allowed for a job array; use spec.array.failFast "
                   "to end one early, or leave spec.array out");
    if (!is_right)
        return;
    check_derived(c, spec, "completions", tasks.total, "tasks");
    check_derived(c, spec, "parallelism", job_array_parallelism(c->arena, spec),
                  check_is_set(array, "throttle") ? "throttle" : "tasks");
    if (strcmp(check_text(spec, "completionMode"), "Indexed") != 0)
        causes_add(c, CAUSE_INVALID, "completionMode", json_get(spec, "completionMode"),
                   "must be \"Indexed\" for a job array; leave it out");
}

static void
check_cancelled_kept(struct causes *c, const struct json *array, const struct json *was)
{
    struct task_list now, before, lost;
    struct error err = {0};

    if (!read_list(c->arena, array, "cancelled", &now, &err)
        || !read_list(c->arena, was, "cancelled", &before, &err))
        return;
    if (task_sets_subtract(c->arena, &before, &now, &lost, &err) == 0 && lost.total > 0)
        causes_add(c, CAUSE_INVALID, "cancelled", json_get(array, "cancelled"),
                   "task %" PRId64 " was cancelled, and cannot be restored",
                   task_list_at(&lost, 0));
}

void
job_array_check_change(struct causes *c, const struct json *spec, const struct json *old)
{
    const struct json *array = json_get(spec, "array");
    const struct json *was = json_get(old, "array");
    unsigned at;

    if ((array != NULL) != (was != NULL)) {
        causes_add(c, CAUSE_INVALID, "array", array,
                   "a Job is made a job array when it is created, and cannot "
                   "change that");
        return;
    }
    if (array == NULL)
        return;
    at = causes_enter(c, "array");
    check_immutable(c, array, was, "tasks");
    check_cancelled_kept(c, array, was);
    causes_leave(c, at);
}

/* ---- Names of files ---- */

#define MAX_WIDTH 10

static void
add_padded(int64_t number, const char *digits, struct strbuf *out)
{
    int64_t width = 0;

    for (; *digits >= '0' && *digits <= '9' && width < MAX_WIDTH; digits++)
        width = width * 10 + (*digits - '0');
    strbuf_printf(out, "%0*" PRId64, (int)(width < MAX_WIDTH ? width : MAX_WIDTH), number);
}

const char *
job_array_path(struct arena *arena, const char *pattern, int64_t job, int64_t task)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (const char *p = pattern; *p != '\0'; p++) {
        const size_t digits = *p == '%' ? strspn(p + 1, "0123456789") : 0;
        const char letter = *p == '%' ? p[1 + digits] : '\0';

        if (letter == '%') {
            strbuf_add(&out, p, digits + 2);
        } else if (letter == 'A' || letter == 'j') {
            add_padded(job, p + 1, &out);
            if (letter == 'j')
                strbuf_printf(&out, "_%" PRId64, task);
        } else if (letter == 'a') {
            add_padded(task, p + 1, &out);
        } else {
            strbuf_add_char(&out, *p);
            continue;
        }
        p += digits + 1;
    }
    return arena_strdup(arena, out.length > 0 ? out.text : "");
}

const char *
job_array_path_of_one(struct arena *arena, const char *pattern, bool *ret_has_task)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    *ret_has_task = false;
    for (const char *p = pattern; *p != '\0'; p++) {
        const size_t digits = *p == '%' ? strspn(p + 1, "0123456789") : 0;
        const char letter = *p == '%' ? p[1 + digits] : '\0';

        strbuf_add(&text, p, letter != '\0' ? digits + 1 : 1);
        if (letter == '\0')
            continue;
        *ret_has_task = *ret_has_task || letter == 'a';
        strbuf_add_char(&text, letter == 'A' ? 'j' : letter);
        p += digits + 1;
    }
    return arena_strdup(arena, text.length > 0 ? text.text : "");
}
