/* SPDX-License-Identifier: Apache-2.0 */
/* A job that no node could ever run should be told so when it is submitted and not after a
 * week. The judge is the allocator that also places pods, so it cannot disagree with the
 * scheduler; and only what lasts counts, as a node that is full or down today is no reason.
 * Whenever something is not known the answer is yes, since a wrong warning is worse than none.
 *
 * The cost must not grow with the cluster, hence classes of equal nodes, and the class that
 * could run the pod before is compared first: most submissions are like the one before.
 */
#include "controller/apiserver/capacity/feasibility.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/capacity/feasibility_search.h"
#include "controller/apiserver/capacity/node_classes.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/api/node/node.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

#define SCHEDULER "default-scheduler"
#define GPU       "kiln.hpc/gpu"

/* Nodes of a class differ a little in memory, and only one of them is compared:
 * this part of a request may be missing on it.
 */
#define MEMORY_LEEWAY 16

/* ---- The nodes that are compared one by one ---- */

static void
name_node(struct feasibility_search *s, const char *name)
{
    const struct class_node *node = node_classes_find(s->q->nodes, name);

    if (node == NULL)
        return;
    if (map_count(s->named) == FEASIBILITY_NAMES_MOST)
        s->is_unknown = true;
    else
        (void)map_put(s->named, name, (void *)(uintptr_t)node);
}

/* A value that is a node's name may tell the nodes of a class apart. */
static void
name_values(struct feasibility_search *s, const struct selector_requirement *items, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        s->n_values += items[i].values.count > 0 ? items[i].values.count : 1;
        for (unsigned k = 0; k < items[i].values.count; k++)
            name_node(s, items[i].values.items[k]);
    }
}

static void
name_entries(struct feasibility_search *s, const struct string_map *map)
{
    s->n_values += map->count;
    for (unsigned i = 0; i < map->count; i++)
        name_node(s, map->items[i].value);
}

static void
name_of_spec(struct feasibility_search *s)
{
    const struct affinity *a = s->spec->affinity;
    const struct node_selector *required =
        a != NULL && a->node_affinity != NULL ? a->node_affinity->required : NULL;

    name_entries(s, &s->spec->node_selector);
    for (unsigned i = 0; required != NULL && i < required->terms.count; i++) {
        const struct node_selector_term *t = &required->terms.items[i];

        name_values(s, t->match_expressions.items, t->match_expressions.count);
        name_values(s, t->match_fields.items, t->match_fields.count);
    }
}

static void
name_of_partition(struct feasibility_search *s, const struct partition *p)
{
    if (p->spec.selector == NULL)
        return;
    name_entries(s, &p->spec.selector->match_labels);
    name_values(s, p->spec.selector->match_expressions.items,
                p->spec.selector->match_expressions.count);
}

/* ---- What the pod asks for ---- */

static void
read_partitions(struct feasibility_search *s)
{
    size_t n;

    if (s->spec->placement == NULL || s->spec->placement->partition == NULL
        || s->spec->placement->partition[0] == '\0')
        return;
    s->partition = s->spec->placement->partition;
    for (const char *at = s->partition; (n = partition_next_name(&at)) > 0; at += n) {
        CLEANUP_FREE char *name = xstrndup(at, n);
        const struct object *object = s->q->find(s->q->owner, partition_kind.name, name);

        if (object == NULL || s->n_partitions == PARTITIONS_MOST) {
            s->is_unknown = true;
            return;
        }
        s->partitions[s->n_partitions++] = partition_of(object);
        name_of_partition(s, partition_of(object));
    }
}

/* The nodes of a reservation that is chosen later are not known. */
static void
read_reservation(struct feasibility_search *s)
{
    const char *name = s->spec->placement != NULL ? s->spec->placement->reservation : NULL;
    const struct object *object;
    const char *const *names;
    unsigned count;

    if (name == NULL || name[0] == '\0')
        return;
    object = s->q->find(s->q->owner, reservation_kind.name, name);
    count = object != NULL ? node_reservation_nodes(node_reservation_of(object), &names) : 0;
    if (count == 0) {
        s->is_unknown = true;
        return;
    }
    map_clear(s->named);
    s->is_only_named = true;
    for (unsigned i = 0; i < count; i++)
        name_node(s, names[i]);
}

static bool
is_scalar(const char *name)
{
    return strchr(name, '/') != NULL || strncmp(name, "hugepages-", 10) == 0;
}

static void
read_demand(struct feasibility_search *s)
{
    pod_sums_add_requests(&s->sums, s->spec, NULL);
    demand_init(&s->demand, s->spec->placement, pod_sum_milli(pod_sums_find(&s->sums, "cpu")),
                pod_sum_value(pod_sums_find(&s->sums, "memory")));
    for (uint32_t i = 0; i < s->sums.count; i++)
        if (is_scalar(s->sums.items[i].name))
            demand_add_resource(&s->demand, s->sums.items[i].name,
                                pod_sum_value(&s->sums.items[i]));
    s->scratch_bytes = pod_spec_scratch_bytes(s->spec);
}

