/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/group_scheduling.h"

#include "lib/api/object/check.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

#define CLAIMS_MAX 4u

/* clang-format off */
static const struct field gang_policy_fields[] = {
    INT("minCount", gang_policy, min_count, 0,
        HELP("At least this many pods are placed at the same time, or none.")),
};
static RECORD(gang_policy, gang_policy,
       "io.k8s.api.scheduling.v1beta1.GangSchedulingPolicy",
       MESSAGE("minCount"),
       HELP("The pods are placed together."));

static const struct record basic_policy_record = {
    .name = "io.k8s.api.scheduling.v1beta1.BasicSchedulingPolicy",
    .message = "",
    .help = "Each pod is placed by itself.",
};

static const struct field group_policy_fields[] = {
    OPAQUE_OBJECT("basic", basic_policy, KEPT,
        HELP("Each pod is placed by itself.")),
    OBJECT("gang", group_policy, gang, gang_policy, OPTIONAL,
        HELP("The pods are placed together.")),
};
RECORD(group_policy, group_policy,
       "io.k8s.api.scheduling.v1beta1.PodGroupSchedulingPolicy",
       MESSAGE("basic gang"),
       HELP("How the pods are placed: basic or gang."));

static const struct field topology_constraint_fields[] = {
    OPAQUE(STRING, "key", ALWAYS | REQUIRED,
        HELP("A label of nodes; all pods go to nodes with the same value.")),
};
static OPAQUE_RECORD(topology_constraint,
       "io.k8s.api.scheduling.v1beta1.TopologyConstraint",
       MESSAGE("key"),
       HELP("All pods are placed in one part of the cluster."));

static const struct field group_constraints_fields[] = {
    OPAQUE_OBJECTS("topology", topology_constraint, 0,
        HELP("In which part of the cluster the pods are; at most one entry.")),
};
OPAQUE_RECORD(group_constraints,
       "io.k8s.api.scheduling.v1beta1.PodGroupSchedulingConstraints",
       MESSAGE("topology"),
       HELP("Where the pods are placed."));

static const struct field switch_limit_fields[] = {
    INT64("most", switch_limit, most, ALWAYS | REQUIRED,
        HELP("How many leaves of the topology (switches) the nodes have at most.")),
    INT64("waitSeconds", switch_limit, wait_s, OPTIONAL,
        HELP("How long the pods wait for such nodes, before they go to any; the longest that the "
             "controller allows is the default.")),
};
RECORD(switch_limit, switch_limit, "hpc.kiln.v1.SwitchLimit",
       HELP("How many switches the nodes have at most."));

static const struct record single_disruption_record = {
    .name = "io.k8s.api.scheduling.v1beta1.SingleDisruptionMode",
    .message = "",
    .help = "Its pods are evicted one by one.",
};
static const struct record all_disruption_record = {
    .name = "io.k8s.api.scheduling.v1beta1.AllDisruptionMode",
    .message = "",
    .help = "Its pods are evicted together.",
};
static const struct field disruption_mode_fields[] = {
    OPAQUE_OBJECT("single", single_disruption, KEPT,
        HELP("Its pods are evicted one by one.")),
    OPAQUE_OBJECT("all", all_disruption, KEPT,
        HELP("Its pods are evicted together.")),
};
OPAQUE_RECORD(disruption_mode,
       "io.k8s.api.scheduling.v1beta1.DisruptionMode",
       MESSAGE("single all"),
       HELP("How its pods are evicted: single or all."));

static const struct field group_claim_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Name of the claim within the group.")),
    OPAQUE(STRING, "resourceClaimName", KEPT,
        HELP("A ResourceClaim; stored only.")),
    OPAQUE(STRING, "resourceClaimTemplateName", KEPT,
        HELP("A ResourceClaimTemplate; stored only.")),
};
OPAQUE_RECORD(group_claim,
       "io.k8s.api.scheduling.v1beta1.PodGroupResourceClaim",
       MESSAGE("name resourceClaimName resourceClaimTemplateName"),
       HELP("A claim of devices for all pods; stored only."));
/* clang-format on */

/* A union: exactly one of two members. */
static void
check_union(struct causes *c, const struct json *spec, const char *field, const char *one,
            const char *other)
{
    const struct json *value = json_get(spec, field);
    bool has_one = check_is_set(value, one), has_other = check_is_set(value, other);

    if (value == NULL)
        return;
    if (has_one == has_other)
        causes_add(c, CAUSE_INVALID, field, value,
                   has_one ? "must have only one of '%s' and '%s'"
                           : "must have one of '%s' and '%s'",
                   one, other);
}

static void
check_policy(struct causes *c, const struct json *spec, bool needs_count)
{
    const struct json *gang = json_get_path(spec, "schedulingPolicy.gang");
    unsigned at;

    check_union(c, spec, "schedulingPolicy", "basic", "gang");
    if (gang == NULL)
        return;
    at = causes_enter(c, "schedulingPolicy");
    (void)causes_enter(c, "gang");
    if (json_get_int(gang, "minCount", 0) < (check_is_set(gang, "minCount") || needs_count))
        causes_add(c, CAUSE_INVALID, "minCount", json_get(gang, "minCount"),
                   "must be greater than or equal to 1");
    causes_leave(c, at);
}

static void
check_constraints(struct causes *c, const struct json *spec)
{
    const struct json *list = json_get_path(spec, "schedulingConstraints.topology");
    unsigned at = causes_enter(c, "schedulingConstraints");

    if (json_count(list) > 1)
        causes_add(c, CAUSE_TOO_MANY, "topology", NULL, "must have at most 1 items");
    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned item = causes_enter_index(c, "topology", i);

        check_name(c, json_at(list, i), "key", NAME_QUALIFIED);
        causes_leave(c, item);
    }
    causes_leave(c, at);
}

static void
check_switches(struct causes *c, const struct json *spec)
{
    const struct json *switches = json_get(spec, "switches");
    unsigned at = causes_enter(c, "switches");

    if (switches != NULL && json_get_int(switches, "most", 0) < 1)
        causes_add(c, CAUSE_INVALID, "most", json_get(switches, "most"),
                   "must be greater than or equal to 1");
    if (check_is_set(switches, "waitSeconds") && json_get_int(switches, "waitSeconds", 0) < 0)
        causes_add(c, CAUSE_INVALID, "waitSeconds", json_get(switches, "waitSeconds"),
                   "must be greater than or equal to 0");
    causes_leave(c, at);
}

void
group_scheduling_check(struct causes *c, const struct json *spec, bool needs_count)
{
    check_policy(c, spec, needs_count);
    check_constraints(c, spec);
    check_switches(c, spec);
    if (json_count(json_get(spec, "resourceClaims")) > CLAIMS_MAX)
        causes_add(c, CAUSE_TOO_MANY, "resourceClaims", NULL, "must have at most %u items",
                   CLAIMS_MAX);
    check_union(c, spec, "disruptionMode", "single", "all");
}

void
group_scheduling_warn(struct causes *c, const struct json *spec)
{
    if (json_count(json_get(spec, "resourceClaims")) > 0)
        causes_warn(c, "resourceClaims", "is stored only; no devices are claimed");
}
