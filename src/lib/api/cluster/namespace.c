/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/cluster/namespace.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/rights.h"
#include "lib/api/object/table.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

#include <ctype.h>
#include <string.h>

/* clang-format off */
static const struct field namespace_condition_fields[] = {
    OPAQUE(STRING, "status", ALWAYS | REQUIRED,
        HELP("True, False or Unknown.")),
    OPAQUE(STRING, "type", ALWAYS | REQUIRED,
        HELP("Type of the condition.")),
    OPAQUE(TIME, "lastTransitionTime", ALWAYS,
        HELP("When the status last changed.")),
    OPAQUE(STRING, "message", 0,
        HELP("Explanation, for people.")),
    OPAQUE(STRING, "reason", 0,
        HELP("Reason in one word, for programs.")),
};
static OPAQUE_RECORD(namespace_condition,
       "io.k8s.api.core.v1.NamespaceCondition",
       MESSAGE("type status 4 lastTransitionTime reason message"),
       HELP("A condition of a namespace that is being deleted."));

static const struct field namespace_spec_fields[] = {
    LIST(STRING, "finalizers", namespace_, spec_finalizers, 0,
        HELP("The namespace stays until these finalizers are removed.")),
};
static RECORD(namespace_spec, namespace_, "io.k8s.api.core.v1.NamespaceSpec",
       MESSAGE("finalizers"),
       HELP("What a namespace waits for before it is deleted."));

static const struct field namespace_status_fields[] = {
    OPAQUE_OBJECTS("conditions", namespace_condition, 0, BY_KEY("type"),
        HELP("Its conditions.")),
    STRING("phase", namespace_, phase, 0, ONE_OF("Active", "Terminating"),
        HELP("Active, or Terminating while it empties.")),
};
static RECORD(namespace_status, namespace_,
       "io.k8s.api.core.v1.NamespaceStatus",
       MESSAGE("phase conditions"),
       HELP("The state of a namespace."));

