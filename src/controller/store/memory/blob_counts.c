/* SPDX-License-Identifier: Apache-2.0 */
/* blob_counts.c - a script is stored once, however many jobs have it
 *
 * Rows of blobs are numbered here and not by the database, because the number is
 * needed before the batch is written. A number is not used again in this run,
 * even if its transaction was undone: the disk may have written it.
 */
#include "controller/store/memory/blob_counts.h"

#include "lib/base/alloc.h"
#include "lib/base/map.h"

struct blob_counts {
    struct map *by_digest;
    int64_t last_row;
};

struct blob_counts *
blob_counts_new(void)
{
    struct blob_counts *b = xnew(struct blob_counts);

    b->by_digest = map_new();
    return b;
}

void
blob_counts_free(struct blob_counts *b)
{
    size_t at = 0;
    void *blob;

    if (b == NULL)
        return;
    while (map_next(b->by_digest, &at, NULL, &blob))
        free(blob);
    map_free(b->by_digest);
    free(b);
}

void
blob_counts_set(struct blob_counts *b, const char *digest, struct stored_blob blob)
{
    struct stored_blob *has = map_find(b->by_digest, digest);

    if (blob.count == 0) {
        map_remove(b->by_digest, digest);
        free(has);
        return;
    }
    if (has == NULL) {
        has = xnew(struct stored_blob);
        map_put(b->by_digest, digest, has);
    }
    *has = blob;
    if (blob.row > b->last_row)
        b->last_row = blob.row;
}

int64_t
blob_counts_next_row(struct blob_counts *b)
{
    return ++b->last_row;
}

struct stored_blob
blob_counts_get(const struct blob_counts *b, const char *digest)
{
    const struct stored_blob *has = map_find(b->by_digest, digest);

    return has != NULL ? *has : (struct stored_blob){0};
}