/* ---- One node ---- */

bool
feasibility_is_in_partition(const struct feasibility_search *s, const struct class_node *node)
{
    for (unsigned i = 0; i < s->n_partitions; i++)
        if (partition_has_node(s->partitions[i], &node->object->meta->labels))
            return true;
    return s->partition == NULL;
}

bool
feasibility_is_wanted(const struct feasibility_search *s, const struct class_node *node)
{
    return feasibility_is_in_partition(s, node)
           && pod_spec_wants_node(s->spec, &node->object->meta->labels, node->object->meta->name);
}

unsigned
feasibility_asked_count(const struct feasibility_search *s)
{
    return s->sums.count + 1 + (s->demand.gpu_model != NULL);
}

static int64_t
count_gpus(const struct node_class *class, const char *model)
{
    const struct topology_index *t = class->room != NULL ? class->room->topology_index : NULL;
    int64_t count = 0;

    for (unsigned i = 0; t != NULL && i < t->topology->n_devices; i++)
        count += topology_index_device_matches(t, i, "gpu", model);
    return count;
}

struct asked_size
feasibility_asked_at(const struct feasibility_search *s, const struct class_node *node, unsigned at)
{
    const struct string_map *has = &node_of(node->object)->status.allocatable;
    const struct pod_sum *sum = at < s->sums.count ? &s->sums.items[at] : NULL;

    if (at == s->sums.count)
        return (struct asked_size){
            .name = "scratch", .needs = s->scratch_bytes, .has = node->class->scratch_bytes};
    if (sum == NULL)
        return (struct asked_size){.name = GPU,
                                   .model = s->demand.gpu_model,
                                   .needs = pod_sum_value(pod_sums_find(&s->sums, GPU)),
                                   .has = count_gpus(node->class, s->demand.gpu_model)};
    if (strcmp(sum->name, "cpu") == 0)
        return (struct asked_size){.name = sum->name,
                                   .needs = pod_sum_milli(sum),
                                   .has = quantity_text_milli(string_map_find(has, sum->name))};
    if (strcmp(sum->name, "memory") == 0)
        return (struct asked_size){
            .name = sum->name, .needs = pod_sum_value(sum), .has = node->class->memory_bytes};
    /* The scheduler knows no other resources. */
    if (!is_scalar(sum->name) && strcmp(sum->name, "ephemeral-storage") != 0)
        return (struct asked_size){.name = sum->name};
    return (struct asked_size){.name = sum->name,
                               .needs = pod_sum_value(sum),
                               .has = quantity_text_value(string_map_find(has, sum->name))};
}

static bool
has_amounts(const struct feasibility_search *s, const struct class_node *node)
{
    for (unsigned i = 0; i < feasibility_asked_count(s); i++) {
        const struct asked_size a = feasibility_asked_at(s, node, i);

        if (a.needs > a.has)
            return false;
    }
    return true;
}

enum allocator_answer
feasibility_ask_allocator(const struct feasibility_search *s, const struct node_class *class,
                          struct demand *ret_demand)
{
    struct allocator_choice choice;

    *ret_demand = s->demand;
    if (class->is_mixed)
        ret_demand->memory_bytes -= ret_demand->memory_bytes / MEMORY_LEEWAY;
    return class->room != NULL ? allocator_choose(class->room, ret_demand, &choice)
                               : ALLOCATOR_FITS;
}

/* The amounts come first, because that comparison costs least. */
static bool
could_run(const struct feasibility_search *s, const struct class_node *node)
{
    struct demand ignored;

    if (node->class == NULL || node->class->is_unknown)
        return feasibility_is_wanted(s, node);
    return has_amounts(s, node) && feasibility_is_wanted(s, node)
           && feasibility_ask_allocator(s, node->class, &ignored) == ALLOCATOR_FITS;
}

/* ---- All nodes ---- */

/* The first node of the class that is not named; NULL: all are. */
static const struct class_node *
find_unnamed(const struct feasibility_search *s, const struct node_class *class)
{
    list_foreach(pos, &class->nodes)
    {
        const struct class_node *node = container_of(pos, struct class_node, link);

        if (map_count(s->named) == 0 || map_find(s->named, node->object->meta->name) == NULL)
            return node;
    }
    return NULL;
}

/* The node of a user's agent is for that user's pods only. */
static bool
is_open(const struct feasibility_search *s, const struct class_node *node)
{
    const struct security_context *who = s->spec->security_context;
    uid_t owner;

    return !node_find_owner(node_of(node->object), &owner)
           || (who != NULL && who->run_as_user != NULL && *who->run_as_user == (int64_t)owner);
}

