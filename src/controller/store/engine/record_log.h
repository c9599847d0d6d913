/* SPDX-License-Identifier: Apache-2.0 */
/* record_log.h - records that every controller of a cluster reads: a table of the
 * replicated store to which rows are only appended
 *
 * The session is made at the first call, and made anew after it was lost. Codes
 * are those of controller/store/postgres/postgres.h.
 *
 * Thread:  one at a time; each call blocks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct record_log;

struct log_record {
    const char *key; /* a second record with the key is left out */
    int64_t at_s;    /* since 1970, for drop */
    const char *text;
    size_t length;
};

/* Called for each record, those that are read in order; a negative result ends that. */
typedef int log_record_fn(int64_t id, const char *key, const char *text, size_t length,
                          void *context);
typedef int log_number_fn(int64_t id, const char *key, void *context);

/* Life. */
void record_log_free(struct record_log *log);
struct record_log *record_log_new(const char *url) OWNED_BY(record_log_free);

/* Append tells the id of each record, also of one that was there already. Read: those
 * with higher ids than `after`. Last: the highest id that was ever given, also to
 * records that were dropped or never committed. Drop: those before that time, some
 * thousand at most.
 */
int record_log_append(struct record_log *log, const struct log_record *records, size_t n,
                      log_number_fn *tell, void *context, struct error *err);
int record_log_last(struct record_log *log, int64_t *ret_last, struct error *err);
int record_log_read(struct record_log *log, int64_t after, log_record_fn *read, void *context,
                    struct error *err);
int record_log_drop(struct record_log *log, int64_t before_s, struct error *err);