static const struct field namespace_fields[] = {
    TYPE_META,
    METADATA(namespace_),
    WITHIN("spec", namespace_spec, ALWAYS,
        HELP("Desired state.")),
    WITHIN("status", namespace_status, ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(namespace, namespace_, "io.k8s.api.core.v1.Namespace",
       MESSAGE("metadata spec status"),
       HELP("An account or project: what jobs, quotas and names belong "
            "to."));
/* clang-format on */

const struct namespace_ *
namespace_of(const struct object *object)
{
    return object->view;
}

bool
namespace_fold_account(const char *account, char folded[NAMESPACE_ACCOUNT_MAX + 1])
{
    const size_t length = strlen(account);

    if (length == 0 || length > NAMESPACE_ACCOUNT_MAX || !isalnum((unsigned char)account[0]))
        return false;
    for (size_t i = 0; i <= length; i++) {
        const unsigned char c = (unsigned char)account[i];

        if (c >= 0x80 || (c != '\0' && !isalnum(c) && strchr("-_.@+:", c) == NULL))
            return false;
        folded[i] = (char)tolower(c);
    }
    return true;
}

static const char *
folded_account(const struct object *object, char buffer[64])
{
    const char *account = string_map_find(&object->meta->annotations, ANNOTATION_ACCOUNT);

    return account != NULL && namespace_fold_account(account, buffer) ? buffer : NULL;
}

static const struct kind_index indexes[] = {
    [NAMESPACE_BY_ACCOUNT] = {NULL, folded_account},
};

static const char *
select_phase(const struct object *object, char buffer[64])
{
    const char *phase = namespace_of(object)->phase;

    (void)buffer;
    return phase != NULL ? phase : "";
}

static const struct selectable_field selectable[] = {
    {"status.phase", select_phase},
};

static void
set_defaults(struct arena *arena, struct json *namespace)
{
    const char *name = json_path_text(namespace, "metadata.name");
    struct json *meta = json_make_object(arena, namespace, "metadata");
    struct json *status = json_make_object(arena, namespace, "status");

    if (*check_text(status, "phase") == '\0')
        json_set_string(arena, status, "phase", "Active");
    if (name != NULL && *name != '\0')
        json_set_string(arena, json_make_object(arena, meta, "labels"),
                        "kubernetes.io/metadata.name", name);
}

static bool
has_finalizer(const struct json *list)
{
    for (uint32_t i = 0; i < json_count(list); i++)
        if (strcmp(json_at(list, i)->text, "kubernetes") == 0)
            return true;
    return false;
}

static void
prepare(struct arena *arena, struct json *namespace, const struct json *old)
{
    struct json *spec = json_make_object(arena, namespace, "spec");
    struct json *list = json_get(spec, "finalizers");

    meta_prepare(arena, namespace, old);
    if (old != NULL) {
        /* spec.finalizers changes only through /finalize. */
        json_set(arena, namespace, "spec", json_get(old, "spec"));
        json_set(arena, namespace, "status", json_get(old, "status"));
        return;
    }
    if (!json_is(list, JSON_ARRAY)) {
        list = json_array(arena);
        json_set(arena, spec, "finalizers", list);
    }
    if (!has_finalizer(list))
        json_append(arena, list, json_string(arena, "kubernetes"));
    json_set(arena, namespace, "status", json_object(arena));
    json_set_string(arena, json_get(namespace, "status"), "phase", "Active");
}

static void
validate(struct causes *c, const struct json *namespace, const struct json *old)
{
    const struct json *list = json_get_path(namespace, "spec.finalizers");

    meta_check(c, &namespace_kind, NAME_DNS_LABEL, namespace, old);
    for (uint32_t i = 0; i < json_count(list); i++) {
        /* Upstream's path has the index only at an update. */
        unsigned at = old == NULL ? causes_enter(c, "spec.finalizers")
                                  : causes_enter_index(c, "spec.finalizers", i);

        meta_check_finalizer(c, json_at(list, i), true);
        causes_leave(c, at);
    }
}

static void
validate_status(struct causes *c, const struct json *namespace, const struct json *old)
{
    const struct json *status = json_get(namespace, "status");
    bool goes = check_is_set(json_get(namespace, "metadata"), "deletionTimestamp");
    const char *phase = goes ? "Terminating" : "Active";

    meta_check(c, &namespace_kind, NAME_DNS_LABEL, namespace, old);
    if (strcmp(check_text(status, "phase"), phase) != 0)
        causes_add(c, CAUSE_INVALID, "status.Phase",
                   json_string(c->arena, check_text(status, "phase")),
                   "may only be '%s' if `deletionTimestamp` is %sempty", phase, goes ? "" : "not ");
}

static void
add_status(struct table_row *row)
{
    table_cell(row, namespace_of(row->object)->phase);
}

static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Status", add_status, "Active, or Terminating while it empties."),
    TABLE_AGE,
};
static const struct table table = {TABLE_COLUMNS(columns)};

static const struct kind_subresource subresources[] = {
    {SUBRESOURCE_FINALIZE, VERB_BIT(VERB_REPLACE)},
};

const struct kind namespace_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "Namespace",
    .list_name = "NamespaceList",
    .plural = "namespaces",
    .singular = "namespace",
    .short_names = (const char *const[]){"ns", NULL},
    .flags =
        KIND_HAS_STATUS | KIND_UNCONDITIONAL_UPDATE | KIND_DELETED_SINGLY | KIND_SPEC_FINALIZERS,
    .record = &namespace_record,
    .set_defaults = set_defaults,
    .prepare = prepare,
    .validate = validate,
    .validate_status = validate_status,
    .selectable = selectable,
    .n_selectable = ARRAY_SIZE(selectable),
    .table = &table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
    KIND_SUBRESOURCES(subresources),
};
