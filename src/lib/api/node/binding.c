/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/node/binding.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field binding_fields[] = {
    TYPE_META,
    METADATA(binding),
    OBJECT("target", binding, target, object_reference, ALWAYS | REQUIRED,
        HELP("The Node.")),
    OBJECT("allocation", binding, allocation, allocation, OPTIONAL | KILN,
        HELP("The exact resources that the pod gets on the node.")),
};
RECORD(binding, binding, "io.k8s.api.core.v1.Binding",
       MESSAGE("metadata target"),
       HELP("Puts a pod on a node."));
/* clang-format on */
