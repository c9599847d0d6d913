/* SPDX-License-Identifier: Apache-2.0 */
/* element_record.h - the results of array elements whose pods are gone, in the
 * store
 *
 * They are secrets of the store, "array/UID/N": the elements from N * 1024 on
 * (lib/api/job/element_states.h), written in the transaction that removes the
 * pod. So an element always has a pod or a result here, whenever the process is
 * killed; and the cost of a write does not depend on the number of elements.
 *
 * A record that cannot be read, because it is damaged or of a later release, is
 * never overwritten: later results are written beside it, to
 * "array/UID/N/since", in the same form. As soon as it can be read the two are
 * merged, and the later results win.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/job/element_states.h"

struct arena;
struct object;
struct request;
struct store;
struct store_txn;

/* All three use the pending state. element_record_read returns false when a
 * part cannot be read, and the chunk has the rest; without a record all
 * elements wait. element_record_text returns the same as text: NULL without a
 * record, and one that cannot be read as it is.
 */
bool element_record_read(const struct store *store, const char *job_uid, int64_t number,
                         struct element_chunk *ret_chunk);
const char *element_record_text(const struct store *store, const char *job_uid, int64_t number,
                                struct arena *arena);
void element_record_write(const struct store *store, struct store_txn *txn,
                          const struct object *job, int64_t number,
                          const struct element_chunk *chunk);

/* To be called for every pod that the transaction removes: its result is
 * recorded if it is of an array; and for every array, whose records are removed.
 */
void element_record_note_pod(struct request *q, struct store_txn *txn, const struct object *pod);
void element_record_forget(struct request *q, struct store_txn *txn, const struct object *job);
