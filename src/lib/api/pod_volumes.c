/* SPDX-License-Identifier: Apache-2.0 */
/* pod_volumes.c - where a pod may get its files from, upstream's many ways */
#include <stdio.h>

#include "lib/api/pod.h"
#include "lib/api/rows.h"

/* clang-format off */
static const struct field key_to_path_fields[] = {
    OPAQUE(STRING, "key", ALWAYS | REQUIRED),
    OPAQUE(STRING, "path", ALWAYS | REQUIRED),
    OPAQUE(INT, "mode", KEPT),
};
static OPAQUE_RECORD(key_to_path, "io.k8s.api.core.v1.KeyToPath");

static const struct field object_field_selector_fields[] = {
    OPAQUE(STRING, "apiVersion", 0),
    OPAQUE(STRING, "fieldPath", ALWAYS | REQUIRED),
};
OPAQUE_RECORD(object_field_selector,
       "io.k8s.api.core.v1.ObjectFieldSelector", ATOMIC);

static const struct field resource_field_selector_fields[] = {
    OPAQUE(STRING, "resource", ALWAYS | REQUIRED),
    OPAQUE(STRING, "containerName", 0),
    OPAQUE(QUANTITY, "divisor", ALWAYS),
};
OPAQUE_RECORD(resource_field_selector,
       "io.k8s.api.core.v1.ResourceFieldSelector", ATOMIC);

static const struct field downward_api_volume_file_fields[] = {
    OPAQUE(STRING, "path", ALWAYS | REQUIRED),
    OPAQUE_OBJECT("fieldRef", object_field_selector, 0),
    OPAQUE(INT, "mode", KEPT),
    OPAQUE_OBJECT("resourceFieldRef", resource_field_selector, 0),
};
static OPAQUE_RECORD(downward_api_volume_file,
       "io.k8s.api.core.v1.DownwardAPIVolumeFile");

static const struct field config_map_projection_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE_OBJECTS("items", key_to_path, 0),
    OPAQUE(BOOL, "optional", KEPT),
};
static OPAQUE_RECORD(config_map_projection,
       "io.k8s.api.core.v1.ConfigMapProjection");

static const struct field secret_projection_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE_OBJECTS("items", key_to_path, 0),
    OPAQUE(BOOL, "optional", KEPT),
};
static OPAQUE_RECORD(secret_projection, "io.k8s.api.core.v1.SecretProjection");

static const struct field downward_api_projection_fields[] = {
    OPAQUE_OBJECTS("items", downward_api_volume_file, 0),
};
static OPAQUE_RECORD(downward_api_projection,
       "io.k8s.api.core.v1.DownwardAPIProjection");

static const struct field service_account_token_projection_fields[] = {
    OPAQUE(STRING, "path", ALWAYS | REQUIRED),
    OPAQUE(STRING, "audience", 0),
    OPAQUE(INT64, "expirationSeconds", KEPT),
};
static OPAQUE_RECORD(service_account_token_projection,
       "io.k8s.api.core.v1.ServiceAccountTokenProjection");

static const struct field cluster_trust_bundle_projection_fields[] = {
    OPAQUE(STRING, "name", KEPT),
    OPAQUE(STRING, "path", ALWAYS | REQUIRED),
    OPAQUE_OBJECT("labelSelector", label_selector, 0),
    OPAQUE(BOOL, "optional", KEPT),
    OPAQUE(STRING, "signerName", KEPT),
};
static OPAQUE_RECORD(cluster_trust_bundle_projection,
       "io.k8s.api.core.v1.ClusterTrustBundleProjection");

static const struct field volume_projection_fields[] = {
    OPAQUE_OBJECT("clusterTrustBundle", cluster_trust_bundle_projection, 0),
    OPAQUE_OBJECT("configMap", config_map_projection, 0),
    OPAQUE_OBJECT("downwardAPI", downward_api_projection, 0),
    OPAQUE_OBJECT("secret", secret_projection, 0),
    OPAQUE_OBJECT("serviceAccountToken", service_account_token_projection, 0),
};
static OPAQUE_RECORD(volume_projection, "io.k8s.api.core.v1.VolumeProjection");

