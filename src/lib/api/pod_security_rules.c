/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/api/check.h"
#include "lib/api/name.h"
#include "lib/api/pod_rules.h"
#include "lib/json/json.h"

#define ID_MAX 2147483647

/* A profile of seccomp or AppArmor: a type, and a file for one of them. */
static void
check_profile(struct causes *c,
              const struct json *owner,
              const char *name,
              const char *called)
{
    const struct json *profile = json_get(owner, name);
    unsigned at = causes_enter(c, name);
    bool is_local = strcmp(check_text(profile, "type"), "Localhost") == 0;

    if (!json_is(profile, JSON_OBJECT)) {
        causes_leave(c, at);
        return;
    }
    if (*check_text(profile, "type") == '\0')
        causes_add(c,
                   CAUSE_REQUIRED,
                   "type",
                   NULL,
                   "type is required when %s is set",
                   name);
    else
        check_one_of(c,
                     profile,
                     "type",
                     CHECK_VALUES("Localhost", "RuntimeDefault", "Unconfined"));
    if (is_local && *check_text(profile, "localhostProfile") == '\0')
        causes_add(c,
                   CAUSE_REQUIRED,
                   "localhostProfile",
                   NULL,
                   "must be set when %s type is Localhost",
                   called);
    else if (is_local && strcmp(name, "seccompProfile") == 0)
        check_descending_path(c,
                              profile,
                              "localhostProfile",
                              "localhostProfile");
    else if (!is_local && check_is_set(profile, "localhostProfile"))
        causes_add(c,
                   CAUSE_INVALID,
                   "localhostProfile",
                   json_get(profile, "localhostProfile"),
                   "can only be set when %s type is Localhost",
                   called);
    causes_leave(c, at);
}

static void
check_profiles(struct causes *c, const struct json *context)
{
    check_profile(c, context, "seccompProfile", "seccomp");
    check_profile(c, context, "appArmorProfile", "AppArmor");
}

static bool
adds_sys_admin(const struct json *context)
{
    const struct json *add = json_get(json_get(context, "capabilities"), "add");

    for (uint32_t i = 0; i < json_count(add); i++)
        if (strcmp(json_at(add, i)->text, "CAP_SYS_ADMIN") == 0)
            return true;
    return false;
}

void
container_security_check(struct causes *c, const struct json *container)
{
    const struct json *context = json_get(container, "securityContext");
    const struct json *escalates =
        json_get(context, "allowPrivilegeEscalation");
    unsigned at = causes_enter(c, "securityContext");

    check_range(c, context, "runAsUser", 0, ID_MAX);
    check_range(c, context, "runAsGroup", 0, ID_MAX);
    check_one_of(c, context, "procMount", CHECK_VALUES("Default", "Unmasked"));
    check_profiles(c, context);
    if (json_is(escalates, JSON_BOOL) && !escalates->boolean) {
        if (json_is_true(json_get(context, "privileged")))
            causes_add(c,
                       CAUSE_INVALID,
                       "",
                       context,
                       "cannot set `allowPrivilegeEscalation` to false and "
                       "`privileged` to true");
        if (adds_sys_admin(context))
            causes_add(c,
                       CAUSE_INVALID,
                       "",
                       context,
                       "cannot set `allowPrivilegeEscalation` to false and "
                       "`capabilities.Add` CAP_SYS_ADMIN");
    }
    causes_leave(c, at);
}

static void
check_host_network_ports(struct causes *c,
                         const struct json *spec,
                         const char *list_name)
{
    const struct json *list = json_get(spec, list_name);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *ports = json_get(json_at(list, i), "ports");
        unsigned at = causes_enter_index(c, list_name, i);

        for (uint32_t j = 0; j < json_count(ports); j++) {
            const struct json *port = json_at(ports, j);
            unsigned inside = causes_enter_index(c, "ports", j);

            if (json_get_int(port, "hostPort", 0)
                != json_get_int(port, "containerPort", 0))
                causes_add(c,
                           CAUSE_INVALID,
                           "hostPort",
                           json_get(port, "hostPort"),
                           "must match `containerPort` when `hostNetwork` is "
                           "true");
            causes_leave(c, inside);
        }
        causes_leave(c, at);
    }
}

/* Words of lower-case letters, digits, '-' and '_', with dots or slashes
 * between them.
 */
static bool
is_sysctl_name(const char *name)
{
    bool starts = true;
    char last = '.';

    if (strlen(name) > 253 || *name == '\0')
        return false;
    for (const char *p = name; *p != '\0'; p++) {
        bool is_letter = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9');

        if (*p == '.' || *p == '/') {
            if (starts || last == '-' || last == '_')
                return false;
            starts = true;
        } else {
            if (!is_letter && (starts || (*p != '-' && *p != '_')))
                return false;
            starts = false;
        }
        last = *p;
    }
    return !starts && last != '-' && last != '_';
}

