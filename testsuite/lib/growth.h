/* SPDX-License-Identifier: Apache-2.0 */
/* growth.h - the cost of an object in the API, and how it grows with the
 * object's lists
 *
 * An input of twice the size may take twice the time and memory, but not four
 * times: test_cost.c and fuzz_cost.c check that.
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

/* Returns the tree with its non-empty list or map number `which` (from 0, in
 * the order of its text) grown to n items, made of the existing ones: with
 * texts and keys that all differ, or are equal. NULL: there is no such list or
 * map.
 */
struct json *growth_of(struct arena *arena, const struct json *tree, unsigned which, unsigned n,
                       bool differs);

/* Prints the object, reads, defaults and validates it as a new one and as a
 * change of itself, patches and applies it and makes an object.
 */
struct growth_cost growth_measure(const struct kind *kind, const struct json *tree);

/* Whether twice the items cost more than two and a half times the time or three
 * times the memory, and more than the clock's noise. A positive result is
 * measured again.
 */
bool growth_is_steep(const struct kind *kind, const struct json *tree, unsigned which, unsigned n,
                     bool differs);
