/* SPDX-License-Identifier: Apache-2.0 */
/* event_reasons.h - the reasons of the events that Kiln records
 *
 * Programs and people find events by these words, so they stay the same from release to
 * release; upstream's word where upstream has the event. kiln-reasons(7) explains each
 * (check-reasons). An event about a condition of a node or a Job has the condition's word.
 *
 * Thread: any; constants.
 */
#pragma once

/* Pods */
#define EVENT_SCHEDULED              "Scheduled"
#define EVENT_FAILED_SCHEDULING      "FailedScheduling"
#define EVENT_PREEMPTED              "Preempted"
#define EVENT_RESUMED                "Resumed"
#define EVENT_CHECKPOINT_UNSUPPORTED "CheckpointUnsupported"
#define EVENT_WAITING_FOR_CORES      "WaitingForCores"
#define EVENT_START_ERROR            "StartError"
#define EVENT_CHECKPOINTED           "Checkpointed"
#define EVENT_CHECKPOINT_FAILED      "CheckpointFailed"
#define EVENT_CANNOT_SUSPEND         "CannotSuspend"
#define EVENT_CANNOT_SIGNAL          "CannotSignal"
#define EVENT_UNKILLABLE             "Unkillable"
#define EVENT_RESOURCES_LOST         "ResourcesLost"
#define EVENT_RESOURCES_BACK         "ResourcesBack"
#define EVENT_MISPLACED              "Misplaced"
#define EVENT_PLACED                 "Placed"
#define EVENT_REFUSED                "Refused"

/* Jobs */
#define EVENT_SUCCESSFUL_CREATE "SuccessfulCreate"
#define EVENT_SUCCESSFUL_DELETE "SuccessfulDelete"
#define EVENT_FAILED_CREATE     "FailedCreate"
#define EVENT_COMPLETED         "Completed"
#define EVENT_SUSPENDED         "Suspended"
#define EVENT_HELD              "Held"
#define EVENT_RELEASED          "Released"
#define EVENT_FROZEN            "Frozen"
#define EVENT_THAWED            "Thawed"
#define EVENT_REQUEUED          "Requeued"

/* CronJobs */
#define EVENT_SAW_COMPLETED_JOB     "SawCompletedJob"
#define EVENT_UNPARSEABLE_SCHEDULE  "UnparseableSchedule"
#define EVENT_UNKNOWN_TIME_ZONE     "UnknownTimeZone"
#define EVENT_TOO_MANY_MISSED_TIMES "TooManyMissedTimes"
#define EVENT_MISS_SCHEDULE         "MissSchedule"
#define EVENT_JOB_ALREADY_ACTIVE    "JobAlreadyActive"

/* Nodes */
#define EVENT_NODE_READY       "NodeReady"
#define EVENT_NODE_NOT_READY   "NodeNotReady"
#define EVENT_NODE_LOST        "NodeLost"
#define EVENT_SWITCHED_OFF     "SwitchedOff"
#define EVENT_FENCING          "Fencing"
#define EVENT_FENCING_FAILED   "FencingFailed"
#define EVENT_NODE_REPLACED    "NodeReplaced"
#define EVENT_TOPOLOGY_CHANGED "TopologyChanged"

/* Volumes */
#define EVENT_PROVISIONING_FAILED     "ProvisioningFailed"
#define EVENT_WAIT_FOR_FIRST_CONSUMER "WaitForFirstConsumer"
#define EVENT_FAILED_BINDING          "FailedBinding"
#define EVENT_VOLUME_MISMATCH         "VolumeMismatch"
#define EVENT_CLAIM_LOST              "ClaimLost"
#define EVENT_CLAIM_MISBOUND          "ClaimMisbound"
#define EVENT_VOLUME_FAILED_DELETE    "VolumeFailedDelete"
