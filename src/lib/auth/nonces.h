/* SPDX-License-Identifier: Apache-2.0 */
/* nonces.h - those that were used lately: no claim is good twice
 *
 * munged finds what is sent again as well, but forgets it when it is started
 * anew, and a credential is good for a minute. Kept for twice the time that
 * clocks which differ can make of that.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct nonces;

/* Life */
void nonces_free(struct nonces *n);
struct nonces *nonces_new(void) OWNED_BY(nonces_free);

/* Change: false where it was used before. `now_us` is monotonic. */
bool nonces_use(struct nonces *n, const char *nonce, int64_t now_us);

/* Look */
size_t nonces_count(const struct nonces *n);
