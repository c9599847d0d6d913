/* SPDX-License-Identifier: Apache-2.0 */
/* pod_security.c - with whose rights a pod runs */
#include "lib/api/pod.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field app_armor_profile_fields[] = {
    OPAQUE(STRING, "type", ALWAYS | REQUIRED,
        ONE_OF("Localhost", "RuntimeDefault", "Unconfined")),
    OPAQUE(STRING, "localhostProfile", KEPT),
};
static OPAQUE_RECORD(app_armor_profile, "io.k8s.api.core.v1.AppArmorProfile");

static const struct field capabilities_fields[] = {
    OPAQUE_LIST(STRING, "add", 0),
    OPAQUE_LIST(STRING, "drop", 0),
};
static OPAQUE_RECORD(capabilities, "io.k8s.api.core.v1.Capabilities");

static const struct field se_linux_options_fields[] = {
    OPAQUE(STRING, "level", 0),
    OPAQUE(STRING, "role", 0),
    OPAQUE(STRING, "type", 0),
    OPAQUE(STRING, "user", 0),
};
static OPAQUE_RECORD(se_linux_options, "io.k8s.api.core.v1.SELinuxOptions");

static const struct field seccomp_profile_fields[] = {
    OPAQUE(STRING, "type", ALWAYS | REQUIRED,
        ONE_OF("Localhost", "RuntimeDefault", "Unconfined")),
    OPAQUE(STRING, "localhostProfile", KEPT),
};
static OPAQUE_RECORD(seccomp_profile, "io.k8s.api.core.v1.SeccompProfile");

static const struct field sysctl_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED),
    OPAQUE(STRING, "value", ALWAYS | REQUIRED),
};
static OPAQUE_RECORD(sysctl, "io.k8s.api.core.v1.Sysctl");

static const struct field windows_security_context_options_fields[] = {
    OPAQUE(STRING, "gmsaCredentialSpec", KEPT),
    OPAQUE(STRING, "gmsaCredentialSpecName", KEPT),
    OPAQUE(BOOL, "hostProcess", KEPT),
    OPAQUE(STRING, "runAsUserName", KEPT),
};
static OPAQUE_RECORD(windows_security_context_options,
       "io.k8s.api.core.v1.WindowsSecurityContextOptions");

static const struct field security_context_container_fields[] = {
    OPAQUE(BOOL, "allowPrivilegeEscalation", KEPT),
    OPAQUE_OBJECT("appArmorProfile", app_armor_profile, 0),
    OPAQUE_OBJECT("capabilities", capabilities, 0),
    OPAQUE(BOOL, "privileged", KEPT),
    OPAQUE(STRING, "procMount", KEPT, ONE_OF("Default", "Unmasked")),
    OPAQUE(BOOL, "readOnlyRootFilesystem", KEPT),
    OPAQUE(INT64, "runAsGroup", KEPT),
    OPAQUE(BOOL, "runAsNonRoot", KEPT),
    OPAQUE(INT64, "runAsUser", KEPT),
    OPAQUE_OBJECT("seLinuxOptions", se_linux_options, 0),
    OPAQUE_OBJECT("seccompProfile", seccomp_profile, 0),
    OPAQUE_OBJECT("windowsOptions", windows_security_context_options, 0),
};
OPAQUE_RECORD(security_context_container, "io.k8s.api.core.v1.SecurityContext");

static const struct field security_context_pod_fields[] = {
    INT64("runAsUser", security_context, run_as_user, OPTIONAL),
    INT64("runAsGroup", security_context, run_as_group, OPTIONAL),
    LIST(INT64, "supplementalGroups", security_context, supplemental_groups, 0),
    OPAQUE(INT64, "fsGroup", KEPT),
    OPAQUE_OBJECT("appArmorProfile", app_armor_profile, 0),
    OPAQUE(STRING, "fsGroupChangePolicy", KEPT,
        ONE_OF("Always", "OnRootMismatch")),
    OPAQUE(BOOL, "runAsNonRoot", KEPT),
    OPAQUE(STRING, "seLinuxChangePolicy", KEPT),
    OPAQUE_OBJECT("seLinuxOptions", se_linux_options, 0),
    OPAQUE_OBJECT("seccompProfile", seccomp_profile, 0),
    OPAQUE(STRING, "supplementalGroupsPolicy", KEPT, ONE_OF("Merge", "Strict")),
    OPAQUE_OBJECTS("sysctls", sysctl, 0),
    OPAQUE_OBJECT("windowsOptions", windows_security_context_options, 0),
};
RECORD(security_context_pod, security_context,
       "io.k8s.api.core.v1.PodSecurityContext");
/* clang-format on */
