/* SPDX-License-Identifier: Apache-2.0 */
/* json_patch.h - a list of operations on a tree: add, remove, replace, move,
 * copy, test
 *
 * Thread: any.
 * Source: RFC 6902 and 6901; where upstream's library is more generous (an
 * absent member can be replaced, indices may be negative), so is this.
 */
#pragma once

struct arena;
struct error;
struct json;

/* Changes *tree in place, or puts another in its place. -EINVAL: an operation
 * that is none; -ENOENT: it found nothing there; -EBADMSG: a failed test. The
 * tree is then half changed: give it a copy.
 */
int json_patch_apply(struct arena *arena,
                     struct json **tree,
                     const struct json *operations,
                     struct error *err);
