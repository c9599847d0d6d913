/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/job_operands.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

static bool
is_of_job(const char *text, const char *dot)
{
    return dot != NULL && dot > text && strspn(text, "0123456789_") == (size_t)(dot - text);
}

bool
job_operands_is_step(const char *text)
{
    const char *dot = strchr(text, '.');

    return is_of_job(text, dot) && dot[1] != '\0' && dot[1 + strspn(dot + 1, "0123456789")] == '\0';
}

bool
job_operands_is_part(const char *text)
{
    const char *dot = strchr(text, '.');

    return is_of_job(text, dot) && (strcmp(dot, ".batch") == 0 || strcmp(dot, ".extern") == 0);
}

int
job_operands_refuse_step(const char *text, struct error *err)
{
    const int length = (int)strcspn(text, ".");

    if (job_operands_is_step(text))
        return error_set(err, -EINVAL,
                         "'%s' is a step; give its job: %.*s ('kctl show %s' shows the step)", text,
                         length, text, text);
    if (job_operands_is_part(text))
        return error_set(err, -EINVAL, "'%s' is %s, which is no step; give the job: %.*s", text,
                         strcmp(text + length, ".batch") == 0
                             ? "the script of its job"
                             : "what others start on the nodes of its job",
                         length, text);
    return 0;
}

static int
read_operand(const char *text, struct arena *arena, struct job_operands *o, struct error *err)
{
    const char *slash = strchr(text, '/');

    if (slash != NULL) {
        const char *type = arena_strndup(arena, text, (size_t)(slash - text));

        if (kind_find_any_name(type) != &job_kind)
            return error_set(err, -EINVAL, "%s is not a job", text);
        text = slash + 1;
    }
    if (text[0] == '\0')
        return error_set(err, -EINVAL, "an empty job id was given");
    if (job_operands_refuse_step(text, err) < 0)
        return -EINVAL;
    if (id_ranges_looks_like(text))
        return id_ranges_add(&o->ids, text, arena, err);
    o->names[o->n_names++] = text;
    return 0;
}

int
job_operands_read(int n_operands, char *const *operands, struct arena *arena,
                  struct job_operands *ret_operands, struct error *err)
{
    struct job_operands o = {.names = arena_new_array(arena, const char *, (size_t)n_operands + 1)};
    int r = 0;
    int i = 0;

    /* "kctl cancel job 7" names the type, which is allowed but not needed. */
    if (n_operands > 1 && kind_find_any_name(operands[0]) == &job_kind)
        i = 1;
    for (; i < n_operands && r == 0; i++)
        r = read_operand(operands[i], arena, &o, err);
    if (r == 0)
        *ret_operands = o;
    return r;
}

int
job_operands_read_ids(int n_operands, char *const *operands, int64_t most, struct arena *arena,
                      struct id_ranges *ret_ids, struct error *err)
{
    struct job_operands o;
    int r = job_operands_read(n_operands, operands, arena, &o, err);

    if (r < 0)
        return r;
    if (o.n_names > 0)
        return error_set(err, -EINVAL,
                         "'%s' is not a job id (jobs with that name: kctl jobs --name '%s', kctl "
                         "history --name '%s')",
                         o.names[0], o.names[0], o.names[0]);
    if (o.ids.total + (int64_t)o.ids.n_elements > most)
        return error_set(err, -EINVAL,
                         "more than %" PRId64 " jobs are named; select them with "
                         "--name and other options instead",
                         most);
    *ret_ids = o.ids;
    return 0;
}

bool
job_operands_have_range(int n_operands, char *const *operands)
{
    for (int i = 0; i < n_operands; i++) {
        const char *slash = strchr(operands[i], '/');
        const char *text = slash != NULL ? slash + 1 : operands[i];

        if (id_ranges_looks_like(text) && strchr(text, '-') != NULL)
            return true;
    }
    return false;
}
