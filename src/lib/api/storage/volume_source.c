/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/storage/volume_source.h"

#include "lib/api/object/check.h"
#include "lib/api/object/object_reference.h"
#include "lib/base/macro.h"

/* Defines the record of a source as a pod has it, and of the same source as a
 * PersistentVolume has it. A pod's secret is in the pod's namespace. A
 * PersistentVolume has no namespace, so it says where its secret is: by a
 * reference of its own type, or by additional rows at the end, whose numbers
 * follow the others'.
 */
#define OF_BOTH(r, name, rows, message, secret, ...)                                     \
    static const struct field r##_volume_source_fields[] = {                             \
        rows(local_object_reference),                                                    \
    };                                                                                   \
    OPAQUE_RECORD(r##_volume_source, "io.k8s.api.core.v1." name "VolumeSource", message, \
                  HELP(NOT_SERVED));                                                     \
    static const struct field r##_persistent_volume_source_fields[] = {rows(secret),     \
                                                                       ##__VA_ARGS__};   \
    OPAQUE_RECORD(r##_persistent_volume_source,                                          \
                  "io.k8s.api.core.v1." name "PersistentVolumeSource", message, HELP(NOT_SERVED))
#define NOT_SERVED "A volume of this type; stored, but not supported."

/* clang-format off */
/* Rows that many sources share. */
#define VOLUME_ID_ROW                                                  \
    OPAQUE(STRING, "volumeID", ALWAYS | REQUIRED,                      \
        HELP("The name of the volume at its provider."))
#define FS_TYPE_ROW(flags)                                             \
    OPAQUE(STRING, "fsType", flags,                                    \
        HELP("The file system on it, such as ext4."))
#define READ_ONLY_ROW(flags)                                           \
    OPAQUE(BOOL, "readOnly", flags,                                    \
        HELP("Mounted read-only."))
#define SECRET_REF_ROW(secret, flags)                                  \
    OPAQUE_OBJECT("secretRef", secret, flags,                          \
        HELP("The secret with the credentials."))

static const struct field aws_elastic_block_store_volume_source_fields[] = {
    VOLUME_ID_ROW,
    FS_TYPE_ROW(0),
    OPAQUE(INT, "partition", 0,
        HELP("The partition; 0 is the whole.")),
    READ_ONLY_ROW(0),
};
OPAQUE_RECORD(aws_elastic_block_store_volume_source,
       "io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource",
       MESSAGE("volumeID fsType partition readOnly"),
       HELP(NOT_SERVED));

static const struct field azure_disk_volume_source_fields[] = {
    OPAQUE(STRING, "diskName", ALWAYS | REQUIRED,
        HELP("The disk, by name.")),
    OPAQUE(STRING, "diskURI", ALWAYS | REQUIRED,
        HELP("The disk, by address.")),
    OPAQUE(STRING, "cachingMode", KEPT,
        ONE_OF("None", "ReadOnly", "ReadWrite"),
        HELP("None, ReadOnly or ReadWrite.")),
    FS_TYPE_ROW(KEPT),
    OPAQUE(STRING, "kind", KEPT, ONE_OF("Dedicated", "Managed", "Shared"),
        HELP("The kind of object.")),
    READ_ONLY_ROW(KEPT),
};
OPAQUE_RECORD(azure_disk_volume_source,
       "io.k8s.api.core.v1.AzureDiskVolumeSource",
       MESSAGE("diskName diskURI cachingMode fsType readOnly kind"),
       HELP(NOT_SERVED));

#define AZURE_FILE_ROWS(unused)                                        \
    OPAQUE(STRING, "secretName", ALWAYS | REQUIRED,                    \
        HELP("The secret, by name.")),                                 \
    OPAQUE(STRING, "shareName", ALWAYS | REQUIRED,                     \
        HELP("The share, by name.")),                                  \
    READ_ONLY_ROW(0)
OF_BOTH(azure_file, "AzureFile", AZURE_FILE_ROWS,
    MESSAGE("secretName shareName readOnly secretNamespace"), secret_reference,
    OPAQUE(STRING, "secretNamespace", KEPT,
        HELP("The namespace of the secret.")));

