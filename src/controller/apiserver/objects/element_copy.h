/* SPDX-License-Identifier: Apache-2.0 */
/* element_copy.h - makes the pod of one element of an array from another's
 *
 * The pods of an array have one template and differ only in what names the
 * element: name, uid, some annotations, a label, variables and paths of files.
 * So the result of defaults, admission and validation for one pod is valid for
 * all.
 *
 * Thread:  any; pure functions of their trees.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct json;

/* `made` is the result of creating `asked`. Returns false when a name of the
 * pod is longer than the one that was checked, so that a length check could
 * fail, or when the pod has other members.
 */
bool element_copy_is_possible(const struct json *pod, const struct json *asked,
                              const struct json *made);

/* The copy is in the arena and has a uid of its own. It shares parts with both.
 */
struct json *element_copy_make(struct arena *arena, const struct json *made,
                               const struct json *pod);