static const struct field aws_elastic_block_store_volume_source_fields[] = {
    OPAQUE(STRING, "volumeID", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(INT, "partition", 0),
    OPAQUE(BOOL, "readOnly", 0),
};
OPAQUE_RECORD(aws_elastic_block_store_volume_source,
       "io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource");

static const struct field azure_disk_volume_source_fields[] = {
    OPAQUE(STRING, "diskName", ALWAYS | REQUIRED),
    OPAQUE(STRING, "diskURI", ALWAYS | REQUIRED),
    OPAQUE(STRING, "cachingMode", KEPT,
        ONE_OF("None", "ReadOnly", "ReadWrite")),
    OPAQUE(STRING, "fsType", KEPT),
    OPAQUE(STRING, "kind", KEPT, ONE_OF("Dedicated", "Managed", "Shared")),
    OPAQUE(BOOL, "readOnly", KEPT),
};
OPAQUE_RECORD(azure_disk_volume_source,
       "io.k8s.api.core.v1.AzureDiskVolumeSource");

static const struct field azure_file_volume_source_fields[] = {
    OPAQUE(STRING, "secretName", ALWAYS | REQUIRED),
    OPAQUE(STRING, "shareName", ALWAYS | REQUIRED),
    OPAQUE(BOOL, "readOnly", 0),
};
static OPAQUE_RECORD(azure_file_volume_source,
       "io.k8s.api.core.v1.AzureFileVolumeSource");

static const struct field csi_volume_source_fields[] = {
    OPAQUE(STRING, "driver", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", KEPT),
    OPAQUE_OBJECT("nodePublishSecretRef", local_object_reference, 0),
    OPAQUE(BOOL, "readOnly", KEPT),
    OPAQUE_MAP(STRING, "volumeAttributes", 0),
};
static OPAQUE_RECORD(csi_volume_source, "io.k8s.api.core.v1.CSIVolumeSource");

static const struct field ceph_fs_volume_source_fields[] = {
    OPAQUE_LIST(STRING, "monitors", ALWAYS | REQUIRED),
    OPAQUE(STRING, "path", 0),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE(STRING, "secretFile", 0),
    OPAQUE_OBJECT("secretRef", local_object_reference, 0),
    OPAQUE(STRING, "user", 0),
};
static OPAQUE_RECORD(ceph_fs_volume_source,
       "io.k8s.api.core.v1.CephFSVolumeSource");

static const struct field cinder_volume_source_fields[] = {
    OPAQUE(STRING, "volumeID", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE_OBJECT("secretRef", local_object_reference, 0),
};
static OPAQUE_RECORD(cinder_volume_source,
       "io.k8s.api.core.v1.CinderVolumeSource");

static const struct field config_map_volume_source_fields[] = {
    OPAQUE(STRING, "name", 0),
    OPAQUE(INT, "defaultMode", KEPT),
    OPAQUE_OBJECTS("items", key_to_path, 0),
    OPAQUE(BOOL, "optional", KEPT),
};
static OPAQUE_RECORD(config_map_volume_source,
       "io.k8s.api.core.v1.ConfigMapVolumeSource");

static const struct field downward_api_volume_source_fields[] = {
    OPAQUE(INT, "defaultMode", KEPT),
    OPAQUE_OBJECTS("items", downward_api_volume_file, 0),
};
static OPAQUE_RECORD(downward_api_volume_source,
       "io.k8s.api.core.v1.DownwardAPIVolumeSource");

static const struct field empty_dir_volume_source_fields[] = {
    OPAQUE(STRING, "medium", 0),
    OPAQUE(QUANTITY, "sizeLimit", KEPT),
};
static OPAQUE_RECORD(empty_dir_volume_source,
       "io.k8s.api.core.v1.EmptyDirVolumeSource");

static const struct field ephemeral_volume_source_fields[] = {
    OPAQUE_OBJECT("volumeClaimTemplate", persistent_volume_claim_template, 0),
};
static OPAQUE_RECORD(ephemeral_volume_source,
       "io.k8s.api.core.v1.EphemeralVolumeSource");

static const struct field fc_volume_source_fields[] = {
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(INT, "lun", KEPT),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE_LIST(STRING, "targetWWNs", 0),
    OPAQUE_LIST(STRING, "wwids", 0),
};
OPAQUE_RECORD(fc_volume_source, "io.k8s.api.core.v1.FCVolumeSource");

static const struct field flex_volume_source_fields[] = {
    OPAQUE(STRING, "driver", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", 0),
    OPAQUE_MAP(STRING, "options", 0),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE_OBJECT("secretRef", local_object_reference, 0),
};
static OPAQUE_RECORD(flex_volume_source, "io.k8s.api.core.v1.FlexVolumeSource");

static const struct field flocker_volume_source_fields[] = {
    OPAQUE(STRING, "datasetName", 0),
    OPAQUE(STRING, "datasetUUID", 0),
};
OPAQUE_RECORD(flocker_volume_source, "io.k8s.api.core.v1.FlockerVolumeSource");

static const struct field gce_persistent_disk_volume_source_fields[] = {
    OPAQUE(STRING, "pdName", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(INT, "partition", 0),
    OPAQUE(BOOL, "readOnly", 0),
};
OPAQUE_RECORD(gce_persistent_disk_volume_source,
       "io.k8s.api.core.v1.GCEPersistentDiskVolumeSource");

static const struct field git_repo_volume_source_fields[] = {
    OPAQUE(STRING, "repository", ALWAYS | REQUIRED),
    OPAQUE(STRING, "directory", 0),
    OPAQUE(STRING, "revision", 0),
};
static OPAQUE_RECORD(git_repo_volume_source,
       "io.k8s.api.core.v1.GitRepoVolumeSource");

static const struct field glusterfs_volume_source_fields[] = {
    OPAQUE(STRING, "endpoints", ALWAYS | REQUIRED),
    OPAQUE(STRING, "path", ALWAYS | REQUIRED),
    OPAQUE(BOOL, "readOnly", 0),
};
static OPAQUE_RECORD(glusterfs_volume_source,
       "io.k8s.api.core.v1.GlusterfsVolumeSource");

static const struct field host_path_volume_source_fields[] = {
    OPAQUE(STRING, "path", ALWAYS | REQUIRED),
    OPAQUE(STRING, "type", KEPT,
        ONE_OF("", "BlockDevice", "CharDevice", "Directory",
            "DirectoryOrCreate", "File", "FileOrCreate", "Socket")),
};
OPAQUE_RECORD(host_path_volume_source,
       "io.k8s.api.core.v1.HostPathVolumeSource");

static const struct field iscsi_volume_source_fields[] = {
    OPAQUE(STRING, "iqn", ALWAYS | REQUIRED),
    OPAQUE(INT, "lun", ALWAYS | REQUIRED),
    OPAQUE(STRING, "targetPortal", ALWAYS | REQUIRED),
    OPAQUE(BOOL, "chapAuthDiscovery", 0),
    OPAQUE(BOOL, "chapAuthSession", 0),
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(STRING, "initiatorName", KEPT),
    OPAQUE(STRING, "iscsiInterface", 0),
    OPAQUE_LIST(STRING, "portals", 0),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE_OBJECT("secretRef", local_object_reference, 0),
};
static OPAQUE_RECORD(iscsi_volume_source,
       "io.k8s.api.core.v1.ISCSIVolumeSource");

static const struct field image_volume_source_fields[] = {
    OPAQUE(STRING, "pullPolicy", 0, ONE_OF("Always", "IfNotPresent", "Never")),
    OPAQUE(STRING, "reference", 0),
};
static OPAQUE_RECORD(image_volume_source,
       "io.k8s.api.core.v1.ImageVolumeSource");

static const struct field nfs_volume_source_fields[] = {
    OPAQUE(STRING, "path", ALWAYS | REQUIRED),
    OPAQUE(STRING, "server", ALWAYS | REQUIRED),
    OPAQUE(BOOL, "readOnly", 0),
};
OPAQUE_RECORD(nfs_volume_source, "io.k8s.api.core.v1.NFSVolumeSource");

static const struct field persistent_volume_claim_volume_source_fields[] = {
    STRING("claimName", pod_volume, claim_name, ALWAYS | REQUIRED),
    BOOL("readOnly", pod_volume, read_only, 0),
};
static RECORD(persistent_volume_claim_volume_source, pod_volume,
       "io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource");

static const struct field photon_persistent_disk_volume_source_fields[] = {
    OPAQUE(STRING, "pdID", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", 0),
};
OPAQUE_RECORD(photon_persistent_disk_volume_source,
       "io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource");

static const struct field portworx_volume_source_fields[] = {
    OPAQUE(STRING, "volumeID", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(BOOL, "readOnly", 0),
};
OPAQUE_RECORD(portworx_volume_source,
       "io.k8s.api.core.v1.PortworxVolumeSource");

static const struct field projected_volume_source_fields[] = {
    OPAQUE(INT, "defaultMode", KEPT),
    OPAQUE_OBJECTS("sources", volume_projection, 0),
};
static OPAQUE_RECORD(projected_volume_source,
       "io.k8s.api.core.v1.ProjectedVolumeSource");

static const struct field quobyte_volume_source_fields[] = {
    OPAQUE(STRING, "registry", ALWAYS | REQUIRED),
    OPAQUE(STRING, "volume", ALWAYS | REQUIRED),
    OPAQUE(STRING, "group", 0),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE(STRING, "tenant", 0),
    OPAQUE(STRING, "user", 0),
};
OPAQUE_RECORD(quobyte_volume_source, "io.k8s.api.core.v1.QuobyteVolumeSource");

static const struct field rbd_volume_source_fields[] = {
    OPAQUE(STRING, "image", ALWAYS | REQUIRED),
    OPAQUE_LIST(STRING, "monitors", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(STRING, "keyring", 0),
    OPAQUE(STRING, "pool", 0),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE_OBJECT("secretRef", local_object_reference, 0),
    OPAQUE(STRING, "user", 0),
};
static OPAQUE_RECORD(rbd_volume_source, "io.k8s.api.core.v1.RBDVolumeSource");

static const struct field scale_io_volume_source_fields[] = {
    OPAQUE(STRING, "gateway", ALWAYS | REQUIRED),
    OPAQUE_OBJECT("secretRef", local_object_reference, REQUIRED),
    OPAQUE(STRING, "system", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(STRING, "protectionDomain", 0),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE(BOOL, "sslEnabled", 0),
    OPAQUE(STRING, "storageMode", 0),
    OPAQUE(STRING, "storagePool", 0),
    OPAQUE(STRING, "volumeName", 0),
};
static OPAQUE_RECORD(scale_io_volume_source,
       "io.k8s.api.core.v1.ScaleIOVolumeSource");

static const struct field secret_volume_source_fields[] = {
    OPAQUE(INT, "defaultMode", KEPT),
    OPAQUE_OBJECTS("items", key_to_path, 0),
    OPAQUE(BOOL, "optional", KEPT),
    OPAQUE(STRING, "secretName", 0),
};
static OPAQUE_RECORD(secret_volume_source,
       "io.k8s.api.core.v1.SecretVolumeSource");

static const struct field storage_os_volume_source_fields[] = {
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(BOOL, "readOnly", 0),
    OPAQUE_OBJECT("secretRef", local_object_reference, 0),
    OPAQUE(STRING, "volumeName", 0),
    OPAQUE(STRING, "volumeNamespace", 0),
};
static OPAQUE_RECORD(storage_os_volume_source,
       "io.k8s.api.core.v1.StorageOSVolumeSource");

static const struct field vsphere_virtual_disk_volume_source_fields[] = {
    OPAQUE(STRING, "volumePath", ALWAYS | REQUIRED),
    OPAQUE(STRING, "fsType", 0),
    OPAQUE(STRING, "storagePolicyID", 0),
    OPAQUE(STRING, "storagePolicyName", 0),
};
OPAQUE_RECORD(vsphere_virtual_disk_volume_source,
       "io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource");

static const struct field pod_volume_fields[] = {
    STRING("name", pod_volume, name, ALWAYS | REQUIRED),
    OPAQUE_OBJECT("emptyDir", empty_dir_volume_source, 0),
    OPAQUE_OBJECT("hostPath", host_path_volume_source, 0),
    OPAQUE_OBJECT("awsElasticBlockStore",
        aws_elastic_block_store_volume_source, 0),
    OPAQUE_OBJECT("azureDisk", azure_disk_volume_source, 0),
    OPAQUE_OBJECT("azureFile", azure_file_volume_source, 0),
    OPAQUE_OBJECT("cephfs", ceph_fs_volume_source, 0),
    OPAQUE_OBJECT("cinder", cinder_volume_source, 0),
    OPAQUE_OBJECT("configMap", config_map_volume_source, 0),
    OPAQUE_OBJECT("csi", csi_volume_source, 0),
    OPAQUE_OBJECT("downwardAPI", downward_api_volume_source, 0),
    OBJECT("ephemeral", pod_volume, ephemeral, ephemeral_volume_source, TREE),
    OPAQUE_OBJECT("fc", fc_volume_source, 0),
    OPAQUE_OBJECT("flexVolume", flex_volume_source, 0),
    OPAQUE_OBJECT("flocker", flocker_volume_source, 0),
    OPAQUE_OBJECT("gcePersistentDisk", gce_persistent_disk_volume_source, 0),
    OPAQUE_OBJECT("gitRepo", git_repo_volume_source, 0),
    OPAQUE_OBJECT("glusterfs", glusterfs_volume_source, 0),
    OPAQUE_OBJECT("image", image_volume_source, 0),
    OPAQUE_OBJECT("iscsi", iscsi_volume_source, 0),
    OPAQUE_OBJECT("nfs", nfs_volume_source, 0),
    WITHIN("persistentVolumeClaim", persistent_volume_claim_volume_source, 0),
    OPAQUE_OBJECT("photonPersistentDisk", photon_persistent_disk_volume_source,
        0),
    OPAQUE_OBJECT("portworxVolume", portworx_volume_source, 0),
    OPAQUE_OBJECT("projected", projected_volume_source, 0),
    OPAQUE_OBJECT("quobyte", quobyte_volume_source, 0),
    OPAQUE_OBJECT("rbd", rbd_volume_source, 0),
    OPAQUE_OBJECT("scaleIO", scale_io_volume_source, 0),
    OPAQUE_OBJECT("secret", secret_volume_source, 0),
    OPAQUE_OBJECT("storageos", storage_os_volume_source, 0),
    OPAQUE_OBJECT("vsphereVolume", vsphere_virtual_disk_volume_source, 0),
};
RECORD(pod_volume, pod_volume, "io.k8s.api.core.v1.Volume");
/* clang-format on */

const char *
pod_volume_claim(const struct pod *pod,
                 const struct pod_volume *volume,
                 char buffer[POD_CLAIM_NAME_SIZE])
{
    if (volume->ephemeral == NULL)
        return volume->claim_name;
    snprintf(buffer,
             POD_CLAIM_NAME_SIZE,
             "%s-%s",
             pod->meta.name,
             volume->name);
    return buffer;
}
