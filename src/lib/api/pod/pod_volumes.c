/* SPDX-License-Identifier: Apache-2.0 */
/* pod_volumes.c - field tables of a pod's volumes */
#include <stdio.h>

#include "lib/api/object/object_reference.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/api/storage/volume_source.h"

/* clang-format off */
static const struct field key_to_path_fields[] = {
    OPAQUE(STRING, "key", ALWAYS | REQUIRED,
        HELP("The key.")),
    OPAQUE(STRING, "path", ALWAYS | REQUIRED,
        HELP("The path.")),
    OPAQUE(INT, "mode", KEPT,
        HELP("Permissions of this file.")),
};
static OPAQUE_RECORD(key_to_path, "io.k8s.api.core.v1.KeyToPath",
       MESSAGE("key path mode"),
       HELP("The file of a key."));

static const struct field object_field_selector_fields[] = {
    OPAQUE(STRING, "apiVersion", 0,
        HELP("The group and version of the kind, such as batch/v1.")),
    OPAQUE(STRING, "fieldPath", ALWAYS | REQUIRED,
        HELP("The path of the field, such as metadata.name.")),
};
OPAQUE_RECORD(object_field_selector,
       "io.k8s.api.core.v1.ObjectFieldSelector",
       MESSAGE("apiVersion fieldPath"),
       HELP("A field of the pod."), ATOMIC);

static const struct field resource_field_selector_fields[] = {
    OPAQUE(STRING, "resource", ALWAYS | REQUIRED,
        HELP("Such as limits.cpu.")),
    OPAQUE(STRING, "containerName", 0,
        HELP("The container.")),
    OPAQUE(QUANTITY, "divisor", ALWAYS,
        HELP("The unit of the value.")),
};
OPAQUE_RECORD(resource_field_selector,
       "io.k8s.api.core.v1.ResourceFieldSelector",
       MESSAGE("containerName resource divisor"),
       HELP("A resource of a container."), ATOMIC);

static const struct field downward_api_volume_file_fields[] = {
    OPAQUE(STRING, "path", ALWAYS | REQUIRED,
        HELP("The path.")),
    OPAQUE_OBJECT("fieldRef", object_field_selector, 0,
        HELP("A field of the pod.")),
    OPAQUE(INT, "mode", KEPT,
        HELP("Permissions of this file.")),
    OPAQUE_OBJECT("resourceFieldRef", resource_field_selector, 0,
        HELP("A resource of a container.")),
};
static OPAQUE_RECORD(downward_api_volume_file,
       "io.k8s.api.core.v1.DownwardAPIVolumeFile",
       MESSAGE("path fieldRef resourceFieldRef mode"),
       HELP("A file with a field of the pod."));

static const struct field config_map_projection_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE_OBJECTS("items", key_to_path, 0,
        HELP("Only these keys, under these paths.")),
    OPAQUE(BOOL, "optional", KEPT,
        HELP("Whether it may be missing.")),
};
static OPAQUE_RECORD(config_map_projection,
       "io.k8s.api.core.v1.ConfigMapProjection",
       MESSAGE("(name) items 4 optional"),
       HELP("Entries of a ConfigMap."));

static const struct field secret_projection_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE_OBJECTS("items", key_to_path, 0,
        HELP("Only these keys, under these paths.")),
    OPAQUE(BOOL, "optional", KEPT,
        HELP("Whether it may be missing.")),
};
static OPAQUE_RECORD(secret_projection, "io.k8s.api.core.v1.SecretProjection",
       MESSAGE("(name) items 4 optional"),
       HELP("Entries of a secret."));

static const struct field downward_api_projection_fields[] = {
    OPAQUE_OBJECTS("items", downward_api_volume_file, 0,
        HELP("Only these keys, under these paths.")),
};
static OPAQUE_RECORD(downward_api_projection,
       "io.k8s.api.core.v1.DownwardAPIProjection",
       MESSAGE("items"),
       HELP("Fields of the pod."));

static const struct field service_account_token_projection_fields[] = {
    OPAQUE(STRING, "path", ALWAYS | REQUIRED,
        HELP("The path.")),
    OPAQUE(STRING, "audience", 0,
        HELP("The audience of the token.")),
    OPAQUE(INT64, "expirationSeconds", KEPT,
        HELP("The lifetime of the token.")),
};
static OPAQUE_RECORD(service_account_token_projection,
       "io.k8s.api.core.v1.ServiceAccountTokenProjection",
       MESSAGE("audience expirationSeconds path"),
       HELP("A token of the service account."));

