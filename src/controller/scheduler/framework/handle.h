/* SPDX-License-Identifier: Apache-2.0 */
/* handle.h - the scheduler's functions and state that a plugin may use
 *
 * The owner (the scheduler, or a test) sets the function pointers. Where an
 * owner leaves one NULL, no plugin may depend on it.
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
struct holding;
struct kind;
struct string_ids;
struct node_reservations;
struct node_view;
struct nominator;
struct object;
struct pod;
struct pod_view;
struct probe;
struct profile;
struct proposals;
struct random_source;
struct strbuf;
struct timeline;
struct volume_book;
struct volume_plan;

typedef void handle_visit_gang_fn(struct pod_view *member, const struct node_view *node,
                                  void *context);

/* Looks up an object by the name of its kind and its key. Borrowed. */
typedef const struct object *handle_find_fn(void *owner, const char *kind, const char *key);
typedef bool handle_visit_fn(const struct object *object, void *context);
typedef void handle_visit_waiting_fn(struct pod_view *pod, const char *node_name, void *context);

struct handle {
    struct string_ids *resources;
    struct string_ids *reasons;
    struct clock *clock;
    struct random_source *random;
    struct nominator *nominator;
    struct probe *probe;         /* NULL: nothing is measured */
    uint64_t namespaces_version; /* grows when a Namespace changes */
    struct volume_book *volumes;
    struct timeline *timeline;                   /* NULL: reservations are off */
    struct node_reservations *node_reservations; /* NULL: there are none */
    void *owner;

    /* Objects of other kinds (namespaces, budgets, services). */
    handle_find_fn *find;
    void (*visit)(void *owner, const char *kind, const char *namespace, handle_visit_fn *visit,
                  void *context);

    /* Whether the pod may not start: because of its owner (`kind` NULL), or in
     * the Partition or Reservation of that name. Writes why. NULL: all may.
     */
    bool (*refuse)(const struct pod *pod, const struct kind *kind, const char *name,
                   struct strbuf *why, void *context);
    void *refuse_context;

    /* Records that the assumed pod holds these cores, memory and devices of the
     * node; takes the holding.
     */
    void (*hold)(void *owner, struct pod_view *pod, const struct node_view *node,
                 struct holding *holding);

    /* Binds or provisions the pod's volumes, then calls resume with the result.
     */
    void (*bind_volumes)(void *owner, struct assignment *a, const struct volume_plan *plan);

    /* Binds through the API, then calls resume with the result. */
    void (*bind)(void *owner, struct assignment *a);

    /* End the wait that a plugin's VERDICT_WAIT in Permit began (upstream:
     * WaitingPod.Allow and Reject); `plugin` is the plugin that waits. After
     * allow, the pod goes on to PreBind once no plugin waits any more; after
     * reject, it returns to the queue. False: that plugin does not wait for
     * that pod, which may have been permitted, rejected or deleted meanwhile. A
     * plugin must not call them for a pod inside that pod's own Permit.
     */
    bool (*allow)(void *owner, const struct pod_view *pod, const char *plugin);
    bool (*reject)(void *owner, const struct pod_view *pod, const char *plugin, uint32_t reason);
    /* Visits every pod that waits in Permit (upstream: IterateOverWaitingPods).
     * The visitor must not allow or reject any of them during the visit.
     */
    void (*visit_waiting)(void *owner, handle_visit_waiting_fn *visit, void *context);

    /* Ends a PreBind or Bind that a plugin answered with VERDICT_WAIT. */
    void (*resume)(void *owner, struct assignment *a, enum verdict verdict, uint32_t reason);

    /* Preempts the victim for the preemptor: depending on the preemption mode,
     * it is deleted, suspended or, while it waits in Permit, rejected.
     */
    void (*evict)(void *owner, struct pod_view *victim, struct pod_view *preemptor,
                  const char *node_name);
    /* Whether the pod was asked to suspend itself for another pod and did not.
     * NULL: no pod is ever asked.
     */
    bool (*refuses_to_yield)(void *owner, const struct pod_view *pod);
    /* The gangs of pods that have a node. NULL: there are no gangs. */

    /* Whether the pod is placed together with others, so that it is not suspended by itself. */
    bool (*is_of_gang)(void *owner, const struct pod_view *pod);

    /* Visits the pods that end together with this one (disruptionMode all), itself included,
     * with their nodes; none: it ends by itself.
     */
    void (*visit_gang)(void *owner, const struct pod_view *pod, handle_visit_gang_fn *visit,
                       void *context);
    /* Whether some victims of this preemptor have not been asked to end yet.
     * NULL: evict acts at once.
     */
    bool (*is_evicting)(void *owner, const struct pod_view *preemptor);
    /* Removes the nomination of a pod when a more important pod takes its
     * place.
     */
    void (*clear_nomination)(void *owner, struct pod_view *pod);
    /* Asks the extenders about preemption. VERDICT_OK: the proposals that they
     * accepted are left. SKIP: no extender takes part in preemption. WAIT: the
     * request is under way and the proposals were taken; postfilter returns
     * WAIT too and runs again later. ERROR: an extender failed. NULL: there are
     * no extenders.
     */
    enum verdict (*propose)(void *owner, struct cycle *c, struct proposals *proposals);
    /* The profile under which the pod is scheduled; used to run its filters
     * again.
     */
    const struct profile *(*profile)(void *owner, const struct pod_view *pod);
};

/* The number of a reason text; cheap when the text was interned before. */
static inline uint32_t
handle_reason(struct handle *handle, const char *text)
{
    return string_ids_add(handle->reasons, text);
}
