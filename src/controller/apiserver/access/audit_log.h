/* SPDX-License-Identifier: Apache-2.0 */
/* audit_log.h - lines of text that a thread of its own writes to a file
 *
 * Adding a line never waits for the disk, and wakes the thread at most once in
 * AUDIT_LOG_GATHER_MS. Until then lines are kept in memory, up to
 * AUDIT_LOG_QUEUE_BYTES; beyond that, or while the file cannot be written,
 * lines are dropped and counted. The number of dropped lines is written as soon
 * as the file can be written again. The file is rotated by size: FILE.1 is the
 * previous one, up to FILE.KEEP; when somebody has moved the file away, a new
 * one is made.
 *
 * While the disk of the store is full, a log on the same disk uses at most
 * AUDIT_LOG_SPARED_BYTES of the space that the store has reserved for itself.
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
struct strbuf;

struct audit_log_settings {
    const char *path; /* NULL: standard error, for the journal */
    int64_t max_bytes;
    int64_t keep;
    const char *store; /* its directory; NULL: none */
};

/* Life. Open tries to open the file once. Free writes the remaining lines. */
void audit_log_free(struct audit_log *log);
DEFINE_CLEANUP(struct audit_log, audit_log_free)
int audit_log_open(const struct audit_log_settings *settings, struct audit_log **ret_log,
                   struct error *err);

/* Adds one line, given without its newline. */
void audit_log_add(struct audit_log *log, const char *line, size_t length);

/* Says whether the store's disk is full now. */
void audit_log_spare(struct audit_log *log, bool is_full);

/* The number of lines dropped since the start. find_trouble appends why the
 * latest lines could not be written, and returns whether that is so;
 * *ret_is_passing: only because the disk is full, or fails.
 */
uint64_t audit_log_dropped(struct audit_log *log);
bool audit_log_find_trouble(struct audit_log *log, struct strbuf *words, bool *ret_is_passing);
