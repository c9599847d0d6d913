/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/protobuf/messages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/macro.h"

/* Names of fields in the order of their numbers, from 1. A number among them
 * is that of the next one; @NAME is a message whose fields stand in JSON as if
 * they were this one's.
 */
struct message {
    const char *name;
    const char *fields;
};

/* clang-format off */
static const struct message messages[] = {
    {"io.k8s.api.authentication.v1.ExtraValue",
     "items"},
    {"io.k8s.api.authentication.v1.SelfSubjectReview",
     "metadata status"},
    {"io.k8s.api.authentication.v1.SelfSubjectReviewStatus",
     "userInfo"},
    {"io.k8s.api.authentication.v1.UserInfo",
     "username uid groups extra"},
    {"io.k8s.api.authorization.v1.FieldSelectorAttributes",
     "rawSelector requirements"},
    {"io.k8s.api.authorization.v1.LabelSelectorAttributes",
     "rawSelector requirements"},
    {"io.k8s.api.authorization.v1.NonResourceAttributes",
     "path verb"},
    {"io.k8s.api.authorization.v1.NonResourceRule",
     "verbs nonResourceURLs"},
    {"io.k8s.api.authorization.v1.ResourceAttributes",
     "namespace verb group version resource subresource name "
     "fieldSelector labelSelector"},
    {"io.k8s.api.authorization.v1.ResourceRule",
     "verbs apiGroups resources resourceNames"},
    {"io.k8s.api.authorization.v1.SelfSubjectAccessReview",
     "metadata spec status"},
    {"io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec",
     "resourceAttributes nonResourceAttributes"},
    {"io.k8s.api.authorization.v1.SelfSubjectRulesReview",
     "metadata spec status"},
    {"io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec",
     "namespace"},
    {"io.k8s.api.authorization.v1.SubjectAccessReviewStatus",
     "allowed reason evaluationError denied"},
    {"io.k8s.api.authorization.v1.SubjectRulesReviewStatus",
     "resourceRules nonResourceRules incomplete evaluationError"},
    {"io.k8s.api.batch.v1.Job",
     "metadata spec status"},
    {"io.k8s.api.batch.v1.JobCondition",
     "type status lastProbeTime lastTransitionTime reason message"},
    {"io.k8s.api.batch.v1.JobSpec",
     "parallelism completions activeDeadlineSeconds selector "
     "manualSelector template backoffLimit ttlSecondsAfterFinished "
     "completionMode suspend podFailurePolicy backoffLimitPerIndex "
     "maxFailedIndexes podReplacementPolicy managedBy successPolicy"},
    {"io.k8s.api.batch.v1.JobStatus",
     "conditions startTime completionTime active succeeded failed "
     "completedIndexes uncountedTerminatedPods ready failedIndexes "
     "terminating"},
    {"io.k8s.api.batch.v1.PodFailurePolicy",
     "rules"},
    {"io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement",
     "containerName operator values"},
    {"io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern",
     "type status"},
    {"io.k8s.api.batch.v1.PodFailurePolicyRule",
     "action onExitCodes onPodConditions"},
    {"io.k8s.api.batch.v1.SuccessPolicy",
     "rules"},
    {"io.k8s.api.batch.v1.SuccessPolicyRule",
     "succeededIndexes succeededCount"},
    {"io.k8s.api.batch.v1.UncountedTerminatedPods",
     "succeeded failed"},
    {"io.k8s.api.coordination.v1.Lease",
     "metadata spec"},
    {"io.k8s.api.coordination.v1.LeaseSpec",
     "holderIdentity leaseDurationSeconds acquireTime renewTime "
     "leaseTransitions strategy preferredHolder"},
    {"io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource",
     "volumeID fsType partition readOnly"},
    {"io.k8s.api.core.v1.Affinity",
     "nodeAffinity podAffinity podAntiAffinity"},
    {"io.k8s.api.core.v1.AppArmorProfile",
     "type localhostProfile"},
    {"io.k8s.api.core.v1.AttachedVolume",
     "name devicePath"},
    {"io.k8s.api.core.v1.AzureDiskVolumeSource",
     "diskName diskURI cachingMode fsType readOnly kind"},
    {"io.k8s.api.core.v1.AzureFilePersistentVolumeSource",
     "secretName shareName readOnly secretNamespace"},
    {"io.k8s.api.core.v1.AzureFileVolumeSource",
     "secretName shareName readOnly"},
    {"io.k8s.api.core.v1.Binding",
     "metadata target"},
    {"io.k8s.api.core.v1.CSIPersistentVolumeSource",
     "driver volumeHandle readOnly fsType volumeAttributes "
     "controllerPublishSecretRef nodeStageSecretRef nodePublishSecretRef "
     "controllerExpandSecretRef nodeExpandSecretRef"},
    {"io.k8s.api.core.v1.CSIVolumeSource",
     "driver readOnly fsType volumeAttributes nodePublishSecretRef"},
    {"io.k8s.api.core.v1.Capabilities",
     "add drop"},
    {"io.k8s.api.core.v1.CephFSPersistentVolumeSource",
     "monitors path user secretFile secretRef readOnly"},
    {"io.k8s.api.core.v1.CephFSVolumeSource",
     "monitors path user secretFile secretRef readOnly"},
    {"io.k8s.api.core.v1.CinderPersistentVolumeSource",
     "volumeID fsType readOnly secretRef"},
    {"io.k8s.api.core.v1.CinderVolumeSource",
     "volumeID fsType readOnly secretRef"},
    {"io.k8s.api.core.v1.ClusterTrustBundleProjection",
     "name signerName labelSelector path optional"},
    {"io.k8s.api.core.v1.ConfigMap",
     "metadata data binaryData immutable"},
    {"io.k8s.api.core.v1.ConfigMapEnvSource",
     "@io.k8s.api.core.v1.LocalObjectReference optional"},
    {"io.k8s.api.core.v1.ConfigMapKeySelector",
     "@io.k8s.api.core.v1.LocalObjectReference key optional"},
    {"io.k8s.api.core.v1.ConfigMapNodeConfigSource",
     "namespace name uid resourceVersion kubeletConfigKey"},
    {"io.k8s.api.core.v1.ConfigMapProjection",
     "@io.k8s.api.core.v1.LocalObjectReference items 4 optional"},
    {"io.k8s.api.core.v1.ConfigMapVolumeSource",
     "@io.k8s.api.core.v1.LocalObjectReference items defaultMode "
     "optional"},
    {"io.k8s.api.core.v1.Container",
     "name image command args workingDir ports env resources "
     "volumeMounts livenessProbe readinessProbe lifecycle "
     "terminationMessagePath imagePullPolicy securityContext stdin "
     "stdinOnce tty envFrom terminationMessagePolicy volumeDevices "
     "startupProbe resizePolicy restartPolicy"},
    {"io.k8s.api.core.v1.ContainerImage",
     "names sizeBytes"},
    {"io.k8s.api.core.v1.ContainerPort",
     "name hostPort containerPort protocol hostIP"},
    {"io.k8s.api.core.v1.ContainerResizePolicy",
     "resourceName restartPolicy"},
    {"io.k8s.api.core.v1.ContainerState",
     "waiting running terminated"},
    {"io.k8s.api.core.v1.ContainerStateRunning",
     "startedAt"},
    {"io.k8s.api.core.v1.ContainerStateTerminated",
     "exitCode signal reason message startedAt finishedAt containerID"},
    {"io.k8s.api.core.v1.ContainerStateWaiting",
     "reason message"},
    {"io.k8s.api.core.v1.ContainerStatus",
     "name state lastState ready restartCount image imageID containerID "
     "started allocatedResources resources volumeMounts user "
     "allocatedResourcesStatus"},
    {"io.k8s.api.core.v1.ContainerUser",
     "linux"},
    {"io.k8s.api.core.v1.DaemonEndpoint",
     "Port"},
    {"io.k8s.api.core.v1.DownwardAPIProjection",
     "items"},
    {"io.k8s.api.core.v1.DownwardAPIVolumeFile",
     "path fieldRef resourceFieldRef mode"},
    {"io.k8s.api.core.v1.DownwardAPIVolumeSource",
     "items defaultMode"},
    {"io.k8s.api.core.v1.EmptyDirVolumeSource",
     "medium sizeLimit"},
    {"io.k8s.api.core.v1.EnvFromSource",
     "prefix configMapRef secretRef"},
    {"io.k8s.api.core.v1.EnvVar",
     "name value valueFrom"},
    {"io.k8s.api.core.v1.EnvVarSource",
     "fieldRef resourceFieldRef configMapKeyRef secretKeyRef"},
    {"io.k8s.api.core.v1.EphemeralContainer",
     "@io.k8s.api.core.v1.EphemeralContainerCommon targetContainerName"},
    {"io.k8s.api.core.v1.EphemeralContainerCommon",
     "name image command args workingDir ports env resources "
     "volumeMounts livenessProbe readinessProbe lifecycle "
     "terminationMessagePath imagePullPolicy securityContext stdin "
     "stdinOnce tty envFrom terminationMessagePolicy volumeDevices "
     "startupProbe resizePolicy restartPolicy"},
    {"io.k8s.api.core.v1.EphemeralVolumeSource",
     "volumeClaimTemplate"},
    {"io.k8s.api.core.v1.Event",
     "metadata involvedObject reason message source firstTimestamp "
     "lastTimestamp count type eventTime series action related "
     "reportingComponent reportingInstance"},
    {"io.k8s.api.core.v1.EventSeries",
     "count lastObservedTime"},
    {"io.k8s.api.core.v1.EventSource",
     "component host"},
    {"io.k8s.api.core.v1.ExecAction",
     "command"},
    {"io.k8s.api.core.v1.FCVolumeSource",
     "targetWWNs lun fsType readOnly wwids"},
    {"io.k8s.api.core.v1.FlexPersistentVolumeSource",
     "driver fsType secretRef readOnly options"},
    {"io.k8s.api.core.v1.FlexVolumeSource",
     "driver fsType secretRef readOnly options"},
    {"io.k8s.api.core.v1.FlockerVolumeSource",
     "datasetName datasetUUID"},
    {"io.k8s.api.core.v1.GCEPersistentDiskVolumeSource",
     "pdName fsType partition readOnly"},
    {"io.k8s.api.core.v1.GRPCAction",
     "port service"},
    {"io.k8s.api.core.v1.GitRepoVolumeSource",
     "repository revision directory"},
    {"io.k8s.api.core.v1.GlusterfsPersistentVolumeSource",
     "endpoints path readOnly endpointsNamespace"},
    {"io.k8s.api.core.v1.GlusterfsVolumeSource",
     "endpoints path readOnly"},
    {"io.k8s.api.core.v1.HTTPGetAction",
     "path port host scheme httpHeaders"},
    {"io.k8s.api.core.v1.HTTPHeader",
     "name value"},
    {"io.k8s.api.core.v1.HostAlias",
     "ip hostnames"},
    {"io.k8s.api.core.v1.HostIP",
     "ip"},
    {"io.k8s.api.core.v1.HostPathVolumeSource",
     "path type"},
    {"io.k8s.api.core.v1.ISCSIPersistentVolumeSource",
     "targetPortal iqn lun iscsiInterface fsType readOnly portals "
     "chapAuthDiscovery 10 secretRef chapAuthSession initiatorName"},
    {"io.k8s.api.core.v1.ISCSIVolumeSource",
     "targetPortal iqn lun iscsiInterface fsType readOnly portals "
     "chapAuthDiscovery 10 secretRef chapAuthSession initiatorName"},
    {"io.k8s.api.core.v1.ImageVolumeSource",
     "reference pullPolicy"},
    {"io.k8s.api.core.v1.KeyToPath",
     "key path mode"},
    {"io.k8s.api.core.v1.Lifecycle",
     "postStart preStop"},
    {"io.k8s.api.core.v1.LifecycleHandler",
     "exec httpGet tcpSocket sleep"},
    {"io.k8s.api.core.v1.LinuxContainerUser",
     "uid gid supplementalGroups"},
    {"io.k8s.api.core.v1.LocalObjectReference",
     "name"},
    {"io.k8s.api.core.v1.LocalVolumeSource",
     "path fsType"},
    {"io.k8s.api.core.v1.ModifyVolumeStatus",
     "targetVolumeAttributesClassName status"},
    {"io.k8s.api.core.v1.NFSVolumeSource",
     "server path readOnly"},
    {"io.k8s.api.core.v1.Namespace",
     "metadata spec status"},
    {"io.k8s.api.core.v1.NamespaceCondition",
     "type status 4 lastTransitionTime reason message"},
    {"io.k8s.api.core.v1.NamespaceSpec",
     "finalizers"},
    {"io.k8s.api.core.v1.NamespaceStatus",
     "phase conditions"},
    {"io.k8s.api.core.v1.Node",
     "metadata spec status"},
    {"io.k8s.api.core.v1.NodeAddress",
     "type address"},
    {"io.k8s.api.core.v1.NodeAffinity",
     "requiredDuringSchedulingIgnoredDuringExecution "
     "preferredDuringSchedulingIgnoredDuringExecution"},
    {"io.k8s.api.core.v1.NodeCondition",
     "type status lastHeartbeatTime lastTransitionTime reason message"},
    {"io.k8s.api.core.v1.NodeConfigSource",
     "2 configMap"},
    {"io.k8s.api.core.v1.NodeConfigStatus",
     "assigned active lastKnownGood error"},
    {"io.k8s.api.core.v1.NodeDaemonEndpoints",
     "kubeletEndpoint"},
    {"io.k8s.api.core.v1.NodeFeatures",
     "supplementalGroupsPolicy"},
    {"io.k8s.api.core.v1.NodeRuntimeHandler",
     "name features"},
    {"io.k8s.api.core.v1.NodeRuntimeHandlerFeatures",
     "recursiveReadOnlyMounts userNamespaces"},
    {"io.k8s.api.core.v1.NodeSelector",
     "nodeSelectorTerms"},
    {"io.k8s.api.core.v1.NodeSelectorRequirement",
     "key operator values"},
    {"io.k8s.api.core.v1.NodeSelectorTerm",
     "matchExpressions matchFields"},
    {"io.k8s.api.core.v1.NodeSpec",
     "podCIDR externalID providerID unschedulable taints configSource "
     "podCIDRs"},
    {"io.k8s.api.core.v1.NodeStatus",
     "capacity allocatable phase conditions addresses daemonEndpoints "
     "nodeInfo images volumesInUse volumesAttached config "
     "runtimeHandlers features"},
    {"io.k8s.api.core.v1.NodeSystemInfo",
     "machineID systemUUID bootID kernelVersion osImage "
     "containerRuntimeVersion kubeletVersion kubeProxyVersion "
     "operatingSystem architecture"},
    {"io.k8s.api.core.v1.ObjectFieldSelector",
     "apiVersion fieldPath"},
    {"io.k8s.api.core.v1.ObjectReference",
     "kind namespace name uid apiVersion resourceVersion fieldPath"},
    {"io.k8s.api.core.v1.PersistentVolume",
     "metadata spec status"},
    {"io.k8s.api.core.v1.PersistentVolumeClaim",
     "metadata spec status"},
    {"io.k8s.api.core.v1.PersistentVolumeClaimCondition",
     "type status lastProbeTime lastTransitionTime reason message"},
    {"io.k8s.api.core.v1.PersistentVolumeClaimSpec",
     "accessModes resources volumeName selector storageClassName "
     "volumeMode dataSource dataSourceRef volumeAttributesClassName"},
    {"io.k8s.api.core.v1.PersistentVolumeClaimStatus",
     "phase accessModes capacity conditions allocatedResources 7 "
     "allocatedResourceStatuses currentVolumeAttributesClassName "
     "modifyVolumeStatus"},
    {"io.k8s.api.core.v1.PersistentVolumeClaimTemplate",
     "metadata spec"},
    {"io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource",
     "claimName readOnly"},
    {"io.k8s.api.core.v1.PersistentVolumeSource",
     "gcePersistentDisk awsElasticBlockStore hostPath glusterfs nfs rbd "
     "iscsi cinder cephfs fc flocker flexVolume azureFile vsphereVolume "
     "quobyte azureDisk photonPersistentDisk portworxVolume scaleIO "
     "local storageos csi"},
    {"io.k8s.api.core.v1.PersistentVolumeSpec",
     "capacity @io.k8s.api.core.v1.PersistentVolumeSource accessModes "
     "claimRef persistentVolumeReclaimPolicy storageClassName "
     "mountOptions volumeMode nodeAffinity volumeAttributesClassName"},
    {"io.k8s.api.core.v1.PersistentVolumeStatus",
     "phase message reason lastPhaseTransitionTime"},
    {"io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource",
     "pdID fsType"},
    {"io.k8s.api.core.v1.Pod",
     "metadata spec status"},
    {"io.k8s.api.core.v1.PodAffinity",
     "requiredDuringSchedulingIgnoredDuringExecution "
     "preferredDuringSchedulingIgnoredDuringExecution"},
    {"io.k8s.api.core.v1.PodAffinityTerm",
     "labelSelector namespaces topologyKey namespaceSelector "
     "matchLabelKeys mismatchLabelKeys"},
    {"io.k8s.api.core.v1.PodAntiAffinity",
     "requiredDuringSchedulingIgnoredDuringExecution "
     "preferredDuringSchedulingIgnoredDuringExecution"},
    {"io.k8s.api.core.v1.PodCondition",
     "type status lastProbeTime lastTransitionTime reason message"},
    {"io.k8s.api.core.v1.PodDNSConfig",
     "nameservers searches options"},
    {"io.k8s.api.core.v1.PodDNSConfigOption",
     "name value"},
    {"io.k8s.api.core.v1.PodIP",
     "ip"},
    {"io.k8s.api.core.v1.PodOS",
     "name"},
    {"io.k8s.api.core.v1.PodReadinessGate",
     "conditionType"},
    {"io.k8s.api.core.v1.PodResourceClaim",
     "name 3 resourceClaimName resourceClaimTemplateName"},
    {"io.k8s.api.core.v1.PodResourceClaimStatus",
     "name resourceClaimName"},
    {"io.k8s.api.core.v1.PodSchedulingGate",
     "name"},
    {"io.k8s.api.core.v1.PodSecurityContext",
     "seLinuxOptions runAsUser runAsNonRoot supplementalGroups fsGroup "
     "runAsGroup sysctls windowsOptions fsGroupChangePolicy "
     "seccompProfile appArmorProfile supplementalGroupsPolicy "
     "seLinuxChangePolicy"},
    {"io.k8s.api.core.v1.PodSpec",
     "volumes containers restartPolicy terminationGracePeriodSeconds "
     "activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName "
     "serviceAccount nodeName hostNetwork hostPID hostIPC "
     "securityContext imagePullSecrets hostname subdomain affinity "
     "schedulerName initContainers automountServiceAccountToken "
     "tolerations hostAliases priorityClassName priority dnsConfig "
     "shareProcessNamespace readinessGates runtimeClassName "
     "enableServiceLinks preemptionPolicy overhead "
     "topologySpreadConstraints ephemeralContainers setHostnameAsFQDN os "
     "hostUsers schedulingGates resourceClaims resources"},
    {"io.k8s.api.core.v1.PodStatus",
     "phase conditions message reason hostIP podIP startTime "
     "containerStatuses qosClass initContainerStatuses nominatedNodeName "
     "podIPs ephemeralContainerStatuses resize resourceClaimStatuses "
     "hostIPs"},
    {"io.k8s.api.core.v1.PodTemplate",
     "metadata template"},
    {"io.k8s.api.core.v1.PodTemplateSpec",
     "metadata spec"},
    {"io.k8s.api.core.v1.PortworxVolumeSource",
     "volumeID fsType readOnly"},
    {"io.k8s.api.core.v1.PreferredSchedulingTerm",
     "weight preference"},
    {"io.k8s.api.core.v1.Probe",
     "@io.k8s.api.core.v1.ProbeHandler initialDelaySeconds "
     "timeoutSeconds periodSeconds successThreshold failureThreshold "
     "terminationGracePeriodSeconds"},
    {"io.k8s.api.core.v1.ProbeHandler",
     "exec httpGet tcpSocket grpc"},
    {"io.k8s.api.core.v1.ProjectedVolumeSource",
     "sources defaultMode"},
    {"io.k8s.api.core.v1.QuobyteVolumeSource",
     "registry volume readOnly user group tenant"},
    {"io.k8s.api.core.v1.RBDPersistentVolumeSource",
     "monitors image fsType pool user keyring secretRef readOnly"},
    {"io.k8s.api.core.v1.RBDVolumeSource",
     "monitors image fsType pool user keyring secretRef readOnly"},
    {"io.k8s.api.core.v1.ResourceClaim",
     "name request"},
    {"io.k8s.api.core.v1.ResourceFieldSelector",
     "containerName resource divisor"},
    {"io.k8s.api.core.v1.ResourceHealth",
     "resourceID health"},
    {"io.k8s.api.core.v1.ResourceQuota",
     "metadata spec status"},
    {"io.k8s.api.core.v1.ResourceQuotaSpec",
     "hard scopes scopeSelector"},
    {"io.k8s.api.core.v1.ResourceQuotaStatus",
     "hard used"},
    {"io.k8s.api.core.v1.ResourceRequirements",
     "limits requests claims"},
    {"io.k8s.api.core.v1.ResourceStatus",
     "name resources"},
    {"io.k8s.api.core.v1.SELinuxOptions",
     "user role type level"},
    {"io.k8s.api.core.v1.ScaleIOPersistentVolumeSource",
     "gateway system secretRef sslEnabled protectionDomain storagePool "
     "storageMode volumeName fsType readOnly"},
    {"io.k8s.api.core.v1.ScaleIOVolumeSource",
     "gateway system secretRef sslEnabled protectionDomain storagePool "
     "storageMode volumeName fsType readOnly"},
    {"io.k8s.api.core.v1.ScopeSelector",
     "matchExpressions"},
    {"io.k8s.api.core.v1.ScopedResourceSelectorRequirement",
     "scopeName operator values"},
    {"io.k8s.api.core.v1.SeccompProfile",
     "type localhostProfile"},
    {"io.k8s.api.core.v1.SecretEnvSource",
     "@io.k8s.api.core.v1.LocalObjectReference optional"},
    {"io.k8s.api.core.v1.SecretKeySelector",
     "@io.k8s.api.core.v1.LocalObjectReference key optional"},
    {"io.k8s.api.core.v1.SecretProjection",
     "@io.k8s.api.core.v1.LocalObjectReference items 4 optional"},
    {"io.k8s.api.core.v1.SecretReference",
     "name namespace"},
    {"io.k8s.api.core.v1.SecretVolumeSource",
     "secretName items defaultMode optional"},
    {"io.k8s.api.core.v1.SecurityContext",
     "capabilities privileged seLinuxOptions runAsUser runAsNonRoot "
     "readOnlyRootFilesystem allowPrivilegeEscalation runAsGroup "
     "procMount windowsOptions seccompProfile appArmorProfile"},
    {"io.k8s.api.core.v1.ServiceAccountTokenProjection",
     "audience expirationSeconds path"},
    {"io.k8s.api.core.v1.SleepAction",
     "seconds"},
    {"io.k8s.api.core.v1.StorageOSPersistentVolumeSource",
     "volumeName volumeNamespace fsType readOnly secretRef"},
    {"io.k8s.api.core.v1.StorageOSVolumeSource",
     "volumeName volumeNamespace fsType readOnly secretRef"},
    {"io.k8s.api.core.v1.Sysctl",
     "name value"},
    {"io.k8s.api.core.v1.TCPSocketAction",
     "port host"},
    {"io.k8s.api.core.v1.Taint",
     "key value effect timeAdded"},
    {"io.k8s.api.core.v1.Toleration",
     "key operator value effect tolerationSeconds"},
    {"io.k8s.api.core.v1.TopologySelectorLabelRequirement",
     "key values"},
    {"io.k8s.api.core.v1.TopologySelectorTerm",
     "matchLabelExpressions"},
    {"io.k8s.api.core.v1.TopologySpreadConstraint",
     "maxSkew topologyKey whenUnsatisfiable labelSelector minDomains "
     "nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys"},
    {"io.k8s.api.core.v1.TypedLocalObjectReference",
     "apiGroup kind name"},
    {"io.k8s.api.core.v1.TypedObjectReference",
     "apiGroup kind name namespace"},
    {"io.k8s.api.core.v1.Volume",
     "name @io.k8s.api.core.v1.VolumeSource"},
    {"io.k8s.api.core.v1.VolumeDevice",
     "name devicePath"},
    {"io.k8s.api.core.v1.VolumeMount",
     "name readOnly mountPath subPath mountPropagation subPathExpr "
     "recursiveReadOnly"},
    {"io.k8s.api.core.v1.VolumeMountStatus",
     "name mountPath readOnly recursiveReadOnly"},
    {"io.k8s.api.core.v1.VolumeNodeAffinity",
     "required"},
    {"io.k8s.api.core.v1.VolumeProjection",
     "secret downwardAPI configMap serviceAccountToken "
     "clusterTrustBundle"},
    {"io.k8s.api.core.v1.VolumeResourceRequirements",
     "limits requests"},
    {"io.k8s.api.core.v1.VolumeSource",
     "hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo "
     "secret nfs iscsi glusterfs persistentVolumeClaim rbd flexVolume "
     "cinder cephfs flocker downwardAPI fc azureFile configMap "
     "vsphereVolume quobyte azureDisk photonPersistentDisk "
     "portworxVolume scaleIO projected storageos csi ephemeral image"},
    {"io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource",
     "volumePath fsType storagePolicyName storagePolicyID"},
    {"io.k8s.api.core.v1.WeightedPodAffinityTerm",
     "weight podAffinityTerm"},
    {"io.k8s.api.core.v1.WindowsSecurityContextOptions",
     "gmsaCredentialSpecName gmsaCredentialSpec runAsUserName "
     "hostProcess"},
    {"io.k8s.api.events.v1.Event",
     "metadata eventTime series reportingController reportingInstance "
     "action reason regarding related note type deprecatedSource "
     "deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount"},
    {"io.k8s.api.events.v1.EventSeries",
     "count lastObservedTime"},
    {"io.k8s.api.policy.v1.Eviction",
     "metadata deleteOptions"},
    {"io.k8s.api.policy.v1.PodDisruptionBudget",
     "metadata spec status"},
    {"io.k8s.api.policy.v1.PodDisruptionBudgetSpec",
     "minAvailable selector maxUnavailable unhealthyPodEvictionPolicy"},
    {"io.k8s.api.policy.v1.PodDisruptionBudgetStatus",
     "observedGeneration disruptedPods disruptionsAllowed currentHealthy "
     "desiredHealthy expectedPods conditions"},
    {"io.k8s.api.scheduling.v1.PriorityClass",
     "metadata value globalDefault description preemptionPolicy"},
    {"io.k8s.api.storage.v1.StorageClass",
     "metadata provisioner parameters reclaimPolicy mountOptions "
     "allowVolumeExpansion volumeBindingMode allowedTopologies"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
     "type status observedGeneration lastTransitionTime reason message"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
     "gracePeriodSeconds preconditions orphanDependents "
     "propagationPolicy dryRun "
     "ignoreStoreReadErrorWithClusterBreakingPotential"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
     "key operator values"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
     "matchLabels matchExpressions"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
     "key operator values"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry",
     "manager operation apiVersion time 6 fieldsType fieldsV1 "
     "subresource"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
     "name generateName namespace selfLink uid resourceVersion "
     "generation creationTimestamp deletionTimestamp "
     "deletionGracePeriodSeconds labels annotations ownerReferences "
     "finalizers 17 managedFields"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
     "kind 3 name uid apiVersion controller blockOwnerDeletion"},
    {"io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions",
     "uid resourceVersion"},
};
/* clang-format on */

