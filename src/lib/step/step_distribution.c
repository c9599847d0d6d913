/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_distribution.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/step/step_request.h"

static int
parse_plane(const char *digits, unsigned *ret_plane, struct error *err)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(digits, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0' || errno != 0 || n == 0
        || n > STEP_TASKS_MOST)
        return error_set(err, -EINVAL, "plane=%.40s: the size is a number of tasks, from 1 to %d",
                         digits, STEP_TASKS_MOST);
    *ret_plane = (unsigned)n;
    return 0;
}

/* `level`: 0 nodes, 1 sockets, 2 cores. */
static int
parse_level(const char *word, unsigned level, struct step_distribution *d, struct error *err)
{
    enum step_order *const levels[] = {&d->nodes, &d->sockets, &d->cores};
    static const struct {
        const char *word;
        enum step_order order;
        unsigned from; /* the first level that has it */
    } orders[] = {
        {"*", STEP_ORDER_DEFAULT, 0},
        {"block", STEP_ORDER_BLOCK, 0},
        {"cyclic", STEP_ORDER_CYCLIC, 0},
        {"fcyclic", STEP_ORDER_FCYCLIC, 1},
    };

    if (level > 2)
        return error_set(err, -EINVAL, "at most three words: over nodes, sockets and cores");
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
        if (strcasecmp(word, orders[i].word) == 0 && level >= orders[i].from) {
            *levels[level] = orders[i].order;
            return 0;
        }
    if (level == 0 && strncasecmp(word, "plane=", 6) == 0) {
        d->nodes = STEP_ORDER_PLANE;
        return parse_plane(word + 6, &d->plane, err);
    }
    if (level == 0 && strcasecmp(word, "arbitrary") == 0)
        return error_set(err, -ENOTSUP,
                         "arbitrary: tasks cannot be placed by a list of hosts; use block, cyclic "
                         "or plane=SIZE, or several steps with --nodelist");
    return error_set(err, -EINVAL, "'%.40s' is no distribution over %s", word,
                     level == 0   ? "nodes: use block, cyclic or plane=SIZE"
                     : level == 1 ? "sockets: use block, cyclic or fcyclic"
                                  : "cores: use block, cyclic or fcyclic");
}

static int
parse_packing(const char *word, struct step_distribution *d, struct error *err)
{
    if (strcasecmp(word, "pack") == 0)
        d->packs = true;
    else if (strcasecmp(word, "nopack") == 0)
        d->spreads = true;
    else
        return error_set(err, -EINVAL, "'%.40s': only Pack or NoPack can follow a comma", word);
    return 0;
}

int
step_distribution_parse(const char *text, struct step_distribution *ret_distribution,
                        struct error *err)
{
    struct step_distribution d = {0};
    CLEANUP_FREE char *copy = NULL;
    char *rest, *word, *comma;
    int r = 0;

    if (text != NULL) {
        rest = copy = xstrdup(text);
        comma = strchr(copy, ',');
        if (comma != NULL)
            *comma++ = '\0';
        for (unsigned level = 0; r == 0 && (word = strsep(&rest, ":")) != NULL; level++)
            r = parse_level(word, level, &d, err);
        if (r == 0 && comma != NULL)
            r = parse_packing(comma, &d, err);
    }
    if (r == 0)
        *ret_distribution = d;
    return r;
}
