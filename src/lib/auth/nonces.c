/* SPDX-License-Identifier: Apache-2.0 */
/* Two generations instead of a time for each nonce: the old one is dropped as a whole, so
 * forgetting costs nothing, and each nonce is kept for at least one whole generation.
 */
#include "lib/auth/nonces.h"

#include "lib/auth/protocol.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

/* A credential is accepted if its maker's clock is up to the TTL behind or
 * ahead.
 */
#define GENERATION_US (2 * INT64_C(1000000) * PROTOCOL_TTL_S)

/* The nonces of the current generation and of the one before it. */
struct nonces {
    struct map *young, *old;
    int64_t began_at_us; /* start of the young generation */
};

struct nonces *
nonces_new(void)
{
    struct nonces *n = xnew(struct nonces);

    n->young = map_new();
    n->old = map_new();
    return n;
}

void
nonces_free(struct nonces *n)
{
    if (n == NULL)
        return;
    map_free(n->young);
    map_free(n->old);
    free(n);
}

static void
grow_old(struct nonces *n, int64_t now_us)
{
    struct map *forgotten = n->old;

    if (now_us - n->began_at_us < GENERATION_US)
        return;
    if (now_us - n->began_at_us >= 2 * GENERATION_US)
        map_clear(n->young);
    map_free(forgotten);
    n->old = n->young;
    n->young = map_new();
    n->began_at_us = now_us;
}

bool
nonces_use(struct nonces *n, const char *nonce, int64_t now_us)
{
    grow_old(n, now_us);
    if (map_find(n->young, nonce) != NULL || map_find(n->old, nonce) != NULL)
        return false;
    map_put(n->young, nonce, n);
    return true;
}
