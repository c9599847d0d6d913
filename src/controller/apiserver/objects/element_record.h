/* SPDX-License-Identifier: Apache-2.0 */
/* element_record.h - what became of the elements of an array whose pods are
 * gone, kept in the store
 *
 * Secrets of the store, "array/UID/N": the elements from N * 1024 on
 * (lib/api/job/element_states.h), written in the transaction that removes the
 * pod. So an element has its pod, or what became of it stands here, whenever the
 * process is killed; and what a write costs does not depend on how many
 * elements there are.
 *
 * A record that cannot be read, damaged or of a later release, is never written
 * over: what comes after it stands beside it, "array/UID/N/since", in the same
 * form. As soon as it can be read the two are one again, and the later counts.
 *
 * Thread: the loop's.
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

/* As pending. Read: false: something there cannot be read, and the chunk is of
 * the rest; where there is nothing all elements wait. Text: the same as text, or
 * NULL: nothing is there; of what cannot be read, that.
 */
bool element_record_read(const struct store *store,
                         const char *job_uid,
                         int64_t number,
                         struct element_chunk *ret_chunk);
const char *element_record_text(const struct store *store,
                                const char *job_uid,
                                int64_t number,
                                struct arena *arena);
void element_record_write(const struct store *store,
                          struct store_txn *txn,
                          const struct object *job,
                          int64_t number,
                          const struct element_chunk *chunk);

/* An object is being removed in that transaction, whoever wants that: of a pod
 * of an array what it has come to is noted, and of an array all is forgotten.
 */
void element_record_note_removal(struct request *q,
                                 struct store_txn *txn,
                                 const struct object *object);
