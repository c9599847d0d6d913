/* SPDX-License-Identifier: Apache-2.0 */
/* sort_by.h - kctl get --sort-by: sorts the objects of an answer by one value
 *
 * Numbers, quantities and times are compared by value, other texts by
 * strverscmp. An object without the value comes first.
 *
 * Thread: any.
 */
#pragma once

struct arena;
struct error;
struct json;

/* -EINVAL, with a text, when the text is not a path. */
int sort_by_check(const char *path, struct error *err);

/* Sorts the items of a list, or the rows of a Table that contains objects. */
int sort_by_sort(struct json *answer, const char *path, struct arena *arena, struct error *err);
