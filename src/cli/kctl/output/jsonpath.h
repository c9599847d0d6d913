/* SPDX-License-Identifier: Apache-2.0 */
/* jsonpath.h - kubectl's JSONPath: finds the values of a tree that a path means
 *
 * Names (.a, ['a'], \. for a dot in one), .*, ..a, [0], [-1], [*], [0,2],
 * [1:3], [1:9:2], and filters [?(@.a)], [?(@.a == "x")] with == != < <= > >=.
 * `$` is the root, `@` or nothing in front is where the path stands. Braces
 * around the whole and a leading dot may be left out.
 *
 * Source: k8s.io/client-go/util/jsonpath of 1.32.
 * Thread: any.
 */
#pragma once

#include <stddef.h>

struct arena;
struct error;
struct json;

/* The values, in the order of the tree; both are the arena's. */
struct jsonpath_values {
    const struct json **items;
    size_t count;
    size_t room;
};

/* From `text`, as far as the path goes; *ret_end is where it ends. Values are
 * added. -EINVAL: no path, with words.
 */
int jsonpath_select(const char *text,
                    const struct json *root,
                    const struct json *here,
                    struct arena *arena,
                    struct jsonpath_values *values,
                    const char **ret_end,
                    struct error *err);

/* A whole text that is one path, with or without braces. */
int jsonpath_find(const char *text,
                  const struct json *root,
                  struct arena *arena,
                  struct jsonpath_values *values,
                  struct error *err);
