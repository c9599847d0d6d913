/* SPDX-License-Identifier: Apache-2.0 */
/* pod_view.h - a pod as plugins see it: parsed once and read often
 *
 * Owns:       a reference to the object that it was made from.
 * Thread:     the scheduler's; the reference count is not atomic.
 * Invariant:  immutable after partition_terms_view has set the partition's terms,
 *             except for the holding, which the scheduler sets when it assumes
 *             the pod, the signature, the label bits, the recorder's record, and
 *             free_at_us, which the cache updates.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/amounts.h"
#include "lib/allocator/demand.h"
#include "lib/base/macro.h"

struct holding;
struct shared_demands;
struct failing_pod;
struct string_ids;
struct object;
struct pod;

struct host_port {
    const char *ip;       /* "0.0.0.0" when the pod has none */
    const char *protocol; /* "TCP" when the pod has none */
    int64_t port;
};

/* Scores assume these amounts for a container that requests none
 * (kube-scheduler, DefaultMilliCPURequest and DefaultMemoryRequest).
 */
#define POD_DEFAULT_CPU_MILLI    100
#define POD_DEFAULT_MEMORY_BYTES (INT64_C(200) * 1024 * 1024)

#define SIGNATURE_NONE UINT32_MAX /* shares no results */

struct pod_view {
    unsigned refs;
    uint32_t signature;
    const struct object *object;
    const struct pod *pod;
    const char *namespace;
    const char *name;
    const char *uid;
    int64_t tier;           /* of its partitions, less the usual one */
    int64_t priority;       /* with the tier in the upper bits */
    int64_t eligible_at_us; /* the earliest time it could have started */
    int64_t deadline_us;    /* it must end by then; 0: none */
    int64_t job_id;         /* 0: not of a Job */
    int64_t job_index;      /* its index in the Job, or 0 */
    uint64_t label_bits;    /* selector.h; 0: not computed, or no labels */
    struct amounts requests;
    int64_t nonzero_cpu_milli;
    int64_t nonzero_memory_bytes;
    const struct demand *demand; /* see shared_demands.h */
    /* In a partition whose nodes have one pod each; NULL: it names none, or only
     * such partitions, so that `demand` is for a whole node
     */
    const struct demand *whole_demand;
    struct host_port *ports;
    uint32_t n_ports;
    bool has_signature : 1;
    bool has_affinity : 1;               /* to pods, any kind */
    bool has_required_anti_affinity : 1; /* to pods */
    /* It is asked to freeze so that another pod may use its cores */
    bool is_to_yield : 1;
    bool has_yielded : 1;     /* it did */
    bool repels_all : 1;      /* ANNOTATION_REPELS: its terms see all pods */
    bool keeps_users_off : 1; /* no pod of another owner may share a node */
    /* Some partition has nodes for one user at a time, so the owner matters */
    bool heeds_owners : 1;
    /* When the cores that it lends become free, by the limits of the pods that
     * use them; 0: unknown
     */
    int64_t free_at_us;
    int64_t owner;           /* uid that it runs as; -1: none */
    struct holding *holding; /* or NULL */
    /* The recorder's; NULL: none, or another view of the pod has it */
    struct failing_pod *failing;
};

/* Life. Sharing: views with the same requests share one demand. */
void pod_view_unref(struct pod_view *view);
struct pod_view *pod_view_new(const struct object *object, struct string_ids *resources)
    OWNED_BY(pod_view_unref);
struct pod_view *pod_view_new_sharing(const struct object *object, struct string_ids *resources,
                                      struct shared_demands *demands) OWNED_BY(pod_view_unref);
struct pod_view *pod_view_ref(struct pod_view *view);
DEFINE_CLEANUP(struct pod_view, pod_view_unref)

/* Excludes the pod from shared results: plugins are not asked to sign it. */
void pod_view_disable_sharing(struct pod_view *view);

/* Each priority of a tier is above all priorities of lower tiers, so code that
 * compares priorities can ignore tiers. A new view has tier 0.
 */
void pod_view_set_tier(struct pod_view *view, int64_t tier);

/* Gives the pod a demand for the case that it starts in a partition whose nodes
 * have one pod each, unless it asks for a whole node anyway.
 */
void pod_view_set_whole_demand(struct pod_view *view, struct shared_demands *demands);

/* Same: by uid, or by namespace and name where a pod has no uid, which
 * happens only in tests.
 */
bool pod_view_is_same(const struct pod_view *a, const struct pod_view *b);
bool pod_view_is_of(const struct pod_view *view, const struct object *object);

/* Whether the new pod requests less of some resource (compared in thousandths)
 * or no longer requests it (upstream's extractPodScaleDown).
 */
bool pod_view_asks_less(const struct pod *old_pod, const struct pod *new_pod);

/* Whether its time limit would end it before its deadline if it began then. */
bool pod_view_is_in_time(const struct pod_view *view, int64_t start_us);

/* When it began to run; INT64_MAX: it has not. */
int64_t pod_view_start_us(const struct pod_view *view);

/* When its time limit ends it, by the real clock; for a pod that has not begun,
 * as if it began now. 0: it has no limit, or its end is unknown because it is
 * frozen.
 */
int64_t pod_view_end_us(const struct pod_view *view, int64_t now_us);

/* CPU that it is charged, including hardware threads that it keeps idle. */
int64_t pod_view_charged_milli(const struct pod_view *view);
bool pod_view_is_terminating(const struct pod_view *view);
