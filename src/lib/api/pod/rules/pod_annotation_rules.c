/* SPDX-License-Identifier: Apache-2.0 */
/* pod_annotation_rules.c - annotations with a meaning for pods
 *
 * Profiles of seccomp and AppArmor were annotations before they were fields. If
 * both are given, they must agree.
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation of 1.32.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static const char mirror[] = "kubernetes.io/config.mirror";
static const char of_apparmor[] = "container.apparmor.security.beta.kubernetes.io/";
static const char of_seccomp[] = "container.seccomp.security.alpha.kubernetes.io/";
static const char of_seccomp_pod[] = "seccomp.security.alpha.kubernetes.io/pod";

static bool
starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *const container_lists[] = {
    "initContainers",
    "containers",
    "ephemeralContainers",
};

static bool
is_deletion_cost(const char *text)
{
    const char *digits = *text == '-' ? text + 1 : text;
    char *end;
    long n;

    if (*digits < '0' || *digits > '9' || (*digits == '0' && strcmp(text, "0") != 0))
        return false;
    errno = 0;
    n = strtol(text, &end, 10);
    return *end == '\0' && errno == 0 && n >= INT32_MIN && n <= INT32_MAX;
}

static void
check_mirror_and_cost(struct causes *c, const struct json *annotations, const struct json *spec)
{
    static const char cost[] = "controller.kubernetes.io/pod-deletion-cost";
    unsigned at;

    if (json_get(annotations, mirror) != NULL && *check_text(spec, "nodeName") == '\0') {
        at = causes_enter_key(c, "annotations", mirror);
        causes_add(c, CAUSE_INVALID, "", json_get(annotations, mirror),
                   "must set spec.nodeName if mirror pod annotation is set");
        causes_leave(c, at);
    }
    if (json_get(annotations, cost) != NULL && !is_deletion_cost(check_text(annotations, cost))) {
        at = causes_enter_key(c, "annotations", cost);
        causes_add(c, CAUSE_INVALID, "", json_get(annotations, cost), "must be a 32bit integer");
        causes_leave(c, at);
    }
}

/* --- one annotation -------------------------------------------------------- */

static void
check_seccomp(struct causes *c, const char *name, const struct json *value)
{
    static const char local[] = "localhost/";
    const char *text = json_text(value);
    struct json *holder = json_object(c->arena);

    if (text == NULL || strcmp(text, "runtime/default") == 0 || strcmp(text, "docker/default") == 0
        || strcmp(text, "unconfined") == 0)
        return;
    if (!starts_with(text, local)) {
        causes_add(c, CAUSE_INVALID, name, value, "must be a valid seccomp profile");
        return;
    }
    json_set_string(c->arena, holder, name, text + strlen(local));
    check_descending_path(c, holder, name, name);
}

static bool
has_container(const struct json *spec, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++) {
        const struct json *list = json_get(spec, container_lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++)
            if (strcmp(check_text(json_at(list, j), "name"), name) == 0)
                return true;
    }
    return false;
}

static void
check_apparmor(struct causes *c, const struct json *spec, const char *name,
               const struct json *value)
{
    const char *container = name + strlen(of_apparmor);
    const char *text = json_text(value);
    unsigned at = causes_enter_key(c, "annotations", name);

    if (!has_container(spec, container))
        causes_add(c, CAUSE_INVALID, "", json_string(c->arena, container), "container not found");
    if (text != NULL && *text != '\0' && strcmp(text, "runtime/default") != 0
        && strcmp(text, "unconfined") != 0 && !starts_with(text, "localhost/"))
        causes_add(c, CAUSE_INVALID, "", value, "invalid AppArmor profile name: \"%s\"", text);
    causes_leave(c, at);
}

void
pod_annotations_check(struct causes *c, const struct json *meta, const struct json *spec)
{
    const struct json *annotations = json_get(meta, "annotations");
    unsigned at;

    check_mirror_and_cost(c, annotations, spec);
    for (uint32_t i = 0; i < json_count(annotations); i++) {
        const struct json_member *m = &annotations->members[i];

        if (starts_with(m->name, of_apparmor)) {
            check_apparmor(c, spec, m->name, m->value);
        } else if (strcmp(m->name, of_seccomp_pod) == 0 || starts_with(m->name, of_seccomp)) {
            at = causes_enter(c, "annotations");
            check_seccomp(c, m->name, m->value);
            causes_leave(c, at);
        }
    }
}

/* --- changes --------------------------------------------------------------- */

static bool
is_fixed(const char *name)
{
    return strcmp(name, mirror) == 0 || starts_with(name, of_apparmor);
}