static const struct field cluster_trust_bundle_projection_fields[] = {
    OPAQUE(STRING, "name", KEPT,
        HELP("The bundle, by name.")),
    OPAQUE(STRING, "path", ALWAYS | REQUIRED,
        HELP("The path.")),
    OPAQUE_OBJECT("labelSelector", label_selector, 0,
        HELP("Only objects with these labels.")),
    OPAQUE(BOOL, "optional", KEPT,
        HELP("Whether it may be missing.")),
    OPAQUE(STRING, "signerName", KEPT,
        HELP("The signer of the bundle.")),
};
static OPAQUE_RECORD(cluster_trust_bundle_projection,
       "io.k8s.api.core.v1.ClusterTrustBundleProjection",
       MESSAGE("name signerName labelSelector path optional"),
       HELP("Certificates of a signer."));

static const struct field volume_projection_fields[] = {
    OPAQUE_OBJECT("clusterTrustBundle", cluster_trust_bundle_projection, 0,
        HELP("Certificates.")),
    OPAQUE_OBJECT("configMap", config_map_projection, 0,
        HELP("A ConfigMap.")),
    OPAQUE_OBJECT("downwardAPI", downward_api_projection, 0,
        HELP("Fields of the pod.")),
    OPAQUE_OBJECT("secret", secret_projection, 0,
        HELP("A secret.")),
    OPAQUE_OBJECT("serviceAccountToken", service_account_token_projection, 0,
        HELP("A token.")),
};
static OPAQUE_RECORD(volume_projection, "io.k8s.api.core.v1.VolumeProjection",
       MESSAGE("secret downwardAPI configMap serviceAccountToken "
               "clusterTrustBundle"),
       HELP("A source of a projected volume."));

