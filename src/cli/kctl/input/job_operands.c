/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/job_operands.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

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

bool
job_operands_is_step(const char *text)
{
    const char *dot = strchr(text, '.');

    return dot != NULL && dot > text && strspn(text, "0123456789_") == (size_t)(dot - text)
           && dot[1] != '\0' && dot[1 + strspn(dot + 1, "0123456789")] == '\0';
}

int
job_operands_read_ids(int n_operands, char *const *operands, int64_t most, struct arena *arena,
                      struct id_ranges *ret_ids, struct error *err)
{
    struct job_operands o;
    int r = job_operands_read(n_operands, operands, arena, &o, err);

    if (r < 0)
        return r;
    if (o.n_names > 0 && job_operands_is_step(o.names[0]))
        return error_set(err, -EINVAL, "'%s' is a step; give its job: %.*s", o.names[0],
                         (int)strcspn(o.names[0], "."), o.names[0]);
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
