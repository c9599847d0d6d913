/* SPDX-License-Identifier: Apache-2.0 */
/* A node finds the Reservations that withhold it in its own ledger, so a filter costs what
 * that node has and not what the cluster has. For the search over all nodes the same is kept
 * as sets of bits, one for each time at which the withheld nodes differ. The sets are made
 * again after any change, since Reservations are few and change seldom.
 *
 * Windows of a repeated Reservation are computed and never listed: it may recur for years.
 * Each keeps the window that was asked for last, because all questions within one cycle are
 * about the same time.
 */
#include "controller/scheduler/framework/node_reservations.h"

#include <string.h>

#include "controller/scheduler/framework/ledger.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/sets/withheld_sets.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

/* Limit of future windows visited for each Reservation. */
#define WINDOWS_AHEAD 8u

/* A node that a Reservation names; owns the withheld entry in its ledger. */
struct withheld_node {
    struct reserved_nodes *of;
    struct node_view *node; /* NULL: the node does not exist */
};

struct reserved_nodes {
    const struct object *object;
    struct map *nodes;          /* struct withheld_node, by node name */
    struct node_bits bits;      /* those of the nodes that exist */
    struct withheld_sets *sets; /* withheld from pods that name this one */
    bool is_active, has_ended;  /* as last passed to `turned` */
    /* The first window that ends after next_after_us */
    struct reserved_window next;
    int64_t next_after_us; /* INT64_MAX: unknown */
};

struct node_reservations {
    struct map *by_name;        /* by name, to struct reserved_nodes */
    struct withheld_sets *sets; /* withheld from pods that name none */
    uint64_t last_set_id;
    node_reservations_find_fn *find;
    void *context;
};

struct node_reservations *
node_reservations_new(node_reservations_find_fn *find, void *context)
{
    struct node_reservations *all = xnew(struct node_reservations);

    all->by_name = map_new();
    all->sets = withheld_sets_new(&all->last_set_id);
    all->find = find;
    all->context = context;
    return all;
}

static const struct node_reservation *
spec_of(const struct reserved_nodes *r)
{
    return node_reservation_of(r->object);
}

/* The first window that ends after that time. The result is cached, because it
 * stays the same until the window ends.
 */
static bool
find_window(struct reserved_nodes *r, int64_t at_us, struct reserved_window *ret)
{
    if (at_us < r->next_after_us || at_us >= r->next.until_us) {
        r->next_after_us = INT64_MAX;
        if (!node_reservation_window(spec_of(r), at_us, &r->next))
            return false;
        r->next_after_us = at_us;
    }
    *ret = r->next;
    return true;
}

static bool
meets(struct reserved_nodes *r, int64_t from_us, int64_t until_us)
{
    struct reserved_window window;

    return find_window(r, from_us, &window) && window.from_us < until_us;
}

/* ---- Entries ---- */

/* Does nothing for a node that the API has deleted: the rest of its view is
 * freed with its last pod, and no event tells this file about that.
 */
static void
withhold(struct withheld_node *w, struct node_view *node)
{
    if (node == NULL || node->object == NULL || w->node != NULL)
        return;
    w->node = node;
    node_bits_set(&w->of->bits, node->slot);
    ledger_reserve(&node->ledger, &(struct ledger_entry){
                                      .owner = w,
                                      .state = LEDGER_WITHHELD,
                                      .from_us = 0, /* the windows say when */
                                      .until_us = INT64_MAX,
                                  });
}

static void
release(struct withheld_node *w)
{
    if (w->node == NULL)
        return;
    node_bits_clear(&w->of->bits, w->node->slot);
    ledger_unreserve(&w->node->ledger, w);
    w->node = NULL;
}

static void
release_all(struct reserved_nodes *r)
{
    size_t at = 0;
    void *w;

    while (map_next(r->nodes, &at, NULL, &w)) {
        release(w);
        free(w);
    }
    map_clear(r->nodes);
}

static void
reserved_nodes_free(struct reserved_nodes *r)
{
    if (r == NULL)
        return;
    release_all(r);
    withheld_sets_free(r->sets);
    node_bits_fini(&r->bits);
    map_free(r->nodes);
    object_unref(r->object);
    free(r);
}

void
node_reservations_free(struct node_reservations *all)
{
    size_t at = 0;
    void *r;

    if (all == NULL)
        return;
    while (map_next(all->by_name, &at, NULL, &r))
        reserved_nodes_free(r);
    map_free(all->by_name);
    withheld_sets_free(all->sets);
    free(all);
}

/* ---- Change ---- */

static void
forget_sets(struct node_reservations *all)
{
    size_t at = 0;
    void *value;

    withheld_sets_forget(all->sets);
    while (map_next(all->by_name, &at, NULL, &value))
        withheld_sets_forget(((struct reserved_nodes *)value)->sets);
}

