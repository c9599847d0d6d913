/* SPDX-License-Identifier: Apache-2.0 */
/* Objects are stored as the text in which they are sent, so an answer refers to slices of
 * these texts and prints nothing (decision 3). Whatever breaks this, a redacted object, YAML
 * or an indented text, is made from the tree of the plain answer: one way to make it, and
 * others only change its form.
 */
#include "controller/apiserver/http/render.h"

#include <inttypes.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/http/object_slice.h"
#include "controller/apiserver/http/table_render.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/reply.h"
#include "controller/apiserver/request/view.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"

static bool
is_metadata_form(const struct view *view)
{
    return view->accept.form == ACCEPT_METADATA || view->accept.form == ACCEPT_METADATA_LIST;
}

static void
begin_partial(struct frame *out, const struct view *view)
{
    frame_add(out, view->accept.is_v1beta1 ? "{\"kind\":\"PartialObjectMetadata\","
                                             "\"apiVersion\":\"meta.k8s.io/v1beta1\",\"metadata\":"
                                           : "{\"kind\":\"PartialObjectMetadata\","
                                             "\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
}

static void
add_tree(struct frame *out, const struct json *tree)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print(tree, &text);
    frame_add_bytes(out, text.text, text.length);
}

/* Adds the slice by reference when the object holds its whole text. */
static void
add_slice(struct frame *out, const struct object *object, struct object_slice slice)
{
    if (object_is_whole(object))
        frame_add_slice(out, object, slice.from, slice.length);
    else
        frame_add_bytes(out, slice.from, slice.length);
}

/* Leaves out kind and apiVersion unless `with_kind`. */
static void
add_whole(struct frame *out, const struct object *object, bool with_kind)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *text = object_text(object, arena);

    if (with_kind) {
        add_slice(out, object, (struct object_slice){text, object->length});
        return;
    }
    frame_add(out, "{");
    add_slice(out, object, object_slice_rest(text, object->length));
}

static void
add_redacted(struct frame *out, const struct view *view, const struct object *object,
             bool metadata_alone, bool with_kind)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *tree = object_tree(object, arena);

    object->kind->redact(arena, tree);
    if (metadata_alone) {
        begin_partial(out, view);
        add_tree(out, json_get(tree, "metadata"));
        frame_add(out, "}");
        return;
    }
    if (!with_kind) {
        json_remove(tree, "kind");
        json_remove(tree, "apiVersion");
    }
    add_tree(out, tree);
}

static void
add_metadata(struct frame *out, const struct view *view, const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    begin_partial(out, view);
    add_slice(out, object, object_slice_metadata(object_text(object, arena), object->length));
    frame_add(out, "}");
}

static void
add_object(struct frame *out, const struct view *view, const struct object *stored,
           bool metadata_alone, bool with_kind)
{
    CLEANUP(object_unrefp)
    const struct object *object = object_as(stored, view->kind != NULL ? view->kind : stored->kind);

    if (!authorization_reads_whole(view->principal, object))
        add_redacted(out, view, object, metadata_alone, with_kind);
    else if (metadata_alone)
        add_metadata(out, view, object);
    else
        add_whole(out, object, with_kind);
}

static void
add_list_meta(struct frame *out, const struct reply *r)
{
    frame_printf(out, "\"metadata\":{\"resourceVersion\":\"%" PRId64 "\"", r->revision);
    if (r->continue_token != NULL)
        frame_printf(out, ",\"continue\":\"%s\"", r->continue_token);
    if (r->remaining >= 0)
        frame_printf(out, ",\"remainingItemCount\":%" PRId64, r->remaining);
    frame_add(out, "}");
}

static void
add_row(struct frame *out, const struct view *view, const struct object *object)
{
    table_render_row(out, view, object);
    switch (view->accept.include) {
    case INCLUDE_NONE:
        frame_add(out, ",\"object\":null");
        break;
    case INCLUDE_METADATA:
        frame_add(out, ",\"object\":");
        add_object(out, view, object, true, true);
        break;
    case INCLUDE_OBJECT:
        frame_add(out, ",\"object\":");
        add_object(out, view, object, false, true);
        break;
    }
    frame_add(out, "}");
}

static void
begin_table(struct frame *out, const struct view *view)
{
    frame_printf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",",
                 view->accept.is_v1beta1 ? "v1beta1" : "v1");
}

static void
add_table(struct frame *out, const struct view *view, const struct object *object,
          bool with_columns)
{
    begin_table(out, view);
    frame_printf(out, "\"metadata\":{\"resourceVersion\":\"%" PRId64 "\"},", object->revision);
    table_render_columns(out, view, object->kind, with_columns);
    frame_add(out, ",\"rows\":[");
    add_row(out, view, object);
    frame_add(out, "]}");
}

