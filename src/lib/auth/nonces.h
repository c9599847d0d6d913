/* SPDX-License-Identifier: Apache-2.0 */
/* nonces.h - the nonces used recently, so that no claim is accepted twice
 *
 * munged detects replays too, but its record of credentials is lost when it
 * restarts, while a credential is valid for a minute. A nonce is kept for at
 * least twice the TTL of a credential, which covers clocks that differ.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct nonces;

/* Life */
void nonces_free(struct nonces *n);
struct nonces *nonces_new(void) OWNED_BY(nonces_free);

/* Use returns false if the nonce was used before. `now_us` is
 * monotonic.
 */
bool nonces_use(struct nonces *n, const char *nonce, int64_t now_us);
