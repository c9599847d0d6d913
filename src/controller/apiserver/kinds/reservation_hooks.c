/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_hooks.c - what a Reservation must be
 *
 * It needs existing nodes that no other has at the same time; pods that may still
 * run there when it begins cause a warning. A promise of nodes that somebody else
 * was promised would only be found when it is due, so it is refused when it is made.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/name_check.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/node/node.h"
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/api/reservation_nodes.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST_RESERVATIONS 1000u
#define MOST_TOLD         10u

static bool
refuse(struct request *q, const struct json *tree, const char *why)
{
    return admission_refuse(q, tree, "Reservation", why);
}

struct reservation_check {
    struct request *q;
    const struct node_reservation *r;
    struct map *taken; /* from a node to the Reservation that has it then */
    const struct json *tree;
    struct reservation_nodes *nodes; /* candidates for nodeCount */
    int64_t now_us;
    unsigned count;
};

static bool
note_other(const struct object *object, void *context)
{
    struct reservation_check *c = context;
    const struct node_reservation *other = node_reservation_of(object);
    const char *const *names;
    unsigned count;

    if (strcmp(other->meta.name, c->r->meta.name) == 0)
        return true;
    c->count++;
    if (c->r->spec.may_overlap || !node_reservation_meets_other(c->r, other, c->now_us))
        return true;
    count = node_reservation_nodes(other, &names);
    for (unsigned i = 0; i < count; i++)
        map_put(c->taken, names[i], (void *)(uintptr_t)other);
    return true;
}

static bool
check_named(struct reservation_check *c)
{
    struct request *q = c->q;

    for (unsigned i = 0; i < c->r->spec.nodes.count; i++) {
        const char *name = c->r->spec.nodes.items[i];
        const struct node_reservation *other = map_find(c->taken, name);

        if (store_find(q->server->store, STORE_PENDING, &node_kind, NULL, name) == NULL)
            return refuse(q, c->tree,
                          arena_printf(q->arena, "there is no node '%s'%s", name,
                                       hostlist_looks_like(name)
                                           ? "; spec.nodes has one name an element, and 'kctl "
                                             "reserve --nodes' takes a host list"
                                           : ""));
        if (other != NULL)
            return refuse(q, c->tree,
                          arena_printf(q->arena,
                                       "reservation %s has node %s at the "
                                       "same time; set spec.overlap: true "
                                       "(--overlap) to allow that",
                                       other->meta.name, name));
        reservation_nodes_add(c->nodes, name, 0);
    }
    return true;
}

static bool
add_end(const struct object *object, void *context)
{
    int64_t *last_us = context;
    const struct pod *pod = pod_of(object);
    int64_t end_us = reservation_nodes_end_us(pod, *last_us);

    if (!pod_is_finished(pod) && end_us > *last_us)
        *last_us = end_us;
    return true;
}

static bool
add_candidate(const struct object *object, void *context)
{
    struct reservation_check *c = context;
    int64_t last_us = c->now_us;

    if (!reservation_nodes_match(c->r, node_of(object))
        || map_find(c->taken, object->meta->name) != NULL)
        return true;
    store_visit_index(c->q->server->store, &pod_kind, POD_BY_NODE, STORE_PUBLISHED,
                      object->meta->name, add_end, &last_us);
    reservation_nodes_add(c->nodes, object->meta->name, last_us);
    return true;
}

static bool
check_count(struct reservation_check *c)
{
    struct request *q = c->q;
    int64_t wanted = c->r->spec.node_count;

    store_list(q->server->store, &node_kind, NULL, NULL, 0, add_candidate, c);
    if ((int64_t)c->nodes->count < wanted)
        return refuse(q, c->tree,
                      arena_printf(q->arena,
                                   "%" PRId64 " node%s requested, but only %u "
                                   "with these labels are in no other "
                                   "reservation at that time",
                                   wanted, wanted == 1 ? " is" : "s are", c->nodes->count));
    reservation_nodes_choose(c->nodes, (unsigned)wanted,
                             c->r->spec.start_us > c->now_us ? c->r->spec.start_us : c->now_us);
    return true;
}

/* ---- Pods that may still run then ---- */

struct running_list {
    struct reservation_check *m;
    struct strbuf *out;
    int64_t from_us;
    unsigned count;
};

static bool
add_running(const struct object *object, void *context)
{
    struct running_list *t = context;
    const struct pod *pod = pod_of(object);
    int64_t end_us = reservation_nodes_end_us(pod, t->m->now_us);
    char time[TIME_TEXT_SIZE] = "";

    if (pod_is_finished(pod) || end_us <= t->from_us)
        return true;
    if (t->count++ >= MOST_TOLD)
        return true;
    if (end_us < INT64_MAX)
        time_format(end_us, false, time);
    strbuf_printf(t->out, "%s%s/%s on %s (%s%s)", t->count > 1 ? ", " : "", object->meta->namespace,
                  object->meta->name, pod->spec.node_name,
                  end_us < INT64_MAX ? "until " : "no time limit", time);
    return true;
}