static void
begin_table_list(struct frame *out, const struct view *view, const struct reply *r)
{
    begin_table(out, view);
    add_list_meta(out, r);
    frame_add(out, ",");
    table_render_columns(out, view, r->kind, true);
    frame_add(out, ",\"rows\":[");
}

static void
begin_list(struct frame *out, const struct view *view, const struct reply *r)
{
    if (is_metadata_form(view))
        frame_add(out, "{\"kind\":\"PartialObjectMetadataList\","
                       "\"apiVersion\":\"meta.k8s.io/v1\",");
    else
        frame_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", r->kind->list_name,
                     r->kind->api_version);
    add_list_meta(out, r);
    frame_add(out, ",\"items\":[");
}

/* Adds one item of a list. */
static void
add_item(struct frame *out, const struct view *view, const struct object *object)
{
    if (view->accept.form == ACCEPT_TABLE)
        add_row(out, view, object);
    else
        add_object(out, view, object, is_metadata_form(view), false);
}

static void
begin_any_list(struct frame *out, const struct view *view, const struct reply *r)
{
    if (view->accept.form == ACCEPT_TABLE)
        begin_table_list(out, view, r);
    else
        begin_list(out, view, r);
}

/* --- YAML and indented JSON ----------------------------------------------- */

static struct json *
tree_of(struct arena *arena, const struct frame *frame)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    frame_copy(frame, &text);
    return json_parse(arena, text.text, text.length, NULL, NULL);
}

static void
print_otherwise(const struct view *view, const struct json *tree, struct strbuf *out)
{
    if (view->accept.is_yaml) {
        yaml_print(tree, out);
        return;
    }
    json_print_indented(tree, out);
    strbuf_add_char(out, '\n');
}

/* A placeholder for the items in a list that is printed without them. */
#define ITEMS_MARK "KILN-ITEMS"

/* Adds the lines before those of the items, or the lines after them. */
static void
add_around(struct frame *out, const struct view *view, const struct reply *r, bool is_behind)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(frame_unrefp) struct frame *plain = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *mark, *from, *to;

    begin_any_list(plain, view, r);
    frame_add(plain, "\"" ITEMS_MARK "\"]}");
    print_otherwise(view, tree_of(arena, plain), &text);
    mark = strstr(text.text, ITEMS_MARK);
    for (from = mark; from > text.text && from[-1] != '\n';)
        from--;
    to = strchr(mark, '\n') + 1;
    if (is_behind)
        frame_add_bytes(out, to, strlen(to));
    else
        frame_add_bytes(out, text.text, (size_t)(from - text.text));
}

/* Adds the lines of one item. It is printed as the only item of a list; for
 * JSON the lines of the list's brackets are cut off.
 */
static void
add_item_otherwise(struct frame *out, const struct view *view, const struct reply *r, size_t i)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(frame_unrefp) struct frame *plain = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *list = json_array(arena), *around = json_object(arena);
    const char *from, *to;

    add_item(plain, view, r->objects[i]);
    json_append(arena, list, tree_of(arena, plain));
    if (view->accept.is_yaml) {
        yaml_print(list, &text);
        frame_add_bytes(out, text.text, text.length);
        return;
    }
    json_add(arena, around, "items", list);
    json_print_indented(around, &text);
    from = strstr(text.text, "[\n") + 2;
    for (to = text.text + text.length; *to != ']';)
        to--;
    while (*to != '\n')
        to--;
    frame_add_bytes(out, from, (size_t)(to - from));
    frame_add(out, i + 1 < r->n_objects ? ",\n" : "\n");
}

static void
add_some_otherwise(struct frame *out, const struct view *view, const struct reply *r, size_t from,
                   size_t to)
{
    if (from == 0)
        add_around(out, view, r, false);
    for (size_t i = from; i < to; i++)
        add_item_otherwise(out, view, r, i);
    if (to == r->n_objects)
        add_around(out, view, r, true);
}

/* Counts the bytes that will be copied, not referred to. */
static size_t
packed_bytes(const struct reply *r, size_t from, size_t to)
{
    size_t bytes = 0;

    for (size_t i = from; i < to; i++)
        if (!object_is_whole(r->objects[i]))
            bytes += r->objects[i]->length;
    return bytes;
}

bool
render_list_some(struct frame *out, const struct view *view, const struct reply *r, size_t *at,
                 size_t most)
{
    bool is_table = view->accept.form == ACCEPT_TABLE;
    size_t from = *at;
    size_t to = r->n_objects - from > most ? from + most : r->n_objects;

    *at = to;
    if (view->accept.is_yaml || view->accept.is_pretty) {
        add_some_otherwise(out, view, r, from, to);
        return to < r->n_objects;
    }
    if (from == 0)
        begin_any_list(out, view, r);
    if (!is_table && !is_metadata_form(view))
        frame_reserve(out, packed_bytes(r, from, to));
    for (size_t i = from; i < to; i++) {
        if (i > 0)
            frame_add(out, ",");
        add_item(out, view, r->objects[i]);
    }
    if (to == r->n_objects)
        frame_add(out, "]}");
    return to < r->n_objects;
}

