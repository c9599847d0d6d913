/* SPDX-License-Identifier: Apache-2.0 */
/* meta_rules.c - validation of the metadata of every object
 *
 * Source: k8s.io/apimachinery/pkg/api/validation.
 */
#include <ctype.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define ANNOTATION_BYTES_MAX (256u * 1024u)

static void
check_namespace(struct causes *c, const struct json *meta, bool wanted)
{
    if (wanted) {
        if (check_present(c, meta, "namespace", ""))
            check_name(c, meta, "namespace", NAME_DNS_LABEL);
    } else if (*check_text(meta, "namespace") != '\0') {
        causes_add(c, CAUSE_FORBIDDEN, "namespace", NULL, "not allowed on this type");
    }
}

static void
check_annotations(struct causes *c, const struct json *meta)
{
    const struct json *annotations = json_get(meta, "annotations");
    size_t bytes = 0;

    for (uint32_t i = 0; i < json_count(annotations); i++) {
        const struct json_member *m = &annotations->members[i];
        char *lower = arena_strdup(c->arena, m->name);

        for (char *p = lower; *p != '\0'; p++)
            *p = (char)tolower((unsigned char)*p);
        check_form(c, "annotations", NAME_QUALIFIED, lower, json_string(c->arena, m->name));
        bytes += strlen(m->name) + m->value->count;
    }
    if (bytes > ANNOTATION_BYTES_MAX)
        causes_add(c, CAUSE_TOO_LONG, "annotations", NULL, "may not be more than %u bytes",
                   ANNOTATION_BYTES_MAX);
}

void
meta_check_labels(struct causes *c, const struct json *meta)
{
    check_labels(c, meta, "labels");
    check_annotations(c, meta);
}

/* The version in "v1" or "batch/v1"; "" for a malformed text. */
static const char *
version_of(const char *api_version)
{
    const char *slash = strchr(api_version, '/');

    if (slash == NULL)
        return api_version;
    return strchr(slash + 1, '/') == NULL ? slash + 1 : "";
}

static void
check_owners(struct causes *c, const struct json *meta)
{
    static const char *const names[] = {"kind", "name", "uid"};
    const struct json *owners = json_get(meta, "ownerReferences");
    const struct json *controller = NULL;
    unsigned at = causes_enter(c, "ownerReferences");

    for (uint32_t i = 0; i < json_count(owners); i++) {
        const struct json *owner = json_at(owners, i);

        if (*version_of(check_text(owner, "apiVersion")) == '\0')
            causes_add(c, CAUSE_INVALID, "apiVersion", json_get(owner, "apiVersion"),
                       "version must not be empty");
        for (size_t j = 0; j < ARRAY_SIZE(names); j++)
            if (*check_text(owner, names[j]) == '\0')
                causes_add(c, CAUSE_INVALID, names[j], json_get(owner, names[j]),
                           "%s must not be empty", names[j]);
        if (strcmp(check_text(owner, "apiVersion"), "v1") == 0
            && strcmp(check_text(owner, "kind"), "Event") == 0)
            causes_add(c, CAUSE_INVALID, "", owner,
                       "/v1, Kind=Event is disallowed from being an owner");
        if (!json_is_true(json_get(owner, "controller")))
            continue;
        if (controller != NULL)
            causes_add(c, CAUSE_INVALID, "", owners,
                       "Only one reference can have Controller set to true. "
                       "Found \"true\" in references for %s/%s and %s/%s",
                       check_text(controller, "kind"), check_text(controller, "name"),
                       check_text(owner, "kind"), check_text(owner, "name"));
        else
            controller = owner;
    }
    causes_leave(c, at);
}

static bool
is_standard_finalizer(const char *name)
{
    return strcmp(name, "kubernetes") == 0 || strcmp(name, "orphan") == 0
           || strcmp(name, "foregroundDeletion") == 0;
}

/* The finalizer must be upstream's own or have a domain. */
static void
check_standard(struct causes *c, const struct json *name)
{
    if (strchr(name->text, '/') == NULL && !is_standard_finalizer(name->text))
        causes_add(c, CAUSE_INVALID, "", name,
                   "name is neither a standard finalizer name nor is it fully "
                   "qualified");
}

void
meta_check_finalizer(struct causes *c, const struct json *name, bool standard)
{
    check_form(c, "", NAME_QUALIFIED, name->text, name);
    if (standard)
        check_standard(c, name);
}

/* Upstream's newer groups accept any qualified name as a finalizer. */
static bool
takes_any_finalizer(const struct kind *kind)
{
    return strcmp(kind->group, "coordination.k8s.io") == 0 || strcmp(kind->group, "policy") == 0
           || kind == &event_kind;
}

static void
check_finalizers(struct causes *c, const struct kind *kind, const struct json *meta)
{
    const struct json *list = json_get(meta, "finalizers");
    bool orphans = false, foreground = false;
    unsigned at = causes_enter(c, "finalizers");

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *one = json_at(list, i);
        const char *name = one->text;

        check_form(c, "", NAME_QUALIFIED, name, one);
        orphans = orphans || strcmp(name, "orphan") == 0;
        foreground = foreground || strcmp(name, "foregroundDeletion") == 0;
    }
    if (orphans && foreground)
        causes_add(c, CAUSE_INVALID, "", list,
                   "finalizer orphan and foregroundDeletion cannot be both "
                   "set");
    causes_leave(c, at);
    for (uint32_t i = 0; i < json_count(list) && !takes_any_finalizer(kind); i++) {
        at = causes_enter_index(c, "finalizers", i);
        check_standard(c, json_at(list, i));
        causes_leave(c, at);
    }
}

