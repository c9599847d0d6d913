/* SPDX-License-Identifier: Apache-2.0 */
/* end_record.h - how pods ended, for a controller whose state was put back to a
 * time before their ends
 *
 * Each end is a line in STATE/ended. When that file is full, it becomes
 * STATE/ended.1 and replaces the previous one, so that some thousands of ends are
 * remembered in bounded space:
 *
 *     UID REVISION TEXT
 *
 * The revision is the last that the agent has seen of the pod. Nothing is synced:
 * a machine that crashes may forget the last ends.
 *
 * Owns:    the files, and their index in memory.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct end_records;

/* The approximate size at which a file is full. */
#define END_RECORD_FILE_MAX (4u << 20)

/* Life. Opening reads the files. */
void end_records_free(struct end_records *ends);
struct end_records *end_records_open(const char *state_dir) OWNED_BY(end_records_free);

/* The text has no newline. The last end of a pod counts. */
void end_records_add(struct end_records *ends, const char *pod_uid, int64_t revision,
                     const char *text);

/* Returns the text, or NULL; the caller owns it. */
char *end_records_find(const struct end_records *ends, const char *pod_uid) MUST_USE;

/* The visit is in no order. The text is borrowed for the call, and read from the disk only if
 * `wants` agrees.
 */
struct end_record_visitor {
    bool (*wants)(int64_t revision, void *context);
    void (*visit)(const char *pod_uid, int64_t revision, const char *text, void *context);
    void *context;
};
void end_records_visit(const struct end_records *ends, const struct end_record_visitor *visitor);
