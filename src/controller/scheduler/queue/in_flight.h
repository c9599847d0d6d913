/* SPDX-License-Identifier: Apache-2.0 */
/* in_flight.h - what happened in the cluster while a pod was being scheduled
 *
 * One list, in order of time, of the pods that were popped and of the events
 * that followed. When a pod fails, only the events after its own entry are
 * checked, so that no event is lost between pop and return. Events that no pod
 * needs are dropped.
 *
 * Owns:    the events, with references to their objects; not the pods.
 * Thread:  the scheduler's.
 * Source:  kube-scheduler, backend/queue/active_queue.go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct cluster_event;
struct in_flight;
struct object;
struct queued_pod;

void in_flight_free(struct in_flight *f);
struct in_flight *in_flight_new(void) OWNED_BY(in_flight_free);
DEFINE_CLEANUP(struct in_flight, in_flight_free)

/* An event is kept only while some pod is in flight. */
void in_flight_begin(struct in_flight *f, struct queued_pod *pod);
void in_flight_end(struct in_flight *f, struct queued_pod *pod);
void in_flight_add(struct in_flight *f, const struct cluster_event *event,
                   const struct object *old_object, const struct object *new_object);

/* Visits the events since the pod was popped, until `visit` returns
 * false.
 */
typedef bool in_flight_visit_fn(const struct cluster_event *event, const struct object *old_object,
                                const struct object *new_object, void *context);
void in_flight_visit(const struct in_flight *f, const struct queued_pod *pod,
                     in_flight_visit_fn *visit, void *context);

/* Visits every label that was ever added, with the number of events of it that
 * are kept now.
 */
typedef void in_flight_label_fn(const char *label, size_t count, void *context);
void in_flight_visit_labels(const struct in_flight *f, in_flight_label_fn *visit, void *context);
size_t in_flight_pods(const struct in_flight *f);
