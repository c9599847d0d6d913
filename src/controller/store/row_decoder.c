/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/row_decoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/engine/engine.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"
#include "lib/json/parse_template.h"

/* Templates: for a few kinds, each before and after its objects were changed.
 */
#define FORMS     16u
#define FORM_MAX  16384u /* longer rows are rarely alike */
#define ALLOWANCE 64u    /* templates that may be made without being used */

struct row_form {
    const struct kind *kind;
    struct parse_template *template;
};

struct row_decoder {
    struct dictionary_objects *dictionaries;
    struct row_form forms[FORMS]; /* most recently used first */
    size_t n_poured;
    size_t n_parsed;
};

struct row_decoder *
row_decoder_new(struct dictionary_objects *dictionaries)
{
    struct row_decoder *r = xnew(struct row_decoder);

    r->dictionaries = dictionaries;
    return r;
}

void
row_decoder_free(struct row_decoder *r)
{
    if (r == NULL)
        return;
    for (unsigned i = 0; i < FORMS; i++)
        parse_template_free(r->forms[i].template);
    free(r);
}

static void
move_first(struct row_decoder *r, unsigned place)
{
    struct row_form form = r->forms[place];

    memmove(&r->forms[1], &r->forms[0], place * sizeof(form));
    r->forms[0] = form;
}

static const struct json *
fill_template(struct row_decoder *r, const struct kind *kind, const struct engine_row *row)
{
    const struct json *tree;

    for (unsigned i = 0; i < FORMS; i++) {
        if (r->forms[i].kind != kind)
            continue;
        tree = parse_template_apply(r->forms[i].template, row->body, row->length);
        if (tree != NULL) {
            move_first(r, i);
            r->n_poured++;
            return tree;
        }
    }
    return NULL;
}

/* Stops making templates if they are rarely used because no two rows are alike.
 */
static void
remember(struct row_decoder *r, const struct kind *kind, const struct engine_row *row)
{
    struct parse_template *template;

    if (row->length > FORM_MAX || r->n_parsed++ > r->n_poured + ALLOWANCE)
        return;
    template = parse_template_new(row->body, row->length);
    if (template == NULL)
        return;
    parse_template_free(r->forms[FORMS - 1].template);
    r->forms[FORMS - 1] = (struct row_form){kind, template};
    move_first(r, FORMS - 1);
}

/* The tree of the body, which the caller may edit. */
static struct json *
read_body(struct row_decoder *r, const struct kind *kind, const struct engine_row *row,
          struct arena *arena, struct error *err)
{
    const struct json *filled = fill_template(r, kind, row);
    struct json *tree;

    if (filled != NULL)
        return json_dup(arena, filled);
    tree = json_parse(arena, row->body, row->length, NULL, err);
    if (tree != NULL)
        remember(r, kind, row);
    return tree;
}

static int
apply_deltas(struct arena *arena, const struct engine_row *row, struct json **tree,
             struct error *err)
{
    for (size_t i = 0; i < row->n_deltas; i++) {
        const struct engine_delta *delta = &row->deltas[i];
        const struct json *patch = json_parse(arena, delta->patch, delta->length, NULL, err);

        if (patch == NULL)
            return error_wrap(err, -EUCLEAN, "the change of revision %" PRId64, delta->revision);
        *tree = json_merge(arena, *tree, patch);
    }
    return 0;
}

static void
set_revision(struct arena *arena, struct json *tree, int64_t revision)
{
    json_set(arena, json_make_object(arena, tree, "metadata"), "resourceVersion",
             json_stringf(arena, "%" PRId64, revision));
}

static int
merge(struct row_decoder *decoder, const struct kind *kind, const struct engine_row *row,
      const struct object **ret_object, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(8 * row->length);
    struct json *tree = read_body(decoder, kind, row, arena, err);
    int r;

    if (tree == NULL)
        return -EUCLEAN;
    r = apply_deltas(arena, row, &tree, err);
    if (r < 0)
        return r;
    set_revision(arena, tree, row->deltas[row->n_deltas - 1].revision);
    r = record_normalize(kind->record, arena, tree, NULL, err);
    if (r < 0)
        return r;
    *ret_object = object_new_packed(kind, tree, decoder->dictionaries);
    return 0;
}

/* A row has the text that was written, unless an earlier version wrote it or it
 * is damaged. -EUCLEAN: it does not hold an object of the kind.
 */
static int
check_whole(const struct kind *kind, const struct engine_row *row, struct arena *arena,
            struct json *tree, bool *ret_is_same, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r = record_normalize(kind->record, arena, tree, NULL, err);

    if (r < 0)
        return r;
    json_print(tree, &text);
    *ret_is_same = text.length == row->length && memcmp(text.text, row->body, row->length) == 0;
    return 0;
}

static int
parse_whole(struct row_decoder *r, const struct kind *kind, const struct engine_row *row,
            const struct object **ret_object, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(8 * row->length);
    struct json *tree = json_parse(arena, row->body, row->length, NULL, err);
    bool is_same = false;

    if (tree == NULL || check_whole(kind, row, arena, tree, &is_same, err) < 0)
        return -EUCLEAN;
    if (!is_same) {
        *ret_object = object_new_packed(kind, tree, r->dictionaries);
        return 0;
    }
    remember(r, kind, row);
    *ret_object = object_restore(kind, tree, row->body, row->length, r->dictionaries);
    return 0;
}

static int
take_whole(struct row_decoder *r, const struct kind *kind, const struct engine_row *row,
           const struct object **ret_object, struct error *err)
{
    const struct json *tree = fill_template(r, kind, row);

    if (tree == NULL)
        return parse_whole(r, kind, row, ret_object, err);
    *ret_object = object_restore(kind, tree, row->body, row->length, r->dictionaries);
    return 0;
}

int
row_decode(struct row_decoder *decoder, const struct kind *kind, const struct engine_row *row,
           const struct object **ret_object, struct error *err)
{
    int64_t revision = row->n_deltas > 0 ? row->deltas[row->n_deltas - 1].revision : row->revision;
    CLEANUP(object_unrefp) const struct object *object = NULL;
    int r = row->n_deltas > 0 ? merge(decoder, kind, row, &object, err)
                              : take_whole(decoder, kind, row, &object, err);

    if (r < 0)
        return error_wrap(err, -EUCLEAN, "row %" PRId64, row->row);
    if (object->revision != revision || object->meta->name == NULL
        || ((kind->flags & KIND_NAMESPACED) != 0 && object->meta->namespace == NULL))
        return error_set(err, -EUCLEAN,
                         "row %" PRId64 " holds another object than revision "
                         "%" PRId64 " of it",
                         row->row, revision);
    *ret_object = object;
    object = NULL;
    return 0;
}
