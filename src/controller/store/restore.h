/* SPDX-License-Identifier: Apache-2.0 */
/* restore.h - an object made again from its row: the body, and the changes
 * that were kept beside it
 *
 * The one function that knows how. A restorer remembers the forms of the rows
 * it has seen (lib/json/template.h), so that most are not parsed.
 *
 * Thread:  a restorer is one thread's.
 */
#pragma once

#include "lib/base/macro.h"

struct engine_row;
struct error;
struct kind;
struct object;
struct dictionary_objects;
struct restorer;

/* Life. The dictionaries are borrowed, or NULL. */
void restorer_free(struct restorer *r);
struct restorer *restorer_new(struct dictionary_objects *dictionaries)
    OWNED_BY(restorer_free);
DEFINE_CLEANUP(struct restorer, restorer_free)

/* -EUCLEAN: what is there is no such object. */
int restore_object(struct restorer *r,
                   const struct kind *kind,
                   const struct engine_row *row,
                   const struct object **ret_object,
                   struct error *err);