static bool
has_ended(const struct node_reservation *spec)
{
    return spec->status.state != NULL && strcmp(spec->status.state, RESERVATION_ENDED) == 0;
}

static void
withhold_all(struct node_reservations *all, struct reserved_nodes *r)
{
    const char *const *names;
    unsigned count = node_reservation_nodes(spec_of(r), &names);

    for (unsigned i = 0; i < count; i++) {
        struct withheld_node *w = map_find(r->nodes, names[i]);

        if (w == NULL) {
            w = xnew(struct withheld_node);
            w->of = r;
            map_put(r->nodes, names[i], w);
        }
        withhold(w, all->find(all->context, names[i]));
    }
}

bool
node_reservations_set(struct node_reservations *all, const struct object *reservation)
{
    const char *name = reservation->meta->name;
    struct reserved_nodes *r = map_find(all->by_name, name);
    struct node_bits before = {0};
    bool has_others;

    if (r == NULL) {
        r = xnew(struct reserved_nodes);
        r->nodes = map_new();
        r->sets = withheld_sets_new(&all->last_set_id);
        map_put(all->by_name, name, r);
    }
    forget_sets(all);
    node_bits_add(&before, &r->bits);
    release_all(r);
    object_ref(reservation);
    object_unref(r->object);
    r->object = reservation;
    r->next_after_us = INT64_MAX;
    if (!has_ended(spec_of(r)))
        withhold_all(all, r);
    has_others = !node_bits_are_equal(&before, &r->bits);
    node_bits_fini(&before);
    return has_others;
}

void
node_reservations_remove(struct node_reservations *all, const char *name)
{
    forget_sets(all);
    reserved_nodes_free(map_remove(all->by_name, name));
}

void
node_reservations_node_comes(struct node_reservations *all, struct node_view *node)
{
    size_t at = 0;
    void *value;

    while (node != NULL && map_next(all->by_name, &at, NULL, &value)) {
        const struct reserved_nodes *r = value;
        struct withheld_node *w = map_find(r->nodes, node->name);

        if (w == NULL)
            continue;
        forget_sets(all);
        withhold(w, node);
    }
}

void
node_reservations_node_leaves(struct node_reservations *all, const struct node_view *node)
{
    size_t at = 0;
    void *value;

    while (node != NULL && map_next(all->by_name, &at, NULL, &value)) {
        const struct reserved_nodes *r = value;
        struct withheld_node *w = map_find(r->nodes, node->name);

        if (w == NULL)
            continue;
        forget_sets(all);
        release(w);
    }
}

void
node_reservations_turn(struct node_reservations *all, int64_t now_us,
                       void (*turned)(const struct object *reservation, void *context),
                       void *context)
{
    size_t at = 0;
    void *value;

    while (map_next(all->by_name, &at, NULL, &value)) {
        struct reserved_nodes *r = value;
        struct reserved_window window;
        bool is_there = find_window(r, now_us, &window);
        bool is_active = is_there && window.from_us <= now_us;

        if (is_active == r->is_active && is_there != r->has_ended)
            continue;
        r->is_active = is_active;
        r->has_ended = !is_there;
        turned(r->object, context);
    }
}

/* ---- Look ---- */

unsigned
node_reservations_count(const struct node_reservations *all)
{
    return (unsigned)map_count(all->by_name);
}

const struct object *
node_reservations_find(const struct node_reservations *all, const char *name)
{
    const struct reserved_nodes *r = map_find(all->by_name, name);

    return r != NULL ? r->object : NULL;
}

const struct node_bits *
node_reservations_nodes(const struct node_reservations *all, const char *name)
{
    const struct reserved_nodes *r = map_find(all->by_name, name);

    return r != NULL ? &r->bits : NULL;
}

const char *
node_reservations_name(const struct pod_view *pod)
{
    const struct placement *p = pod->pod->spec.placement;

    return p != NULL && p->reservation != NULL && p->reservation[0] != '\0' ? p->reservation : NULL;
}

/* The Reservation that the pod names, if it has the node. */
static struct reserved_nodes *
find_own(const struct node_view *node, const struct pod_view *pod)
{
    const char *name = node_reservations_name(pod);

    for (uint32_t i = 0; name != NULL && i < node->ledger.n_future; i++) {
        const struct ledger_entry *e = &node->ledger.future[i];
        const struct withheld_node *w = e->owner;

        if (e->state == LEDGER_WITHHELD && strcmp(w->of->object->meta->name, name) == 0)
            return w->of;
    }
    return NULL;
}

/* Two Reservations that were made to overlap share their nodes, unless the
 * other one is a maintenance.
 */
static bool
shares(struct reserved_nodes *own, struct reserved_nodes *other, int64_t from_us)
{
    struct reserved_window window;

    return own != NULL
           && (own == other
               || (!spec_of(other)->spec.is_maintenance && find_window(own, from_us, &window)
                   && node_reservation_meets(spec_of(other), window.from_us, window.until_us)));
}