#define CEPH_FS_ROWS(secret)                                           \
    OPAQUE_LIST(STRING, "monitors", ALWAYS | REQUIRED,                 \
        HELP("Addresses of the monitors.")),                           \
    OPAQUE(STRING, "path", 0,                                          \
        HELP("The path.")),                                            \
    READ_ONLY_ROW(0),                                                  \
    OPAQUE(STRING, "secretFile", 0,                                    \
        HELP("The file with the secret.")),                            \
    SECRET_REF_ROW(secret, 0),                                         \
    OPAQUE(STRING, "user", 0,                                          \
        HELP("The user of the connection."))
OF_BOTH(ceph_fs, "CephFS", CEPH_FS_ROWS,
    MESSAGE("monitors path user secretFile secretRef readOnly"), secret_reference);

#define CINDER_ROWS(secret)                                            \
    VOLUME_ID_ROW,                                                     \
    FS_TYPE_ROW(0),                                                    \
    READ_ONLY_ROW(0),                                                  \
    SECRET_REF_ROW(secret, 0)
OF_BOTH(cinder, "Cinder", CINDER_ROWS,
    MESSAGE("volumeID fsType readOnly secretRef"), secret_reference);

static const struct field fc_volume_source_fields[] = {
    FS_TYPE_ROW(0),
    OPAQUE(INT, "lun", KEPT,
        HELP("The number of the unit.")),
    READ_ONLY_ROW(0),
    OPAQUE_LIST(STRING, "targetWWNs", 0,
        HELP("Names of the targets.")),
    OPAQUE_LIST(STRING, "wwids", 0,
        HELP("Names of the volume.")),
};
OPAQUE_RECORD(fc_volume_source, "io.k8s.api.core.v1.FCVolumeSource",
       MESSAGE("targetWWNs lun fsType readOnly wwids"),
       HELP(NOT_SERVED));

#define FLEX_ROWS(secret)                                              \
    OPAQUE(STRING, "driver", ALWAYS | REQUIRED,                        \
        HELP("The driver that serves it.")),                           \
    FS_TYPE_ROW(0),                                                    \
    OPAQUE_MAP(STRING, "options", 0,                                   \
        HELP("Options for the driver.")),                              \
    READ_ONLY_ROW(0),                                                  \
    SECRET_REF_ROW(secret, 0)
OF_BOTH(flex, "Flex", FLEX_ROWS,
    MESSAGE("driver fsType secretRef readOnly options"), secret_reference);

static const struct field flocker_volume_source_fields[] = {
    OPAQUE(STRING, "datasetName", 0,
        HELP("The dataset, by name.")),
    OPAQUE(STRING, "datasetUUID", 0,
        HELP("The dataset, by its uuid.")),
};
OPAQUE_RECORD(flocker_volume_source, "io.k8s.api.core.v1.FlockerVolumeSource",
       MESSAGE("datasetName datasetUUID"),
       HELP(NOT_SERVED));

static const struct field gce_persistent_disk_volume_source_fields[] = {
    OPAQUE(STRING, "pdName", ALWAYS | REQUIRED,
        HELP("The disk, by name.")),
    FS_TYPE_ROW(0),
    OPAQUE(INT, "partition", 0,
        HELP("The partition; 0 is the whole.")),
    READ_ONLY_ROW(0),
};
OPAQUE_RECORD(gce_persistent_disk_volume_source,
       "io.k8s.api.core.v1.GCEPersistentDiskVolumeSource",
       MESSAGE("pdName fsType partition readOnly"),
       HELP(NOT_SERVED));

#define GLUSTERFS_ROWS(unused)                                         \
    OPAQUE(STRING, "endpoints", ALWAYS | REQUIRED,                     \
        HELP("The object with the endpoints.")),                       \
    OPAQUE(STRING, "path", ALWAYS | REQUIRED,                          \
        HELP("The path.")),                                            \
    READ_ONLY_ROW(0)
OF_BOTH(glusterfs, "Glusterfs", GLUSTERFS_ROWS,
    MESSAGE("endpoints path readOnly endpointsNamespace"), secret_reference,
    OPAQUE(STRING, "endpointsNamespace", KEPT,
        HELP("The namespace of that object.")));