void
feasibility_visit(struct feasibility_search *s, feasibility_visit_fn *visit, void *context)
{
    struct node_class *class;
    size_t at = 0;
    void *value;

    for (unsigned i = 0; !s->is_only_named && (class = node_classes_at(s->q->nodes, i)) != NULL;
         i++) {
        const struct class_node *node = find_unnamed(s, class);

        if (node != NULL && is_open(s, node) && !visit(s, node, context))
            return;
    }
    while (map_next(s->named, &at, NULL, &value))
        if (is_open(s, value) && !visit(s, value, context))
            return;
}

/* ---- Room for several pods ---- */

#define ROOM_MOST UINT32_MAX

struct room_found {
    uint64_t wanted, room, nodes;
    const struct class_node *last; /* of those that count */
    struct map *parts;             /* value of the label to a struct part_room; or NULL */
    bool is_any;                   /* a node could run one of them, in a part or not */
};

/* The nodes with one value of the label. */
struct part_room {
    uint64_t room, nodes;
};

/* The nodes that the visited one stands for. */
static uint64_t
nodes_of(const struct feasibility_search *s, const struct class_node *node)
{
    uint64_t n_named = 0;
    size_t at = 0;
    void *value;

    if (node->class == NULL || map_find(s->named, node->object->meta->name) != NULL)
        return 1;
    while (map_next(s->named, &at, NULL, &value))
        n_named += ((const struct class_node *)value)->class == node->class;
    return node->class->count - n_named;
}

/* At most that many pods have room on the node at a time. */
static uint64_t
room_of(const struct feasibility_search *s, const struct class_node *node)
{
    int64_t room = ROOM_MOST;

    if (s->q->is_one_per_node || s->demand.is_whole_node)
        return 1;
    if (node->class == NULL || node->class->is_unknown)
        return ROOM_MOST;
    for (unsigned i = 0; i < feasibility_asked_count(s); i++) {
        const struct asked_size a = feasibility_asked_at(s, node, i);

        if (a.needs > 0 && a.has / a.needs < room)
            room = a.has / a.needs;
    }
    return room > 0 ? (uint64_t)room : 1;
}

/* The part with most room counts. */
static void
add_to_part(struct room_found *f, const struct feasibility_search *s, const struct class_node *node,
            uint64_t n)
{
    const char *key = s->q->topology_key;
    const char *value = string_map_find(&node->object->meta->labels, key);
    struct part_room *part;

    if (value == NULL)
        return;
    if (strcmp(key, LABEL_HOSTNAME) == 0) /* differs within a class */
        n = 1;
    part = map_find(f->parts, value);
    if (part == NULL) {
        part = xnew(struct part_room);
        map_put(f->parts, value, part);
    }
    part->nodes += n;
    part->room += n * room_of(s, node);
    if (part->room <= f->room)
        return;
    f->room = part->room;
    f->nodes = part->nodes;
    f->last = node;
}

static void
free_parts(struct map *parts)
{
    size_t at = 0;
    void *part;

    while (parts != NULL && map_next(parts, &at, NULL, &part))
        free(part);
    map_free(parts);
}

static bool
stop_if_enough(struct feasibility_search *s, const struct class_node *node, void *context)
{
    struct room_found *f = context;
    uint64_t n;

    if (!could_run(s, node))
        return true;
    n = f->wanted > 1 ? nodes_of(s, node) : 1;
    f->is_any = true;
    if (f->parts != NULL) {
        add_to_part(f, s, node, n);
        return f->room < f->wanted;
    }
    f->nodes += n;
    f->room += n * room_of(s, node);
    f->last = node;
    return f->room < f->wanted;
}

bool
feasibility_judge(const struct feasibility_question *q, struct strbuf *why)
{
    struct feasibility_search s = {.q = q, .spec = q->spec};
    struct room_found found = {.wanted = q->together > 1 ? q->together : 1};
    bool is_possible;

    if (node_classes_nodes(q->nodes) == 0
        || (s.spec->scheduler_name != NULL && strcmp(s.spec->scheduler_name, SCHEDULER) != 0)
        || (s.spec->node_name != NULL && s.spec->node_name[0] != '\0'))
        return true;
    s.named = map_new();
    found.parts = q->topology_key != NULL ? map_new() : NULL;
    read_partitions(&s);
    name_of_spec(&s);
    read_reservation(&s);
    read_demand(&s);
    is_possible = s.is_unknown || s.n_values > FEASIBILITY_NAMES_MOST;
    if (!is_possible) {
        feasibility_visit(&s, stop_if_enough, &found);
        is_possible = found.room >= found.wanted
                      || (!s.is_only_named && !node_classes_are_complete(q->nodes));
    }
    if (!is_possible && found.is_any)
        feasibility_format_few(&s, found.room, found.nodes, why);
    else if (!is_possible)
        feasibility_format_why(&s, why);
    if (found.room >= found.wanted && found.last->class != NULL)
        node_classes_prefer(q->nodes, found.last->class);
    free_parts(found.parts);
    map_free(s.named);
    pod_sums_fini(&s.sums);
    return is_possible;
}
