/* SPDX-License-Identifier: Apache-2.0 */
/* initialize.h - makes the store of a state directory once, on request
 *
 * A directory without a store may belong to a new cluster, or its disk may not
 * be mounted. The controller cannot know which, so it never makes a store by
 * itself.
 *
 * Called by:  kiln-controller --init, and each start.
 * Thread:     any; it blocks.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct error;
struct store_location;

/* Creates the directory, if it is missing, and an empty store in it, which
 * belongs to the owner of the directory. An existing store is left as it is.
 * -EEXIST: the store is missing, but other files of a cluster exist.
 */
int store_initialize(const struct store_location *location, bool *ret_was_there, struct error *err);

/* -ENOENT, with advice: the directory holds no store. Changes nothing. (A database
 * is asked when it is opened.)
 */
int store_check_present(const struct store_location *location, struct error *err);
