/* SPDX-License-Identifier: Apache-2.0 */
/* condition_reasons.h - the reasons of conditions, and of the ends of pods
 *
 * One word that programs read, in a condition of an object, in the status of a pod or
 * volume, or in the state of a container; upstream's word where upstream has it. They
 * stay the same from release to release. kiln-reasons(7) explains each
 * (check-reasons). The codes of waiting and ended jobs are in lib/api/job/job_reason.c,
 * the reasons of events in lib/api/cluster/event_reasons.h.
 *
 * Thread: any; constants.
 */
#pragma once

/* Jobs */
#define REASON_SUCCESS_POLICY              "SuccessPolicy"
#define REASON_COMPLETIONS_REACHED         "CompletionsReached"
#define REASON_CANCELLED                   "Cancelled"
#define REASON_POD_FAILURE_POLICY          "PodFailurePolicy"
#define REASON_BACKOFF_LIMIT_EXCEEDED      "BackoffLimitExceeded"
#define REASON_DEADLINE_EXCEEDED           "DeadlineExceeded"
#define REASON_FAILED_INDEXES              "FailedIndexes"
#define REASON_MAX_FAILED_INDEXES_EXCEEDED "MaxFailedIndexesExceeded"
#define REASON_DEPENDENCY_NEVER_SATISFIED  "DependencyNeverSatisfied"
#define REASON_JOB_SUSPENDED               "JobSuspended"
#define REASON_JOB_RESUMED                 "JobResumed"

/* Pods that wait */
#define REASON_SCHEDULING_GATED "SchedulingGated"
#define REASON_UNSCHEDULABLE    "Unschedulable"
#define REASON_SCHEDULER_ERROR  "SchedulerError"
#define REASON_START_BLOCKED    "StartBlocked"
#define REASON_WAITS_FOR_GANG   "WaitsForGang"

/* Pods that run */
#define REASON_YIELDED             "Yielded"
#define REASON_SUSPENDED           "Suspended"
#define REASON_CANNOT_SUSPEND      "CannotSuspend"
#define REASON_RESUMED             "Resumed"
#define REASON_RESOURCES_LOST      "ResourcesLost"
#define REASON_MISPLACED           "Misplaced"
#define REASON_AS_ALLOCATED        "AsAllocated"
#define REASON_NODE_STATUS_UNKNOWN "NodeStatusUnknown"

/* Pods that ended, and their containers */
#define REASON_COMPLETED           "Completed"
#define REASON_ERROR               "Error"
#define REASON_OOM_KILLED          "OOMKilled"
#define REASON_POD_COMPLETED       "PodCompleted"
#define REASON_POD_FAILED          "PodFailed"
#define REASON_PROLOG_FAILED       "PrologFailed"
#define REASON_START_ERROR         "StartError"
#define REASON_REFUSED             "Refused"
#define REASON_NODE_BROKEN         "NodeBroken"
#define REASON_ALLOCATION_OVERLAP  "AllocationOverlap"
#define REASON_ALLOCATION_NOT_HERE "AllocationNotHere"
#define REASON_OUT_OF_RESOURCES    "OutOfResources"
#define REASON_NODE_NOT_FOUND      "NodeNotFound"
#define REASON_SHEPHERD_LOST       "ShepherdLost"
#define REASON_POD_LOST            "PodLost"
#define REASON_POD_DELETED         "PodDeleted"
#define REASON_NODE_LOST           "NodeLost"
#define REASON_NODE_REBOOTED       "NodeRebooted"
#define REASON_NODE_SHUTDOWN       "NodeShutdown"
#define REASON_STATE_LOST          "StateLost"
#define REASON_TERMINATED          "Terminated"
#define REASON_MEMBER_ENDED        "MemberEnded"
#define REASON_CALLED_OFF          "CalledOff"

/* Pods that are ended for others */
#define REASON_DELETION_BY_TAINT_MANAGER "DeletionByTaintManager"
#define REASON_EVICTION_BY_EVICTION_API  "EvictionByEvictionAPI"
#define REASON_PREEMPTION_BY_SCHEDULER   "PreemptionByScheduler"
#define REASON_NOT_PREPARED              "NotPrepared"

/* PodGroups and disruption budgets */
#define REASON_SCHEDULED         "Scheduled"
#define REASON_SUFFICIENT_PODS   "SufficientPods"
#define REASON_INSUFFICIENT_PODS "InsufficientPods"

/* Nodes */
#define REASON_AGENT_READY           "AgentReady"
#define REASON_CGROUP_MEMORY         "CgroupMemory"
#define REASON_NO_MEMORY_CONTROLLER  "NoMemoryController"
#define REASON_CGROUP_DEVICES        "CgroupDevices"
#define REASON_NO_DEVICE_CONTROL     "NoDeviceControl"
#define REASON_CGROUP_HUGETLB        "CgroupHugetlb"
#define REASON_NO_HUGETLB_CONTROLLER "NoHugetlbController"
#define REASON_TOPOLOGY_GIVEN        "TopologyGiven"
#define REASON_TOPOLOGY_DISCOVERED   "TopologyDiscovered"
#define REASON_CAN_START_PODS        "CanStartPods"
#define REASON_STARTS_FAIL           "StartsFail"
#define REASON_NO_ANSWER             "NoAnswer"
#define REASON_NO_FILE_DESCRIPTORS   "NoFileDescriptors"
#define REASON_STATE_DIR_UNUSABLE    "StateDirUnusable"
#define REASON_RUN_DIR_UNUSABLE      "RunDirUnusable"
#define REASON_TMP_DIR_UNUSABLE      "TmpDirUnusable"
#define REASON_SHEPHERD_MISSING      "ShepherdMissing"
#define REASON_CGROUP_GONE           "CgroupGone"
#define REASON_HEALTHY               "Healthy"
#define REASON_HEALTH_CHECK_FAILED   "HealthCheckFailed"
#define REASON_NOT_CHECKED_YET       "NotCheckedYet"
#define REASON_AS_EXPECTED           "AsExpected"
#define REASON_LESS_THAN_EXPECTED    "LessThanExpected"
#define REASON_HOOKS_SUCCEED         "HooksSucceed"
#define REASON_HOOK_FAILED           "HookFailed"

/* Volumes */
#define REASON_PROVISIONING_FAILED "ProvisioningFailed"
#define REASON_REMOVED             "Removed"

/* Causes in the answer to "why", beside codes of jobs and of refusals.c */
#define REASON_NO_NODES          "NoNodes"
#define REASON_NO_SCHEDULER      "NoScheduler"
#define REASON_SCHEDULING_PAUSED "SchedulingPaused"
#define REASON_NO_STORAGE        "NoStorage"
#define REASON_GROUP             "Group"
#define REASON_FITS              "Fits"
#define REASON_BINDING           "Binding"
#define REASON_NO_PODS           "NoPods"
#define REASON_HELD              "Held"
#define REASON_PLACED            "Placed"
#define REASON_COMPLETE          "Complete"
