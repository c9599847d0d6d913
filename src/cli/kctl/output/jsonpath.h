/* SPDX-License-Identifier: Apache-2.0 */
/* jsonpath.h - kubectl's JSONPath: finds the values in a tree that match a path
 *
 * Names (.a, ['a'], \. for a dot in a name), .*, ..a, [0], [-1], [*], [0,2],
 * [1:3], [1:9:2], and filters [?(@.a)], [?(@.a == "x")] with == != < <= > >=.
 * `$` is the root; `@` or no prefix is the current value. Braces around the
 * whole and a leading dot may be omitted.
 *
 * Source: k8s.io/client-go/util/jsonpath of 1.32.
 * Thread: any.
 */
#pragma once

#include <stddef.h>

struct arena;
struct error;
struct json;

/* The values, in the order of the tree; array and values belong to the arena.
 */
struct jsonpath_values {
    const struct json **items;
    size_t count;
    size_t room;
};

/* Evaluates the path that starts at `text`; *ret_end is its end. Values are
 * appended. -EINVAL with a text: it is no path.
 */
int jsonpath_select(const char *text, const struct json *root, const struct json *here,
                    struct arena *arena, struct jsonpath_values *values, const char **ret_end,
                    struct error *err);

/* Evaluates a text that is a single path, with or without braces. */
int jsonpath_find(const char *text, const struct json *root, struct arena *arena,
                  struct jsonpath_values *values, struct error *err);