static void
forbid_change(struct causes *c, const char *name, const char *verb)
{
    bool is_mirror = strcmp(name, mirror) == 0;
    unsigned at = causes_enter_key(c, "annotations", name);

    causes_add(c, CAUSE_FORBIDDEN, "", NULL, "may not %s %s", verb,
               is_mirror ? "mirror pod annotation" : "AppArmor annotations");
    causes_leave(c, at);
}

void
pod_annotation_changes_check(struct causes *c, const struct json *meta, const struct json *old)
{
    const struct json *is = json_get(meta, "annotations");
    const struct json *was = json_get(old, "annotations");

    for (uint32_t i = 0; i < json_count(was); i++) {
        const struct json_member *m = &was->members[i];
        const struct json *now = json_get(is, m->name);

        if (is_fixed(m->name) && (now == NULL || !json_equals(now, m->value)))
            forbid_change(c, m->name, "remove or update");
    }
    for (uint32_t i = 0; i < json_count(is); i++)
        if (is_fixed(is->members[i].name) && json_get(was, is->members[i].name) == NULL)
            forbid_change(c, is->members[i].name, "add");
}

/* --- annotations and fields ------------------------------------------------ */

/* A profile, and the field that it was read from. */
struct profile_annotation {
    const struct json *profile;
    const char *field; /* name of the field */
    const char *words; /* "seccomp" or "apparmor" */
};

/* Checks that the annotation agrees with the profile's type and, for a local
 * profile, its file name.
 */
static void
check_match(struct causes *c, const struct profile_annotation *claim, const char *annotation)
{
    static const char local[] = "localhost/";
    const char *type = check_text(claim->profile, "type");
    const char *wrong = NULL;
    unsigned at;

    if (strcmp(type, "Unconfined") == 0 && strcmp(annotation, "unconfined") != 0)
        wrong = "type";
    if (strcmp(type, "RuntimeDefault") == 0 && strcmp(annotation, "runtime/default") != 0
        && (claim->words[0] == 'a' || strcmp(annotation, "docker/default") != 0))
        wrong = "type";
    if (strcmp(type, "Localhost") == 0) {
        if (!starts_with(annotation, local))
            wrong = "type";
        else if (strcmp(annotation + strlen(local), check_text(claim->profile, "localhostProfile"))
                 != 0)
            wrong = "localhostProfile";
    }
    if (wrong == NULL)
        return;
    at = causes_enter(c, claim->field);
    causes_add(c, CAUSE_FORBIDDEN, wrong, NULL, "%s %s in annotation and field must match",
               claim->words, *wrong == 't' ? "type" : "profile");
    causes_leave(c, at);
}

static void
match_container(struct causes *c, const struct json *annotations, const struct json *spec,
                const struct json *container)
{
    const char *name = check_text(container, "name");
    const struct json *context = json_get(container, "securityContext");
    const struct json *of_pod = json_get(spec, "securityContext");
    struct profile_annotation seccomp = {
        .profile = json_get(context, "seccompProfile"),
        .field = "seccompProfile",
        .words = "seccomp",
    };
    struct profile_annotation apparmor = {
        .profile = json_get(context, "appArmorProfile"),
        .field = "appArmorProfile",
        .words = "apparmor",
    };
    const char *text = json_get_text(annotations, arena_concat(c->arena, of_seccomp, name));
    unsigned at = causes_enter(c, "securityContext");

    if (text != NULL && json_is(seccomp.profile, JSON_OBJECT))
        check_match(c, &seccomp, text);
    if (!json_is(apparmor.profile, JSON_OBJECT))
        apparmor.profile = json_get(of_pod, "appArmorProfile");
    text = json_get_text(annotations, arena_concat(c->arena, of_apparmor, name));
    if (text != NULL && json_is(apparmor.profile, JSON_OBJECT)
        && strcmp(check_text(json_get(spec, "os"), "name"), "windows") != 0)
        check_match(c, &apparmor, text);
    causes_leave(c, at);
}

void
pod_annotations_match(struct causes *c, const struct json *pod)
{
    const struct json *annotations = json_get_path(pod, "metadata.annotations");
    const struct json *spec = json_get(pod, "spec");
    const char *text = json_get_text(annotations, of_seccomp_pod);
    struct profile_annotation of_pod = {
        .profile = json_get_path(spec, "securityContext.seccompProfile"),
        .field = "seccompProfile",
        .words = "seccomp",
    };
    unsigned at;

    if (text != NULL && json_is(of_pod.profile, JSON_OBJECT)) {
        at = causes_enter(c, "securityContext");
        check_match(c, &of_pod, text);
        causes_leave(c, at);
    }
    for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++) {
        const struct json *list = json_get(spec, container_lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++) {
            at = causes_enter_index(c, container_lists[i], j);
            match_container(c, annotations, spec, json_at(list, j));
            causes_leave(c, at);
        }
    }
}