/* Whether it is flexible and has not begun, so that its nodes may still change.
 */
static bool
waits_for_nodes(const struct node_reservation *r)
{
    return r->spec.is_flexible && r->status.begun_us == 0;
}

bool
node_reservations_admit(const struct node_view *node, const struct pod_view *pod, int64_t from_us,
                        int64_t until_us)
{
    struct reserved_nodes *own = find_own(node, pod);
    struct reserved_window window;

    if (node_reservations_name(pod) != NULL
        && (own == NULL || !find_window(own, from_us, &window) || window.from_us > from_us
            || waits_for_nodes(spec_of(own))))
        return false;
    for (uint32_t i = 0; i < node->ledger.n_future; i++) {
        const struct ledger_entry *e = &node->ledger.future[i];
        const struct withheld_node *w = e->owner;

        if (e->state == LEDGER_WITHHELD && meets(w->of, from_us, until_us)
            && !shares(own, w->of, from_us))
            return false;
    }
    return true;
}

const struct object *
node_reservations_withholder(const struct node_view *node, int64_t from_us, int64_t until_us,
                             struct reserved_window *ret_window)
{
    for (uint32_t i = 0; i < node->ledger.n_future; i++) {
        const struct ledger_entry *e = &node->ledger.future[i];
        const struct withheld_node *w = e->owner;

        if (e->state == LEDGER_WITHHELD && find_window(w->of, from_us, ret_window)
            && ret_window->from_us < until_us)
            return w->of->object;
    }
    return NULL;
}

/* Makes the sets for pods that name `own`, or for pods that name none (NULL).
 * Which other Reservations share nodes with `own` differs from window to
 * window; its own windows are added without nodes, so that the sets are made
 * again when one ends.
 */
static void
make_sets(const struct node_reservations *all, struct withheld_sets *sets,
          struct reserved_nodes *own, int64_t from_us)
{
    static const struct node_bits none;
    size_t at = 0;
    void *value;

    withheld_sets_begin(sets, from_us);
    while (map_next(all->by_name, &at, NULL, &value)) {
        struct reserved_nodes *r = value;
        struct reserved_window window;

        if (map_count(r->nodes) > 0 && find_window(r, from_us, &window)
            && (r == own || !shares(own, r, from_us)))
            withheld_sets_add(sets, window.from_us, window.until_us, r == own ? &none : &r->bits);
    }
    withheld_sets_end(sets);
}

const struct node_set *
node_reservations_withheld(const struct node_reservations *all, const struct pod_view *pod,
                           int64_t from_us, int64_t until_us)
{
    const char *name = node_reservations_name(pod);
    struct reserved_nodes *own = name != NULL ? map_find(all->by_name, name) : NULL;
    struct withheld_sets *sets = own != NULL ? own->sets : all->sets;

    if (!withheld_sets_hold(sets, from_us))
        make_sets(all, sets, own, from_us);
    return withheld_sets_find(sets, until_us);
}

void
node_reservations_find_withheld(const struct node_reservations *all, int64_t from_us,
                                int64_t until_us, struct node_bits *bits)
{
    size_t at = 0;
    void *value;

    node_bits_empty(bits);
    while (map_next(all->by_name, &at, NULL, &value)) {
        struct reserved_nodes *r = value;

        if (map_count(r->nodes) > 0 && meets(r, from_us, until_us))
            node_bits_add(bits, &r->bits);
    }
}

void
node_reservations_visit(const struct node_reservations *all, int64_t from_us, int64_t until_us,
                        node_reservations_visit_fn *visit, void *context)
{
    size_t at = 0;
    void *value;

    while (map_next(all->by_name, &at, NULL, &value)) {
        struct reserved_nodes *r = value;
        size_t node_at = 0;
        void *w;

        if (map_count(r->nodes) == 0 || !meets(r, from_us, until_us))
            continue;
        while (map_next(r->nodes, &node_at, NULL, &w))
            if (((const struct withheld_node *)w)->node != NULL)
                visit(((const struct withheld_node *)w)->node, context);
    }
}

void
node_reservations_visit_turns(const struct node_reservations *all, const struct pod_view *pod,
                              int64_t now_us, void (*visit)(int64_t at_us, void *context),
                              void *context)
{
    const char *own = node_reservations_name(pod);
    size_t at = 0;
    void *value;

    while (map_next(all->by_name, &at, NULL, &value)) {
        const struct reserved_nodes *r = value;
        bool is_own = own != NULL && strcmp(r->object->meta->name, own) == 0;
        struct reserved_window window = {.until_us = now_us};

        for (unsigned i = 0; map_count(r->nodes) > 0 && i < WINDOWS_AHEAD; i++) {
            if (!node_reservation_window(spec_of(r), window.until_us, &window))
                break;
            if (is_own && window.from_us > now_us)
                visit(window.from_us, context);
            if (window.until_us == INT64_MAX)
                break;
            visit(window.until_us, context);
        }
    }
}
