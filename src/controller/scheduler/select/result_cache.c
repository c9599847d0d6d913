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
    struct result_cache *bs = xnew(struct result_cache);

    bs->bytes = bytes > 0 ? bytes : (size_t)64 << 20;
    list_init(&bs->kept);
    return bs;
}

static void
drop(struct result_cache *bs, struct cached_results *kept)
{
    bs->by_signature[kept->signature] = (struct asked_signature){0};
    list_remove(&kept->link);
    node_results_free(kept->node_results);
    free(kept);
    bs->count--;
}

void
result_cache_free(struct result_cache *bs)
{
    if (bs == NULL)
        return;
    list_foreach_safe(link, &bs->kept) drop(bs, container_of(link, struct cached_results, link));
    free(bs->by_signature);
    free(bs);
}

static void
reach(struct result_cache *bs, uint32_t signature)
{
    size_t n = bs->n_signatures;

    if (signature < n)
        return;
    bs->n_signatures = (size_t)signature * 2 + 64;
    bs->by_signature =
        xrealloc_array(bs->by_signature, bs->n_signatures, sizeof(*bs->by_signature));
    for (; n < bs->n_signatures; n++)
        bs->by_signature[n] = (struct asked_signature){0};
}

bool
result_cache_is_worth(struct result_cache *bs, uint32_t signature, const struct snapshot *s,
                      unsigned cost)
{
    struct asked_signature *asked;
    unsigned changed;

    reach(bs, signature);
    asked = &bs->by_signature[signature];
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
result_cache_get(struct result_cache *bs, const struct profile *profile, uint32_t signature)
{
    struct cached_results *kept;

    reach(bs, signature);
    kept = bs->by_signature[signature].kept;
    if (kept == NULL) {
        kept = xnew(struct cached_results);
        list_init(&kept->link);
        kept->signature = signature;
        kept->node_results = node_results_new(profile);
        bs->by_signature[signature].kept = kept;
        bs->count++;
    }
    list_remove(&kept->link);
    list_add_first(&bs->kept, &kept->link);
    return kept->node_results;
}

/* All results have about the size of the one in use. */
void
result_cache_trim(struct result_cache *bs, const struct node_results *used)
{
    while (bs->count > 4 && bs->count * node_results_bytes(used) > bs->bytes)
        drop(bs, container_of(bs->kept.prev, struct cached_results, link));
}
