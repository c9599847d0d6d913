/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/policy/pod_group.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/rights.h"
#include "lib/api/object/table.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define PRIORITY_MAX INT64_C(1000000000)

/* clang-format off */
static const struct field workload_reference_fields[] = {
    OPAQUE(STRING, "workloadName", ALWAYS | REQUIRED,
        HELP("The Workload; stored only.")),
    OPAQUE(STRING, "templateName", ALWAYS | REQUIRED,
        HELP("The template in it; stored only.")),
};
static OPAQUE_RECORD(workload_reference,
       "io.k8s.api.scheduling.v1beta1.WorkloadReference",
       MESSAGE("workloadName templateName"),
       HELP("The template that the group was made from; stored only."));

static const struct field pod_group_spec_fields[] = {
    OPAQUE(STRING, "parentCompositePodGroupName", KEPT,
        HELP("Not served.")),
    OPAQUE_OBJECT("workloadRef", workload_reference, KEPT,
        HELP("The template that it was made from; stored only.")),
    OBJECT_ROW("schedulingPolicy", group_policy,
        AT(pod_group_spec, policy), ALWAYS,
        HELP("How its pods are placed.")),
    OPAQUE_OBJECT("schedulingConstraints", group_constraints, KEPT,
        HELP("Where its pods are placed.")),
    OPAQUE_OBJECTS("resourceClaims", group_claim, 0, BY_KEY("name"),
        HELP("Claims of devices; stored only.")),
    OPAQUE_OBJECT("disruptionMode", disruption_mode, KEPT,
        HELP("How its pods are evicted; single is the default.")),
    BOOL("onePerNode", pod_group_spec, one_per_node, KILN,
        HELP("Each of its pods has a node that no other pod of the group has.")),
    OBJECT("switches", pod_group_spec, switches, switch_limit, KILN | OPTIONAL,
        HELP("How many switches the nodes of its pods have at most.")),
    OPAQUE(STRING, "priorityClassName", 0,
        HELP("Its priority class.")),
    OPAQUE(INT, "priority", KEPT,
        HELP("The priority of that class.")),
    OPAQUE(STRING, "preemptionPolicy", KEPT,
        ONE_OF("Never", "PreemptLowerPriority"),
        HELP("Whether it may preempt others.")),
};
static RECORD(pod_group_spec, pod_group_spec,
       "io.k8s.api.scheduling.v1beta1.PodGroupSpec",
       MESSAGE("parentCompositePodGroupName workloadRef schedulingPolicy "
               "schedulingConstraints resourceClaims disruptionMode "
               "priorityClassName priority preemptionPolicy"),
       HELP("How pods are placed together."));

static const struct field claim_status_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED, HELP("Name of the claim.")),
    OPAQUE(STRING, "resourceClaimName", KEPT,
        HELP("The ResourceClaim that was made for it.")),
};
static OPAQUE_RECORD(claim_status,
       "io.k8s.api.scheduling.v1beta1.PodGroupResourceClaimStatus",
       MESSAGE("name resourceClaimName"),
       HELP("The state of a claim."));

static const struct field pod_group_status_fields[] = {
    OPAQUE_OBJECTS("conditions", meta_condition, 0, BY_KEY("type"),
        HELP("Its conditions.")),
    OPAQUE_OBJECTS("resourceClaimStatuses", claim_status, 0, BY_KEY("name"),
        HELP("The states of its claims.")),
    STRING("nodes", pod_group_state, nodes, KILN,
        HELP("The nodes of its pods, in the order of their indexes (n[1-4]); of a group with "
             "onePerNode, once all have one.")),
    TIME("startedAt", pod_group_state, started_at_us, KEPT | KILN,
        HELP("When all of its pods ran for the first time.")),
};
static RECORD(pod_group_status, pod_group_state,
       "io.k8s.api.scheduling.v1beta1.PodGroupStatus",
       MESSAGE("conditions resourceClaimStatuses"),
       HELP("The state of a group."));

