/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/engine_copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/engine/checksum.h"
#include "controller/store/engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* A batch is applied when it has so much. */
#define BATCH_OPS   2000
#define BATCH_BYTES (4u << 20)

struct copied_blob {
    int64_t row;
    char *digest;
    int64_t count;
};

struct store_copy {
    struct engine *from;
    struct engine *to;
    struct engine_counters counters; /* those of `to`, which stay until the end */
    struct arena *texts;
    struct arena_mark empty;
    struct engine_op ops[BATCH_OPS];
    size_t n_ops;
    size_t bytes;
    struct copied_blob *blobs;
    size_t n_blobs;
    size_t capacity;
    struct error *err;
    int result; /* of a visit, which returns nothing */
};

static int
apply(struct store_copy *c, const struct engine_counters *after)
{
    const struct engine_batch batch = {
        .expected_revision = c->counters.revision,
        .after = *after,
        .ops = c->ops,
        .n_ops = c->n_ops,
    };
    enum engine_outcome outcome = c->to->ops->apply(c->to, &batch, c->err);

    c->n_ops = 0;
    c->bytes = 0;
    arena_rewind(c->texts, &c->empty);
    return outcome == ENGINE_COMMITTED ? 0 : c->err != NULL ? c->err->code : -EIO;
}

/* Keeps a copy of the bytes; the other texts are kept already. */
static int
add(struct store_copy *c, const struct engine_op *op)
{
    struct engine_op *kept = &c->ops[c->n_ops++];

    *kept = *op;
    kept->bytes = op->length > 0 ? arena_memdup(c->texts, op->bytes, op->length) : "";
    c->bytes += op->length;
    return c->n_ops == BATCH_OPS || c->bytes > BATCH_BYTES ? apply(c, &c->counters) : 0;
}

static int
add_deltas(struct store_copy *c, const struct engine_row *row)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < row->n_deltas; i++)
        r = add(c, &(struct engine_op){
                       .verb = ENGINE_ADD_DELTA,
                       .row = row->row,
                       .revision = row->deltas[i].revision,
                       .bytes = row->deltas[i].patch,
                       .length = row->deltas[i].length,
                   });
    return r;
}

static int
add_row(struct store_copy *c, const struct engine_row *row)
{
    int r = checksum_verify(row, c->err);

    if (r < 0)
        return error_wrap(c->err, r, "row %" PRId64 " (%s/%s), see --check-store", row->row,
                          row->kind, row->name);
    r = add(c, &(struct engine_op){
                   .verb = row->is_lone_change ? ENGINE_ADD_DELTA : ENGINE_INSERT,
                   .row = row->row,
                   .revision = row->revision,
                   .kind = arena_strdup(c->texts, row->kind),
                   .namespace = arena_strdup(c->texts, row->namespace),
                   .name = arena_strdup(c->texts, row->name),
                   .bytes = row->body,
                   .length = row->length,
               });
    return r == 0 ? add_deltas(c, row) : r;
}

static int
copy_rows(struct store_copy *c)
{
    struct engine_scan *scan = NULL;
    struct engine_row row;
    int r = c->from->ops->scan_open(c->from, &scan, c->err);

    if (r < 0)
        return r;
    while ((r = c->from->ops->scan_next(scan, &row, c->err)) > 0)
        if ((r = add_row(c, &row)) < 0)
            break;
    c->from->ops->scan_close(scan);
    return r;
}

static void
keep_blob(int64_t row, const char *digest, int64_t count, void *context)
{
    struct store_copy *c = context;

    xgrow(c->blobs, c->n_blobs, c->capacity);
    c->blobs[c->n_blobs++] = (struct copied_blob){row, xstrdup(digest), count};
}

static void
copy_secret(const char *name, const char *value, void *context)
{
    struct store_copy *c = context;

    if (c->result == 0)
        c->result = add(c, &(struct engine_op){
                               .verb = ENGINE_PUT_SECRET,
                               .name = arena_strdup(c->texts, name),
                               .bytes = value,
                               .length = strlen(value),
                           });
}

static int
copy_blob(struct store_copy *c, const struct copied_blob *blob)
{
    CLEANUP_STRBUF struct strbuf content = STRBUF_INIT;
    int r = c->from->ops->read_blob(c->from, blob->row, &content, c->err);

    if (r == -ENOENT)
        return error_set(c->err, -EUCLEAN, "the content of blob %" PRId64 " is missing", blob->row);
    return r < 0 ? r
                 : add(c, &(struct engine_op){
                              .verb = ENGINE_ADD_BLOB,
                              .row = blob->row,
                              .name = blob->digest,
                              .count = blob->count,
                              .bytes = content.text,
                              .length = content.length,
                          });
}

static int
copy_blobs_and_secrets(struct store_copy *c)
{
    const struct engine_visitor visitor = {keep_blob, copy_secret, c};
    int r = c->from->ops->visit(c->from, &visitor, c->err);

    if (r == 0)
        r = c->result;
    for (size_t i = 0; r == 0 && i < c->n_blobs; i++)
        r = copy_blob(c, &c->blobs[i]);
    return r;
}

static void
fini(struct store_copy *c)
{
    for (size_t i = 0; i < c->n_blobs; i++)
        free(c->blobs[i].digest);
    free(c->blobs);
    arena_free(c->texts);
    free(c);
}

int
engine_copy(struct engine *from, const struct engine_counters *from_counters, struct engine *to,
            const struct engine_counters *to_counters, struct error *err)
{
    struct engine_counters after = *from_counters;
    struct store_copy *c;
    int r;

    if (to_counters->revision != 0 || to_counters->job_id != 0)
        return error_set(err, -EEXIST,
                         "a cluster has run there already: name another database, or drop this "
                         "one's schema (DROP SCHEMA kiln CASCADE)");
    c = xnew(struct store_copy);
    c->from = from;
    c->to = to;
    c->counters = *to_counters;
    c->texts = arena_new(BATCH_BYTES);
    c->empty = arena_mark(c->texts);
    c->err = err;
    r = copy_rows(c);
    if (r == 0)
        r = copy_blobs_and_secrets(c);
    if (r == 0)
        r = to->ops->raise_epoch(to, from_counters->epoch, err);
    if (r == 0)
        r = apply(c, &after);
    fini(c);
    return r;
}
