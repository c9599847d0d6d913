/* SPDX-License-Identifier: Apache-2.0 */
/* history_state.h - struct history, and functions shared by its files
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/history/history.h"
#include "controller/history/history_writer.h"
#include "controller/store/memory/store_types.h"
#include "lib/api/object/object.h"
#include "lib/base/error.h"

struct history_questions;
struct history_writer;
struct map;
struct metric;
struct store_watch;
struct timer;

/* A pass over the store's objects for ends after a revision: at the start,
 * after ends that found the queue full, and for a new file.
 */
struct rescan {
    bool is_wanted, is_under_way;
    bool is_of_jobs; /* the second half: Jobs */
    int64_t from;    /* only ends after this revision */
    char after[OBJECT_KEY_SIZE];
    unsigned visited;
};

struct history {
    struct history_settings s;
    struct history_writer *writer;
    struct history_questions *questions;
    struct store_watch *pods, *jobs;
    struct history_queue queue;
    struct history_batch *batches; /* of steps, in no order */
    size_t batch_bytes;
    struct map *unwritten; /* keys of rows that are not on the disk */
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

/* Rows that are kept in the store: "history/UID". */
#define HISTORY_SECRET "history/"
void history_secret_name(const char *uid, char out[128]);

/* Removes the secrets of rows that are written. */
void history_drop_secrets(struct history *history, const struct history_queue *written);

/* The user who deleted the pod's Job, if that is gone; or NULL. */
const char *history_find_deleter(const struct history *history, const struct object *pod);

/* The pod's Job, or NULL. */
const struct object *history_find_job(const struct history *history, enum store_head head,
                                      const struct object *pod);

/* Whether the object is a pod that has ended, or an ended Job that had no pod
 * or, as an array, has tasks that had none.
 */
bool history_is_end(const struct object *object);
