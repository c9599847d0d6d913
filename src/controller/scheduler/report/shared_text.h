/* SPDX-License-Identifier: Apache-2.0 */
/* shared_text.h - texts that many pods share: each is stored once, as long as
 * there is a reference to it
 *
 * A hundred thousand pods may wait for the same reason.
 *
 * Thread:  the scheduler's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct shared_text;

/* Life. All texts must have been dropped before free. */
void shared_text_free(struct shared_text *t);
struct shared_text *shared_text_new(void) OWNED_BY(shared_text_free);
DEFINE_CLEANUP(struct shared_text, shared_text_free)

/* Take returns the shared text, which is valid until drop was called as often
 * as take. NULL may be dropped.
 */
const char *shared_text_take(struct shared_text *t, const char *text);
void shared_text_drop(struct shared_text *t, const char *taken);

/* The number of different texts. */
size_t shared_text_count(const struct shared_text *t);
