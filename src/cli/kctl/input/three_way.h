/* SPDX-License-Identifier: Apache-2.0 */
/* three_way.h - computes the patch of kctl apply from the object on the server,
 * the file, and the file that was applied before
 *
 * Pure functions on trees.
 *
 * Thread: any.
 */
#pragma once

struct arena;
struct json;

#define THREE_WAY_ANNOTATION "kubectl.kubernetes.io/last-applied-configuration"

/* A copy of the file's object with the file itself in an annotation. */
struct json *three_way_annotated(struct arena *arena, const struct json *file);

/* The merge patch; NULL when there is nothing to change. */
struct json *three_way_patch(struct arena *arena, const struct json *current,
                             const struct json *file);
