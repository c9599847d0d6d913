/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h - the changes that are committed together, and the callbacks that
 * wait for the commit
 *
 * A transaction gathers its changes in its own batch, which is appended to the
 * next batch for the writer.
 *
 * Owns:       what its operations point at: references, copied texts; its undo
 *             log; changes of transient objects, which are written separately
 *             once the batch is published.
 * Thread:     the loop's while it is gathered and after it is done; the
 *             writer reads the operations in between.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/engine/engine.h"
#include "lib/base/macro.h"

struct batch;
struct object;
struct undo_log;

/* Life. */
void batch_free(struct batch *b);
struct batch *batch_new(void) OWNED_BY(batch_free);
DEFINE_CLEANUP(struct batch, batch_free)

/* Add takes a reference to the object (or NULL) that the op points
 * into; anything else that the op points at must outlive the batch, or be a
 * copy made by batch_copy (which adds a NUL). Text: the text of an object that
 * is added with the op. Append moves everything in `from` to the end.
 */
void batch_add(struct batch *b, const struct engine_op *op, const struct object *object);
const char *batch_copy(struct batch *b, const char *text, size_t length);
const char *batch_text(struct batch *b, const struct object *object);
void batch_append(struct batch *b, struct batch *from TAKES);

/* Keep appends to the events that are kept already. Take: NULL if there are
 * none.
 */
void batch_keep_events(struct batch *b, struct batch *events TAKES);
struct batch *batch_take_events(struct batch *b);

/* Waiters; run calls each of them once, in order. */
typedef void batch_done_fn(int outcome, void *context);
void batch_wait(struct batch *b, batch_done_fn *done, void *context);
void batch_run_waiters(struct batch *b, int outcome);

const struct engine_op *batch_ops(const struct batch *b, size_t *ret_n);
struct undo_log *batch_undo(struct batch *b);
bool batch_is_empty(const struct batch *b); /* also no waiters */
