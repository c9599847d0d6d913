/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/name.h"
#include "lib/json/json.h"

#define ID_MAX 2147483647

#define PROFILE_LENGTH_MAX 4095 /* PATH_MAX without the NUL */

static bool
check_profile_type(struct causes *c, const struct json *profile, const char *name)
{
    if (*check_text(profile, "type") == '\0') {
        causes_add(c, CAUSE_REQUIRED, "type", NULL, "type is required when %s is set", name);
        return false;
    }
    return check_one_of(c, profile, "type",
                        CHECK_VALUES("Localhost", "RuntimeDefault", "Unconfined"));
}

static void
check_seccomp(struct causes *c, const struct json *profile)
{
    bool is_local = strcmp(check_text(profile, "type"), "Localhost") == 0;
    bool has_file = check_is_set(profile, "localhostProfile");

    check_profile_type(c, profile, "seccompProfile");
    if (is_local && has_file)
        check_descending_path(c, profile, "localhostProfile", "localhostProfile");
    else if (is_local)
        causes_add(c, CAUSE_REQUIRED, "localhostProfile", NULL,
                   "must be set when seccomp type is Localhost");
    else if (has_file)
        causes_add(c, CAUSE_INVALID, "localhostProfile", profile,
                   "can only be set when seccomp type is Localhost");
}

static void
check_apparmor(struct causes *c, const struct json *profile)
{
    const struct json *file = json_get(profile, "localhostProfile");
    const char *text = check_text(profile, "localhostProfile");
    bool is_local = strcmp(check_text(profile, "type"), "Localhost") == 0;

    if (!check_profile_type(c, profile, "appArmorProfile"))
        return;
    if (!is_local) {
        if (check_is_set(profile, "localhostProfile"))
            causes_add(c, CAUSE_INVALID, "localhostProfile", file,
                       "can only be set when AppArmor type is Localhost");
        return;
    }
    if (check_has_outer_space(text))
        causes_add(c, CAUSE_INVALID, "localhostProfile", file,
                   "must not be padded with whitespace");
    else if (*text == '\0')
        causes_add(c, CAUSE_REQUIRED, "localhostProfile", NULL,
                   "must be set when AppArmor type is Localhost");
    if (strlen(text) > PROFILE_LENGTH_MAX)
        causes_add(c, CAUSE_TOO_LONG, "localhostProfile", NULL, "may not be more than %d bytes",
                   PROFILE_LENGTH_MAX);
}

static void
check_profiles(struct causes *c, const struct json *context)
{
    const struct json *profile = json_get(context, "seccompProfile");
    unsigned at = causes_enter(c, "seccompProfile");

    if (json_is(profile, JSON_OBJECT))
        check_seccomp(c, profile);
    causes_leave(c, at);
    at = causes_enter(c, "windowsOptions");
    windows_options_check(c, json_get(context, "windowsOptions"));
    causes_leave(c, at);
    profile = json_get(context, "appArmorProfile");
    at = causes_enter(c, "appArmorProfile");
    if (json_is(profile, JSON_OBJECT))
        check_apparmor(c, profile);
    causes_leave(c, at);
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
    const struct json *escalates = json_get(context, "allowPrivilegeEscalation");
    unsigned at = causes_enter(c, "securityContext");

    check_range(c, context, "runAsUser", 0, ID_MAX);
    check_range(c, context, "runAsGroup", 0, ID_MAX);
    check_one_of(c, context, "procMount", CHECK_VALUES("Default", "Unmasked"));
    check_profiles(c, context);
    if (json_is(escalates, JSON_BOOL) && !escalates->boolean) {
        if (json_is_true(json_get(context, "privileged")))
            causes_add(c, CAUSE_INVALID, "", context,
                       "cannot set `allowPrivilegeEscalation` to false and "
                       "`privileged` to true");
        if (adds_sys_admin(context))
            causes_add(c, CAUSE_INVALID, "", context,
                       "cannot set `allowPrivilegeEscalation` to false and "
                       "`capabilities.Add` CAP_SYS_ADMIN");
    }
    causes_leave(c, at);
}

/* The name consists of parts that are separated by dots or slashes. Parts have
 * lower-case letters, digits, '-' and '_', and do not begin or end with '-' or
 * '_'.
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

/* Whether the sysctl belongs to the family: its name begins with that of the
 * family, with '.' or '/' as the separator.
 */
static bool
is_of_family(const char *name, const char *family)
{
    for (; *family != '\0'; family++, name++)
        if (*name != *family && !(*family == '.' && *name == '/'))
            return false;
    return true;
}

/* A pod may not set sysctls of a namespace that it shares with the host. */
static void
check_host_sysctl(struct causes *c, const struct json *spec, const struct json *sysctl)
{
    static const char *const of_ipc[] = {
        "kernel.shm",
        "kernel.msg",
        "kernel.sem",
        "fs.mqueue.",
    };
    const char *name = check_text(sysctl, "name");
    const char *shared = NULL;

    if (json_is_true(json_get(spec, "hostNetwork")) && is_of_family(name, "net."))
        shared = "hostNetwork";
    for (size_t i = 0; i < ARRAY_SIZE(of_ipc); i++)
        if (json_is_true(json_get(spec, "hostIPC")) && is_of_family(name, of_ipc[i]))
            shared = "hostIPC";
    if (shared != NULL)
        causes_add(c, CAUSE_INVALID, "name", json_get(sysctl, "name"),
                   "may not be specified when '%s' is true", shared);
}

static void
check_sysctls(struct causes *c, const struct json *spec, const struct json *context)
{
    const struct json *list = json_get(context, "sysctls");
    CHECK_TEXTS(names);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *sysctl = json_at(list, i);
        const char *name = check_text(sysctl, "name");
        unsigned at = causes_enter_index(c, "sysctls", i);

        if (check_present(c, sysctl, "name", "")) {
            if (!is_sysctl_name(name))
                causes_add(c, CAUSE_INVALID, "name", json_get(sysctl, "name"),
                           "must have at most 253 characters and match regex "
                           "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*"
                           "[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
            else if (!check_texts_add(&names, name))
                causes_add(c, CAUSE_DUPLICATE, "name", json_get(sysctl, "name"), "%s", "");
        }
        check_host_sysctl(c, spec, sysctl);
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

        if (json_to_int(json_at(list, i), &group) < 0 || group < 0 || group > ID_MAX)
            causes_add(c, CAUSE_INVALID, "", json_at(list, i),
                       "must be between 0 and %d, inclusive", ID_MAX);
        causes_leave(c, at);
    }
}

void
pod_security_check(struct causes *c, const struct json *spec)
{
    const struct json *context = json_get(spec, "securityContext");
    unsigned at;

    at = causes_enter(c, "securityContext");
    check_range(c, context, "fsGroup", 0, ID_MAX);
    check_range(c, context, "runAsUser", 0, ID_MAX);
    check_range(c, context, "runAsGroup", 0, ID_MAX);
    check_groups(c, context);
    if (json_is_true(json_get(spec, "shareProcessNamespace"))
        && json_is_true(json_get(spec, "hostPID")))
        causes_add(c, CAUSE_INVALID, "shareProcessNamespace",
                   json_get(spec, "shareProcessNamespace"),
                   "ShareProcessNamespace and HostPID cannot both be enabled");
    check_sysctls(c, spec, context);
    check_one_of(c, context, "fsGroupChangePolicy", CHECK_VALUES("Always", "OnRootMismatch"));
    check_profiles(c, context);
    causes_leave(c, at);
}
