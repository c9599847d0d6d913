/* SPDX-License-Identifier: Apache-2.0 */
/* job_sync.h - one sync of a Job: its API calls, until all of them are answered
 *
 * The sync logs and records Events for what it did and for what was refused.
 *
 * Owns:    a reference to the Job, as it was when the sync began.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct event_recorder;
struct arena;
struct client;
struct client_reply;
struct job_event;
struct job_sync;
struct job_plan_pod;
struct json;
struct object;
struct object_cache;

struct job_sync_settings {
    struct client *client;
    struct object_cache *cache;
    struct event_recorder *event_recorder;
    /* The API refused to create that pod, with the message `words`. Returns whether the Job waits
     * for a quota now, which wakes it; *ret_is_new: that is news.
     */
    bool (*refused)(const struct object *job, int64_t index, int64_t attempt, const char *words,
                    bool *ret_is_new, void *context);
    /* A waiting pod was updated to match the Job (refusal NULL), or the update was refused.
     * Returns whether the Job waits for a quota now.
     */
    bool (*updated)(const struct object *job, const char *refusal, void *context);
    /* All calls are answered; if has_failed, the Job is synced again. */
    void (*done)(const struct object *job, bool has_failed, void *context);
    void *context;
};

/* Life. The sync frees itself after job_sync_end, when all calls are answered.
 */
struct job_sync *job_sync_begin(const struct job_sync_settings *settings, const struct object *job);
void job_sync_end(struct job_sync *sync);

const struct object *job_sync_job(const struct job_sync *sync);

/* Visits the Job's cached pods that have neither ended nor are being deleted.
 */
void job_sync_visit_live(const struct job_sync *sync,
                         void (*visit)(const struct object *pod, void *context), void *context);

/* Calls. The status is sent with the Job's resource version, so that a Job that
 * has changed since is synced again. The arena is that of the status.
 */
void job_sync_create(struct job_sync *sync, const struct job_plan_pod *pod);
void job_sync_delete_active(struct job_sync *sync);
void job_sync_remove_pods(struct job_sync *sync, int64_t n);
void job_sync_delete_pod(struct job_sync *sync, const struct object *pod);

/* Deletes a pod whose element is to run again: its end is not a failure. End_rest:
 * the live pods of an attempt of which one has ended.
 */
void job_sync_requeue_pod(struct job_sync *sync, const struct object *pod);
void job_sync_end_rest(struct job_sync *sync, bool is_excused);

/* Another object has the name of the Job's PodGroup; its pods cannot be placed.
 * Made: all pods of an attempt were created.
 */
void job_sync_record_foreign_group(const struct job_sync *sync);
void job_sync_record_made(const struct job_sync *sync, unsigned n_pods, const char *group);

/* Whether the pod does not match the Job's last update and is to follow it. */
bool job_sync_is_outdated(const struct object *pod, const struct object *job);

/* Updates live pods that do not match the Job's last update; a pod that changes
 * meanwhile is left for the next sync. Returns how many there are, at most
 * `limit`.
 */
unsigned job_sync_update_pods(struct job_sync *sync, unsigned limit);

void job_sync_write(struct job_sync *sync, struct arena *arena TAKES, struct json *status,
                    const struct job_event *event);

/* For calls of other modules in the same sync, which lasts until each begun
 * call has ended. End_write: the call has failed if the reply says that it is
 * to be tried again; 404 is not a failure. Refuse: that pod could not be
 * created. Returns whether the sync is to be tried again; a Job that waits for a
 * quota is woken by it. Tell_refusal logs the last refusal and records an Event,
 * of a quota only when the Job begins to wait for it.
 */
struct client *job_sync_begin_call(struct job_sync *sync);
void job_sync_end_call(struct job_sync *sync, bool has_failed);
void job_sync_end_write(struct job_sync *sync, const struct client_reply *reply);
bool job_sync_refuse(struct job_sync *sync, int64_t index, int64_t attempt, const char *words);
void job_sync_record_refusal(struct job_sync *sync, const char *words);
