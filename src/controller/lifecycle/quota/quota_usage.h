/* SPDX-License-Identifier: Apache-2.0 */
/* quota_usage.h - what the objects of a namespace take of one ResourceQuota,
 * kept as they come, end and go
 *
 * A pod counts until it has ended or is gone. One that should have gone by now
 * counts, too, since its cores are held as long. So the usage of a pod is the
 * same whenever it is asked for, and can be subtracted again. Pure.
 *
 * Thread:  any; one at a time for each.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct json;
struct object;
struct quota_amounts;
struct quota_usage;

/* Life. Of the quota's spec as it is now; nothing is counted. */
void quota_usage_free(struct quota_usage *usage);
struct quota_usage *quota_usage_new(const struct object *quota)
    OWNED_BY(quota_usage_free);

/* Change. An object that was added is removed in the same state; changed does
 * both where it makes a difference, and says so. Either side may be NULL.
 */
bool quota_usage_change(struct quota_usage *usage,
                        const struct object *old_object,
                        const struct object *new_object);

/* Look: adds the sums. */
void quota_usage_add_to(const struct quota_usage *usage,
                        struct quota_amounts *amounts);
