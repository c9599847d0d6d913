/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/nonces.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>

#include "testsuite/lib/suite.h"

#define SECOND INT64_C(1000000)

START_TEST(a_nonce_is_good_once)
{
    struct nonces *n = nonces_new();

    ck_assert(nonces_use(n, "a", 1000 * SECOND));
    ck_assert(nonces_use(n, "b", 1000 * SECOND));
    ck_assert(!nonces_use(n, "a", 1000 * SECOND));
    nonces_free(n);
}
END_TEST

/* For any position within the generations. */
START_TEST(a_nonce_is_remembered_for_as_long_as_its_credential_is_good)
{
    for (int first = 0; first < 300; first += 7) {
        struct nonces *n = nonces_new();
        int64_t at = (1000 + first) * SECOND;

        ck_assert(nonces_use(n, "before", 1000 * SECOND));
        ck_assert(nonces_use(n, "a", at));
        ck_assert(!nonces_use(n, "a", at + 60 * SECOND));
        ck_assert(!nonces_use(n, "a", at + 119 * SECOND));
        nonces_free(n);
    }
}
END_TEST

static bool
use_number(struct nonces *n, int number, int at_s)
{
    char nonce[16];

    snprintf(nonce, sizeof(nonce), "%d", number);
    return nonces_use(n, nonce, at_s * SECOND);
}

/* A nonce that may be used again is not kept any more: at most those of the
 * last 240 seconds are, and none after a long pause.
 */
START_TEST(a_nonce_is_forgotten_in_the_end)
{
    struct nonces *n = nonces_new();

    for (int i = 0; i < 3000; i++) {
        ck_assert(use_number(n, i, 1000 + i));
        if (i >= 240)
            ck_assert(use_number(n, i - 240, 1000 + i));
    }
    nonces_use(n, "late", 9000 * SECOND);
    for (int i = 0; i < 3000; i++)
        ck_assert(use_number(n, i, 9000));
    ck_assert(!nonces_use(n, "late", 9000 * SECOND));
    nonces_free(n);
}
END_TEST

SUITE("nonces", a_nonce_is_good_once, a_nonce_is_remembered_for_as_long_as_its_credential_is_good,
      a_nonce_is_forgotten_in_the_end)
