/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/allocator/kubelet/cpu_share.h"

#include <math.h>
#include <string.h>

#include "lib/allocator/kubelet/combination.h"

/* The number of distributions that a search may try. */
#define SEARCH_LIMIT 200000u

struct share_search {
    const struct cpu_share_input *in;
    struct cpu_share best;
    double best_balance; /* -1: nothing found yet */
    unsigned visits;
};

static double
thousandths(double x)
{
    return round(x * 1000) / 1000;
}

static double
deviation(const unsigned *left, unsigned count)
{
    double sum = 0, squares = 0, mean;

    for (unsigned i = 0; i < count; i++)
        sum += left[i];
    mean = thousandths(sum / count);
    for (unsigned i = 0; i < count; i++)
        squares += (left[i] - mean) * (left[i] - mean);
    return thousandths(sqrt(squares / count));
}

/* Whether each NUMA node of the set can give `each` CPUs in whole groups, and
 * all together what is wanted.
 */
static bool
can_share(const struct cpu_share_input *in, const struct combination *set, unsigned each)
{
    unsigned groups = 0;

    for (unsigned i = 0; i < set->size; i++) {
        unsigned free = in->free[set->at[i]];

        if (free < each)
            return false;
        groups += free / in->group;
    }
    return groups * in->group >= in->wanted;
}

/* Distributes the remaining groups in turns among these NUMA nodes; false when
 * they have too little left.
 */
static bool
hand_out(const struct cpu_share_input *in, unsigned groups, const unsigned *among, unsigned n_among,
         unsigned *left, unsigned *more)
{
    while (groups > 0) {
        unsigned before = groups;

        for (unsigned i = 0; i < n_among && groups > 0; i++) {
            if (left[among[i]] < in->group)
                continue;
            left[among[i]] -= in->group;
            more[among[i]]++;
            groups--;
        }
        if (groups == before)
            return false;
    }
    return true;
}

static void
note(struct share_search *s, const struct combination *set, unsigned each, const unsigned *more,
     double balance)
{
    if (s->best_balance >= 0 && balance >= s->best_balance)
        return;
    s->best_balance = balance;
    s->best.count = set->size;
    s->best.each = each;
    for (unsigned i = 0; i < set->size; i++) {
        s->best.numas[i] = s->in->numas[set->at[i]];
        s->best.more[i] = more[set->at[i]];
    }
}

/* Tries every subset of the NUMA nodes that can give one more group, large
 * subsets first; among equally balanced results the first one counts.
 */
static void
try_rests(struct share_search *s, const struct combination *set, unsigned each, unsigned groups,
          const unsigned *left)
{
    unsigned giving[CPU_SHARE_MAX], n_giving = 0;

    for (unsigned i = 0; i < set->size; i++)
        if (left[set->at[i]] >= s->in->group)
            giving[n_giving++] = set->at[i];
    for (unsigned size = n_giving < groups ? n_giving : groups; size > 0; size--) {
        struct combination some;

        for (bool more = combination_first(&some, n_giving, size); more;
             more = combination_next(&some)) {
            unsigned after[CPU_SHARE_MAX], extra[CPU_SHARE_MAX] = {0};
            unsigned among[CPU_SHARE_MAX];

            if (s->visits++ > SEARCH_LIMIT)
                return;
            memcpy(after, left, sizeof(after));
            for (unsigned i = 0; i < size; i++)
                among[i] = giving[some.at[i]];
            if (hand_out(s->in, groups, among, size, after, extra))
                note(s, set, each, extra, deviation(after, s->in->count));
        }
    }
}

static void
try_set(struct share_search *s, const struct combination *set)
{
    const struct cpu_share_input *in = s->in;
    unsigned each = in->wanted / set->size / in->group * in->group;
    unsigned rest = in->wanted - each * set->size;
    unsigned left[CPU_SHARE_MAX], none[CPU_SHARE_MAX] = {0};

    if (!can_share(in, set, each))
        return;
    memcpy(left, in->free, sizeof(left));
    for (unsigned i = 0; i < set->size; i++)
        left[set->at[i]] -= each;
    if (rest == 0)
        note(s, set, each, none, deviation(left, in->count));
    else
        try_rests(s, set, each, rest / in->group, left);
}

static unsigned
round_up(unsigned a, unsigned b)
{
    return (a + b - 1) / b;
}

bool
cpu_share_find(const struct cpu_share_input *in, struct cpu_share *ret_share)
{
    struct share_search s = {.in = in, .best_balance = -1};
    unsigned groups = round_up(in->wanted, in->group);
    unsigned per_numa = round_up(round_up(in->n_cpus, in->group), in->n_machine);
    unsigned most = groups < in->count ? groups : in->count;

    for (unsigned size = round_up(groups, per_numa); size <= most; size++) {
        struct combination set;

        for (bool more = combination_first(&set, in->count, size);
             more && s.best_balance != 0 && s.visits++ <= SEARCH_LIMIT;
             more = combination_next(&set))
            try_set(&s, &set);
        if (s.best_balance >= 0) {
            *ret_share = s.best;
            return true;
        }
    }
    return false;
}
