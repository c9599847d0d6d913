/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h - JSON merge patches: applies one, and computes one from two trees
 *
 * Thread: any.
 * Source: RFC 7386. The store keeps small changes of an object in this form.
 */
#pragma once

struct arena;
struct json;

/* Applies the patch to the target and returns the result. The target is changed
 * in place if it is an object; the result may share parts of the patch.
 */
struct json *json_merge(struct arena *arena, struct json *target, const struct json *patch);

/* Removes nulls of objects inside the patch's lists, which json_merge would
 * keep: upstream's library does this with the patch of a client.
 */
void json_merge_prune(struct json *patch);

/* The patch that turns `from` into `to`, or NULL when they are equal. No merge
 * patch can produce a tree with a null inside an object: nulls count as absent.
 */
struct json *json_merge_diff(struct arena *arena, const struct json *from, const struct json *to);
