/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/storage/storage_class.h"

#include <ctype.h>
#include <string.h>

#include "lib/api/node/node_selector_rules.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/storage_tables.h"
#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/json/item_index.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field topology_selector_label_requirement_fields[] = {
    STRING("key", topology_requirement, key, ALWAYS | REQUIRED,
        HELP("The label.")),
    LIST(STRING, "values", topology_requirement, values, ALWAYS | REQUIRED,
        HELP("The values it is compared with.")),
};
static RECORD(topology_selector_label_requirement, topology_requirement,
       "io.k8s.api.core.v1.TopologySelectorLabelRequirement",
       MESSAGE("key values"),
       HELP("A label, and its values."));

static const struct field topology_selector_term_fields[] = {
    OBJECTS("matchLabelExpressions", topology_term, labels,
        topology_selector_label_requirement, 0,
        HELP("The labels.")),
};
static RECORD(topology_selector_term, topology_term,
       "io.k8s.api.core.v1.TopologySelectorTerm",
       MESSAGE("matchLabelExpressions"),
       HELP("Labels that must all match."), ATOMIC);

static const struct field storage_class_fields[] = {
    TYPE_META,
    METADATA(storage_class),
    STRING("provisioner", storage_class, provisioner, ALWAYS | REQUIRED,
        HELP("The provisioner of its volumes.")),
    STRING("reclaimPolicy", storage_class, reclaim_policy, KEPT,
        ONE_OF("Delete", "Recycle", "Retain"),
        HELP("What happens to a volume when its claim is deleted: Delete or "
             "Retain.")),
    STRING("volumeBindingMode", storage_class, volume_binding_mode, KEPT,
        ONE_OF("Immediate", "WaitForFirstConsumer"),
        HELP("Immediate, or WaitForFirstConsumer.")),
    OPAQUE(BOOL, "allowVolumeExpansion", KEPT,
        HELP("Whether claims may grow.")),
    OBJECTS("allowedTopologies", storage_class, allowed_topologies,
        topology_selector_term, 0,
        HELP("Where its volumes may be.")),
    OPAQUE_LIST(STRING, "mountOptions", 0,
        HELP("Options of mount(8).")),
    OPAQUE_MAP(STRING, "parameters", 0,
        HELP("For the provisioner.")),
};
RECORD(storage_class, storage_class, "io.k8s.api.storage.v1.StorageClass",
       MESSAGE("metadata provisioner parameters reclaimPolicy mountOptions "
               "allowVolumeExpansion volumeBindingMode allowedTopologies"),
       HELP("A kind of storage that claims can ask for."));
/* clang-format on */

const struct storage_class *
storage_class_of(const struct object *object)
{
    return object->view;
}

bool
storage_class_waits(const struct storage_class *class)
{
    return class->volume_binding_mode != NULL
           && strcmp(class->volume_binding_mode, "WaitForFirstConsumer") == 0;
}

bool
storage_class_provisions(const struct storage_class *class)
{
    return class->provisioner != NULL && class->provisioner[0] != '\0'
           && strcmp(class->provisioner, PROVISIONER_NONE) != 0;
}

bool
storage_class_is_scratch(const struct storage_class *class)
{
    return class->provisioner != NULL && strcmp(class->provisioner, PROVISIONER_SCRATCH) == 0;
}

static bool
has_one_of(const struct topology_requirement *r, const struct string_map *labels)
{
    const char *value = string_map_find(labels, r->key);

    for (unsigned i = 0; value != NULL && i < r->values.count; i++)
        if (strcmp(r->values.items[i], value) == 0)
            return true;
    return false;
}

bool
storage_class_allows(const struct storage_class *class, const struct string_map *labels)
{
    for (unsigned i = 0; i < class->allowed_topologies.count; i++) {
        const struct topology_term *t = &class->allowed_topologies.items[i];
        bool matches = t->labels.count > 0;

        for (unsigned j = 0; j < t->labels.count; j++)
            matches = matches && has_one_of(&t->labels.items[j], labels);
        if (matches)
            return true;
    }
    return class->allowed_topologies.count == 0;
}

static void
set_defaults(struct arena *arena, struct json *class)
{
    if (!check_is_set(class, "reclaimPolicy"))
        json_set_string(arena, class, "reclaimPolicy", "Delete");
    if (!check_is_set(class, "volumeBindingMode"))
        json_set_string(arena, class, "volumeBindingMode", "Immediate");
}

static void
prepare(struct arena *arena, struct json *class, const struct json *old)
{
    meta_prepare(arena, class, old);
}

