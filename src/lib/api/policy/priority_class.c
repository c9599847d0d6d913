/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/policy/priority_class.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

#include <inttypes.h>
#include <string.h>

/* clang-format off */
static const struct field priority_class_fields[] = {
    TYPE_META,
    METADATA(priority_class),
    INT("value", priority_class, value, ALWAYS | REQUIRED,
        HELP("The priority of pods of this class.")),
    BOOL("globalDefault", priority_class, global_default, 0,
        HELP("Whether it is the class of pods that name none.")),
    STRING("description", priority_class, description, 0,
        HELP("When to use this class.")),
    STRING("preemptionPolicy", priority_class, preemption_policy, KEPT,
        ONE_OF("Never", "PreemptLowerPriority"),
        HELP("Whether pods of this class may preempt others.")),
};
RECORD(priority_class, priority_class,
       "io.k8s.api.scheduling.v1.PriorityClass",
       MESSAGE("metadata value globalDefault description preemptionPolicy"),
       HELP("A name for a priority of pods."));
/* clang-format on */

const struct priority_class *
priority_class_of(const struct object *object)
{
    return object->view;
}

/* The numbers are upstream's: what is above is for the classes of the system. */
#define HIGHEST_OF_USERS 1000000000

static const struct {
    const char *name;
    int64_t value;
} of_the_system[] = {
    {"system-cluster-critical", 2000000000},
    {"system-node-critical", 2000001000},
};

static void
set_defaults(struct arena *arena, struct json *class)
{
    if (*check_text(class, "preemptionPolicy") == '\0')
        json_set_string(arena, class, "preemptionPolicy", "PreemptLowerPriority");
}

static void
prepare(struct arena *arena, struct json *class, const struct json *old)
{
    meta_prepare(arena, class, old);
    if (old == NULL)
        json_set_int(arena, json_get(class, "metadata"), "generation", 1);
}

static void
check_system_class(struct causes *c, const struct json *class)
{
    const char *name = json_path_text(class, "metadata.name");
    const char *why = arena_printf(c->arena, "%s is not a known system priority class", name);

    for (size_t i = 0; i < ARRAY_SIZE(of_the_system); i++) {
        if (strcmp(of_the_system[i].name, name) != 0)
            continue;
        if (json_get_int(class, "value", 0) != of_the_system[i].value)
            why = arena_printf(c->arena, "value of %s PriorityClass must be %" PRId64, name,
                               of_the_system[i].value);
        else if (json_is_true(json_get(class, "globalDefault")))
            why = arena_printf(c->arena,
                               "globalDefault of %s PriorityClass must be "
                               "false",
                               name);
        else
            return;
    }
    causes_add(c, CAUSE_FORBIDDEN, "metadata.name", NULL,
               "priority class names with 'system-' prefix are reserved for "
               "system use only. error: %s",
               why);
}

static void
validate(struct causes *c, const struct json *class, const struct json *old)
{
    const char *name = json_path_text(class, "metadata.name");

    meta_check(c, &priority_class_kind, NAME_DNS_SUBDOMAIN, class, old);
    if (old != NULL) {
        if (json_get_int(class, "value", 0) != json_get_int(old, "value", 0))
            causes_add(c, CAUSE_FORBIDDEN, "value", NULL, "may not be changed in an update.");
        check_immutable(c, class, old, "preemptionPolicy");
        return;
    }
    if (name != NULL && strncmp(name, "system-", 7) == 0)
        check_system_class(c, class);
    else if (json_get_int(class, "value", 0) > HIGHEST_OF_USERS)
        causes_add(c, CAUSE_FORBIDDEN, "value", NULL,
                   "maximum allowed value of a user defined priority is %d", HIGHEST_OF_USERS);
    check_given_one_of(c, class, "preemptionPolicy", CHECK_VALUES("PreemptLowerPriority", "Never"));
}

static void
add_value(struct table_row *row)
{
    table_cell_int(row, priority_class_of(row->object)->value);
}

static void
add_global_default(struct table_row *row)
{
    table_cell_bool(row, priority_class_of(row->object)->global_default);
}

static void
add_preemption_policy(struct table_row *row)
{
    table_cell(row, priority_class_of(row->object)->preemption_policy);
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Value", add_value, "The priority itself; higher goes first.",
        INTEGER),
    COLUMN("Global-Default", add_global_default,
        "Whether pods without a class get it.", BOOLEAN),
    TABLE_AGE,
    COLUMN("PreemptionPolicy", add_preemption_policy,
        "Never, or PreemptLowerPriority."),
};
static const struct table table = {TABLE_COLUMNS(columns)};
/* clang-format on */

static const char *
default_value(const struct object *object, char buffer[64])
{
    (void)buffer;
    return priority_class_of(object)->global_default ? "default" : NULL;
}

static const struct kind_index indexes[] = {
    [PRIORITY_CLASS_BY_DEFAULT] = {NULL, default_value},
};

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
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .table = &table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
};