static void
check_sysctls(struct causes *c, const struct json *context)
{
    const struct json *list = json_get(context, "sysctls");

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *sysctl = json_at(list, i);
        unsigned at = causes_enter_index(c, "sysctls", i);

        if (check_present(c, sysctl, "name", "")
            && !is_sysctl_name(check_text(sysctl, "name")))
            causes_add(c,
                       CAUSE_INVALID,
                       "name",
                       json_get(sysctl, "name"),
                       "must have at most 253 characters and match regex "
                       "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*"
                       "[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(check_text(json_at(list, j), "name"),
                       check_text(sysctl, "name"))
                == 0)
                causes_add(c,
                           CAUSE_DUPLICATE,
                           "name",
                           json_get(sysctl, "name"),
                           "%s",
                           "");
        causes_leave(c, at);
    }
}

static void
check_groups(struct causes *c, const struct json *context)
{
    const struct json *list = json_get(context, "supplementalGroups");

    for (uint32_t i = 0; i < json_count(list); i++) {
        int64_t group = -1;
        unsigned at = causes_enter_index(c, "supplementalGroups", i);

        if (json_to_int(json_at(list, i), &group) < 0 || group < 0
            || group > ID_MAX)
            causes_add(c,
                       CAUSE_INVALID,
                       "",
                       json_at(list, i),
                       "must be between 0 and %d, inclusive",
                       ID_MAX);
        causes_leave(c, at);
    }
}

void
pod_security_check(struct causes *c, const struct json *spec)
{
    const struct json *context = json_get(spec, "securityContext");
    unsigned at;

    if (json_is_true(json_get(spec, "hostNetwork"))) {
        check_host_network_ports(c, spec, "containers");
        check_host_network_ports(c, spec, "initContainers");
    }
    at = causes_enter(c, "securityContext");
    check_range(c, context, "fsGroup", 0, ID_MAX);
    check_range(c, context, "runAsUser", 0, ID_MAX);
    check_range(c, context, "runAsGroup", 0, ID_MAX);
    check_groups(c, context);
    if (json_is_true(json_get(spec, "shareProcessNamespace"))
        && json_is_true(json_get(spec, "hostPID")))
        causes_add(c,
                   CAUSE_INVALID,
                   "shareProcessNamespace",
                   json_get(spec, "shareProcessNamespace"),
                   "ShareProcessNamespace and HostPID cannot both be enabled");
    check_sysctls(c, context);
    check_one_of(c,
                 context,
                 "fsGroupChangePolicy",
                 CHECK_VALUES("Always", "OnRootMismatch"));
    check_profiles(c, context);
    causes_leave(c, at);
}

/* --- other operating systems ---------------------------------------------- */

static void
forbid(struct causes *c, const struct json *object, const char *const *names)
{
    for (; *names != NULL; names++)
        if (check_is_set(object, *names)
            && !json_equals(json_get(object, *names),
                            json_bool(c->arena, false)))
            causes_add(c,
                       CAUSE_FORBIDDEN,
                       *names,
                       NULL,
                       "cannot be set for a windows pod");
}

static void
forbid_in_containers(struct causes *c,
                     const struct json *spec,
                     const char *list_name)
{
    const struct json *list = json_get(spec, list_name);

    for (uint32_t i = 0; i < json_count(list); i++) {
        unsigned at = causes_enter_index(c, list_name, i);
        unsigned inside = causes_enter(c, "securityContext");

        forbid(c,
               json_get(json_at(list, i), "securityContext"),
               CHECK_VALUES("appArmorProfile",
                            "seLinuxOptions",
                            "seccompProfile",
                            "capabilities",
                            "readOnlyRootFilesystem",
                            "privileged",
                            "allowPrivilegeEscalation",
                            "procMount",
                            "runAsUser",
                            "runAsGroup"));
        causes_leave(c, inside);
        causes_leave(c, at);
    }
}

void
pod_os_check(struct causes *c, const struct json *spec)
{
    const struct json *os = json_get(spec, "os");
    const char *name = check_text(os, "name");
    unsigned at;

    if (!json_is(os, JSON_OBJECT))
        return;
    at = causes_enter(c, "os");
    if (*name == '\0')
        causes_add(c, CAUSE_REQUIRED, "name", NULL, "cannot be empty");
    causes_leave(c, at);
    if (*name != '\0' && strcmp(name, "linux") != 0
        && strcmp(name, "windows") != 0)
        causes_add(c,
                   CAUSE_NOT_SUPPORTED,
                   "os",
                   json_get(os, "name"),
                   "supported values: \"linux\", \"windows\"");
    if (strcmp(name, "windows") != 0)
        return;
    at = causes_enter(c, "securityContext");
    forbid(c,
           json_get(spec, "securityContext"),
           CHECK_VALUES("appArmorProfile",
                        "seLinuxOptions",
                        "fsGroup",
                        "fsGroupChangePolicy",
                        "sysctls",
                        "seccompProfile",
                        "runAsUser",
                        "runAsGroup",
                        "supplementalGroups",
                        "supplementalGroupsPolicy"));
    forbid(c,
           spec,
           CHECK_VALUES("hostPID", "hostIPC", "shareProcessNamespace"));
    causes_leave(c, at);
    forbid_in_containers(c, spec, "containers");
    forbid_in_containers(c, spec, "initContainers");
}