/* NULL: the annotation is not a profile. */
static struct json *
profile_of(struct arena *arena, const char *annotation)
{
    static const char local[] = "localhost/";
    struct json *profile = json_object(arena);

    if (strcmp(annotation, "unconfined") == 0)
        json_set_string(arena, profile, "type", "Unconfined");
    else if (strcmp(annotation, "runtime/default") == 0)
        json_set_string(arena, profile, "type", "RuntimeDefault");
    else if (starts_with(annotation, local) && annotation[strlen(local)] != '\0') {
        json_set_string(arena, profile, "type", "Localhost");
        json_set_string(arena, profile, "localhostProfile", annotation + strlen(local));
    } else {
        return NULL;
    }
    return profile;
}

static const char *
annotation_of(struct arena *arena, const struct json *profile)
{
    const char *type = check_text(profile, "type");

    if (strcmp(type, "Unconfined") == 0)
        return "unconfined";
    if (strcmp(type, "RuntimeDefault") == 0)
        return "runtime/default";
    if (strcmp(type, "Localhost") == 0 && check_is_set(profile, "localhostProfile"))
        return arena_printf(arena, "localhost/%s", check_text(profile, "localhostProfile"));
    return NULL;
}

static void
join_container(struct arena *arena, struct json *pod, struct json *container,
               const struct json *of_pod)
{
    struct json *meta = json_make_object(arena, pod, "metadata");
    const char *name = arena_concat(arena, of_apparmor, check_text(container, "name"));
    const char *text = json_get_text(json_get(meta, "annotations"), name);
    const struct json *own = json_get_path(container, "securityContext.appArmorProfile");
    struct json *profile;

    if (text == NULL) {
        text = annotation_of(arena, own != NULL ? own : of_pod);
        if (text != NULL)
            json_set_string(arena, json_make_object(arena, meta, "annotations"), name, text);
        return;
    }
    profile = own == NULL ? profile_of(arena, text) : NULL;
    if (profile != NULL && (of_pod == NULL || !json_equals(profile, of_pod)))
        json_set(arena, json_make_object(arena, container, "securityContext"), "appArmorProfile",
                 profile);
}

void
pod_annotations_join(struct arena *arena, struct json *pod)
{
    const struct json *spec = json_get(pod, "spec");
    const struct json *of_pod = json_get_path(spec, "securityContext.appArmorProfile");

    if (strcmp(check_text(json_get(spec, "os"), "name"), "windows") == 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++) {
        struct json *list = json_get(spec, container_lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++)
            join_container(arena, pod, json_at(list, j), of_pod);
    }
}

/* --- warnings -------------------------------------------------------------- */

static void
warn_of(struct causes *c, const struct json *meta, const char *annotation, const char *words)
{
    unsigned at = causes_enter_key(c, "metadata.annotations", annotation);

    if (json_get(json_get(meta, "annotations"), annotation) != NULL)
        causes_warn(c, "", "%s", words);
    causes_leave(c, at);
}

static void
warn_of_container(struct causes *c, const struct json *meta, const struct json *container)
{
    const char *name = check_text(container, "name");
    const struct json *context = json_get(container, "securityContext");

    if (json_get(context, "seccompProfile") == NULL)
        warn_of(c, meta, arena_concat(c->arena, of_seccomp, name),
                "non-functional in v1.27+; use the \"seccompProfile\" field "
                "instead");
    /* Only for templates: in a pod, the field and the annotation are made from
     * each other.
     */
    if (c->path_length > 0 && json_get(context, "appArmorProfile") == NULL)
        warn_of(c, meta, arena_concat(c->arena, of_apparmor, name),
                "deprecated since v1.30; use the \"appArmorProfile\" field "
                "instead");
}

void
pod_annotations_warn(struct causes *c, const struct json *pod)
{
    const struct json *meta = json_get(pod, "metadata");
    const struct json *spec = json_get(pod, "spec");

    if (json_get_path(spec, "securityContext.seccompProfile") == NULL)
        warn_of(c, meta, of_seccomp_pod,
                "non-functional in v1.27+; use the \"seccompProfile\" field "
                "instead");
    for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++) {
        const struct json *list = json_get(spec, container_lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++)
            warn_of_container(c, meta, json_at(list, j));
    }
}
