/* SPDX-License-Identifier: Apache-2.0 */
/* recorder_state.h - the insides of a recorder, for its own files
 *
 * Called by:  recorder.c (what is said) and recorder_writes.c (what is written of
 *             it). Nobody else.
 * Thread:     the scheduler's.
 * Invariant:  a pod's view points at its story exactly if the story points at
 *             that view; other views of the pod find it by name.
 */
#pragma once

#include "controller/scheduler/report/recorder.h"
#include "lib/api/pod/pod.h"
#include "lib/base/list.h"
#include "lib/base/random.h"

struct item_map;
struct shared_text;

/* One failing pod: its latest reason, and what was written of it. */
struct story {
    struct list link; /* to be written; unlinked: nothing is */
    struct pod_view *pod;
    const char *reason; /* of the shared text, as the message */
    const char *message;
    char *nominated;        /* NULL: not to be changed */
    struct pod_cause cause; /* texts of the shared text; NULL code: none yet */
    bool has_new_condition;
    bool has_new_cause;
    bool has_new_event;
    uint64_t event; /* the number in its name; 0: none was made yet */
    int64_t count;  /* how often it failed */
    int64_t first_us;
    char key[]; /* "namespace/name" */
};

/* An event that is said once. */
struct remark {
    struct list link;
    struct pod_view *pod;
    char *type;
    char *reason;
    char *message;
};

struct recorder {
    struct recorder_settings settings;
    struct item_map *stories;
    struct shared_text *shared_text; /* what the stories say */
    struct list dirty;
    struct list remarks;
    size_t n_dirty, n_remarks;
    struct list writes;
    unsigned in_flight;
    int64_t budget; /* writes, in millionths */
    int64_t budget_at_us;
    uint64_t n_said;
    struct random_source random;
};

/* To be written, or not any more. */
void recorder_mark_dirty(struct recorder *r, struct story *s);
void recorder_mark_clean(struct recorder *r, struct story *s);

/* A remark, out of whatever list; and a write that will not be made. */
void recorder_free_remark(struct remark *m);
void recorder_cancel_writes(struct recorder *r);
