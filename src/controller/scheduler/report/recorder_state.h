/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_state.h - the internals of a recorder, for its own files
 *
 * Called by:  recorder.c (what is recorded) and recorder_writes.c (what is
 *             written of it). No other file.
 * Thread:     the scheduler's.
 * Invariant:  a pod's view points at its record if and only if the record points
 *             at that view; other views of the pod find the record by name.
 */
#pragma once

#include "controller/scheduler/report/recorder.h"
#include "lib/api/pod/pod.h"
#include "lib/base/list.h"
#include "lib/base/random.h"

struct item_map;
struct shared_text;

/* A failing pod: its latest reason, and what was written about it. */
struct failing_pod {
    struct list link; /* of the failing pods to be written, or of none */
    struct pod_view *pod;
    const char *reason; /* owned by shared_text, as message is */
    const char *message;
    char *nominated;        /* NULL: unchanged */
    struct pod_cause cause; /* texts of shared_text; code NULL: none */
    bool has_new_condition;
    bool has_new_cause;
    bool has_new_event;
    uint64_t event; /* the number in its name; 0: not made yet */
    int64_t count;  /* of failures */
    int64_t first_us;
    char key[]; /* "namespace/name" */
};

/* An event that is written once. */
struct single_event {
    struct list link;
    struct pod_view *pod;
    char *type;
    char *reason;
    char *message;
};

struct recorder {
    struct recorder_settings settings;
    struct item_map *failing_pods;
    struct shared_text *shared_text; /* texts of the failing pods */
    struct list dirty;
    struct list single_events;
    size_t n_dirty, n_single_events;
    struct list writes;
    unsigned in_flight;
    int64_t budget; /* writes left, in millionths */
    int64_t budget_at_us;
    uint64_t n_said;
    struct random_source random;
};

/* The record is to be written. */
void recorder_mark_dirty(struct recorder *r, struct failing_pod *s);

/* The record need not be written any more. */
void recorder_mark_clean(struct recorder *r, struct failing_pod *s);

/* Frees the event and removes it from its list. */
void recorder_free_single_event(struct single_event *m);

/* Cancels all writes. */
void recorder_cancel_writes(struct recorder *r);
