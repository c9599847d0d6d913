/* SPDX-License-Identifier: Apache-2.0 */
/* quota_refusal.h - reads the message of an object that a quota refused
 *
 *   exceeded quota: chem, requested: pods=1,requests.cpu=2, used: pods=9,..., limited: ...
 *   status unknown for quota: chem, resources: pods
 *   failed quota: chem: must specify memory for: main
 *
 * All pointers are into the message, which is not changed.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum quota_refusal_kind {
    QUOTA_REFUSAL_EXCEEDED,
    QUOTA_REFUSAL_UNCOUNTED,
    QUOTA_REFUSAL_UNSPECIFIED,
};

struct quota_refusal {
    enum quota_refusal_kind kind;
    const char *quota;
    size_t n_quota;
    const char *requested, *used, *limited; /* the lists; NULL: the message has none */
};

/* One resource of the lists; has: what others use. */
struct quota_pair {
    const char *name, *asks, *has, *most;
    size_t n_name, n_asks, n_has, n_most;
};

/* Returns false if the message is not that of a quota. */
bool quota_refusal_parse(const char *words, struct quota_refusal *ret_refusal);

/* Finds the pairs one after the other, starting with *at = NULL. Returns false at the end. */
bool quota_refusal_next(const struct quota_refusal *refusal, const char **at,
                        struct quota_pair *ret_pair);
