/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/object/delete_options.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field preconditions_fields[] = {
    STRING("resourceVersion", delete_options, resource_version, KEPT,
        HELP("The revision that is meant.")),
    STRING("uid", delete_options, uid, KEPT,
        HELP("The uid of the object, where exactly that one is meant.")),
};
static RECORD(preconditions, delete_options,
       "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions",
       MESSAGE("uid resourceVersion"),
       HELP("What must hold of the object for it to be deleted."));

static const struct field delete_options_fields[] = {
    OPAQUE(STRING, "apiVersion", 0,
        HELP("The group and version of the kind, such as batch/v1.")),
    LIST(STRING, "dryRun", delete_options, dry_run, 0,
        HELP("All: say what would happen, and change nothing.")),
    INT64("gracePeriodSeconds", delete_options, grace_period_seconds, OPTIONAL,
        HELP("How long what runs has to end; 0: at once.")),
    OPAQUE(BOOL, "ignoreStoreReadErrorWithClusterBreakingPotential", KEPT,
        HELP("Not possible here.")),
    OPAQUE(STRING, "kind", 0,
        HELP("The kind of object.")),
    BOOL("orphanDependents", delete_options, orphan_dependents, OPTIONAL,
        HELP("Leave what depends on it; the old way.")),
    WITHIN("preconditions", preconditions, 0,
        HELP("What must hold for it to be deleted.")),
    STRING("propagationPolicy", delete_options, propagation_policy, KEPT,
        HELP("What happens to what depends on it: Background, Foreground "
             "or Orphan.")),
};
RECORD(delete_options, delete_options,
       "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
       MESSAGE("gracePeriodSeconds preconditions orphanDependents "
               "propagationPolicy dryRun "
               "ignoreStoreReadErrorWithClusterBreakingPotential"),
       HELP("How an object is deleted."));
/* clang-format on */
