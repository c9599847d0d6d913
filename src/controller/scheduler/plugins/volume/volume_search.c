/* SPDX-License-Identifier: Apache-2.0 */
/* The volumes of a cluster are looked through once for a pod and not once for each node: those
 * that only one node reaches are sorted by that node's name, the others are in a list of their
 * own, the better ones first. The smallest claim chooses first, as upstream, so that the
 * larger volumes are left for the larger claims.
 */
#include "controller/scheduler/plugins/volume/volume_search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/api/storage/storage_class.h"
#include "lib/api/storage/volume_match.h"
#include "lib/base/alloc.h"

#define ANYWHERE ""

/* A volume that suits a claim. `host`: the only host that reaches it, or
 * ANYWHERE.
 */
struct volume_candidate {
    const char *host;
    const struct object *volume;
};

struct wanted_volume {
    const struct object *claim;
    const struct object *volume; /* of a bound claim; NULL: it is gone */
    const struct object *class;  /* of an unbound claim, or NULL */
    const struct object *aside;  /* reserved for an unbound claim, or NULL */
    bool is_bound;
    struct volume_candidate *candidates; /* by host, then the better first */
    unsigned n_candidates, capacity;
};

struct volume_search {
    const struct volume_book *book;
    struct wanted_volume *wants; /* the smallest claim first */
    unsigned count;
};

/* The state of a search on one node. */
struct trial {
    const struct volume_search *search;
    const struct node_view *node;
    struct volume_plan *plan; /* or NULL */
    const struct object **taken;
    unsigned n_taken;
    int64_t space; /* taken by the claims before */
    unsigned lacks;
};

struct volume_search *
volume_search_new(const struct volume_book *book)
{
    struct volume_search *s = xnew(struct volume_search);

    s->book = book;
    return s;
}

static void
fini_want(struct wanted_volume *w)
{
    for (unsigned i = 0; i < w->n_candidates; i++)
        object_unref(w->candidates[i].volume);
    free(w->candidates);
    object_unref(w->claim);
    object_unref(w->volume);
    object_unref(w->class);
    object_unref(w->aside);
}

void
volume_search_free(struct volume_search *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < s->count; i++)
        fini_want(&s->wants[i]);
    free(s->wants);
    free(s);
}

/* --- candidates of a claim ------------------------------------------------ */

/* The host name that the volume's only node selector term requires, or
 * ANYWHERE.
 */
static const char *
only_host(const struct persistent_volume *v)
{
    const struct node_selector *nodes = v->spec.nodes;

    if (nodes == NULL || nodes->terms.count != 1)
        return ANYWHERE;
    for (unsigned i = 0; i < nodes->terms.items[0].match_expressions.count; i++) {
        const struct selector_requirement *r = &nodes->terms.items[0].match_expressions.items[i];

        if (strcmp(r->key, LABEL_HOSTNAME) == 0 && strcmp(r->operator_, "In") == 0
            && r->values.count == 1)
            return r->values.items[0];
    }
    return ANYWHERE;
}

static void
add_candidate(const struct object *volume, void *context)
{
    struct wanted_volume *w = context;
    const struct persistent_volume *v = persistent_volume_of(volume);

    if (!volume_suits(v, persistent_volume_claim_of(w->claim)))
        return;
    if (v->spec.claim != NULL) {
        if (w->aside == NULL)
            w->aside = object_ref(volume);
        return;
    }
    xgrow(w->candidates, w->n_candidates, w->capacity);
    w->candidates[w->n_candidates++] = (struct volume_candidate){
        .host = only_host(v),
        .volume = object_ref(volume),
    };
}

static int
compare_candidates(const void *a, const void *b)
{
    const struct volume_candidate *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    if (order != 0)
        return order;
    return volume_is_better(persistent_volume_of(x->volume), persistent_volume_of(y->volume)) ? -1
                                                                                              : 1;
}

static int
compare_wants(const void *a, const void *b)
{
    int64_t x = persistent_volume_claim_bytes(
        persistent_volume_claim_of(((const struct wanted_volume *)a)->claim));
    int64_t y = persistent_volume_claim_bytes(
        persistent_volume_claim_of(((const struct wanted_volume *)b)->claim));

    return (x > y) - (x < y);
}

static const struct object *
ref_or_null(const struct object *object)
{
    return object != NULL ? object_ref(object) : NULL;
}

void
volume_search_add(struct volume_search *s, const struct object *claim)
{
    const struct persistent_volume_claim *c = persistent_volume_claim_of(claim);
    const char *class_name = persistent_volume_claim_class(c);
    struct wanted_volume *w;

    s->wants = xrealloc_array(s->wants, s->count + 1, sizeof(*s->wants));
    w = &s->wants[s->count++];
    *w = (struct wanted_volume){
        .claim = object_ref(claim),
        .is_bound = persistent_volume_claim_is_bound(c),
    };
    if (w->is_bound) {
        w->volume = ref_or_null(volume_book_volume(s->book, c->spec.volume_name));
    } else {
        w->class = ref_or_null(volume_book_class(s->book, class_name));
        w->aside = ref_or_null(volume_book_assumed(s->book, claim));
        volume_book_visit_free(s->book, claim, class_name, add_candidate, w);
        if (w->n_candidates > 0)
            qsort(w->candidates, w->n_candidates, sizeof(*w->candidates), compare_candidates);
    }
    qsort(s->wants, s->count, sizeof(*s->wants), compare_wants);
}

