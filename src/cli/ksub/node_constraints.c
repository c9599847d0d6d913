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

/* -x: the names of a list in Slurm's short form, separated by commas. */
static int
exclude(struct arena *arena, struct json *spec, const char *list, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char **names = NULL;
    size_t count = 0;
    int r = hostlist_expand(arena, list, &names, &count, err);

    for (size_t i = 0; i < count; i++)
        strbuf_printf(&text, "%s%s", i > 0 ? "," : "", names[i]);
    return r < 0 ? r
                 : job_nodes_set_names(arena, spec, true, text.length > 0 ? text.text : "", err);
}

/* -w: of a job of several nodes, each pod may go to any of them, and each has its
 * own (node_request.c compares their number). Several names are alternatives of
 * what was set before.
 */
static int
choose(struct arena *arena, struct json *spec, const char *list, bool are_several,
       struct error *err)
{
    const char **names = NULL;
    size_t count = 0;
    int r = list != NULL ? hostlist_expand(arena, list, &names, &count, err) : 0;

    if (r < 0 || count == 0 || (count > 1) != are_several)
        return r;
    return are_several ? job_nodes_add_choice(arena, spec, names, count, err)
                       : job_nodes_set_names(arena, spec, false, names[0], err);
}

/* The number of nodes that must have the feature; 0: not given. */
static int64_t
take_share(const char **at)
{
    int64_t share = 0;

    if (**at != '*' || !isdigit((unsigned char)(*at)[1]))
        return 0;
    for (++*at; isdigit((unsigned char)**at); ++*at)
        share = share < INT32_MAX ? share * 10 + (**at - '0') : share;
    return share;
}

/* Slurm's "[a|b]" (all nodes have the same one of these) is for one node what (a|b) says, and
 * "a*2" is for two nodes what a says.
 */
static int
add_features(struct arena *arena, const struct submission *s, struct json *spec, struct error *err)
{
    const bool is_known = s->node_count != NODE_COUNT_UNKNOWN;
    const int64_t nodes = s->node_count > 1 ? s->node_count : 1;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (nodes > 1 && strchr(s->constraint, '[') != NULL)
        return error_set(err, -EOPNOTSUPP,
                         "--constraint '%s': that all nodes of a job have the same feature cannot "
                         "be asked for; name one of them",
                         s->constraint);
    for (const char *at = s->constraint; *at != '\0';) {
        const int64_t share = take_share(&at);

        if (share > 0 && is_known && share != nodes)
            return error_set(err, -EOPNOTSUPP,
                             "--constraint '%s': that some of the nodes have a feature cannot be "
                             "asked for, only that all have it; submit a job for each kind of node",
                             s->constraint);
        if (share > 0)
            continue;
        strbuf_add_char(&text, *at == '[' ? '(' : *at == ']' ? ')' : *at);
        at++;
    }
    return job_nodes_set_features(arena, spec, text.length > 0 ? text.text : "", err);
}

int
node_constraints_add(const struct submission *s, struct arena *arena, struct json *spec,
                     struct error *err)
{
    int r = 0;

    if (s->partition != NULL)
        r = check_partitions(s->partition, err);
    if (r == 0)
        r = choose(arena, spec, s->nodes, false, err);
    if (r == 0 && s->excluded != NULL)
        r = exclude(arena, spec, s->excluded, err);
    if (r == 0 && s->constraint != NULL)
        r = add_features(arena, s, spec, err);
    return r < 0 ? r : choose(arena, spec, s->nodes, true, err);
}
