/* SPDX-License-Identifier: Apache-2.0 */
/* handle.h - what a plugin may use of the scheduler
 *
 * The owner (the scheduler, or a test) fills in the functions. One that an
 * owner does not have is NULL, and then no plugin may need it.
 *
 * Thread: the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"

struct assignment;
struct clock;
struct cycle;
struct grant;
struct holding;
struct json;
struct string_ids;
struct node_reservations;
struct node_view;
struct nominator;
struct object;
struct pod_view;
struct probe;
struct profile;
struct proposals;
struct random_source;
struct snapshot;
struct timeline;
struct volume_book;
struct volume_plan;

/* Objects that plugins look up: by kind's name and key. Borrowed. */
typedef const struct object *
handle_find_fn(void *owner, const char *kind, const char *key);
typedef bool handle_visit_fn(const struct object *object, void *context);
typedef void handle_visit_waiting_fn(struct pod_view *pod,
                                     const char *node_name,
                                     void *context);

struct handle {
    struct string_ids *resources;
    struct string_ids *reasons;
    struct clock *clock;
    struct random_source *random;
    struct nominator *nominator;
    struct probe *probe;         /* NULL: nothing is measured */
    uint64_t namespaces_version; /* rises when a Namespace changes */
    struct volume_book *volumes;
    struct timeline *timeline; /* NULL: nothing is ever reserved */
    struct node_reservations *node_reservations; /* NULL: there are none */
    void *owner;

    /* Objects of other kinds (namespaces, budgets, services). */
    handle_find_fn *find;
    void (*visit)(void *owner,
                  const char *kind,
                  const char *namespace,
                  handle_visit_fn *visit,
                  void *context);

    /* The assumed pod holds this of its node (takes it). */
    void (*hold)(void *owner,
                 struct pod_view *pod,
                 const struct node_view *node,
                 struct holding *holding);

    /* Gives the pod its volumes; resume is called with the outcome. */
    void (*bind_volumes)(void *owner,
                         struct assignment *a,
                         const struct volume_plan *plan);

    /* Binds through the API; resume is called with the outcome. */
    void (*bind)(void *owner, struct assignment *a);

    /* Permit's VERDICT_WAIT ends by one of these (upstream: WaitingPod.Allow
     * and Reject), named by the plugin that waits: the pod goes on to PreBind
     * when no plugin waits any more, or returns to the queue. False: that
     * plugin does not wait for that pod, which may have been permitted,
     * rejected or deleted meanwhile. Not to be called for a pod inside its own
     * permit.
     */
    bool (*allow)(void *owner, const struct pod_view *pod, const char *plugin);
    bool (*reject)(void *owner,
                   const struct pod_view *pod,
                   const char *plugin,
                   uint32_t reason);
    /* Every pod that waits in Permit (upstream: IterateOverWaitingPods). The
     * visitor must allow and reject none of them meanwhile.
     */
    void (*visit_waiting)(void *owner,
                          handle_visit_waiting_fn *visit,
                          void *context);

    /* The end of prebind or bind that a plugin answered VERDICT_WAIT to. */
    void (*resume)(void *owner,
                   struct assignment *a,
                   enum verdict verdict,
                   uint32_t reason);

    /* Ends a pod so that another may run. */
    void (*evict)(void *owner,
                  struct pod_view *victim,
                  struct pod_view *preemptor,
                  const char *node_name);
    /* The pod was asked to stand still for another, and did not. NULL: none was.
     */
    bool (*refuses_to_yield)(void *owner, const struct pod_view *pod);
    /* Some pods that are to end for this one have not been told yet. NULL:
     * they are at once.
     */
    bool (*is_evicting)(void *owner, const struct pod_view *preemptor);
    /* Forgets the nomination of a pod that others outranked. */
    void (*clear_nomination)(void *owner, struct pod_view *pod);
    /* Asks the extenders about preemption. VERDICT_OK: the proposals are those
     * that they left. SKIP: no extender is concerned. WAIT: they are being
     * asked and the proposals are taken; postfilter answers WAIT as well and
     * runs again later. ERROR: one failed. NULL: there are no extenders.
     */
    enum verdict (*propose)(void *owner,
                            struct cycle *c,
                            struct proposals *proposals);
    /* The profile under which the pod is scheduled, to filter again. */
    const struct profile *(*profile)(void *owner, const struct pod_view *pod);
};

/* "text" as a reason, from a format: cheap when it was interned before. */
static inline uint32_t
handle_reason(struct handle *handle, const char *text)
{
    return string_ids_add(handle->reasons, text);
}
