/* SPDX-License-Identifier: Apache-2.0 */
/* node_verifier.h - the verifier of an enrolled node's secret (lib/auth/node_secret.h)
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

struct digest;
struct store;

/* False: there is no such node, or it has no secret. */
bool node_verifier_find(struct store *store, const char *node, struct digest *ret_verifier);