static const struct field pod_group_fields[] = {
    TYPE_META,
    METADATA(pod_group),
    OBJECT_ROW("spec", pod_group_spec, AT(pod_group, spec), ALWAYS,
        HELP("Desired state.")),
    OBJECT_ROW("status", pod_group_status, AT(pod_group, status), ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(pod_group, pod_group, "io.k8s.api.scheduling.v1beta1.PodGroup",
       MESSAGE("metadata spec status"),
       HELP("Pods that are placed together."));
/* clang-format on */

static const struct pod_group *
pod_group_of(const struct object *object)
{
    return object->view;
}

int64_t
pod_group_least(const struct object *object)
{
    const struct gang_policy *gang = pod_group_of(object)->spec.policy.gang;

    return gang != NULL ? gang->min_count : 0;
}

bool
pod_group_ends_together(const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    return json_get_path(object_tree(object, arena), "spec.disruptionMode.all") != NULL;
}

const char *
pod_group_topology_key(const struct object *object, struct arena *arena)
{
    const struct json *list =
        json_get_path(object_tree(object, arena), "spec.schedulingConstraints.topology");
    const char *key = json_count(list) > 0 ? check_text(json_at(list, 0), "key") : "";

    return *key != '\0' ? key : NULL;
}

const struct switch_limit *
pod_group_switches(const struct object *object)
{
    return pod_group_of(object)->spec.switches;
}

bool
pod_group_is_one_per_node(const struct object *object)
{
    return pod_group_of(object)->spec.one_per_node;
}

const char *
pod_group_nodes(const struct object *object)
{
    const char *nodes = pod_group_of(object)->status.nodes;

    return nodes != NULL && nodes[0] != '\0' ? nodes : NULL;
}

int64_t
pod_group_started_us(const struct object *object)
{
    return pod_group_of(object)->status.started_at_us;
}

struct group_member
pod_group_member(const struct object *pod)
{
    const char *index = string_map_find(&pod->meta->annotations, ANNOTATION_INDEX);

    return (struct group_member){
        .rank = index != NULL ? strtoll(index, NULL, 10) : -1,
        .node = pod_of(pod)->spec.node_name,
    };
}

static int
compare_members(const void *a, const void *b)
{
    const struct group_member *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return hostlist_compare(&x->node, &y->node);
}

void
pod_group_format_nodes(struct group_member *members, size_t count, struct strbuf *out)
{
    CLEANUP_FREE const char **names = xnew_array(const char *, count + 1);
    size_t n = 0;

    qsort(members, count, sizeof(*members), compare_members);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(members[i].node, members[i - 1].node) != 0)
            names[n++] = members[i].node;
    hostlist_format_in_order(names, n, out);
}

const char *
pod_group_named_by(const struct object *pod)
{
    const struct scheduling_group *s = pod_of(pod)->spec.scheduling_group;

    return s != NULL && s->pod_group_name != NULL && s->pod_group_name[0] != '\0'
               ? s->pod_group_name
               : NULL;
}

bool
pod_group_counts(const struct object *pod)
{
    const struct pod *p = pod_of(pod);

    if (pod_is_finished(p))
        return strcmp(p->status.phase, "Succeeded") == 0;
    return p->spec.node_name != NULL && p->spec.node_name[0] != '\0';
}

static void
set_defaults(struct arena *arena, struct json *group)
{
    struct json *spec = json_get(group, "spec");

    if (spec != NULL && !check_is_set(spec, "disruptionMode"))
        json_make_object(arena, json_make_object(arena, spec, "disruptionMode"), "single");
}

static void
prepare(struct arena *arena, struct json *group, const struct json *old)
{
    struct json *status = json_get(old, "status");

    meta_prepare(arena, group, old);
    json_set(arena, group, "status", status != NULL ? status : json_object(arena));
}

static void
check_priority(struct causes *c, const struct json *spec)
{
    if (*check_text(spec, "priorityClassName") != '\0')
        check_name(c, spec, "priorityClassName", NAME_DNS_SUBDOMAIN);
    if (json_get_int(spec, "priority", 0) > PRIORITY_MAX)
        causes_add(c, CAUSE_INVALID, "priority", json_get(spec, "priority"),
                   "must be at most 1000000000");
    if (check_is_set(spec, "preemptionPolicy"))
        check_one_of(c, spec, "preemptionPolicy", CHECK_VALUES("Never", "PreemptLowerPriority"));
}

/* Everything but minCount. Which of the policies it is cannot change either. */
static void
check_unchanged(struct causes *c, const struct json *spec, const struct json *old)
{
    static const char *const fields[] = {
        "workloadRef",       "schedulingConstraints",
        "resourceClaims",    "disruptionMode",
        "priorityClassName", "priority",
        "preemptionPolicy",  "onePerNode",
        "switches",
    };
    bool was_gang = check_is_set(json_get(old, "schedulingPolicy"), "gang");

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        check_immutable(c, spec, old, fields[i]);
    if (was_gang != check_is_set(json_get(spec, "schedulingPolicy"), "gang"))
        causes_add(c, CAUSE_INVALID, "schedulingPolicy", json_get(spec, "schedulingPolicy"),
                   "the kind of policy cannot be changed; make another group");
}

static void
validate(struct causes *c, const struct json *group, const struct json *old)
{
    const struct json *spec = json_get(group, "spec");
    unsigned at;

    meta_check(c, &pod_group_kind, NAME_DNS_SUBDOMAIN, group, old);
    at = causes_enter(c, "spec");
    if (check_is_set(spec, "parentCompositePodGroupName"))
        causes_add(c, CAUSE_FORBIDDEN, "parentCompositePodGroupName", NULL,
                   "groups of groups are not served; leave the field out");
    if (json_get(spec, "schedulingPolicy") == NULL)
        causes_add(c, CAUSE_REQUIRED, "schedulingPolicy", NULL, "%s", "");
    group_scheduling_check(c, spec, true);
    check_priority(c, spec);
    if (old != NULL)
        check_unchanged(c, spec, json_get(old, "spec"));
    causes_leave(c, at);
}

static bool
has_condition(const struct json *status, const char *type)
{
    const struct json *list = json_get(status, "conditions");

    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(check_text(json_at(list, i), "type"), type) == 0)
            return strcmp(check_text(json_at(list, i), "status"), "True") == 0;
    return false;
}

