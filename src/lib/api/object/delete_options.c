/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/delete_options.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field preconditions_fields[] = {
    STRING("resourceVersion", delete_options, resource_version, KEPT,
        HELP("The required revision.")),
    STRING("uid", delete_options, uid, KEPT,
        HELP("The required uid of the object.")),
};
static RECORD(preconditions, delete_options,
       "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions",
       MESSAGE("uid resourceVersion"),
       HELP("Conditions for the deletion of the object."));

static const struct field delete_options_fields[] = {
    OPAQUE(STRING, "apiVersion", 0,
        HELP("The group and version of the kind, such as batch/v1.")),
    LIST(STRING, "dryRun", delete_options, dry_run, 0,
        HELP("All: report what would happen, and change nothing.")),
    INT64("gracePeriodSeconds", delete_options, grace_period_seconds, OPTIONAL,
        HELP("The grace period for running processes; 0: none.")),
    OPAQUE(BOOL, "ignoreStoreReadErrorWithClusterBreakingPotential", KEPT,
        HELP("Not supported.")),
    OPAQUE(STRING, "kind", 0,
        HELP("The kind of object.")),
    BOOL("orphanDependents", delete_options, orphan_dependents, OPTIONAL,
        HELP("Keep dependent objects; the old field.")),
    WITHIN("preconditions", preconditions, 0,
        HELP("Conditions for the deletion.")),
    STRING("propagationPolicy", delete_options, propagation_policy, KEPT,
        HELP("What happens to dependent objects: Background, Foreground or "
             "Orphan.")),
};
RECORD(delete_options, delete_options,
       "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
       MESSAGE("gracePeriodSeconds preconditions orphanDependents "
               "propagationPolicy dryRun "
               "ignoreStoreReadErrorWithClusterBreakingPotential"),
       HELP("How an object is deleted."));
/* clang-format on */
