/* SPDX-License-Identifier: Apache-2.0 */
/* growth.h - what an object costs on its way through the API, and how that
 * grows with its lists
 *
 * Something of twice the size may take twice the time and memory, but not four
 * times: that is the oracle of test_cost.c and of the fuzzer of costs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct json;
struct kind;

struct growth_cost {
    uint64_t cpu_us;
    size_t bytes; /* of the arena */
};

/* The tree with its list or map number `which` (in the order of its text, from
 * 0) grown to n items, made of those that it has: with texts and keys that all
 * differ, or alike. NULL: it has none of that number that is not empty.
 */
struct json *growth_of(struct arena *arena,
                       const struct json *tree,
                       unsigned which,
                       unsigned n,
                       bool differs);

/* The object, printed and then read, given defaults, validated as a new one and
 * as a change of itself, patched, applied and made an object.
 */
struct growth_cost growth_measure(const struct kind *kind,
                                  const struct json *tree);

/* Whether twice the items cost more than two and a half times the time or three
 * times the memory, and more than the clock's own noise; measured again before
 * it is said.
 */
bool growth_is_steep(const struct kind *kind,
                     const struct json *tree,
                     unsigned which,
                     unsigned n,
                     bool differs);
