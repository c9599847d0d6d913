/* SPDX-License-Identifier: Apache-2.0 */
/* history_replica.h - the rows of history that all controllers of a cluster share
 *
 * With a replicated store, each row is appended to a log there before it is in
 * the file, and a controller that begins to lead reads what others have appended
 * since. So the file is a copy, and no row is lost with a machine. Without such
 * a store, all of this does nothing.
 *
 * Thread:  the writer's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct history_file;
struct history_replica;
struct history_row;
struct step_batch;

/* Life. `database`: URL of the store, or NULL. */
void history_replica_free(struct history_replica *replica);
struct history_replica *history_replica_new(const char *database) OWNED_BY(history_replica_free);

/* Adds the rows that others have appended to the file. */
int history_replica_catch_up(struct history_replica *replica, struct history_file *file,
                             struct error *err);

/* Keep notes a row, with the text that it has in the store if there is one (or
 * NULL), and append writes all that were noted; discard forgets them.
 */
void history_replica_keep(struct history_replica *replica, const struct history_row *row,
                          const char *text, const char *key);
void history_replica_keep_steps(struct history_replica *replica, const struct step_batch *batch,
                                const char *text);
int history_replica_append(struct history_replica *replica, struct history_file *file,
                           struct error *err);
void history_replica_discard(struct history_replica *replica);

/* Deletes records before that time. */
int history_replica_drop(struct history_replica *replica, int64_t before_s, struct error *err);

/* The row of a text; false if it is none. */
bool history_replica_read_row(struct arena *arena, const char *text, size_t length,
                              struct history_row *ret_row);

/* The same of steps. */
bool history_replica_read_steps(struct arena *arena, const char *text, size_t length,
                                struct step_batch *ret_batch);
