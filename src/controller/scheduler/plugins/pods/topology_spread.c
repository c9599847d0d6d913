/* SPDX-License-Identifier: Apache-2.0 */
/* PodTopologySpread - spreads pods evenly over zones, racks or nodes
 *
 * Extension points:  prefilter (with add and remove), filter, prescore, score
 * Arguments:         defaultConstraints, defaultingType (System, List)
 * Cycle state:       for each constraint, how many pods are in each domain
 * Woken by:          a pod coming, going or being relabelled; a node joining,
 *                    leaving or being relabelled; the pod's tolerations
 *
 * Source: kube-scheduler, plugins/podtopologyspread.
 */
#include "controller/scheduler/plugins/pods/topology_spread.h"

#include <errno.h>
#include <string.h>

#include "lib/api/object/causes.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/name.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

#define ZONE_LABEL        "topology.kubernetes.io/zone"
#define MAX_DOMAIN_COUNTS 64 /* size of the cache */

static const struct topology_spread system_defaults[] = {
    {.topology_key = LABEL_HOSTNAME, .when_unsatisfiable = MAY_SPREAD, .max_skew = 3},
    {.topology_key = ZONE_LABEL, .when_unsatisfiable = MAY_SPREAD, .max_skew = 5},
};

static const struct topology_spread *
read_defaults(struct arena *arena, const struct json *list, unsigned *ret_count)
{
    struct pod_spec *spec = arena_alloc(arena, sizeof(*spec));
    struct json *tree = json_object(arena);

    json_set(arena, tree, "topologySpreadConstraints", json_dup(arena, list));
    record_decode(&pod_spec_record, arena, tree, spec);
    *ret_count = spec->topology_spread.count;
    return spec->topology_spread.items;
}

static const struct field spread_args_fields[] = {
    OPAQUE_OBJECTS("defaultConstraints", topology_spread, 0),
    OPAQUE(STRING, "defaultingType", 0),
};
static OPAQUE_RECORD(spread_args, "PodTopologySpreadArgs");

/* Validates default constraints as those of a pod, except that they may have no
 * labelSelector, because it follows from each pod's services and owner.
 */
static int
check_constraints(const struct json *args, struct error *err)
{
    static const char name[] = "defaultConstraints";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *list = json_get(args, name);
    struct causes causes;

    if (json_count(list) > SPREAD_RULES)
        return error_set(err, -E2BIG, "%s: more than %d", name, SPREAD_RULES);
    causes_init(&causes, arena);
    topology_spread_check(&causes, args, name);
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *constraint = json_at(list, i);
        const char *key = json_get_text(constraint, "topologyKey");
        const char *why = key != NULL ? name_refuse(NAME_QUALIFIED, key) : NULL;
        unsigned at = causes_enter_index(&causes, name, i);

        if (why != NULL)
            causes_add(&causes, CAUSE_INVALID, "topologyKey", json_get(constraint, "topologyKey"),
                       "%s", why);
        if (json_get(constraint, "labelSelector") != NULL)
            causes_add(&causes, CAUSE_FORBIDDEN, "labelSelector", NULL,
                       "constraint must not define a selector, as they deduced "
                       "for each pod");
        causes_leave(&causes, at);
    }
    return causes.count == 0
               ? 0
               : error_set(err, -EINVAL, "%s: %s", causes.items[0].field, causes.items[0].message);
}

static int
check_defaults(const char *type, const struct json *args, struct error *err)
{
    if (type != NULL && strcmp(type, "System") != 0 && strcmp(type, "List") != 0)
        return error_set(err, -EINVAL, "defaultingType: \"%s\" is neither System nor List", type);
    if ((type == NULL || strcmp(type, "System") == 0)
        && json_count(json_get(args, "defaultConstraints")) > 0)
        return error_set(err, -EINVAL, "defaultConstraints need defaultingType: List");
    return check_constraints(args, err);
}

static int
spread_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    struct spread *self;
    const char *type = json_get_text(args, "defaultingType");
    const struct json *list = json_get(args, "defaultConstraints");

    if (check_defaults(type, args, err) < 0)
        return -EINVAL;
    self = xnew(struct spread);
    self->handle = handle;
    self->domain_counts = domain_counts_cache_new(MAX_DOMAIN_COUNTS);
    self->arena = arena_new(0);
    if (type != NULL && strcmp(type, "List") == 0) {
        if (list != NULL)
            self->defaults.items = read_defaults(self->arena, list, &self->defaults.count);
    } else {
        self->is_system = true;
        self->defaults.items = system_defaults;
        self->defaults.count = ARRAY_SIZE(system_defaults);
    }
    self->no_label = handle_reason(handle, "node(s) didn't match pod topology spread constraints "
                                           "(missing required label)");
    self->uneven = handle_reason(handle, "node(s) didn't match pod topology spread constraints");
    self->too_many =
        handle_reason(handle, "the pod has more than 16 topology spread constraints of a kind");
    *ret_self = self;
    return 0;
}

static void
spread_drop(void *arg)
{
    struct spread *self = arg;

    domain_counts_cache_free(self->domain_counts);
    arena_free(self->arena);
    free(self);
}

const struct plugin topology_spread_plugin = {
    .name = "PodTopologySpread",
    .args = &spread_args_record,
    .default_args = "{\"defaultingType\":\"System\"}",
    .make = spread_make,
    .drop = spread_drop,
    .sign_hints = spread_sign_hints,
    .depends_on_others = true,
    .prefilter = spread_prefilter,
    .add_pod = spread_add_pod,
    .remove_pod = spread_remove_pod,
    .filter = spread_filter,
    .prescore = spread_prescore,
    .score = spread_score,
    .normalization = NORMALIZE_CUSTOM,
    .normalize = spread_normalize,
    .wakes = spread_wakes,
    .n_wakes = SPREAD_WAKES,
};
