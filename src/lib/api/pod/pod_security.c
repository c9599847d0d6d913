/* SPDX-License-Identifier: Apache-2.0 */
/* pod_security.c - field tables of security contexts */
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field app_armor_profile_fields[] = {
    OPAQUE(STRING, "type", ALWAYS | REQUIRED,
        ONE_OF("Localhost", "RuntimeDefault", "Unconfined"),
        HELP("RuntimeDefault, Localhost or Unconfined.")),
    OPAQUE(STRING, "localhostProfile", KEPT,
        HELP("The profile, by name.")),
};
static OPAQUE_RECORD(app_armor_profile, "io.k8s.api.core.v1.AppArmorProfile",
       MESSAGE("type localhostProfile"),
       HELP("An AppArmor profile."));

static const struct field capabilities_fields[] = {
    OPAQUE_LIST(STRING, "add", 0,
        HELP("Capabilities to add.")),
    OPAQUE_LIST(STRING, "drop", 0,
        HELP("Capabilities to drop.")),
};
static OPAQUE_RECORD(capabilities, "io.k8s.api.core.v1.Capabilities",
       MESSAGE("add drop"),
       HELP("Capabilities of the process."));

static const struct field se_linux_options_fields[] = {
    OPAQUE(STRING, "level", 0,
        HELP("Its level.")),
    OPAQUE(STRING, "role", 0,
        HELP("Its role.")),
    OPAQUE(STRING, "type", 0,
        HELP("Its type.")),
    OPAQUE(STRING, "user", 0,
        HELP("Its user.")),
};
static OPAQUE_RECORD(se_linux_options, "io.k8s.api.core.v1.SELinuxOptions",
       MESSAGE("user role type level"),
       HELP("The SELinux context."));

static const struct field seccomp_profile_fields[] = {
    OPAQUE(STRING, "type", ALWAYS | REQUIRED,
        ONE_OF("Localhost", "RuntimeDefault", "Unconfined"),
        HELP("RuntimeDefault, Localhost or Unconfined.")),
    OPAQUE(STRING, "localhostProfile", KEPT,
        HELP("The file with the profile.")),
};
static OPAQUE_RECORD(seccomp_profile, "io.k8s.api.core.v1.SeccompProfile",
       MESSAGE("type localhostProfile"),
       HELP("A filter of system calls."));

static const struct field sysctl_fields[] = {
    OPAQUE(STRING, "name", ALWAYS | REQUIRED,
        HELP("Its name.")),
    OPAQUE(STRING, "value", ALWAYS | REQUIRED,
        HELP("The value.")),
};
static OPAQUE_RECORD(sysctl, "io.k8s.api.core.v1.Sysctl",
       MESSAGE("name value"),
       HELP("A setting of the kernel."));

static const struct field windows_security_context_options_fields[] = {
    OPAQUE(STRING, "gmsaCredentialSpec", KEPT,
        HELP("A credential.")),
    OPAQUE(STRING, "gmsaCredentialSpecName", KEPT,
        HELP("A credential, by name.")),
    OPAQUE(BOOL, "hostProcess", KEPT,
        HELP("Whether it runs on the host.")),
    OPAQUE(STRING, "runAsUserName", KEPT,
        HELP("The user.")),
};
static OPAQUE_RECORD(windows_security_context_options,
       "io.k8s.api.core.v1.WindowsSecurityContextOptions",
       MESSAGE("gmsaCredentialSpecName gmsaCredentialSpec runAsUserName "
               "hostProcess"),
       HELP("Rights on Windows; not used here."));

static const struct field security_context_container_fields[] = {
    OPAQUE(BOOL, "allowPrivilegeEscalation", KEPT,
        HELP("Whether it may gain more privileges.")),
    OPAQUE_OBJECT("appArmorProfile", app_armor_profile, 0,
        HELP("Its AppArmor profile.")),
    OPAQUE_OBJECT("capabilities", capabilities, 0,
        HELP("Its capabilities.")),
    OPAQUE(BOOL, "privileged", KEPT,
        HELP("Whether it has all capabilities; refused.")),
    OPAQUE(STRING, "procMount", KEPT, ONE_OF("Default", "Unmasked"),
        HELP("The type of its /proc mount.")),
    OPAQUE(BOOL, "readOnlyRootFilesystem", KEPT,
        HELP("Whether its root file system is read-only.")),
    OPAQUE(INT64, "runAsGroup", KEPT,
        HELP("Its gid; that of the submitting user.")),
    OPAQUE(BOOL, "runAsNonRoot", KEPT,
        HELP("Whether root is refused.")),
    OPAQUE(INT64, "runAsUser", KEPT,
        HELP("Its uid; that of the submitting user.")),
    OPAQUE_OBJECT("seLinuxOptions", se_linux_options, 0,
        HELP("Its SELinux context.")),
    OPAQUE_OBJECT("seccompProfile", seccomp_profile, 0,
        HELP("Its filter of system calls.")),
    OPAQUE_OBJECT("windowsOptions", windows_security_context_options, 0,
        HELP("Rights on Windows.")),
};
OPAQUE_RECORD(security_context_container, "io.k8s.api.core.v1.SecurityContext",
       MESSAGE("capabilities privileged seLinuxOptions runAsUser "
               "runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation "
               "runAsGroup procMount windowsOptions seccompProfile "
               "appArmorProfile"),
       HELP("Rights of the process."));

static const struct field security_context_pod_fields[] = {
    INT64("runAsUser", security_context, run_as_user, OPTIONAL,
        HELP("Its uid; that of the submitting user.")),
    INT64("runAsGroup", security_context, run_as_group, OPTIONAL,
        HELP("Its gid; that of the submitting user.")),
    LIST(INT64, "supplementalGroups", security_context, supplemental_groups, 0,
        HELP("Further groups; on the node, those of the user.")),
    OPAQUE(INT64, "fsGroup", KEPT,
        HELP("The group of volumes; refused here.")),
    OPAQUE_OBJECT("appArmorProfile", app_armor_profile, 0,
        HELP("Its AppArmor profile.")),
    OPAQUE(STRING, "fsGroupChangePolicy", KEPT,
        ONE_OF("Always", "OnRootMismatch"),
        HELP("When that is set: OnRootMismatch or Always.")),
    OPAQUE(BOOL, "runAsNonRoot", KEPT,
        HELP("Whether root is refused.")),
    OPAQUE(STRING, "seLinuxChangePolicy", KEPT,
        HELP("How volumes are relabelled: MountOption or Recursive.")),
    OPAQUE_OBJECT("seLinuxOptions", se_linux_options, 0,
        HELP("Its SELinux context.")),
    OPAQUE_OBJECT("seccompProfile", seccomp_profile, 0,
        HELP("Its filter of system calls.")),
    OPAQUE(STRING, "supplementalGroupsPolicy", KEPT, ONE_OF("Merge", "Strict"),
        HELP("Merge or Strict.")),
    OPAQUE_OBJECTS("sysctls", sysctl, 0,
        HELP("Settings of the kernel; refused here.")),
    OPAQUE_OBJECT("windowsOptions", windows_security_context_options, 0,
        HELP("Rights on Windows.")),
};
RECORD(security_context_pod, security_context,
       "io.k8s.api.core.v1.PodSecurityContext",
       MESSAGE("seLinuxOptions runAsUser runAsNonRoot supplementalGroups "
               "fsGroup runAsGroup sysctls windowsOptions "
               "fsGroupChangePolicy seccompProfile appArmorProfile "
               "supplementalGroupsPolicy seLinuxChangePolicy"),
       HELP("Rights of all processes of the pod."));
/* clang-format on */
