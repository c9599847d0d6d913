/* SPDX-License-Identifier: Apache-2.0 */
/* step_records.h - the steps of the jobs of this node that the controller does not know
 * yet
 *
 * A file below the state directory for each pod that has had a step, with a line for
 * each change, so that the next agent has what this one had not sent. A record
 * is forgotten when its step has ended and the controller has it, a pod when it
 * is over and has no record left. Both are bounded: what is not kept is counted.
 *
 * Thread:  the loop's; lines are appended, and not synced: they outlive the agent, not a
 *          crash of the machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct step_record;
struct step_records;
struct step_report;

/* Records of a node at a time; a pod's are bounded by STEP_RECORDS_MOST. */
#define STEP_RECORDS_OF_NODE_MOST 100000

struct step_records_pod {
    const char *namespace, *name, *uid;
};

/* Life. Open reads what an earlier agent has left. */
void step_records_free(struct step_records *records);
int step_records_open(const char *dir, struct step_records **ret_records, struct error *err);
DEFINE_CLEANUP(struct step_records, step_records_free)

/* Begin adds a step, or counts it as one without a record. End replaces the record
 * of a step that has begun and not ended; for others it does nothing. Observe
 * is the same for a running one, and not written down. Cancel: that user is about to end it;
 * false if another one was before, or it is not running. All copy the record. Close: the
 * pod is over, and steps that have not ended have ended in that state, now.
 */
void step_records_begin(struct step_records *records, const struct step_records_pod *pod,
                        const struct step_record *record);
void step_records_end(struct step_records *records, const char *pod_uid,
                      const struct step_record *record);
void step_records_observe(struct step_records *records, const char *pod_uid,
                          const struct step_record *record);
bool step_records_cancel(struct step_records *records, const char *pod_uid, int64_t id, int64_t uid,
                         int64_t now_us);
void step_records_close(struct step_records *records, const char *pod_uid, const char *state,
                        int64_t now_us);

/* A record of a step that has not ended, or NULL; borrowed until the next change. */
const struct step_record *step_records_find(const struct step_records *records, const char *pod_uid,
                                            int64_t id);

/* Closes the pods that are not here. */
void step_records_close_others(struct step_records *records,
                               bool (*is_here)(const char *pod_uid, void *context), void *context,
                               const char *state, int64_t now_us);

/* Reports. Collect makes one of what the controller has not acknowledged, as much as fits
 * into one; borrowed until the next change. Acknowledge: the controller has, or
 * does not want, what was collected last of that pod.
 */
bool step_records_have_news(const struct step_records *records);
void step_records_collect(struct step_records *records, struct arena *arena,
                          struct step_report *ret_report);
void step_records_acknowledge(struct step_records *records, const char *pod_uid);
