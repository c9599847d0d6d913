/* SPDX-License-Identifier: Apache-2.0 */
/* json_patch.h - applies a list of operations to a tree: add, remove, replace,
 * move, copy, test
 *
 * Thread: any.
 * Source: RFC 6902 and 6901; lenient where upstream's library is (an absent
 *         member can be replaced, indices may be negative).
 */
#pragma once

struct arena;
struct error;
struct json;

/* Changes *tree in place, or replaces it. -EINVAL: an operation is invalid;
 * -ENOENT: its target does not exist; -EBADMSG: a test failed. On failure the
 * tree may be partly changed, so pass a copy.
 */
int json_patch_apply(struct arena *arena, struct json **tree, const struct json *operations,
                     struct error *err);