static const struct field host_path_volume_source_fields[] = {
    OPAQUE(STRING, "path", ALWAYS | REQUIRED,
        HELP("The path.")),
    OPAQUE(STRING, "type", KEPT,
        ONE_OF("", "BlockDevice", "CharDevice", "Directory",
            "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
        HELP("The required type of file: Directory, File and so on.")),
};
OPAQUE_RECORD(host_path_volume_source,
       "io.k8s.api.core.v1.HostPathVolumeSource",
       MESSAGE("path type"),
       HELP("A path of the node."));

#define ISCSI_ROWS(secret)                                             \
    OPAQUE(STRING, "iqn", ALWAYS | REQUIRED,                           \
        HELP("The name of the target.")),                              \
    OPAQUE(INT, "lun", ALWAYS | REQUIRED,                              \
        HELP("The number of the unit.")),                              \
    OPAQUE(STRING, "targetPortal", ALWAYS | REQUIRED,                  \
        HELP("Address and port of the target.")),                      \
    OPAQUE(BOOL, "chapAuthDiscovery", 0,                               \
        HELP("CHAP when looking for targets.")),                       \
    OPAQUE(BOOL, "chapAuthSession", 0,                                 \
        HELP("CHAP for the session.")),                                \
    FS_TYPE_ROW(0),                                                    \
    OPAQUE(STRING, "initiatorName", KEPT,                              \
        HELP("The name of the initiator.")),                              \
    OPAQUE(STRING, "iscsiInterface", 0,                                \
        HELP("The interface, such as default or tcp.")),               \
    OPAQUE_LIST(STRING, "portals", 0,                                  \
        HELP("Further addresses of the target.")),                     \
    READ_ONLY_ROW(0),                                                  \
    SECRET_REF_ROW(secret, 0)
OF_BOTH(iscsi, "ISCSI", ISCSI_ROWS,
    MESSAGE("targetPortal iqn lun iscsiInterface fsType readOnly portals "
            "chapAuthDiscovery 10 secretRef chapAuthSession initiatorName"), secret_reference);

static const struct field nfs_volume_source_fields[] = {
    OPAQUE(STRING, "path", ALWAYS | REQUIRED,
        HELP("The exported path.")),
    OPAQUE(STRING, "server", ALWAYS | REQUIRED,
        HELP("The host that serves it.")),
    READ_ONLY_ROW(0),
};
OPAQUE_RECORD(nfs_volume_source, "io.k8s.api.core.v1.NFSVolumeSource",
       MESSAGE("server path readOnly"),
       HELP("A directory of an NFS server."));

static const struct field photon_persistent_disk_volume_source_fields[] = {
    OPAQUE(STRING, "pdID", ALWAYS | REQUIRED,
        HELP("The disk, by its id.")),
    FS_TYPE_ROW(0),
};
OPAQUE_RECORD(photon_persistent_disk_volume_source,
       "io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource",
       MESSAGE("pdID fsType"),
       HELP(NOT_SERVED));

static const struct field portworx_volume_source_fields[] = {
    VOLUME_ID_ROW,
    FS_TYPE_ROW(0),
    READ_ONLY_ROW(0),
};
OPAQUE_RECORD(portworx_volume_source,
       "io.k8s.api.core.v1.PortworxVolumeSource",
       MESSAGE("volumeID fsType readOnly"),
       HELP(NOT_SERVED));

static const struct field quobyte_volume_source_fields[] = {
    OPAQUE(STRING, "registry", ALWAYS | REQUIRED,
        HELP("Addresses of the registry.")),
    OPAQUE(STRING, "volume", ALWAYS | REQUIRED,
        HELP("The volume, by name.")),
    OPAQUE(STRING, "group", 0,
        HELP("The group.")),
    READ_ONLY_ROW(0),
    OPAQUE(STRING, "tenant", 0,
        HELP("The tenant.")),
    OPAQUE(STRING, "user", 0,
        HELP("The user of the connection.")),
};
OPAQUE_RECORD(quobyte_volume_source, "io.k8s.api.core.v1.QuobyteVolumeSource",
       MESSAGE("registry volume readOnly user group tenant"),
       HELP(NOT_SERVED));

#define RBD_ROWS(secret)                                               \
    OPAQUE(STRING, "image", ALWAYS | REQUIRED,                         \
        HELP("The image.")),                                           \
    OPAQUE_LIST(STRING, "monitors", ALWAYS | REQUIRED,                 \
        HELP("Addresses of the monitors.")),                           \
    FS_TYPE_ROW(0),                                                    \
    OPAQUE(STRING, "keyring", 0,                                       \
        HELP("The file with the keyring.")),                           \
    OPAQUE(STRING, "pool", 0,                                          \
        HELP("The pool it is in.")),                                   \
    READ_ONLY_ROW(0),                                                  \
    SECRET_REF_ROW(secret, 0),                                         \
    OPAQUE(STRING, "user", 0,                                          \
        HELP("The user of the connection."))
OF_BOTH(rbd, "RBD", RBD_ROWS,
    MESSAGE("monitors image fsType pool user keyring secretRef readOnly"), secret_reference);

#define SCALE_IO_ROWS(secret)                                          \
    OPAQUE(STRING, "gateway", ALWAYS | REQUIRED,                       \
        HELP("Address of the gateway.")),                              \
    SECRET_REF_ROW(secret, REQUIRED),                                  \
    OPAQUE(STRING, "system", ALWAYS | REQUIRED,                        \
        HELP("The storage system.")),                                  \
    FS_TYPE_ROW(0),                                                    \
    OPAQUE(STRING, "protectionDomain", 0,                              \
        HELP("The protection domain.")),                               \
    READ_ONLY_ROW(0),                                                  \
    OPAQUE(BOOL, "sslEnabled", 0,                                      \
        HELP("Whether TLS is spoken.")),                               \
    OPAQUE(STRING, "storageMode", 0,                                   \
        HELP("Thick or thin.")),                                       \
    OPAQUE(STRING, "storagePool", 0,                                   \
        HELP("The pool of the domain.")),                              \
    OPAQUE(STRING, "volumeName", 0,                                    \
        HELP("The volume, by name."))
OF_BOTH(scale_io, "ScaleIO", SCALE_IO_ROWS,
    MESSAGE("gateway system secretRef sslEnabled protectionDomain "
            "storagePool storageMode volumeName fsType readOnly"), secret_reference);

#define STORAGE_OS_ROWS(secret)                                        \
    FS_TYPE_ROW(0),                                                    \
    READ_ONLY_ROW(0),                                                  \
    SECRET_REF_ROW(secret, 0),                                         \
    OPAQUE(STRING, "volumeName", 0,                                    \
        HELP("The volume, by name.")),                                 \
    OPAQUE(STRING, "volumeNamespace", 0,                               \
        HELP("The namespace of the volume."))
OF_BOTH(storage_os, "StorageOS", STORAGE_OS_ROWS,
    MESSAGE("volumeName volumeNamespace fsType readOnly secretRef"), object_reference);

static const struct field vsphere_virtual_disk_volume_source_fields[] = {
    OPAQUE(STRING, "volumePath", ALWAYS | REQUIRED,
        HELP("The path of the volume.")),
    FS_TYPE_ROW(0),
    OPAQUE(STRING, "storagePolicyID", 0,
        HELP("The policy, by id.")),
    OPAQUE(STRING, "storagePolicyName", 0,
        HELP("The policy, by name.")),
};
OPAQUE_RECORD(vsphere_virtual_disk_volume_source,
       "io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource",
       MESSAGE("volumePath fsType storagePolicyName storagePolicyID"),
       HELP(NOT_SERVED));
/* clang-format on */

/* --- warnings ------------------------------------------------------------- */

static const struct {
    const char *volume;
    const char *words;
} old_volumes[] = {
    {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "deprecated in v1.11"},
    {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"flocker", "deprecated in v1.22, non-functional in v1.25+"},
    {"storageos", "deprecated in v1.22, non-functional in v1.25+"},
    {"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"rbd", "deprecated in v1.28, non-functional in v1.31+"},
};

void
volume_source_warn(struct causes *c, const struct json *volume)
{
    for (size_t i = 0; i < ARRAY_SIZE(old_volumes); i++)
        if (check_is_set(volume, old_volumes[i].volume))
            causes_warn(c, old_volumes[i].volume, "%s", old_volumes[i].words);
}
