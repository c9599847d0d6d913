/* SPDX-License-Identifier: Apache-2.0 */
/* Making the results of all nodes for a pod costs one evaluation of each, so it pays only for
 * a signature that comes again. A signature first has to show this: the evaluations that kept
 * results would have saved are added up from request to request, and when the sum reaches the
 * number of nodes, they are made. A large cluster in which each pod differs therefore makes
 * none.
 */
#include "controller/scheduler/select/result_cache.h"

#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/select/node_results.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"

struct cached_results {
    struct list link; /* most recently used first */
    uint32_t signature;
    struct node_results *node_results;
};

/* A signature that results were requested for. */
struct asked_signature {
    struct cached_results *kept; /* or NULL */
    uint64_t generation;         /* of the nodes, at the last request */
    /* Node evaluations that kept results would have saved since */
    uint32_t saved;
};

struct result_cache {
    size_t bytes;
    struct asked_signature *by_signature;
    size_t n_signatures;
    struct list kept;
    size_t count;
};

struct result_cache *
result_cache_new(size_t bytes)
{
    struct result_cache *c = xnew(struct result_cache);

    c->bytes = bytes > 0 ? bytes : (size_t)64 << 20;
    list_init(&c->kept);
    return c;
}

static void
drop(struct result_cache *c, struct cached_results *kept)
{
    c->by_signature[kept->signature] = (struct asked_signature){0};
    list_remove(&kept->link);
    node_results_free(kept->node_results);
    free(kept);
    c->count--;
}

void
result_cache_free(struct result_cache *c)
{
    if (c == NULL)
        return;
    list_foreach_safe(link, &c->kept) drop(c, container_of(link, struct cached_results, link));
    free(c->by_signature);
    free(c);
}

static void
reach(struct result_cache *c, uint32_t signature)
{
    size_t n = c->n_signatures;

    if (signature < n)
        return;
    c->n_signatures = (size_t)signature * 2 + 64;
    c->by_signature = xrealloc_array(c->by_signature, c->n_signatures, sizeof(*c->by_signature));
    for (; n < c->n_signatures; n++)
        c->by_signature[n] = (struct asked_signature){0};
}

bool
result_cache_is_worth(struct result_cache *c, uint32_t signature, const struct snapshot *s,
                      unsigned cost)
{
    struct asked_signature *asked;
    unsigned changed;

    reach(c, signature);
    asked = &c->by_signature[signature];
    if (asked->kept != NULL && node_results_count_stale(asked->kept->node_results, s, cost) < cost)
        return true;
    changed = asked->generation > 0 ? snapshot_changed(s, asked->generation, cost) : cost;
    asked->generation = s->generation;
    asked->saved += cost - changed;
    if (asked->saved < s->n_nodes)
        return false;
    asked->saved = 0;
    return true;
}

struct node_results *
result_cache_get(struct result_cache *c, const struct profile *profile, uint32_t signature)
{
    struct cached_results *kept;

    reach(c, signature);
    kept = c->by_signature[signature].kept;
    if (kept == NULL) {
        kept = xnew(struct cached_results);
        list_init(&kept->link);
        kept->signature = signature;
        kept->node_results = node_results_new(profile);
        c->by_signature[signature].kept = kept;
        c->count++;
    }
    list_remove(&kept->link);
    list_add_first(&c->kept, &kept->link);
    return kept->node_results;
}

/* All results have about the size of the one in use. */
void
result_cache_trim(struct result_cache *c, const struct node_results *used)
{
    while (c->count > 4 && c->count * node_results_bytes(used) > c->bytes)
        drop(c, container_of(c->kept.prev, struct cached_results, link));
}
