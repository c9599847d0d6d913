/* SPDX-License-Identifier: Apache-2.0 */
/* volume_source.h - upstream's volume sources, of pods and PersistentVolumes
 *
 * The sources are stored and returned. Claims and local volumes, which Kiln
 * serves, have their tables with their kinds (pod_volumes.c,
 * persistent_volume.c), and so have the sources that only one of the two kinds
 * has.
 *
 * Thread:  any.
 */
#pragma once

#include "lib/api/value/rows.h"

/* The rows that both kinds have, in the order in which upstream checks them;
 * `of` is volume_source for pods, or persistent_volume_source.
 */
/* clang-format off */
#define VOLUME_SOURCE_ROWS(of)                                               \
    OPAQUE_OBJECT("hostPath", host_path_volume_source, 0,                    \
        HELP("A path of the node.")),                                        \
    OPAQUE_OBJECT("gcePersistentDisk", gce_persistent_disk_volume_source, 0, \
        HELP(NOT_SERVED_ROW)),                                               \
    OPAQUE_OBJECT("awsElasticBlockStore",                                    \
        aws_elastic_block_store_volume_source, 0,                            \
        HELP(NOT_SERVED_ROW)),                                               \
    OPAQUE_OBJECT("glusterfs", glusterfs_##of, 0, HELP(NOT_SERVED_ROW)),     \
    OPAQUE_OBJECT("flocker", flocker_volume_source, 0,                       \
        HELP(NOT_SERVED_ROW)),                                               \
    OPAQUE_OBJECT("nfs", nfs_volume_source, 0,                               \
        HELP("A directory of an NFS server.")),                              \
    OPAQUE_OBJECT("rbd", rbd_##of, 0, HELP(NOT_SERVED_ROW)),                 \
    OPAQUE_OBJECT("quobyte", quobyte_volume_source, 0,                       \
        HELP(NOT_SERVED_ROW)),                                               \
    OPAQUE_OBJECT("cephfs", ceph_fs_##of, 0, HELP(NOT_SERVED_ROW)),          \
    OPAQUE_OBJECT("iscsi", iscsi_##of, 0, HELP(NOT_SERVED_ROW)),             \
    OPAQUE_OBJECT("cinder", cinder_##of, 0, HELP(NOT_SERVED_ROW)),           \
    OPAQUE_OBJECT("fc", fc_volume_source, 0, HELP(NOT_SERVED_ROW)),          \
    OPAQUE_OBJECT("flexVolume", flex_##of, 0, HELP(NOT_SERVED_ROW)),         \
    OPAQUE_OBJECT("azureFile", azure_file_##of, 0, HELP(NOT_SERVED_ROW)),    \
    OPAQUE_OBJECT("vsphereVolume", vsphere_virtual_disk_volume_source, 0,    \
        HELP(NOT_SERVED_ROW)),                                               \
    OPAQUE_OBJECT("photonPersistentDisk",                                    \
        photon_persistent_disk_volume_source, 0,                             \
        HELP(NOT_SERVED_ROW)),                                               \
    OPAQUE_OBJECT("azureDisk", azure_disk_volume_source, 0,                  \
        HELP(NOT_SERVED_ROW)),                                               \
    OPAQUE_OBJECT("portworxVolume", portworx_volume_source, 0,               \
        HELP(NOT_SERVED_ROW)),                                               \
    OPAQUE_OBJECT("scaleIO", scale_io_##of, 0, HELP(NOT_SERVED_ROW)),        \
    OPAQUE_OBJECT("storageos", storage_os_##of, 0, HELP(NOT_SERVED_ROW))
#define NOT_SERVED_ROW "A volume of this type; not supported."
/* clang-format on */

struct causes;
struct json;

/* Warns of a source that upstream has deprecated. */
void volume_source_warn(struct causes *c, const struct json *volume);

extern const struct record aws_elastic_block_store_volume_source_record;
extern const struct record azure_disk_volume_source_record;
extern const struct record azure_file_persistent_volume_source_record;
extern const struct record azure_file_volume_source_record;
extern const struct record ceph_fs_persistent_volume_source_record;
extern const struct record ceph_fs_volume_source_record;
extern const struct record cinder_persistent_volume_source_record;
extern const struct record cinder_volume_source_record;
extern const struct record fc_volume_source_record;
extern const struct record flex_persistent_volume_source_record;
extern const struct record flex_volume_source_record;
extern const struct record flocker_volume_source_record;
extern const struct record gce_persistent_disk_volume_source_record;
extern const struct record glusterfs_persistent_volume_source_record;
extern const struct record glusterfs_volume_source_record;
extern const struct record host_path_volume_source_record;
extern const struct record iscsi_persistent_volume_source_record;
extern const struct record iscsi_volume_source_record;
extern const struct record nfs_volume_source_record;
extern const struct record photon_persistent_disk_volume_source_record;
extern const struct record portworx_volume_source_record;
extern const struct record quobyte_volume_source_record;
extern const struct record rbd_persistent_volume_source_record;
extern const struct record rbd_volume_source_record;
extern const struct record scale_io_persistent_volume_source_record;
extern const struct record scale_io_volume_source_record;
extern const struct record storage_os_persistent_volume_source_record;
extern const struct record storage_os_volume_source_record;
extern const struct record vsphere_virtual_disk_volume_source_record;
