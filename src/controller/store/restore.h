/* SPDX-License-Identifier: Apache-2.0 */
/* restore.h - an object made again from its row: the body, and the changes
 * that were kept beside it
 *
 * The one function that knows how; pure, so any thread may call it.
 */
#pragma once

#include "lib/base/macro.h"

struct engine_row;
struct error;
struct kind;
struct object;
struct patterns;

/* -EUCLEAN: what is there is no such object. */
int restore_object(const struct kind *kind,
                   const struct engine_row *row,
                   struct patterns *patterns,
                   const struct object **ret_object,
                   struct error *err);
