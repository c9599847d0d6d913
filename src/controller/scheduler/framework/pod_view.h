/* SPDX-License-Identifier: Apache-2.0 */
/* pod_view.h - a pod as the plugins see it: parsed once, looked at often
 *
 * Owns:       a reference to the object it was made of.
 * Thread:     the scheduler's; counted without atomics.
 * Invariant:  immutable once made, but for the holding, which the scheduler
 *             sets when it assumes the pod, the signature, the recorder's
 *             story, and what the cache knows of cores that it lends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/amounts.h"
#include "lib/allocator/demand.h"
#include "lib/base/macro.h"

struct holding;
struct shared_demands;
struct story;
struct string_ids;
struct object;
struct pod;

struct host_port {
    const char *ip;       /* "0.0.0.0" when the pod names none */
    const char *protocol; /* "TCP" when the pod names none */
    int64_t port;
};

/* Resources that a container does not ask for count as these in scores
 * (kube-scheduler, DefaultMilliCPURequest and DefaultMemoryRequest).
 */
#define POD_DEFAULT_CPU_MILLI    100
#define POD_DEFAULT_MEMORY_BYTES (INT64_C(200) * 1024 * 1024)

#define SIGNATURE_NONE UINT32_MAX /* cannot share results with others */

struct pod_view {
    unsigned refs;
    uint32_t signature;
    const struct object *object;
    const struct pod *pod;
    const char *namespace;
    const char *name;
    const char *uid;
    int64_t tier;           /* of its partition, above the usual one */
    int64_t priority;       /* the tier counts before all priorities */
    int64_t eligible_at_us; /* when it could have been placed first */
    int64_t deadline_us;    /* it is to have ended by then; 0: none */
    int64_t job_id;         /* 0: of no job */
    int64_t job_index;      /* in its job, or 0 */
    uint64_t label_bits;    /* selector.h; 0: none, or on no node yet */
    struct amounts requests;
    int64_t nonzero_cpu_milli;
    int64_t nonzero_memory_bytes;
    const struct demand *demand; /* of shared_demands.h */
    struct host_port *ports;
    uint32_t n_ports;
    bool has_signature : 1;
    bool has_affinity : 1;               /* to pods, any kind */
    bool has_required_anti_affinity : 1; /* to pods */
    bool is_to_yield : 1;                /* to stand still for another, */
    bool has_yielded : 1;                /* and does: its cores may be lent */
    bool repels_all : 1; /* by ANNOTATION_REPELS: not its owner's pods alone */
    bool keeps_users_off : 1; /* no pod of another owner may be beside it */
    bool heeds_owners : 1; /* some pods do: whose it is decides where it goes */
    int64_t free_at_us;    /* when the cores that it lends are, by the limits of
                             those who have them; 0: nobody knows */
    int64_t owner;         /* uid that it runs as; -1: nobody's */
    struct holding *holding; /* or NULL */
    struct story *story;     /* the recorder's; NULL: none, or known by
                                        another view of the pod */
};

/* Life. Sharing: views that ask for the same have one demand. */
void pod_view_unref(struct pod_view *view);
struct pod_view *pod_view_new(const struct object *object,
                              struct string_ids *resources)
    OWNED_BY(pod_view_unref);
struct pod_view *pod_view_new_sharing(const struct object *object,
                                      struct string_ids *resources,
                                      struct shared_demands *demands)
    OWNED_BY(pod_view_unref);
struct pod_view *pod_view_ref(struct pod_view *view);
DEFINE_CLEANUP(struct pod_view, pod_view_unref)

/* Its answers are its own: no plugin is asked for a signature. */
void pod_view_disable_sharing(struct pod_view *view);

/* The priorities of one tier are all above those of the tiers below it, so that
 * who compares priorities need not know of tiers. A view has tier 0 at first.
 */
void pod_view_set_tier(struct pod_view *view, int64_t tier);

/* Look. Uid: of the pod, or namespace and name where it has none, which
 * happens in tests alone.
 */
bool pod_view_is_same(const struct pod_view *a, const struct pod_view *b);
bool pod_view_is_of(const struct pod_view *view, const struct object *object);

/* Whether one asks for less of anything than it did, in thousandths, or does
 * not ask for it at all any more (upstream's extractPodScaleDown).
 */
bool pod_view_asks_less(const struct pod *old_pod, const struct pod *new_pod);

/* Whether it would end by its deadline, by its time limit, if it began then. */
bool pod_view_is_in_time(const struct pod_view *view, int64_t start_us);

/* When it began to run; for one that has not, INT64_MAX: the present. */
int64_t pod_view_start_us(const struct pod_view *view);

/* When its time limit ends it, on the real clock; of one that has not begun, if
 * it began now. 0: it has no limit.
 */
int64_t pod_view_end_us(const struct pod_view *view, int64_t now_us);

/* CPUs that it costs: hardware threads that it keeps idle, too. */
int64_t pod_view_charged_milli(const struct pod_view *view);
bool pod_view_is_terminating(const struct pod_view *view);