const char **
volume_search_nodes(const struct volume_search *s, unsigned *ret_count)
{
    const char **names;
    const char *host = NULL;

    for (unsigned i = 0; i < s->count; i++) {
        const struct wanted_volume *w = &s->wants[i];
        const char *node =
            w->is_bound || w->volume != NULL ? NULL : volume_book_claim_node(s->book, w->claim);

        if (w->volume != NULL)
            node = only_host(persistent_volume_of(w->volume));
        if (node == NULL || strcmp(node, ANYWHERE) == 0)
            continue;
        if (host != NULL && strcmp(host, node) != 0)
            return NULL; /* two nodes: each reports what it lacks */
        host = node;
    }
    if (host == NULL)
        return NULL;
    names = xnew_array(const char *, 1);
    names[0] = host;
    *ret_count = 1;
    return names;
}

/* --- on one node ---------------------------------------------------------- */

static bool
reaches(const struct object *volume, const struct node_view *node)
{
    const struct meta *meta = &node->node->meta;

    return persistent_volume_reaches(persistent_volume_of(volume), &meta->labels, meta->name);
}

static void
try_bound(struct trial *t, const struct wanted_volume *w)
{
    if (w->volume == NULL)
        t->lacks |= LACK_BOUND;
    else if (!reaches(w->volume, t->node))
        t->lacks |= LACK_REACH;
}

static bool
is_taken(const struct trial *t, const struct object *volume)
{
    for (unsigned i = 0; i < t->n_taken; i++)
        if (t->taken[i] == volume)
            return true;
    return false;
}

/* The best free volume among those for that host (or ANYWHERE) and `best`. */
static const struct object *
best_at(const struct trial *t, const struct wanted_volume *w, const char *host,
        const struct object *best)
{
    unsigned low = 0, high = w->n_candidates;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (strcmp(w->candidates[middle].host, host) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < w->n_candidates && strcmp(w->candidates[low].host, host) == 0; low++) {
        const struct object *volume = w->candidates[low].volume;

        if (is_taken(t, volume) || !reaches(volume, t->node))
            continue;
        if (best == NULL
            || volume_is_better(persistent_volume_of(volume), persistent_volume_of(best)))
            best = volume;
        break;
    }
    return best;
}

static const struct object *
find_volume(const struct trial *t, const struct wanted_volume *w)
{
    const struct object *best = best_at(t, w, ANYWHERE, NULL);
    const char *host = string_map_find(&t->node->node->meta.labels, LABEL_HOSTNAME);

    return host != NULL && *host != '\0' ? best_at(t, w, host, best) : best;
}

static bool
can_be_made(struct trial *t, const struct wanted_volume *w)
{
    const struct storage_class *class = w->class != NULL ? storage_class_of(w->class) : NULL;
    const struct node *node = t->node->node;
    int64_t bytes = persistent_volume_claim_bytes(persistent_volume_claim_of(w->claim));
    int64_t room;

    if (class == NULL || !storage_class_provisions(class)
        || !storage_class_allows(class, &node->meta.labels)) {
        t->lacks |= LACK_VOLUME;
        return false;
    }
    if (!storage_class_is_scratch(class))
        return true; /* the class's own provisioner decides */
    room = node_scratch_bytes(node) - volume_book_promised(t->search->book, node->meta.name)
           - t->space;
    /* The bytes of a claim whose node is chosen are already part of the
     * promised bytes.
     */
    if (volume_book_claim_node(t->search->book, w->claim) == NULL) {
        t->space += bytes;
        if (room < bytes)
            t->lacks |= LACK_SPACE;
    }
    return (t->lacks & LACK_SPACE) == 0;
}

static void
try_unbound(struct trial *t, const struct wanted_volume *w)
{
    const char *chosen = volume_book_claim_node(t->search->book, w->claim);
    const struct object *volume = NULL;

    if ((chosen != NULL && strcmp(chosen, t->node->name) != 0)
        || (w->aside != NULL && !reaches(w->aside, t->node))) {
        t->lacks |= LACK_VOLUME;
        return;
    }
    if (w->aside != NULL)
        volume = w->aside;
    else if (chosen == NULL)
        volume = find_volume(t, w);
    if (volume != NULL)
        t->taken[t->n_taken++] = volume;
    else if (!can_be_made(t, w))
        return;
    if (t->plan != NULL)
        volume_plan_add(t->plan, w->claim, volume);
}

unsigned
volume_search_try(const struct volume_search *s, const struct node_view *node,
                  struct volume_plan *plan)
{
    CLEANUP_FREE const struct object **taken = xnew_array(const struct object *, s->count + 1);
    struct trial t = {
        .search = s,
        .node = node,
        .plan = plan,
        .taken = taken,
    };

    for (unsigned i = 0; i < s->count; i++)
        if (s->wants[i].is_bound)
            try_bound(&t, &s->wants[i]);
    for (unsigned i = 0; i < s->count; i++)
        if (!s->wants[i].is_bound)
            try_unbound(&t, &s->wants[i]);
    return t.lacks;
}
