/* SPDX-License-Identifier: Apache-2.0 */
/* row_decoder.h - makes an object from its row: the body, and the deltas that
 * were stored after it
 *
 * The only function that does so. A row decoder keeps parse templates of the
 * rows it has seen (lib/json/parse_template.h), so that most rows are not parsed.
 *
 * Thread:  a row decoder belongs to one thread.
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

/* -EUCLEAN: the row does not hold an object of the kind. */
int row_decode(struct row_decoder *r, const struct kind *kind, const struct engine_row *row,
               const struct object **ret_object, struct error *err);
