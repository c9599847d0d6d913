/* SPDX-License-Identifier: Apache-2.0 */
/* phrases.h - texts that many say: each is held once, for as long as somebody
 * says it
 *
 * A hundred thousand pods wait for the same reason.
 *
 * Thread:  the scheduler's.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct phrases;

/* Life. All must have been dropped before. */
void phrases_free(struct phrases *p);
struct phrases *phrases_new(void) OWNED_BY(phrases_free);
DEFINE_CLEANUP(struct phrases, phrases_free)

/* The text, until it is dropped as often as it was taken. NULL may be dropped.
 */
const char *phrases_take(struct phrases *p, const char *text);
void phrases_drop(struct phrases *p, const char *taken);

/* Look: how many different ones there are. */
size_t phrases_count(const struct phrases *p);
