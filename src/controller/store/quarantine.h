/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine.h - the rows that were not understood when the store was opened
 *
 * They stay in the database as they are. Of each this keeps its key, as far as
 * its columns say it, why it was put aside, and every uid in its text: an
 * object that stands in here must not be taken for one that is gone for good.
 *
 * Thread:     filled by those who load, who hold a lock; afterwards it never
 *             changes, and anybody may look.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/store/store.h"
#include "lib/base/macro.h"

struct engine_row;
struct quarantine;

/* Life */
void quarantine_free(struct quarantine *q);
struct quarantine *quarantine_new(void) OWNED_BY(quarantine_free);

/* Change. `kind`: what the row's kind is, or NULL when it is none of ours. */
void quarantine_add(struct quarantine *q,
                    const struct engine_row *row,
                    const struct kind *kind,
                    const char *why);

/* Look */
size_t quarantine_count(const struct quarantine *q);
const struct store_damaged *quarantine_get(const struct quarantine *q,
                                           size_t i);
bool quarantine_has(const struct quarantine *q, const char *key);
bool quarantine_names(const struct quarantine *q, const char *uid);
