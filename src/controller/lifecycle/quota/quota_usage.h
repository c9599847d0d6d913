/* SPDX-License-Identifier: Apache-2.0 */
/* quota_usage.h - how much the objects of a namespace use of one ResourceQuota,
 * updated as objects are added, end and are deleted
 *
 * A pod counts until it has ended or is deleted. A pod that is past its
 * deadline still counts, since its cores are held for as long as it exists. So
 * the usage of a pod does not depend on the time, and can be subtracted again.
 * Pure.
 *
 * Thread:  any; one at a time for each.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct object;
struct quota_amounts;
struct quota_usage;

/* Life. New reads the quota's spec as it is now; no object is counted yet. */
void quota_usage_free(struct quota_usage *usage);
struct quota_usage *quota_usage_new(const struct object *quota) OWNED_BY(quota_usage_free);

/* Old is subtracted and new is added; either may be NULL. An object
 * must be subtracted in the state in which it was added. Returns false, and
 * changes nothing, if the two states count the same.
 */
bool quota_usage_change(struct quota_usage *usage, const struct object *old_object,
                        const struct object *new_object);

/* Adds the sums to `amounts`. */
void quota_usage_add_to(const struct quota_usage *usage, struct quota_amounts *amounts);
