/* SPDX-License-Identifier: Apache-2.0 */
/* history_timeline.h - whether the file belongs to the present store, and which
 * rows are of a timeline that the store has left
 *
 * The file records the cluster's uid, the store's revision up to which it has
 * all rows, and at which revision each epoch of the store began. If the store
 * has an epoch that the file knows already, it is an older copy that was put in
 * place by hand: all ends since that epoch began are lost in it.
 *
 * Thread:  the writer's.
 */
#pragma once

#include <stdint.h>

#include <sqlite3.h>

struct error;
struct history_origin;

/* Marks the lost rows, and records the store, in one transaction. 1: the file
 * is of another cluster, and was not changed.
 */
int history_timeline_meet(sqlite3 *db, const struct history_origin *origin, int64_t *ret_watermark,
                          struct error *err);
