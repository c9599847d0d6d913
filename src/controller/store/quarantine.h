/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine.h - the rows that could not be read when the store was opened
 *
 * They stay in the database as they are. For each row this keeps its key, as
 * far as its columns have one, the reason, and every uid in its text: an object
 * that is mentioned in such a row must not be taken for deleted.
 *
 * Thread:     filled by the loading threads, which hold a lock; afterwards it
 *             never changes, and any thread may read it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/store.h"
#include "lib/base/macro.h"

struct engine_row;
struct quarantine;

/* Life. */
void quarantine_free(struct quarantine *q);
struct quarantine *quarantine_new(void) OWNED_BY(quarantine_free);

/* `kind`: the row's kind, or NULL if it is not a known one. */
void quarantine_add(struct quarantine *q, const struct engine_row *row, const struct kind *kind,
                    const char *why);

size_t quarantine_count(const struct quarantine *q);
const struct store_damaged *quarantine_get(const struct quarantine *q, size_t i);
bool quarantine_has(const struct quarantine *q, const char *key);
bool quarantine_names(const struct quarantine *q, const char *uid);