static int
compare(const void *key, const void *entry)
{
    const struct message *m = entry;

    return strcmp(key, m->name);
}

static const struct message *
find(const char *name)
{
    return bsearch(name,
                   messages,
                   ARRAY_SIZE(messages),
                   sizeof(*messages),
                   compare);
}

const struct message *
message_find(const char *name)
{
    return find(name);
}

/* The word at *at, which moves behind it; false at the end. */
static bool
next_word(const char **at, const char **ret_word, size_t *ret_length)
{
    while (**at == ' ')
        (*at)++;
    *ret_word = *at;
    *ret_length = strcspn(*at, " ");
    *at += *ret_length;
    return *ret_length > 0;
}

/* The message that a word with @ names; NULL for any other. */
static const struct message *
inlined_by(const char *word, size_t length)
{
    char name[128];

    if (word[0] != '@' || length > sizeof(name))
        return NULL;
    memcpy(name, word + 1, length - 1);
    name[length - 1] = '\0';
    return find(name);
}

bool
message_find_field(const struct message *message,
                   uint32_t number,
                   struct message_field *ret_field)
{
    const char *at = message->fields, *word;
    uint32_t next = 1;
    size_t length;

    while (next_word(&at, &word, &length)) {
        if (isdigit((unsigned char)word[0])) {
            next = (uint32_t)strtoul(word, NULL, 10);
            continue;
        }
        if (next++ != number)
            continue;
        ret_field->name = word;
        ret_field->length = length;
        ret_field->inlined = inlined_by(word, length);
        return true;
    }
    return false;
}

bool
message_has(const struct message *message, const char *name)
{
    const char *at = message->fields, *word;
    size_t length;

    while (next_word(&at, &word, &length)) {
        const struct message *inlined = inlined_by(word, length);

        if (inlined != NULL
                ? message_has(inlined, name)
                : strlen(name) == length && memcmp(word, name, length) == 0)
            return true;
    }
    return false;
}
