/* SPDX-License-Identifier: Apache-2.0 */
/* element_copy.h - the pod of one element of an array out of that of another
 *
 * They are of one template and differ in what names the element: name, uid, some
 * annotations, a label, variables and paths of files. So what came of one that
 * went through defaults, admission and validation is what would come of all.
 *
 * Thread:  any; pure functions of their trees.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct json;

/* `made` came of `asked`. False: what names the pod is longer than what was
 * checked, and a length could be refused, or it has other parts.
 */
bool element_copy_is_possible(const struct json *pod,
                              const struct json *asked,
                              const struct json *made);

/* In the arena; with a uid of its own. It shares parts with both. */
struct json *element_copy_make(struct arena *arena,
                               const struct json *made,
                               const struct json *pod);
