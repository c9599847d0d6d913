/* SPDX-License-Identifier: Apache-2.0 */
/* disk_full.h - what the store does when its disk is full: it accepts only
 * reads and removals
 *
 * A batch that the engine refused rolls the whole pending head back, and all
 * waiters for any part of it are called with -ENOSPC. From then on, until the
 * reserve can be held again, transactions that would add to the disk and remove
 * nothing are refused at once.
 *
 * Thread:  the loop's.
 */
#pragma once

#include "controller/store/store.h"
#include "lib/base/macro.h"

struct batch;
struct error;
struct store_txn;

/* The engine refused `batch`. */
void store_refuse(struct store *s, struct batch *batch TAKES, const struct error *err);

/* Refuse_later queues `done`, to be called soon with -ENOSPC; notify_refused
 * calls those that are queued.
 */
void store_refuse_later(struct store *s, store_done_fn *done, void *context);
void store_notify_refused(struct store *s);

/* Called at the start if the reserve cannot be held. */
void store_become_read_only(struct store *s, const char *why);

/* A batch was committed. */
void store_note_space(struct store *s);
