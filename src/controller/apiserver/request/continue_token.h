/* SPDX-License-Identifier: Apache-2.0 */
/* continue_token.h - where a page of a list ended: `continue`
 *
 * A token names the revision at which the list is read and the key after which
 * the next page starts. It is opaque to clients. A token that was tampered with
 * is refused, although it could only name a place in a list that the principal
 * may read anyway.
 *
 * Thread:  any; no state.
 */
#pragma once

#include <stdint.h>

#include "lib/api/object/object.h"

struct arena;

struct continue_token {
    int64_t revision; /* 0: the current one, because the old one expired */
    char after[OBJECT_KEY_SIZE];
};

const char *continue_token_format(struct arena *arena, const struct continue_token *token);

/* Returns -EINVAL for a token that this server did not make. */
int continue_token_parse(const char *text, struct continue_token *ret_token);
