/* SPDX-License-Identifier: Apache-2.0 */
/* continue_token.h - where a page of a list ended: `continue`
 *
 * A token says at which revision the list is being read and behind which key it
 * goes on. It is opaque to clients. A token that was tampered with is refused,
 * although it could only name a place in a list that the principal may read
 * anyway.
 *
 * Thread:  any; no state.
 */
#pragma once

#include <stdint.h>

#include "lib/api/object/object.h"

struct arena;

struct continue_token {
    int64_t revision; /* 0: whatever is now, after the old one expired */
    char after[OBJECT_KEY_SIZE];
};

const char *continue_token_format(struct arena *arena,
                                  const struct continue_token *token);

/* -EINVAL: never came from here. */
int continue_token_parse(const char *text, struct continue_token *ret_token);
