/* SPDX-License-Identifier: Apache-2.0 */
/* blob_counts.h - the stored blobs, by digest, and how many objects name each
 *
 * Their contents are only on disk. The counts are those of the pending head: a
 * transaction's change is undone by setting the old count.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct blob_counts;

struct stored_blob {
    int64_t row;
    int64_t count;    /* 0: there is no such blob */
    int64_t revision; /* readable once this revision is published */
};

/* Life. */
void blob_counts_free(struct blob_counts *b);
struct blob_counts *blob_counts_new(void) OWNED_BY(blob_counts_free);

/* Setting a count of 0 removes the blob. */
void blob_counts_set(struct blob_counts *b, const char *digest, struct stored_blob blob);

int64_t blob_counts_next_row(struct blob_counts *b); /* never a row in use */

/* All zero if there is no such blob. */
struct stored_blob blob_counts_get(const struct blob_counts *b, const char *digest);
