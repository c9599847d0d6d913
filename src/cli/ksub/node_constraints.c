/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/node_constraints.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cli/ksub/submission.h"
#include "lib/api/job/job_nodes.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

/* -p: only checked for valid names; the list itself is passed on unchanged. */
static int
check_partitions(const char *list, struct error *err)
{
    for (const char *at = list;; at++) {
        size_t n = strcspn(at, ",");

        if (n == 0)
            return error_set(err, -EINVAL, "a name is missing");
        for (size_t i = 0; i < n; i++)
            if (!isalnum((unsigned char)at[i]) && strchr("-_.", at[i]) == NULL)
                return error_set(err, -EINVAL, "'%.*s' is not a partition name", (int)n, at);
        at += n;
        if (*at == '\0')
            return 0;
    }
}

/* The names of a list in Slurm's short form, separated by commas. */
static int
expand(struct arena *arena, const char *list, const char **ret_names, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char **names = NULL;
    size_t count = 0;
    int r = hostlist_expand(arena, list, &names, &count, err);

    for (size_t i = 0; i < count; i++)
        strbuf_printf(&text, "%s%s", i > 0 ? "," : "", names[i]);
    *ret_names = arena_strdup(arena, text.length > 0 ? text.text : "");
    return r;
}

static int
add_names(struct arena *arena, struct json *spec, bool is_exclusion, const char *list,
          struct error *err)
{
    const char *names;
    int r = expand(arena, list, &names, err);

    return r < 0 ? r : job_nodes_set_names(arena, spec, is_exclusion, names, err);
}

int
node_constraints_add(const struct submission *s, struct arena *arena, struct json *spec,
                     struct error *err)
{
    int r = 0;

    if (s->partition != NULL)
        r = check_partitions(s->partition, err);
    if (r == 0 && s->nodes != NULL)
        r = add_names(arena, spec, false, s->nodes, err);
    if (r == 0 && s->excluded != NULL)
        r = add_names(arena, spec, true, s->excluded, err);
    if (r == 0 && s->constraint != NULL)
        r = job_nodes_set_features(arena, spec, s->constraint, err);
    return r;
}
