/* SPDX-License-Identifier: Apache-2.0 */
/* shared_text.h - texts that many pods share: each is held once, for as long as
 * somebody refers to it
 *
 * A hundred thousand pods wait for the same reason.
 *
 * Thread:  the scheduler's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct shared_text;

/* Life. All must have been dropped before. */
void shared_text_free(struct shared_text *p);
struct shared_text *shared_text_new(void) OWNED_BY(shared_text_free);
DEFINE_CLEANUP(struct shared_text, shared_text_free)

/* The text, until what was taken is dropped as often. NULL may be dropped.
 */
const char *shared_text_take(struct shared_text *p, const char *text);
void shared_text_drop(struct shared_text *p, const char *taken);

/* Look: how many different ones there are. */
size_t shared_text_count(const struct shared_text *p);
