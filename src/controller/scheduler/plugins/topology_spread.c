/* SPDX-License-Identifier: Apache-2.0 */
/* PodTopologySpread - pods of a kind evenly over zones, racks or nodes
 *
 * Extension points:  prefilter (with add and remove), filter, prescore, score
 * Arguments:         defaultConstraints, defaultingType (System, List)
 * Cycle state:       for each constraint, how many pods in which domain
 * Woken by:          a pod coming, going or being relabelled; a node joining,
 *                    leaving or being relabelled; the pod's tolerations
 *
 * Source: kube-scheduler, plugins/podtopologyspread.
 */
#include "controller/scheduler/plugins/topology_spread.h"

#include <errno.h>
#include <string.h>

#include "lib/api/meta.h"
#include "lib/api/pod.h"
#include "lib/api/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

#define ZONE_LABEL "topology.kubernetes.io/zone"
#define HEADCOUNTS 64 /* kept at most */

static const struct topology_spread system_defaults[] = {
    {.topology_key = LABEL_HOSTNAME,
     .when_unsatisfiable = MAY_SPREAD,
     .max_skew = 3},
    {.topology_key = ZONE_LABEL,
     .when_unsatisfiable = MAY_SPREAD,
     .max_skew = 5},
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

static int
check_constraint(const struct json *c, unsigned at, struct error *err)
{
    const char *key = json_get_text(c, "topologyKey");
    const char *when = json_get_text(c, "whenUnsatisfiable");

    if (json_get_int(c, "maxSkew", 0) < 1)
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints[%u].maxSkew must be above 0",
                         at);
    if (key == NULL || *key == '\0')
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints[%u].topologyKey is missing",
                         at);
    if (when == NULL
        || (strcmp(when, "DoNotSchedule") != 0
            && strcmp(when, "ScheduleAnyway") != 0))
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints[%u].whenUnsatisfiable must be "
                         "DoNotSchedule or ScheduleAnyway",
                         at);
    if (json_get(c, "labelSelector") != NULL)
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints[%u].labelSelector cannot be set: "
                         "it comes from the pod's owner",
                         at);
    return 0;
}

static int
check_defaults(const char *type, const struct json *list, struct error *err)
{
    if (type != NULL && strcmp(type, "System") != 0
        && strcmp(type, "List") != 0)
        return error_set(err,
                         -EINVAL,
                         "defaultingType: \"%s\" is neither System nor List",
                         type);
    if ((type == NULL || strcmp(type, "System") == 0) && json_count(list) > 0)
        return error_set(err,
                         -EINVAL,
                         "defaultConstraints need defaultingType: List");
    for (uint32_t i = 0; i < json_count(list); i++)
        if (check_constraint(json_at(list, i), i, err) < 0)
            return -EINVAL;
    return 0;
}

static int
spread_make(struct handle *handle,
            const struct json *args,
            void **ret_self,
            struct error *err)
{
    struct spread *self;
    const char *type = json_get_text(args, "defaultingType");
    const struct json *list = json_get(args, "defaultConstraints");

    if (check_defaults(type, list, err) < 0)
        return -EINVAL;
    self = xnew(struct spread);
    self->handle = handle;
    self->headcounts = headcounts_new(HEADCOUNTS);
    self->arena = arena_new(0);
    if (type != NULL && strcmp(type, "List") == 0) {
        if (list != NULL)
            self->defaults.items =
                read_defaults(self->arena, list, &self->defaults.count);
    } else {
        self->is_system = true;
        self->defaults.items = system_defaults;
        self->defaults.count = ARRAY_SIZE(system_defaults);
    }
    self->no_label =
        handle_reason(handle,
                      "node(s) didn't match pod topology spread constraints "
                      "(missing required label)");
    self->uneven =
        handle_reason(handle,
                      "node(s) didn't match pod topology spread constraints");
    *ret_self = self;
    return 0;
}

static void
spread_drop(void *arg)
{
    struct spread *self = arg;

    headcounts_free(self->headcounts);
    arena_free(self->arena);
    free(self);
}

const struct plugin topology_spread_plugin = {
    .name = "PodTopologySpread",
    .args = &spread_args_record,
    .default_args = "{\"defaultingType\":\"System\"}",
    .make = spread_make,
    .drop = spread_drop,
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
