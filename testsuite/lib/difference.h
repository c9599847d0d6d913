/* SPDX-License-Identifier: Apache-2.0 */
/* difference.h - where an answer differs from the recorded one
 *
 * Of two trees the first place; of what is wrong with an object the sets of
 * field and reason, as messages are for people.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct causes;
struct json;
struct strbuf;

/* A list of {field, reason, message}, as a Status has it. */
struct json *causes_tree(struct arena *arena, const struct causes *causes);

/* False: they are the same. Else what differs is appended to `words`. Causes:
 * "reason" or, as recordings of Go have it, "type".
 */
bool find_other_causes(const struct json *is,
                       const struct json *wanted,
                       struct strbuf *words);
bool find_difference(const struct json *is,
                     const struct json *wanted,
                     struct strbuf *words);
