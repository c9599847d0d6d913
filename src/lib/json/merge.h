/* SPDX-License-Identifier: Apache-2.0 */
/* merge.h - JSON merge patches: apply one, and find the one between two trees
 *
 * Thread: any.
 * Source: RFC 7386. The store keeps small changes of an object in this form.
 */
#pragma once

struct arena;
struct json;

/* The target with the patch applied. The target is changed in place where it
 * is an object; the result may share parts of the patch.
 */
struct json *
json_merge(struct arena *arena, struct json *target, const struct json *patch);

/* Drops the nulls of objects inside the patch's lists, which json_merge takes
 * as they stand: what upstream's library does with a patch of a client.
 */
void json_merge_prune(struct json *patch);

/* The patch that makes `to` of `from`, or NULL when they are equal. A tree
 * with a null inside an object cannot be reached by any merge patch: nulls
 * count as absent.
 */
struct json *json_merge_diff(struct arena *arena,
                             const struct json *from,
                             const struct json *to);
