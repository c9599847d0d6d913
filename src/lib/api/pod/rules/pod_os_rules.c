/* SPDX-License-Identifier: Apache-2.0 */
/* pod_os_rules.c - fields that only one operating system has
 *
 * Source: k8s.io/kubernetes/pkg/apis/core/validation of 1.32.
 */
#include <ctype.h>
#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/pod/rules/pod_rules.h"
#include "lib/api/value/name.h"
#include "lib/json/json.h"

#define CREDENTIAL_SPEC_KIB_MAX 64
#define USER_LENGTH_MAX         104
#define DOMAIN_LENGTH_MAX       256

/* --- Windows ---------------------------------------------------------------*/

static const char *
refuse_user(const char *user)
{
    if (*user == '\0')
        return "runAsUserName's User cannot be empty";
    if (strlen(user) > USER_LENGTH_MAX)
        return "runAsUserName's User length must not be longer than 104 "
               "characters";
    if (user[strspn(user, ". ")] == '\0')
        return "runAsUserName's User cannot contain only periods or spaces";
    if (strpbrk(user, "\"/\\:;|=,+*?<>@[]") != NULL)
        return "runAsUserName's User cannot contain the following characters: "
               "\"/\\:;|=,+*?<>@[]";
    return NULL;
}

/* Checks "DOMAIN\USER" or "USER". */
static const char *
refuse_user_name(const char *name)
{
    const char *slash = strchr(name, '\\');

    if (*name == '\0')
        return "runAsUserName cannot be an empty string";
    for (const char *p = name; *p != '\0'; p++)
        if (iscntrl((unsigned char)*p))
            return "runAsUserName cannot contain control characters";
    if (slash == NULL)
        return refuse_user(name);
    if (strchr(slash + 1, '\\') != NULL)
        return "runAsUserName cannot contain more than one backslash";
    if (slash - name >= DOMAIN_LENGTH_MAX)
        return "runAsUserName's Domain length must be under 256 characters";
    if (slash == name)
        return "runAsUserName's Domain doesn't match the NetBIOS nor the DNS "
               "format";
    return refuse_user(slash + 1);
}

void
windows_options_check(struct causes *c, const struct json *options)
{
    const struct json *user = json_get(options, "runAsUserName");
    const struct json *spec = json_get(options, "gmsaCredentialSpec");
    const char *why;

    check_name(c, options, "gmsaCredentialSpecName", NAME_DNS_SUBDOMAIN);
    if (json_is(spec, JSON_STRING) && spec->count == 0)
        causes_add(c, CAUSE_INVALID, "gmsaCredentialSpec", spec,
                   "gmsaCredentialSpec cannot be an empty string");
    else if (json_is(spec, JSON_STRING) && spec->count > CREDENTIAL_SPEC_KIB_MAX * 1024)
        causes_add(c, CAUSE_INVALID, "gmsaCredentialSpec", spec,
                   "gmsaCredentialSpec size must be under %d KiB", CREDENTIAL_SPEC_KIB_MAX);
    why = json_is(user, JSON_STRING) ? refuse_user_name(user->text) : NULL;
    if (why != NULL)
        causes_add(c, CAUSE_INVALID, "runAsUserName", user, "%s", why);
}

/* Forbids the members, even if they are false or empty. */
static void
forbid(struct causes *c, const struct json *object, const char *const *names)
{
    for (; *names != NULL; names++)
        if (check_is_set(object, *names))
            causes_add(c, CAUSE_FORBIDDEN, *names, NULL, "cannot be set for a windows pod");
}

static void
forbid_true(struct causes *c, const struct json *object, const char *name)
{
    if (json_is_true(json_get(object, name)))
        causes_add(c, CAUSE_FORBIDDEN, name, NULL, "cannot be set for a windows pod");
}

static void
check_windows_context(struct causes *c, const struct json *context)
{
    forbid(c, context,
           CHECK_VALUES("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities",
                        "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation",
                        "procMount", "runAsUser", "runAsGroup"));
}

static void
check_windows(struct causes *c, const struct json *spec)
{
    const struct json *context = json_get(spec, "securityContext");
    unsigned at = causes_enter(c, "securityContext");

    forbid(c, context,
           CHECK_VALUES("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup",
                        "fsGroupChangePolicy", "runAsUser", "runAsGroup", "supplementalGroups",
                        "supplementalGroupsPolicy"));
    if (json_count(json_get(context, "sysctls")) > 0)
        forbid(c, context, CHECK_VALUES("sysctls"));
    causes_leave(c, at);
    forbid_true(c, spec, "hostPID");
    forbid_true(c, spec, "hostIPC");
    forbid(c, spec, CHECK_VALUES("shareProcessNamespace"));
}

/* --- Linux -----------------------------------------------------------------*/

static void
check_linux_context(struct causes *c, const struct json *context)
{
    if (check_is_set(context, "windowsOptions"))
        causes_add(c, CAUSE_FORBIDDEN, "windowsOptions", NULL,
                   "windows options cannot be set for a linux pod");
}

static void
check_linux(struct causes *c, const struct json *spec)
{
    unsigned at = causes_enter(c, "securityContext");

    check_linux_context(c, json_get(spec, "securityContext"));
    causes_leave(c, at);
}

static void
each_context(struct causes *c, const struct json *spec,
             void (*check)(struct causes *c, const struct json *context))
{
    static const char *const lists[] = {
        "initContainers",
        "containers",
        "ephemeralContainers",
    };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json *list = json_get(spec, lists[i]);

        for (uint32_t j = 0; j < json_count(list); j++) {
            unsigned at = causes_enter_index(c, lists[i], j);
            unsigned inside = causes_enter(c, "securityContext");

            check(c, json_get(json_at(list, j), "securityContext"));
            causes_leave(c, inside);
            causes_leave(c, at);
        }
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
    if (*name == '\0') {
        at = causes_enter(c, "os");
        causes_add(c, CAUSE_REQUIRED, "name", NULL, "cannot be empty");
        causes_leave(c, at);
    } else if (strcmp(name, "linux") == 0) {
        check_linux(c, spec);
        each_context(c, spec, check_linux_context);
    } else if (strcmp(name, "windows") == 0) {
        check_windows(c, spec);
        each_context(c, spec, check_windows_context);
    } else {
        causes_add(c, CAUSE_NOT_SUPPORTED, "os", json_get(os, "name"),
                   "supported values: \"linux\", \"windows\"");
    }
}