static void
check_provisioner(struct causes *c, const struct json *class)
{
    char *lower = arena_strdup(c->arena, check_text(class, "provisioner"));

    if (!check_present(c, class, "provisioner", ""))
        return;
    for (char *p = lower; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
    check_form(c, "provisioner", NAME_QUALIFIED, lower, json_get(class, "provisioner"));
}

#define PARAMETERS_MAX       512
#define PARAMETERS_BYTES_MAX (256 * 1024)

static void
check_parameters(struct causes *c, const struct json *class)
{
    const struct json *map = json_get(class, "parameters");
    size_t bytes = 0;

    if (json_count(map) > PARAMETERS_MAX) {
        causes_add(c, CAUSE_TOO_LONG, "parameters", NULL, "may not be more than %d bytes",
                   PARAMETERS_MAX);
        return;
    }
    for (uint32_t i = 0; i < json_count(map); i++) {
        const struct json_member *m = &map->members[i];

        if (m->name[0] == '\0')
            causes_add(c, CAUSE_INVALID, "parameters", json_string(c->arena, m->name),
                       "field can not be empty.");
        bytes += strlen(m->name) + m->value->count;
    }
    if (bytes > PARAMETERS_BYTES_MAX)
        causes_add(c, CAUSE_TOO_LONG, "parameters", NULL, "may not be more than %d bytes",
                   PARAMETERS_BYTES_MAX);
}

/* Checks one label and its allowed values. */
static void
check_label(struct causes *c, const struct json *label, struct check_texts *keys)
{
    const struct json *values = json_get(label, "values");
    CHECK_TEXTS(texts);

    check_present(c, label, "values", "");
    for (uint32_t j = 0; j < json_count(values); j++) {
        unsigned at = causes_enter_index(c, "values", j);

        if (!check_texts_add(&texts, json_at(values, j)->text))
            causes_add(c, CAUSE_DUPLICATE, "", json_at(values, j), "%s", "");
        causes_leave(c, at);
    }
    check_name(c, label, "key", NAME_QUALIFIED);
    if (!check_texts_add(keys, check_text(label, "key")))
        causes_add(c, CAUSE_DUPLICATE, "key", json_get(label, "key"), "%s", "");
}

static void
check_topologies(struct causes *c, const struct json *class)
{
    const struct json *terms = json_get(class, "allowedTopologies");
    struct item_index seen;

    item_index_init(&seen, c->arena, terms, NULL, 0);

    for (uint32_t i = 0; i < json_count(terms); i++) {
        const struct json *list = json_get(json_at(terms, i), "matchLabelExpressions");
        unsigned at = causes_enter_index(c, "allowedTopologies", i);

        CHECK_TEXTS(keys);

        for (uint32_t j = 0; j < json_count(list); j++) {
            unsigned inside = causes_enter_index(c, "matchLabelExpressions", j);

            check_label(c, json_at(list, j), &keys);
            causes_leave(c, inside);
        }
        if (item_index_find(&seen, json_at(terms, i)) < i)
            causes_add(c, CAUSE_DUPLICATE, "matchLabelExpressions", json_string(c->arena, ""), "%s",
                       "");
        causes_leave(c, at);
    }
}

static void
check_changes(struct causes *c, const struct json *class, const struct json *old)
{
    static const char *const kept[] = {
        "parameters",
        "provisioner",
        "reclaimPolicy",
    };

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        if (!json_equals(json_get(class, kept[i]), json_get(old, kept[i])))
            causes_add(c, CAUSE_FORBIDDEN, kept[i], NULL, "updates to %s are forbidden.", kept[i]);
    check_immutable(c, class, old, "volumeBindingMode");
}

static void
validate(struct causes *c, const struct json *class, const struct json *old)
{
    meta_check(c, &storage_class_kind, NAME_DNS_SUBDOMAIN, class, old);
    check_provisioner(c, class);
    check_parameters(c, class);
    check_one_of(c, class, "reclaimPolicy", CHECK_VALUES("Delete", "Retain"));
    check_one_of(c, class, "volumeBindingMode", CHECK_VALUES("Immediate", "WaitForFirstConsumer"));
    check_topologies(c, class);
    if (old != NULL)
        check_changes(c, class, old);
}

static void
warn(struct causes *c, const struct json *class, const struct json *old)
{
    const struct json *terms = json_get(class, "allowedTopologies");

    (void)old;
    for (uint32_t i = 0; i < json_count(terms); i++) {
        const struct json *list = json_get(json_at(terms, i), "matchLabelExpressions");
        unsigned at = causes_enter_index(c, "allowedTopologies", i);

        for (uint32_t j = 0; j < json_count(list); j++) {
            unsigned inside = causes_enter_index(c, "matchLabelExpressions", j);

            node_label_warn(c, json_at(list, j), "key", false);
            causes_leave(c, inside);
        }
        causes_leave(c, at);
    }
}

static const char *
default_value(const struct object *object, char buffer[64])
{
    static const char *const names[] = {
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    };

    (void)buffer;
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        const char *text = string_map_find(&object->meta->annotations, names[i]);

        if (text != NULL && strcmp(text, "true") == 0)
            return "default";
    }
    return NULL;
}

static const struct kind_index indexes[] = {
    [STORAGE_CLASS_BY_DEFAULT] = {NULL, default_value},
};

const struct kind storage_class_kind = {
    .group = "storage.k8s.io",
    .version = "v1",
    .api_version = "storage.k8s.io/v1",
    .name = "StorageClass",
    .list_name = "StorageClassList",
    .plural = "storageclasses",
    .singular = "storageclass",
    .short_names = (const char *const[]){"sc", NULL},
    .flags = KIND_UNCONDITIONAL_UPDATE | KIND_ANSWERS_DELETED,
    .record = &storage_class_record,
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .warn = warn,
    .table = &storage_class_table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
};
