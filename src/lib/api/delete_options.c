/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/delete_options.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field preconditions_fields[] = {
    STRING("resourceVersion", delete_options, resource_version, KEPT),
    STRING("uid", delete_options, uid, KEPT),
};
static RECORD(preconditions, delete_options,
       "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions");

static const struct field delete_options_fields[] = {
    OPAQUE(STRING, "apiVersion", 0),
    LIST(STRING, "dryRun", delete_options, dry_run, 0),
    INT64("gracePeriodSeconds", delete_options, grace_period_seconds, OPTIONAL),
    OPAQUE(BOOL, "ignoreStoreReadErrorWithClusterBreakingPotential", KEPT),
    OPAQUE(STRING, "kind", 0),
    BOOL("orphanDependents", delete_options, orphan_dependents, OPTIONAL),
    WITHIN("preconditions", preconditions, 0),
    STRING("propagationPolicy", delete_options, propagation_policy, KEPT),
};
RECORD(delete_options, delete_options,
       "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
/* clang-format on */
