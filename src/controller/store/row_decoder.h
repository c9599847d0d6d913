/* SPDX-License-Identifier: Apache-2.0 */
/* row_decoder.h - an object made again from its row: the body, and the changes
 * that were kept beside it
 *
 * The one function that knows how. A row decoder remembers the forms of the
 * rows it has seen (lib/json/template.h), so that most are not parsed.
 *
 * Thread:  a row decoder is one thread's.
 */
#pragma once

#include "lib/base/macro.h"

struct engine_row;
struct error;
struct kind;
struct object;
struct dictionary_objects;
struct row_decoder;

/* Life. The dictionaries are borrowed, or NULL. */
void row_decoder_free(struct row_decoder *r);
struct row_decoder *row_decoder_new(struct dictionary_objects *dictionaries)
    OWNED_BY(row_decoder_free);
DEFINE_CLEANUP(struct row_decoder, row_decoder_free)

/* -EUCLEAN: what is there is no such object. */
int row_decode(struct row_decoder *r,
               const struct kind *kind,
               const struct engine_row *row,
               const struct object **ret_object,
               struct error *err);
