/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/placing/blind.h"

#include "lib/base/alloc.h"

struct blind_node {
    uint64_t cores; /* free cores */
    uint8_t gpus;
    unsigned gib;
};

struct blind {
    struct blind_node *nodes;
    unsigned count;
    unsigned numa, cores_each;
};

struct blind *
blind_new(unsigned numa, unsigned cores, unsigned gib, unsigned nodes)
{
    struct blind *b = xnew(struct blind);

    b->nodes = xnew_array(struct blind_node, nodes);
    b->count = nodes;
    b->numa = numa;
    b->cores_each = cores;
    for (unsigned i = 0; i < nodes; i++)
        b->nodes[i] = (struct blind_node){
            .cores = UINT64_MAX >> (64 - numa * cores),
            .gpus = (uint8_t)(0xffu >> (8 - numa)),
            .gib = numa * gib,
        };
    return b;
}

void
blind_free(struct blind *b)
{
    if (b == NULL)
        return;
    free(b->nodes);
    free(b);
}

static unsigned
free_cores(const struct blind_node *n)
{
    return (unsigned)__builtin_popcountll(n->cores);
}

static bool
has_room(const struct blind_node *n, const struct blind_job *job)
{
    return free_cores(n) >= job->cores && n->gib >= job->gib
           && (unsigned)__builtin_popcount(n->gpus) >= job->gpus;
}

static unsigned
find_node(const struct blind *b, const struct blind_job *job, bool spreads)
{
    unsigned best = b->count;

    for (unsigned i = 0; i < b->count; i++) {
        if (!has_room(&b->nodes[i], job))
            continue;
        if (!spreads)
            return i;
        if (best == b->count || free_cores(&b->nodes[i]) > free_cores(&b->nodes[best]))
            best = i;
    }
    return best;
}

static uint64_t
take_lowest(uint64_t *free_bits, unsigned count)
{
    uint64_t taken = 0;

    for (unsigned i = 0; i < count; i++) {
        uint64_t lowest = *free_bits & -*free_bits;

        *free_bits ^= lowest;
        taken |= lowest;
    }
    return taken;
}

unsigned
blind_put(struct blind *b, const struct blind_job *job, bool spreads, struct blind_place *ret_place)
{
    unsigned at = find_node(b, job, spreads), width = 0;
    uint64_t gpus, mask = (UINT64_C(1) << b->cores_each) - 1;
    struct blind_node *n;

    if (at == b->count)
        return 0;
    n = &b->nodes[at];
    gpus = n->gpus;
    *ret_place = (struct blind_place){
        .node = at,
        .cores = take_lowest(&n->cores, job->cores),
        .gpus = (uint8_t)take_lowest(&gpus, job->gpus),
    };
    n->gpus = (uint8_t)gpus;
    n->gib -= job->gib;
    for (unsigned i = 0; i < b->numa; i++)
        width += (ret_place->cores >> (i * b->cores_each) & mask) != 0
                 || (ret_place->gpus >> i & 1) != 0;
    return width;
}

void
blind_take_away(struct blind *b, const struct blind_job *job, const struct blind_place *place)
{
    struct blind_node *n = &b->nodes[place->node];

    n->cores |= place->cores;
    n->gpus |= place->gpus;
    n->gib += job->gib;
}
