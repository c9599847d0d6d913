/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/row_join.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

static int
next_patch(struct row_join *j, struct error *err)
{
    int r = j->source->next_patch(j->source->context, &j->patch_row, &j->patch, err);

    j->has_patch = r > 0;
    return r < 0 ? r : 0;
}

void
row_join_fini(struct row_join *j)
{
    strbuf_fini(&j->text);
    free(j->deltas);
}

int
row_join_init(struct row_join *j, const struct row_join_source *source, struct error *err)
{
    *j = (struct row_join){.source = source};
    strbuf_init(&j->text);
    return next_patch(j, err);
}

static void
keep_patch(struct row_join *j)
{
    xgrow(j->deltas, j->n_deltas, j->capacity);
    j->deltas[j->n_deltas++] = j->patch;
    strbuf_add(&j->text, j->patch.patch, j->patch.length);
    strbuf_add_char(&j->text, '\0');
}

static void
forget_patches(struct row_join *j)
{
    j->n_deltas = 0;
    strbuf_truncate(&j->text, 0);
}

/* The text may have been moved while it grew, so the pointers are set here. */
static void
point_patches(struct row_join *j)
{
    const char *text = j->text.text;

    for (size_t i = 0; i < j->n_deltas; i++) {
        j->deltas[i].patch = text;
        text += j->deltas[i].length + 1;
    }
}

static int
gather_patches(struct row_join *j, int64_t row, struct error *err)
{
    int r = 0;

    forget_patches(j);
    while (r == 0 && j->has_patch && j->patch_row == row) {
        keep_patch(j);
        r = next_patch(j, err);
    }
    point_patches(j);
    return r;
}

/* Reads the next body unless there is one that was not returned yet. */
static int
peek_body(struct row_join *j, struct error *err)
{
    int r;

    if (j->has_body || j->bodies_ended)
        return 0;
    r = j->source->next_body(j->source->context, &j->body, err);
    j->has_body = r > 0;
    j->bodies_ended = r <= 0;
    return r < 0 ? r : 0;
}

static int
lone_change(struct row_join *j, struct engine_row *ret_row, struct error *err)
{
    int r;

    *ret_row = (struct engine_row){
        .row = j->patch_row,
        .revision = j->patch.revision,
        .is_lone_change = true,
        .kind = "",
        .namespace = "",
        .name = "",
        .length = j->patch.length,
    };
    forget_patches(j);
    keep_patch(j);
    ret_row->body = j->text.text;
    r = next_patch(j, err);
    return r < 0 ? r : 1;
}

int
row_join_next(struct row_join *j, struct engine_row *ret_row, struct error *err)
{
    int r = peek_body(j, err);

    if (r < 0)
        return r;
    if (j->has_patch && (j->bodies_ended || j->patch_row < j->body.row))
        return lone_change(j, ret_row, err);
    if (j->bodies_ended)
        return 0;
    j->has_body = false;
    *ret_row = j->body;
    r = gather_patches(j, ret_row->row, err);
    ret_row->deltas = j->deltas;
    ret_row->n_deltas = j->n_deltas;
    return r < 0 ? r : 1;
}