static void
validate_status(struct causes *c, const struct json *group, const struct json *old)
{
    const struct json *status = json_get(group, "status");
    unsigned at;

    meta_check(c, &pod_group_kind, NAME_DNS_SUBDOMAIN, group, old);
    at = causes_enter(c, "status");
    meta_check_conditions(c, status);
    if (has_condition(json_get(old, "status"), POD_GROUP_SCHEDULED)
        && !has_condition(status, POD_GROUP_SCHEDULED))
        causes_add(c, CAUSE_INVALID, "conditions", NULL, "%s cannot change from True",
                   POD_GROUP_SCHEDULED);
    causes_leave(c, at);
}

/* Fields that are stored, but that no code acts on yet. */
static void
warn(struct causes *c, const struct json *group, const struct json *old)
{
    const struct json *spec = json_get(group, "spec");
    unsigned at = causes_enter(c, "spec");

    (void)old;
    group_scheduling_warn(c, spec);
    if (*check_text(spec, "priorityClassName") != '\0' || check_is_set(spec, "priority")
        || check_is_set(spec, "preemptionPolicy"))
        causes_warn(c, "priorityClassName", "is stored only; the class of the pods decides");
    causes_leave(c, at);
}

static void
add_policy(struct table_row *row)
{
    table_cell(row, pod_group_of(row->object)->spec.policy.gang != NULL ? "Gang" : "Basic");
}

static void
add_least(struct table_row *row)
{
    if (pod_group_of(row->object)->spec.policy.gang != NULL)
        table_cell_int(row, pod_group_least(row->object));
    else
        table_cell(row, "-");
}

static void
add_is_scheduled(struct table_row *row)
{
    const struct json *tree = object_tree(row->object, row->arena);

    table_cell(row,
               has_condition(json_get(tree, "status"), POD_GROUP_SCHEDULED) ? "True" : "False");
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Policy", add_policy, "Gang, or Basic."),
    COLUMN("Min Count", add_least, "How many pods are placed together."),
    COLUMN("Scheduled", add_is_scheduled, "Whether that many had a node."),
    TABLE_AGE,
};
/* clang-format on */
static const struct table table = {TABLE_COLUMNS(columns)};

static const struct right rights[] = {
    {BY_USERS, MAY_CREATE, SUBRESOURCE_NONE, SCOPE_MEMBERS},
    {BY_USERS, MAY_UPDATE | MAY_REMOVE, SUBRESOURCE_NONE, SCOPE_OWN},
    {BY_AGENT, MAY_GET, SUBRESOURCE_NONE, SCOPE_NODE},
};

const struct kind pod_group_kind = {
    .group = "scheduling.k8s.io",
    .version = "v1beta1",
    .api_version = "scheduling.k8s.io/v1beta1",
    .name = "PodGroup",
    .list_name = "PodGroupList",
    .plural = "podgroups",
    .singular = "podgroup",
    .flags = KIND_NAMESPACED | KIND_HAS_STATUS | KIND_GENERATION | KIND_KILN,
    .record = &pod_group_record,
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .validate_status = validate_status,
    .warn = warn,
    .table = &table,
    KIND_RIGHTS(rights),
};
