/* SPDX-License-Identifier: Apache-2.0 */
/* blob_counts.h - which contents there are, by digest, and how many name each
 *
 * Contents are on disk alone. This is the pending head: what a transaction
 * did is undone by setting the old count.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct blob_counts;

struct stored_blob {
    int64_t row;
    int64_t count;    /* 0: gone */
    int64_t revision; /* readable once this is published */
};

/* Life */
void blob_counts_free(struct blob_counts *b);
struct blob_counts *blob_counts_new(void) OWNED_BY(blob_counts_free);

/* Change. Set with a count of 0 forgets it. */
void blob_counts_set(struct blob_counts *b,
                     const char *digest,
                     struct stored_blob blob);

int64_t
blob_counts_next_row(struct blob_counts *b); /* never one that is in use */

/* Look: all zero when there is none. */
struct stored_blob blob_counts_get(const struct blob_counts *b,
                                   const char *digest);
size_t blob_counts_size(const struct blob_counts *b);