static void
add_list(struct frame *out, const struct view *view, const struct reply *r)
{
    struct view plain = *view;
    size_t at = 0;

    /* add_otherwise lays out the whole list later and needs it as plain JSON.
     */
    plain.accept.is_yaml = plain.accept.is_pretty = false;
    if (is_metadata_form(view) && r->n_objects == 0) {
        /* As upstream: `items` is null. */
        frame_add(out, "{\"kind\":\"PartialObjectMetadataList\","
                       "\"apiVersion\":\"meta.k8s.io/v1\",");
        add_list_meta(out, r);
        frame_add(out, ",\"items\":null}");
        return;
    }
    (void)render_list_some(out, &plain, r, &at, SIZE_MAX);
}

bool
render_check(const struct view *view, struct reply *reply)
{
    if (reply->form != REPLY_OBJECT || view->accept.form != ACCEPT_METADATA_LIST)
        return true;
    reply_fail(reply,
               &(struct reply_failure){
                   .code = 406,
                   .reason = "NotAcceptable",
                   .message = arena_printf(reply->arena,
                                           "you requested PartialObjectMetadataList, but the "
                                           "requested object is not a list (*core.%s)",
                                           reply->object->kind->name),
               });
    return false;
}

static void
add_reply(struct frame *out, const struct view *view, const struct reply *r)
{
    switch (r->form) {
    case REPLY_OBJECT:
        if (view->accept.form == ACCEPT_TABLE)
            add_table(out, view, r->object, true);
        else
            add_object(out, view, r->object, is_metadata_form(view), true);
        break;
    case REPLY_LIST:
        add_list(out, view, r);
        break;
    case REPLY_TREE:
        add_tree(out, r->tree);
        break;
    case REPLY_TEXT:
        frame_add_bytes(out, r->text, r->length);
        break;
    case REPLY_NONE:
        break;
    }
}

/* Makes YAML or indented JSON from the tree of the plain JSON. */
static void
add_otherwise(struct frame *out, const struct view *view, const struct reply *reply)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(frame_unrefp) struct frame *plain = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    add_reply(plain, view, reply);
    print_otherwise(view, tree_of(arena, plain), &text);
    frame_add_bytes(out, text.text, text.length);
}

void
render_reply(struct frame *out, const struct view *view, struct reply *reply)
{
    if ((view->accept.is_yaml || view->accept.is_pretty) && reply->form != REPLY_TEXT
        && reply->form != REPLY_NONE)
        add_otherwise(out, view, reply);
    else
        add_reply(out, view, reply);
}

void
render_event(struct frame *out, const struct view *view, const char *type,
             const struct object *object, bool with_columns)
{
    frame_printf(out, "{\"type\":\"%s\",\"object\":", type);
    if (view->accept.form == ACCEPT_TABLE)
        add_table(out, view, object, with_columns);
    else
        add_object(out, view, object, is_metadata_form(view), true);
    frame_add(out, "}\n");
}

static void
add_bookmark_object(struct frame *out, const struct kind *kind, bool metadata_alone,
                    int64_t revision, bool is_initial_end)
{
    frame_printf(out,
                 "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{"
                 "\"resourceVersion\":\"%" PRId64 "\",\"creationTimestamp\":null%s}}",
                 metadata_alone ? "PartialObjectMetadata" : kind->name,
                 metadata_alone ? "meta.k8s.io/v1" : kind->api_version, revision,
                 is_initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":"
                                  "\"true\"}"
                                : "");
}

void
render_bookmark(struct frame *out, const struct view *view, const struct kind *kind,
                int64_t revision, bool is_initial_end)
{
    frame_add(out, "{\"type\":\"BOOKMARK\",\"object\":");
    if (view->accept.form == ACCEPT_TABLE) {
        begin_table(out, view);
        frame_printf(out, "\"metadata\":{\"resourceVersion\":\"%" PRId64 "\"},", revision);
        table_render_columns(out, view, kind, false);
        frame_add(out, ",\"rows\":[");
        table_render_empty_row(out, view, kind);
        frame_add(out, ",\"object\":");
        add_bookmark_object(out, kind, true, revision, is_initial_end);
        frame_add(out, "}]}");
    } else
        add_bookmark_object(out, kind, is_metadata_form(view), revision, is_initial_end);
    frame_add(out, "}\n");
}
