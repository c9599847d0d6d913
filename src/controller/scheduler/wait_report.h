/* SPDX-License-Identifier: Apache-2.0 */
/* wait_report.h - the cause that is reported to the owner of a waiting pod
 *
 * Owns:       a share of the thread's time, in which causes are found.
 * Called by:  cycle_result.c, scheduler.c, and setup.c for held groups.
 * Thread:     the scheduler's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct assignment;
struct assignment_group;
struct cache;
struct diagnosis;
struct diagnosis_counts;
struct handle;
struct planner;
struct pod_view;
struct queued_pod;
struct recorder;
struct strbuf;
struct wait_report;

/* All of these are borrowed. */
struct wait_report_parts {
    struct handle *handle;
    struct cache *cache;
    struct recorder *recorder;
    struct planner *planner;
    bool is_simulation; /* nobody is told */
};

/* Life */
void wait_report_free(struct wait_report *w);
struct wait_report *wait_report_new(const struct wait_report_parts *parts)
    OWNED_BY(wait_report_free);

/* Reports on a pod after a cycle that found no node. */
void wait_report_record(struct wait_report *w, const struct assignment *a,
                        const struct diagnosis *d, const struct diagnosis_counts *counts,
                        const char *error);

/* Reports the same on equal pods. */
void wait_report_alike(struct wait_report *w, const struct queued_pod *queued);

/* Reports on a pod for which preemption frees a node. */
void wait_report_room(struct wait_report *w, const struct pod_view *pod, const char *node_name);

/* Reports on a pod after an attempt that failed later. */
void wait_report_failure(struct wait_report *w, const struct pod_view *pod, const char *words,
                         bool is_error);

/* Reports on a pod that a plugin keeps out of the queue. */
void wait_report_gates(struct wait_report *w, const struct pod_view *pod);

/* Reports on a member while its group is not complete. */
void wait_report_hold(struct wait_report *w, const struct queued_pod *member);

/* Called while the members that found a node still have it. */
void wait_report_find_group_cause(const struct wait_report *w, struct assignment_group *g,
                                  const struct diagnosis *d);

/* Formats the cause of a failure; returns its code. */
const char *wait_report_format_failure(const struct pod_view *pod, const char *words, bool is_error,
                                       struct strbuf *out);
