/* SPDX-License-Identifier: Apache-2.0 */
/* binding_cycle.h - the pods that have a node and are being bound to it
 *
 * It takes an assumed and reserved pod through Permit, PreBind, Bind and PostBind, plugin by
 * plugin. It never blocks: a plugin that waits is resumed later. The pods of a group pass each
 * stage together, and all or none are bound.
 *
 * Owns:     the assignments under way.
 * Thread:   the scheduler's.
 * Source:   kube-scheduler, schedule_one.go (bindingCycle) and
 *           framework/runtime/waiting_pods_map.go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"
#include "lib/base/macro.h"

struct assignment;
struct assignment_group;
struct binding_cycle;
struct clock;
struct handle;
struct node_view;
struct pod_view;

/* Callbacks of the scheduler. Leaving: from now on, events of other pods do not
 * matter to the pod. Ended: answer.verdict is OK if the pod is bound; the
 * assignment is freed afterwards.
 */
struct binding_cycle_settings {
    struct clock *clock;
    struct handle *handle;
    void (*leaving)(struct assignment *a, void *context);
    void (*ended)(struct assignment *a, struct answer answer, void *context);

    /* The group has failed because of its member `failed`; the assignments of the group are
     * freed afterwards.
     */
    void (*group_failed)(struct assignment_group *g, void *context);

    /* The group will fail, so whatever a plugin still does for that member may end at once. */
    void (*abandon)(struct assignment *a, void *context);
    /* True: an extender binds the pod, and ends that with binding_cycle_resume
     * or binding_cycle_bind. May be NULL.
     */
    bool (*bind_by_extender)(struct assignment *a, void *context);
    /* A stage has ended with that verdict. May be NULL. */
    void (*passed)(const struct assignment *a, enum verdict verdict, int64_t took_us,
                   void *context);
    void *context;
};

/* Life. Free drops the assignments under way and calls no callback. */
void binding_cycle_free(struct binding_cycle *b);
struct binding_cycle *binding_cycle_new(const struct binding_cycle_settings *settings)
    OWNED_BY(binding_cycle_free);
DEFINE_CLEANUP(struct binding_cycle, binding_cycle_free)

/* Changes. */

/* Begins with a pod that is assumed and reserved on the node. */
void binding_cycle_start(struct binding_cycle *b, struct assignment *a TAKES,
                         const struct node_view *node);

/* Begins with a group, of which all pods are assumed and reserved. */
void binding_cycle_start_group(struct binding_cycle *b, struct assignment_group *g TAKES);

/* Continues after a plugin that waited; see handle.h. */
void binding_cycle_resume(struct binding_cycle *b, struct assignment *a, enum verdict verdict,
                          uint32_t reason);

/* Lets the plugins bind the pod after all. */
void binding_cycle_bind(struct binding_cycle *b, struct assignment *a);

/* The plugin no longer waits. */
void binding_cycle_allow(struct binding_cycle *b, struct assignment *a, unsigned plugin);

/* Ends the assignment in Permit, or in PreBind of a group; PLUGIN_NONE: not by a plugin. */
void binding_cycle_reject(struct binding_cycle *b, struct assignment *a, unsigned plugin,
                          uint32_t reason);

/* Rejects the pods whose wait for Permit has timed out. */
void binding_cycle_expire(struct binding_cycle *b);

/* Returns the assignment of a pod that waits in Permit, or NULL. A pod of a group may wait
 * only for the other pods.
 */
struct assignment *binding_cycle_find_waiting(const struct binding_cycle *b,
                                              const struct pod_view *pod);

/* Returns the first plugin that the pod waits for, or PLUGIN_NONE. */
unsigned assignment_waits_for(const struct assignment *a);

typedef void binding_cycle_visit_fn(struct pod_view *pod, const char *node_name, void *context);
void binding_cycle_visit_waiting(const struct binding_cycle *b, binding_cycle_visit_fn *visit,
                                 void *context);

/* Finds an assignment at any stage, by the pod's name. */
struct assignment *binding_cycle_find(const struct binding_cycle *b, const char *namespace,
                                      const char *name);
size_t binding_cycle_count(const struct binding_cycle *b);

/* Frees an assignment that is not in a binding cycle; of a group, one after the other. */
void assignment_free(struct assignment *a);

/* Frees an assignment when the scheduler ends; a pod that has not left the queue stays in
 * it.
 */
void assignment_abandon(struct assignment *a);
