/* SPDX-License-Identifier: Apache-2.0 */
/* history_timeline.h - whether the file belongs to the store that is there, and
 * which rows are of a timeline that the store has left
 *
 * The file knows the cluster's uid, the store's revision that it has come to,
 * and at which revision each epoch of the store began. A store that says an
 * epoch which the file has seen before is an older copy, put in its place by
 * hand: what ended since that epoch began is lost.
 *
 * Thread:  the writer's.
 */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

struct error;
struct history_origin;

/* Marks the rows, and notes the store, in one transaction. 1: the file is of
 * another cluster, and was left as it is.
 */
int history_timeline_meet(sqlite3 *db,
                          const struct history_origin *origin,
                          int64_t *ret_watermark,
                          struct error *err);
