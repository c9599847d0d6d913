/* SPDX-License-Identifier: Apache-2.0 */
/* engine_copy.h - copies a whole store from one engine into another
 *
 * Thread:  any that may use both engines; blocks.
 */
#pragma once

struct engine;
struct engine_counters;
struct error;

/* Copies all rows, and the counters last: a copy that was interrupted has none.
 * -EEXIST: `to` has counters, so a cluster has run there. -EUCLEAN: a row's
 * checksum differs; nothing that cannot be read is copied.
 */
int engine_copy(struct engine *from, const struct engine_counters *from_counters, struct engine *to,
                const struct engine_counters *to_counters, struct error *err);
