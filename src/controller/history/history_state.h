/* SPDX-License-Identifier: Apache-2.0 */
/* history_state.h - what the files of history share: its parts, and what an end
 * is
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/history/history.h"
#include "controller/history/history_queue.h"
#include "controller/store/memory/store_types.h"
#include "lib/api/object/object.h"
#include "lib/base/error.h"

struct history_questions;
struct history_writer;
struct map;
struct metric;
struct store_watch;
struct timer;

/* A walk over what the store has, from a revision on: at the start, after ends
 * that found the queue full, and for a new file.
 */
struct rescan {
    bool is_wanted, is_under_way;
    bool is_of_jobs; /* the second half */
    int64_t from;    /* ends behind it */
    char after[OBJECT_KEY_SIZE];
    unsigned visited;
};

struct history {
    struct history_settings s;
    struct history_writer *writer;
    struct history_questions *questions;
    struct store_watch *pods, *jobs;
    struct history_queue queue;
    struct map *unwritten; /* the keys of rows that are not on the disk */
    size_t n_secrets;
    struct rescan rescan;
    struct timer *flush, *rescan_timer, *drop;
    bool is_open, is_stopping;
    int64_t watermark;
    int64_t bytes;
    uint64_t written, lost;
    struct error trouble;
    char *notice;
    struct metric *rows_total, *failures_total;
};

/* Rows that wait in the store: "history/UID". */
#define HISTORY_SECRET "history/"
void history_secret_name(const char *uid, char out[128]);

/* Those of rows that are written need not wait any more. */
void history_drop_secrets(struct history *history,
                          const struct history_queue *written);

/* The name of the user who deleted the pod's Job, which is gone; or NULL. */
const char *history_find_deleter(const struct history *history,
                                 const struct object *pod);

/* The pod's Job, or NULL. */
const struct object *history_find_job(const struct history *history,
                                      enum store_head head,
                                      const struct object *pod);

/* Whether a pod has ended, or a Job without ever having one. */
bool history_is_end(const struct object *object);
