/* SPDX-License-Identifier: Apache-2.0 */
/* audit_log.h - lines of text that a thread of its own writes to a file
 *
 * Adding a line never waits for the disk, nor wakes the thread more often than
 * once in AUDIT_LOG_GATHER_MS: lines are kept in memory meanwhile, up to
 * AUDIT_LOG_QUEUE_BYTES, and dropped and counted beyond that, or when the file
 * cannot be written. The file tells how many were dropped as soon as it can be
 * written again. The file is rotated by size: FILE.1 is the one before, up to
 * FILE.KEEP; one that somebody else moved away is made anew.
 *
 * While the disk of the store is full, a log on the same disk takes no more
 * than AUDIT_LOG_SPARED_BYTES of what the store has kept for itself.
 *
 * Owns:    the thread and the file.
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

#define AUDIT_LOG_QUEUE_BYTES  ((size_t)4 << 20)
#define AUDIT_LOG_SPARED_BYTES ((size_t)1 << 20)
#define AUDIT_LOG_GATHER_MS    10

struct audit_log;
struct error;

struct audit_log_settings {
    const char *path; /* NULL: standard error, for the journal */
    int64_t max_bytes;
    int64_t keep;
    const char *store; /* its directory; NULL: none */
};

/* Life. Open tries the file once. Free writes what was added. */
void audit_log_free(struct audit_log *log);
DEFINE_CLEANUP(struct audit_log, audit_log_free)
int audit_log_open(const struct audit_log_settings *settings,
                   struct audit_log **ret_log,
                   struct error *err);

/* Change: one line, without its end. */
void audit_log_add(struct audit_log *log, const char *line, size_t length);

/* Whether the store's disk is full now. */
void audit_log_spare(struct audit_log *log, bool is_full);

/* Look: lines, since the start. */
uint64_t audit_log_dropped(struct audit_log *log);