static const struct field csi_volume_source_fields[] = {
    OPAQUE(STRING, "driver", ALWAYS | REQUIRED,
        HELP("The driver that serves it.")),
    OPAQUE(STRING, "fsType", KEPT,
        HELP("The file system on it, such as ext4.")),
    OPAQUE_OBJECT("nodePublishSecretRef", local_object_reference, 0,
        HELP("The secret for mounting it.")),
    OPAQUE(BOOL, "readOnly", KEPT,
        HELP("Mounted read-only.")),
    OPAQUE_MAP(STRING, "volumeAttributes", 0,
        HELP("Properties for the driver.")),
};
static OPAQUE_RECORD(csi_volume_source, "io.k8s.api.core.v1.CSIVolumeSource",
       MESSAGE("driver readOnly fsType volumeAttributes nodePublishSecretRef"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field config_map_volume_source_fields[] = {
    OPAQUE(STRING, "name", 0,
        HELP("Its name.")),
    OPAQUE(INT, "defaultMode", KEPT,
        HELP("Permissions of files, as an octal or decimal number.")),
    OPAQUE_OBJECTS("items", key_to_path, 0,
        HELP("Only these keys, under these paths.")),
    OPAQUE(BOOL, "optional", KEPT,
        HELP("Whether it may be missing.")),
};
static OPAQUE_RECORD(config_map_volume_source,
       "io.k8s.api.core.v1.ConfigMapVolumeSource",
       MESSAGE("(name) items defaultMode optional"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field downward_api_volume_source_fields[] = {
    OPAQUE(INT, "defaultMode", KEPT,
        HELP("Permissions of files, as an octal or decimal number.")),
    OPAQUE_OBJECTS("items", downward_api_volume_file, 0,
        HELP("Only these keys, under these paths.")),
};
static OPAQUE_RECORD(downward_api_volume_source,
       "io.k8s.api.core.v1.DownwardAPIVolumeSource",
       MESSAGE("items defaultMode"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field empty_dir_volume_source_fields[] = {
    OPAQUE(STRING, "medium", 0,
        HELP("Memory, or nothing for the node's own disk.")),
    OPAQUE(QUANTITY, "sizeLimit", KEPT,
        HELP("Its maximum size.")),
};
static OPAQUE_RECORD(empty_dir_volume_source,
       "io.k8s.api.core.v1.EmptyDirVolumeSource",
       MESSAGE("medium sizeLimit"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field ephemeral_volume_source_fields[] = {
    OPAQUE_OBJECT("volumeClaimTemplate", persistent_volume_claim_template, 0,
        HELP("The claim that is created for it.")),
};
static OPAQUE_RECORD(ephemeral_volume_source,
       "io.k8s.api.core.v1.EphemeralVolumeSource",
       MESSAGE("volumeClaimTemplate"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field git_repo_volume_source_fields[] = {
    OPAQUE(STRING, "repository", ALWAYS | REQUIRED,
        HELP("The address of the repository.")),
    OPAQUE(STRING, "directory", 0,
        HELP("The target directory.")),
    OPAQUE(STRING, "revision", 0,
        HELP("The commit.")),
};
static OPAQUE_RECORD(git_repo_volume_source,
       "io.k8s.api.core.v1.GitRepoVolumeSource",
       MESSAGE("repository revision directory"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field image_volume_source_fields[] = {
    OPAQUE(STRING, "pullPolicy", 0, ONE_OF("Always", "IfNotPresent", "Never"),
        HELP("When it is pulled: Always, IfNotPresent or Never.")),
    OPAQUE(STRING, "reference", 0,
        HELP("Where the image is.")),
};
static OPAQUE_RECORD(image_volume_source,
       "io.k8s.api.core.v1.ImageVolumeSource",
       MESSAGE("reference pullPolicy"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field persistent_volume_claim_volume_source_fields[] = {
    STRING("claimName", pod_volume, claim_name, ALWAYS | REQUIRED,
        HELP("The claim, by name, in the same namespace.")),
    BOOL("readOnly", pod_volume, read_only, 0,
        HELP("Mounted read-only.")),
};
static RECORD(persistent_volume_claim_volume_source, pod_volume,
       "io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource",
       MESSAGE("claimName readOnly"),
       HELP("The volume that a claim is bound to."));

static const struct field projected_volume_source_fields[] = {
    OPAQUE(INT, "defaultMode", KEPT,
        HELP("Permissions of files, as an octal or decimal number.")),
    OPAQUE_OBJECTS("sources", volume_projection, 0,
        HELP("The sources.")),
};
static OPAQUE_RECORD(projected_volume_source,
       "io.k8s.api.core.v1.ProjectedVolumeSource",
       MESSAGE("sources defaultMode"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field secret_volume_source_fields[] = {
    OPAQUE(INT, "defaultMode", KEPT,
        HELP("Permissions of files, as an octal or decimal number.")),
    OPAQUE_OBJECTS("items", key_to_path, 0,
        HELP("Only these keys, under these paths.")),
    OPAQUE(BOOL, "optional", KEPT,
        HELP("Whether it may be missing.")),
    OPAQUE(STRING, "secretName", 0,
        HELP("The secret, by name.")),
};
static OPAQUE_RECORD(secret_volume_source,
       "io.k8s.api.core.v1.SecretVolumeSource",
       MESSAGE("secretName items defaultMode optional"),
       HELP("A volume of this type; stored, but not supported."));

static const struct field pod_volume_fields[] = {
    STRING("name", pod_volume, name, ALWAYS | REQUIRED,
        HELP("Its name in the containers.")),
    OPAQUE_OBJECT("emptyDir", empty_dir_volume_source, 0,
        HELP("An empty directory that lives as long as the pod.")),
    VOLUME_SOURCE_ROWS(volume_source),
    OPAQUE_OBJECT("configMap", config_map_volume_source, 0,
        HELP("Entries of a ConfigMap, as files.")),
    OPAQUE_OBJECT("csi", csi_volume_source, 0,
        HELP("A volume of a CSI driver.")),
    OPAQUE_OBJECT("downwardAPI", downward_api_volume_source, 0,
        HELP("Fields of the pod, as files.")),
    OBJECT("ephemeral", pod_volume, ephemeral, ephemeral_volume_source, TREE,
        HELP("A claim that lives as long as the pod.")),
    OPAQUE_OBJECT("gitRepo", git_repo_volume_source, 0,
        HELP("A volume of this type; not supported.")),
    OPAQUE_OBJECT("image", image_volume_source, 0,
        HELP("An image, as files.")),
    WITHIN("persistentVolumeClaim", persistent_volume_claim_volume_source, 0,
        HELP("The volume that a claim is bound to.")),
    OPAQUE_OBJECT("projected", projected_volume_source, 0,
        HELP("Several sources in one directory.")),
    OPAQUE_OBJECT("secret", secret_volume_source, 0,
        HELP("Entries of a secret, as files.")),
};
RECORD(pod_volume, pod_volume, "io.k8s.api.core.v1.Volume",
       MESSAGE("name (hostPath emptyDir gcePersistentDisk "
               "awsElasticBlockStore gitRepo secret nfs iscsi glusterfs "
               "persistentVolumeClaim rbd flexVolume cinder cephfs flocker "
               "downwardAPI fc azureFile configMap vsphereVolume quobyte "
               "azureDisk photonPersistentDisk portworxVolume scaleIO "
               "projected storageos csi ephemeral image)"),
       HELP("A volume of a pod; Kiln takes claims."));
/* clang-format on */

const char *
pod_volume_claim(const struct pod *pod, const struct pod_volume *volume,
                 char buffer[POD_CLAIM_NAME_SIZE])
{
    if (volume->ephemeral == NULL)
        return volume->claim_name;
    snprintf(buffer, POD_CLAIM_NAME_SIZE, "%s-%s", pod->meta.name, volume->name);
    return buffer;
}
