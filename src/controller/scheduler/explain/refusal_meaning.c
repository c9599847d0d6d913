/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/explain/refusal_meaning.h"

#include <string.h>

#include "lib/base/macro.h"

/* By the code of a refusal (refusals.h): what it means, and a text that says
 * what is missing or wrong; NULL: an amount that the pod requests.
 */
static const struct {
    const char *code;
    struct refusal_meaning meaning;
} known[] = {
    {"InsufficientCPU", {MEANS_ROOM, JOB_REASON_RESOURCES, NULL}},
    {"InsufficientMemory", {MEANS_ROOM, JOB_REASON_RESOURCES, NULL}},
    {"InsufficientResource", {MEANS_ROOM, JOB_REASON_RESOURCES, NULL}},
    {"NoFreeCores", {MEANS_ROOM, JOB_REASON_RESOURCES, NULL}},
    {"NoSharedCPU", {MEANS_ROOM, JOB_REASON_RESOURCES, NULL}},
    {"NoFreeMemory", {MEANS_ROOM, JOB_REASON_RESOURCES, NULL}},
    {"NoFreeDevices", {MEANS_ROOM, JOB_REASON_RESOURCES, NULL}},
    {"NotAligned", {MEANS_ROOM, JOB_REASON_RESOURCES, NULL}},
    {"NoFreeHugePages", {MEANS_ROOM, JOB_REASON_RESOURCES, "huge pages"}},
    {"TooManyPods", {MEANS_ROOM, JOB_REASON_RESOURCES, "the end of a pod"}},
    {"NodePorts", {MEANS_ROOM, JOB_REASON_RESOURCES, "its port"}},
    {"NodeHasGroup", {MEANS_ROOM, JOB_REASON_RESOURCES, "a node without pods of its group"}},
    {"NodeNotEmpty", {MEANS_ROOM, JOB_REASON_RESOURCES, "an empty node"}},
    {"NodeHasOthers", {MEANS_ROOM, JOB_REASON_RESOURCES, "a node without jobs of other users"}},
    {"NodeOfOther", {MEANS_ROOM, JOB_REASON_RESOURCES, "a node that is not used by another user"}},
    {"UntoleratedTaint", {MEANS_CLOSED, JOB_REASON_NOT_AVAILABLE, NULL}},
    {"NodeUnschedulable", {MEANS_CLOSED, JOB_REASON_NOT_AVAILABLE, NULL}},
    {"NodeAffinity", {MEANS_UNWANTED, JOB_REASON_BAD_CONSTRAINTS, NULL}},
    {"OutsideDomain", {MEANS_UNWANTED, JOB_REASON_BAD_CONSTRAINTS, NULL}},
    {"NodeName", {MEANS_UNWANTED, JOB_REASON_BAD_CONSTRAINTS, NULL}},
    {"NoSuchDevices", {MEANS_TOO_LARGE, JOB_REASON_BAD_CONSTRAINTS, NULL}},
    {"Reserved",
     {MEANS_RESERVED, JOB_REASON_PRIORITY,
      "would delay jobs before it on every node that has room"}},
    {"NodeTooSmall", {MEANS_TOO_LARGE, JOB_REASON_BAD_CONSTRAINTS, NULL}},
    {"PartitionNodes", {MEANS_UNWANTED, JOB_REASON_BAD_CONSTRAINTS, NULL}},
    {"PartitionMissing", {MEANS_WORDS, JOB_REASON_BAD_CONSTRAINTS, NULL}},
    {"PartitionClosed", {MEANS_WORDS, JOB_REASON_PARTITION_DOWN, NULL}},
    {"PartitionTime", {MEANS_WORDS, JOB_REASON_PARTITION_TIME, NULL}},
    {"PartitionLimit", {MEANS_WORDS, JOB_REASON_PARTITION_LIMIT, NULL}},
    {"NotAllowed", {MEANS_WORDS, JOB_REASON_NOT_ALLOWED, NULL}},
    {"ReservedNodes",
     {MEANS_WITHHELD, JOB_REASON_RESERVED,
      "would still run when a reservation begins on every node that has room"}},
    {"ReservationMissing", {MEANS_WORDS, JOB_REASON_RESERVATION_GONE, NULL}},
    {"ReservationPlanned", {MEANS_WORDS, JOB_REASON_RESERVATION, NULL}},
    {"ReservationEnded", {MEANS_WORDS, JOB_REASON_RESERVATION_GONE, NULL}},
    {"ReservationEmpty", {MEANS_WORDS, JOB_REASON_RESERVATION, NULL}},
    {"PodAffinity",
     {MEANS_OTHERS, JOB_REASON_RESOURCES, "no node has the pods that it must be near"}},
    {"PodAntiAffinity",
     {MEANS_OTHERS, JOB_REASON_RESOURCES, "every node has pods that it must not be near"}},
    {"ExistingPodsAntiAffinity",
     {MEANS_OTHERS, JOB_REASON_RESOURCES, "the anti-affinity of pods on every node keeps it away"}},
    {"TopologySpread", {MEANS_OTHERS, JOB_REASON_RESOURCES, "it would be spread too unevenly"}},
    {"VolumeNodeAffinity", {MEANS_WORDS, JOB_REASON_STORAGE, "its volume is on another node"}},
    {"NoVolume", {MEANS_WORDS, JOB_REASON_STORAGE, "no volume matches its claim"}},
    {"NoStorage", {MEANS_WORDS, JOB_REASON_STORAGE, "no node has enough free storage"}},
    {"VolumeLost", {MEANS_WORDS, JOB_REASON_STORAGE, "its volume is lost"}},
    {"VolumeClaim", {MEANS_WORDS, JOB_REASON_STORAGE, "its volume claim is not bound"}},
    {"Extender", {MEANS_WORDS, JOB_REASON_OTHER, "an extender refuses every node"}},
};

struct refusal_meaning
refusal_meaning_of(const char *code)
{
    for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(known[i].code, code) == 0)
            return known[i].meaning;
    return (struct refusal_meaning){
        .meaning = MEANS_WORDS,
        .reason = JOB_REASON_OTHER,
    };
}
