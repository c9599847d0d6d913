/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/priority_class.h"
#include "lib/api/kind.h"
#include "lib/api/object.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field priority_class_fields[] = {
    TYPE_META,
    METADATA(priority_class),
    INT("value", priority_class, value, ALWAYS | REQUIRED,
        HELP("The priority of pods of this class.")),
    BOOL("globalDefault", priority_class, global_default, 0,
        HELP("The class of pods that name none.")),
    STRING("description", priority_class, description, 0,
        HELP("When to use this class.")),
    STRING("preemptionPolicy", priority_class, preemption_policy, KEPT,
        ONE_OF("Never", "PreemptLowerPriority"),
        HELP("Whether pods of this class may displace others.")),
};
RECORD(priority_class, priority_class,
       "io.k8s.api.scheduling.v1.PriorityClass");
/* clang-format on */

const struct priority_class *
priority_class_of(const struct object *object)
{
    return object->view;
}

const struct kind priority_class_kind = {
    .group = "scheduling.k8s.io",
    .version = "v1",
    .api_version = "scheduling.k8s.io/v1",
    .name = "PriorityClass",
    .list_name = "PriorityClassList",
    .plural = "priorityclasses",
    .singular = "priorityclass",
    .short_names = (const char *const[]){"pc", NULL},
    .flags = KIND_UNCONDITIONAL_UPDATE,
    .record = &priority_class_record,
};
