/* SPDX-License-Identifier: Apache-2.0 */
/* pod_ends.h - what the controller is told of pods here that its store may have
 * lost, and the reports of their ends (agent/records/end_record.h)
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct end_records;
struct json;
struct object;

/* Namespace, name, uid, revision, Job and allocation of a pod; NULL without an
 * allocation, which a pod that was bound here has.
 */
struct json *pod_ends_describe(struct arena *arena, const struct object *pod);

/* `report`: the patch of the pod's status that reports its end. */
void pod_ends_note(struct end_records *ends, struct arena *arena, const struct object *pod,
                   const struct json *report);

/* The report, or NULL; and whether the pod was being deleted when it ended. */
struct json *pod_ends_find(const struct end_records *ends, struct arena *arena, const char *pod_uid,
                           bool *ret_was_deleted);

/* Descriptions of the pods that have ended, of those whose last known revision is lost. */
typedef bool pod_ends_is_lost_fn(int64_t revision, void *context);
struct json *pod_ends_list(const struct end_records *ends, struct arena *arena,
                           pod_ends_is_lost_fn *is_lost, void *context);