static void
check_no_new_finalizers(struct causes *c, const struct json *meta, const struct json *old)
{
    CLEANUP_STRBUF struct strbuf found = STRBUF_INIT;
    const struct json *list = json_get(meta, "finalizers");
    const struct json *was = json_get(old, "finalizers");
    CHECK_TEXTS(kept);

    for (uint32_t i = 0; i < json_count(was); i++)
        check_texts_add(&kept, json_at(was, i)->text);
    for (uint32_t i = 0; i < json_count(list); i++)
        if (!check_texts_has(&kept, json_at(list, i)->text))
            strbuf_printf(&found, "%s\"%s\"", found.length > 0 ? ", " : "", json_at(list, i)->text);
    if (found.length > 0)
        causes_add(c, CAUSE_FORBIDDEN, "finalizers", NULL,
                   "no new finalizers can be added if the object is being "
                   "deleted, found new finalizers []string{%s}",
                   found.text);
}

static void
check_change(struct causes *c, const struct json *meta, const struct json *old)
{
    static const char *const kept[] = {
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    };

    if (check_is_set(old, "deletionTimestamp"))
        check_no_new_finalizers(c, meta, old);
    if (*check_text(meta, "resourceVersion") == '\0')
        causes_add(c, CAUSE_INVALID, "resourceVersion", json_int(c->arena, 0),
                   "must be specified for an update");
    if (json_get_int(meta, "generation", 0) < json_get_int(old, "generation", 0))
        causes_add(c, CAUSE_INVALID, "generation", json_get(meta, "generation"),
                   "must not be decremented");
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        check_immutable(c, meta, old, kept[i]);
}

void
meta_check(struct causes *c, const struct kind *kind, enum name_form form,
           const struct json *object, const struct json *old)
{
    const struct json *meta = json_get(object, "metadata");
    unsigned at = causes_enter(c, "metadata");

    if (old != NULL) {
        check_change(c, meta, json_get(old, "metadata"));
    } else {
        if (*check_text(meta, "generateName") != '\0')
            check_name_prefix(c, meta, "generateName", form);
        if (check_present(c, meta, "name", "name or generateName is required"))
            check_name(c, meta, "name", form);
        check_namespace(c, meta, (kind->flags & KIND_NAMESPACED) != 0);
        check_not_negative(c, meta, "generation");
    }
    meta_check_labels(c, meta);
    check_owners(c, meta);
    check_finalizers(c, kind, meta);
    causes_leave(c, at);
}

/* --- preparing ------------------------------------------------------------ */

static void
keep(struct arena *arena, struct json *meta, const struct json *old, const char *name)
{
    struct json *was = json_get(old, name);

    if (was != NULL && was->type != JSON_NULL)
        json_set(arena, meta, name, was);
    else
        json_remove(meta, name);
}

void
meta_prepare(struct arena *arena, struct json *object, const struct json *old)
{
    struct json *meta = json_make_object(arena, object, "metadata");
    const struct json *was = json_get(old, "metadata");

    if (old == NULL)
        return;
    if (*check_text(meta, "uid") == '\0')
        keep(arena, meta, was, "uid");
    keep(arena, meta, was, "creationTimestamp");
    if (check_is_set(was, "deletionTimestamp")) {
        keep(arena, meta, was, "deletionTimestamp");
        keep(arena, meta, was, "deletionGracePeriodSeconds");
    }
    keep(arena, meta, was, "generation");
}

/* ---- Conditions ---- */

#define REASON_LENGTH_MAX  1024
#define MESSAGE_LENGTH_MAX (32 * 1024)

/* Begins with a letter, continues with letters, digits and "_,:", and does not
 * end with ',' or ':'.
 */
static bool
is_reason(const char *text)
{
    size_t n = strlen(text);

    if (!isalpha((unsigned char)text[0])
        || !(isalnum((unsigned char)text[n - 1]) || text[n - 1] == '_'))
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr("_,:", *text) == NULL)
            return false;
    return true;
}

static void
check_too_long(struct causes *c, const struct json *object, const char *name, unsigned most)
{
    if (strlen(check_text(object, name)) > most)
        causes_add(c, CAUSE_TOO_LONG, name, NULL, "may not be more than %u bytes", most);
}

static void
check_condition(struct causes *c, const struct json *condition)
{
    check_name(c, condition, "type", NAME_QUALIFIED);
    check_one_of(c, condition, "status", CHECK_VALUES("False", "True", "Unknown"));
    if (json_get_int(condition, "observedGeneration", 0) < 0)
        causes_add(c, CAUSE_INVALID, "observedGeneration",
                   json_get(condition, "observedGeneration"),
                   "must be greater than or equal to zero");
    check_present(c, condition, "lastTransitionTime", "must be set");
    if (check_present(c, condition, "reason", "must be set")
        && !is_reason(check_text(condition, "reason")))
        causes_add(c, CAUSE_INVALID, "reason", json_get(condition, "reason"),
                   "a condition reason must start with alphabetic character, "
                   "optionally followed by a string of alphanumeric characters "
                   "or '_,:', and must end with an alphanumeric character or "
                   "'_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or "
                   "'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for "
                   "validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')");
    check_too_long(c, condition, "reason", REASON_LENGTH_MAX);
    check_too_long(c, condition, "message", MESSAGE_LENGTH_MAX);
}

void
meta_check_conditions(struct causes *c, const struct json *status)
{
    const struct json *list = json_get(status, "conditions");
    CHECK_TEXTS(types);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *condition = json_at(list, i);
        unsigned at = causes_enter_index(c, "conditions", i);

        if (!check_texts_add(&types, check_text(condition, "type")))
            causes_add(c, CAUSE_DUPLICATE, "type", json_get(condition, "type"), "%s", "");
        check_condition(c, condition);
        causes_leave(c, at);
    }
}
