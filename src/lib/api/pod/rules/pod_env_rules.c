/* SPDX-License-Identifier: Apache-2.0 */
/* pod_env_rules.c - validation of environment variables and their references
 */
#include <ctype.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/name.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

static bool
is_among(const char *text, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

/* Splits "metadata.labels['app']" into the part before and the part inside the
 * brackets.
 */
static bool
split_subscript(struct arena *arena, const char *text, char **ret_path, char **ret_subscript)
{
    size_t length = strlen(text);
    const char *open = strstr(text, "['");

    if (open == NULL || open == text || length < 5 || strcmp(text + length - 2, "']") != 0
        || open + 2 > text + length - 2)
        return false;
    *ret_path = arena_strndup(arena, text, (size_t)(open - text));
    *ret_subscript = arena_strndup(arena, open + 2, (size_t)(text + length - 4 - open));
    return true;
}

/* The fields that the downward API can expose; the last one is an old name. */
static const char *const known_fields[] = {
    "metadata.annotations", "metadata.labels", "metadata.name",      "metadata.namespace",
    "metadata.uid",         "spec.nodeName",   "spec.restartPolicy", "spec.serviceAccountName",
    "spec.schedulerName",   "status.phase",    "status.hostIP",      "status.hostIPs",
    "status.podIP",         "status.podIPs",   "spec.host",          NULL,
};

static const char *const env_fields[] = {
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    NULL,
};

static const char *const volume_fields[] = {
    "metadata.annotations", "metadata.labels", "metadata.name",
    "metadata.namespace",   "metadata.uid",    NULL,
};

static void
check_subscript(struct causes *c, const struct json *field, const char *path, char *subscript)
{
    if (strcmp(path, "metadata.annotations") == 0) {
        for (char *p = subscript; *p != '\0'; p++)
            *p = (char)tolower((unsigned char)*p);
    } else if (strcmp(path, "metadata.labels") != 0) {
        causes_add(c, CAUSE_INVALID, "fieldPath", field,
                   "error converting fieldPath: field label does not support "
                   "subscript: %s",
                   field->text);
        return;
    }
    check_form(c, "", NAME_QUALIFIED, subscript, json_string(c->arena, subscript));
}

void
field_reference_check(struct causes *c, const struct json *reference, enum field_reference_use use)
{
    const struct json *field = json_get(reference, "fieldPath");
    const char *path = check_text(reference, "fieldPath");
    char *before, *subscript;

    if (!check_present(c, reference, "apiVersion", "")
        || !check_present(c, reference, "fieldPath", ""))
        return;
    if (strcmp(check_text(reference, "apiVersion"), "v1") != 0) {
        causes_add(c, CAUSE_INVALID, "fieldPath", field,
                   "error converting fieldPath: unsupported pod version: %s",
                   check_text(reference, "apiVersion"));
        return;
    }
    if (split_subscript(c->arena, path, &before, &subscript)) {
        check_subscript(c, field, before, subscript);
        return;
    }
    if (!is_among(path, known_fields)) {
        causes_add(c, CAUSE_INVALID, "fieldPath", field,
                   "error converting fieldPath: field label not supported: %s", path);
        return;
    }
    if (use == FIELD_REFERENCE_IN_ENV && strcmp(path, "spec.host") == 0)
        return;
    check_one_of(c, reference, "fieldPath",
                 use == FIELD_REFERENCE_IN_ENV ? env_fields : volume_fields);
}

/* Checks the divisor, which must be in its shortest form. */
static void
check_divisor(struct causes *c, const struct json *reference)
{
    static const struct {
        const char *suffix;
        const char *words;
    } sizes[] = {
        {".memory", "memory"},
        {".ephemeral-storage", "local ephemeral storage"},
        {".hugepages-", "hugepages"},
    };
    const char *resource = check_text(reference, "resource");
    const char *divisor = check_text(reference, "divisor");
    size_t owner = strcspn(resource, ".");
    const char *what = NULL;

    if (*divisor == '\0' || strcmp(divisor, "0") == 0
        || (strncmp(resource, "limits.", owner + 1) != 0
            && strncmp(resource, "requests.", owner + 1) != 0))
        return;
    if (strcmp(resource + owner, ".cpu") == 0) {
        if (!is_among(divisor, CHECK_VALUES("1m", "1")))
            causes_add(c, CAUSE_INVALID, "divisor", json_get(reference, "resource"),
                       "only divisor's values 1m and 1 are supported with the "
                       "cpu resource");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        if (strncmp(resource + owner, sizes[i].suffix, strlen(sizes[i].suffix)) == 0)
            what = sizes[i].words;
    if (what != NULL
        && !is_among(divisor, CHECK_VALUES("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi",
                                           "1Gi", "1Ti", "1Pi", "1Ei")))
        causes_add(c, CAUSE_INVALID, "divisor", json_get(reference, "resource"),
                   "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, "
                   "1Gi, 1Ti, 1Pi, 1Ei are supported with the %s resource",
                   what);
}

void
resource_reference_check(struct causes *c, const struct json *reference,
                         enum field_reference_use use)
{
    const char *resource = check_text(reference, "resource");

    if (use == FIELD_REFERENCE_IN_VOLUME && !check_is_set(reference, "containerName")) {
        check_present(c, reference, "containerName", "");
    } else if (check_present(c, reference, "resource", "")
               && strncmp(resource, "limits.hugepages-", 17) != 0
               && strncmp(resource, "requests.hugepages-", 19) != 0) {
        check_one_of(c, reference, "resource",
                     CHECK_VALUES("limits.cpu", "limits.ephemeral-storage", "limits.memory",
                                  "requests.cpu", "requests.ephemeral-storage", "requests.memory"));
    }
    check_divisor(c, reference);
}

/* An empty name is reported like any other malformed one. */
static void
check_reference_name(struct causes *c, const struct json *reference)
{
    const char *text = check_text(reference, "name");

    check_form(c, "name", NAME_DNS_SUBDOMAIN, text, json_string(c->arena, text));
}

static void
check_key_reference(struct causes *c, const struct json *reference)
{
    check_reference_name(c, reference);
    if (check_present(c, reference, "key", ""))
        check_name(c, reference, "key", NAME_CONFIG_KEY);
}

/* Checks the source of a variable's value. Returns the number of sources. */
static unsigned
check_value_source(struct causes *c, const struct json *source)
{
    unsigned found = 0;

    for (uint32_t i = 0; i < json_count(source); i++, found++) {
        const struct json_member *m = &source->members[i];
        unsigned at = causes_enter(c, m->name);

        if (strcmp(m->name, "fieldRef") == 0)
            field_reference_check(c, m->value, FIELD_REFERENCE_IN_ENV);
        else if (strcmp(m->name, "resourceFieldRef") == 0)
            resource_reference_check(c, m->value, FIELD_REFERENCE_IN_ENV);
        else
            check_key_reference(c, m->value);
        causes_leave(c, at);
    }
    return found;
}

static void
check_variable(struct causes *c, const struct json *variable)
{
    const struct json *nothing = json_string(c->arena, "");
    unsigned found, at;

    if (check_present(c, variable, "name", ""))
        check_name(c, variable, "name", NAME_ENV);
    if (!check_is_set(variable, "valueFrom"))
        return;
    at = causes_enter(c, "valueFrom");
    found = check_value_source(c, json_get(variable, "valueFrom"));
    if (found == 0)
        causes_add(c, CAUSE_INVALID, "", nothing,
                   "must specify one of: `fieldRef`, `resourceFieldRef`, "
                   "`configMapKeyRef` or `secretKeyRef`");
    else if (*check_text(variable, "value") != '\0')
        causes_add(c, CAUSE_INVALID, "", nothing, "may not be specified when `value` is not empty");
    else if (found > 1)
        causes_add(c, CAUSE_INVALID, "", nothing,
                   "may not have more than one field specified at a time");
    causes_leave(c, at);
}

/* Checks a reference to a whole ConfigMap or Secret; its name may end with a
 * dash, like a prefix.
 */
static bool
check_env_source(struct causes *c, const struct json *source, const char *name)
{
    const struct json *reference = json_get(source, name);
    unsigned at;

    if (!check_is_set(source, name))
        return false;
    at = causes_enter(c, name);
    if (check_present(c, reference, "name", ""))
        check_name_prefix(c, reference, "name", NAME_DNS_SUBDOMAIN);
    causes_leave(c, at);
    return true;
}

static void
check_env_from(struct causes *c, const struct json *container)
{
    const struct json *list = json_get(container, "envFrom");

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *source = json_at(list, i);
        unsigned at = causes_enter_index(c, "envFrom", i);
        bool of_map, of_secret;

        if (*check_text(source, "prefix") != '\0')
            check_name(c, source, "prefix", NAME_ENV);
        of_map = check_env_source(c, source, "configMapRef");
        of_secret = check_env_source(c, source, "secretRef");
        causes_leave(c, at);
        if (!of_map && !of_secret)
            causes_add(c, CAUSE_INVALID, "envFrom", json_string(c->arena, ""),
                       "must specify one of: `configMapRef` or `secretRef`");
        else if (of_map && of_secret)
            causes_add(c, CAUSE_INVALID, "envFrom", json_string(c->arena, ""),
                       "may not have more than one field specified at a time");
    }
}

void
container_env_check(struct causes *c, const struct json *container)
{
    const struct json *env = json_get(container, "env");

    for (uint32_t i = 0; i < json_count(env); i++) {
        unsigned at = causes_enter_index(c, "env", i);

        check_variable(c, json_at(env, i));
        causes_leave(c, at);
    }
    check_env_from(c, container);
}
