/* SPDX-License-Identifier: Apache-2.0 */
/* disk_full.h - what the store does when its disk is full: it only reads, and
 * removes
 *
 * A batch that the engine refused takes the whole pending head back, and all
 * who wait for any of it hear -ENOSPC. From then on, until the reserve can be
 * held again, transactions that would add to the disk, and remove nothing, are
 * refused at once.
 *
 * Thread:  the loop's.
 */
#pragma once

#include "controller/store/store.h"
#include "lib/base/macro.h"

struct batch;
struct error;
struct store_txn;

/* `batch` was refused. */
void store_refuse(struct store *s,
                  struct batch *batch TAKES,
                  const struct error *err);

/* Whoever committed it, or waits, hears soon that it was refused. */
void store_refuse_later(struct store *s, store_done_fn *done, void *context);
void store_notify_refused(struct store *s);

/* At the start, when the reserve cannot be held. */
void store_become_read_only(struct store *s, const char *why);
