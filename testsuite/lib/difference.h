/* SPDX-License-Identifier: Apache-2.0 */
/* difference.h - where an answer differs from the recorded one
 *
 * Of two trees it is the first place; of validation errors the sets of field
 * and reason, because messages are written for people.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct causes;
struct json;
struct strbuf;

/* A list of {field, reason, message}, as a Status has it. */
struct json *causes_tree(struct arena *arena, const struct causes *causes);

/* False if both are the same. Otherwise the difference is appended to `words`.
 * Causes have "reason" or, in recordings of Go, "type".
 */
bool find_other_causes(const struct json *is, const struct json *wanted, struct strbuf *words);
bool find_difference(const struct json *is, const struct json *wanted, struct strbuf *words);
