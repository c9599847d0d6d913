/* SPDX-License-Identifier: Apache-2.0 */
/* store_types.h - types of store.h that the store's subfolders use too
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct object;

/* The two states of an object: see store.h. */
enum store_head {
    STORE_PUBLISHED,
    STORE_PENDING,
};

typedef bool store_visit_fn(const struct object *object, void *context);

/* Either object may be NULL. */
struct store_change {
    const struct object *old_object;
    const struct object *new_object;
    int64_t revision;
};
typedef void store_change_fn(const struct store_change *change, void *context);
