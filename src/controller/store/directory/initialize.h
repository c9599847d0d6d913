/* SPDX-License-Identifier: Apache-2.0 */
/* initialize.h - a state directory gets its store once, when somebody says so
 *
 * A directory without a store is a new cluster's, or one whose disk is not
 * mounted: the controller cannot know, so it never begins a store by itself.
 *
 * Called by:  kiln-controller --init, and each start.
 * Thread:     any; it blocks.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct error;

/* Makes the directory, when it is missing, and an empty store in it, which
 * belong to the owner of the directory. One that is there stays as it is.
 * -EEXIST: the store is missing, but other files of a cluster are there.
 */
int
store_initialize(const char *directory, bool *ret_was_there, struct error *err);

/* -ENOENT, with what can be done: the directory holds no store. It changes
 * nothing there.
 */
int store_check_present(const char *directory, struct error *err);
