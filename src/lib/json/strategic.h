/* SPDX-License-Identifier: Apache-2.0 */
/* strategic.h - upstream's strategic merge patch, driven by field tables
 *
 * Objects merge by name, lists as their field says: replaced (atomic), as
 * sets, or by the key of their elements. Directives: $patch, $retainKeys,
 * $deleteFromPrimitiveList/NAME, $setElementOrder/NAME.
 *
 * Thread: any.
 * Source: k8s.io/apimachinery/pkg/util/strategicpatch, its documentation.
 */
#pragma once

struct arena;
struct error;
struct json;
struct record;

/* Changes the target in place; it may then share parts of the patch. -EINVAL
 * with a text for the client; the target may be partly changed.
 */
int strategic_merge(struct arena *arena, const struct record *record, struct json *target,
                    const struct json *patch, struct error *err);