static void
warn_of_running(struct reservation_check *c)
{
    struct request *q = c->q;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct reserved_window window;
    struct running_list t = {.m = c, .out = &out};
    char time[TIME_TEXT_SIZE];

    if (!node_reservation_window(c->r, c->now_us, &window))
        return;
    t.from_us = window.from_us > c->now_us ? window.from_us : c->now_us;
    if (c->r->spec.deadline_us > t.from_us)
        t.from_us = c->r->spec.deadline_us;
    for (unsigned i = 0; i < c->nodes->count; i++)
        store_visit_index(q->server->store, &pod_kind, POD_BY_NODE, STORE_PUBLISHED,
                          c->nodes->items[i].name, add_running, &t);
    if (t.count == 0)
        return;
    if (t.count > MOST_TOLD)
        strbuf_printf(&out, ", and %u more", t.count - MOST_TOLD);
    time_format(t.from_us, false, time);
    reply_warn(&q->reply, "%u pod%s may still run %s %s: %s", t.count, t.count == 1 ? "" : "s",
               !c->r->spec.is_flexible      ? "when it begins at"
               : c->r->spec.deadline_us > 0 ? "at the deadline,"
                                            : "and delay it after",
               time, out.text);
}

static bool
check_made(struct reservation_check *c)
{
    struct request *q = c->q;

    store_list(q->server->store, &reservation_kind, NULL, NULL, 0, note_other, c);
    if (c->count >= MOST_RESERVATIONS)
        return refuse(q, c->tree,
                      arena_printf(q->arena,
                                   "there are %u reservations already; delete "
                                   "some that have ended",
                                   c->count));
    if (c->r->spec.node_count > 0 ? !check_count(c) : !check_named(c))
        return false;
    warn_of_running(c);
    return true;
}

/* Sets a status until the lifecycle component writes its own, so that tables
 * are never blank. For a nodeCount that component chooses the nodes.
 */
static void
set_first_status(const struct reservation_check *c, struct json *tree)
{
    struct arena *arena = c->q->arena;
    struct json *status = json_object(arena);
    struct reserved_window window;
    char time[TIME_TEXT_SIZE];
    bool has_begun;

    json_set(arena, tree, "status", status);
    if (!node_reservation_window(c->r, c->now_us, &window)) {
        json_set_string(arena, status, "state", RESERVATION_ENDED);
        return;
    }
    has_begun = window.from_us <= c->now_us && !c->r->spec.is_flexible;
    json_set_string(arena, status, "state", has_begun ? RESERVATION_ACTIVE : RESERVATION_PLANNED);
    time_format(window.from_us, false, time);
    json_set_string(arena, status, "start", time);
    if (window.until_us == INT64_MAX)
        return;
    time_format(window.until_us, false, time);
    json_set_string(arena, status, "end", time);
}

static bool
admit_nodes(struct request *q, struct json *tree, const struct object *old_object)
{
    struct node_reservation r = {0};
    struct reservation_nodes nodes = {0};
    struct reservation_check c = {
        .q = q,
        .r = &r,
        .tree = tree,
        .nodes = &nodes,
        .now_us = clock_real_us(q->server->clock),
    };
    struct reserved_window window;
    struct causes causes;
    bool is_good;

    if (q->route.subresource != SUBRESOURCE_NONE
        || (old_object != NULL
            && json_equals(json_get(tree, "spec"),
                           json_get(request_old_tree(q, old_object), "spec"))))
        return true;
    /* Skip invalid objects: validation refuses them later. */
    causes_init(&causes, q->arena);
    reservation_kind.validate(&causes, tree,
                              old_object != NULL ? request_old_tree(q, old_object) : NULL);
    if (causes.count > 0)
        return true;
    if (old_object == NULL)
        json_remove(tree, "status");
    record_decode(&node_reservation_record, q->arena, tree, &r);
    if (r.meta.name == NULL)
        r.meta.name = "";
    if (old_object == NULL && !node_reservation_window(&r, c.now_us, &window))
        return refuse(q, tree,
                      "it would have ended already; give a start or an end "
                      "in the future");
    c.taken = map_new();
    is_good = check_made(&c);
    if (is_good && old_object == NULL)
        set_first_status(&c, tree);
    map_free(c.taken);
    reservation_nodes_fini(&nodes);
    return is_good;
}

static bool
admit(struct request *q, struct json *tree, const struct object *old_object)
{
    return admit_nodes(q, tree, old_object)
           && name_check_add_lists(q, tree, old_object, "users", "groups", "accounts");
}

const struct kind_hooks reservation_hooks = {
    .kind = &reservation_kind,
    .admit = admit,
};
