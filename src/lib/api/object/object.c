/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster has some hundred thousand objects in two versions each, and most differ from
 * another in a few bytes. So an object is one allocation that never changes: head, struct,
 * text. Beside the plain form there are three small ones: packed against a dictionary object,
 * renumbered (the same object at another revision) and patched (some members replaced).
 * Readers cannot tell them apart, which is why the text is got by a call.
 *
 * Because nothing ever changes but an atomic count, objects cross threads without locks.
 */
#include "lib/api/object/object.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/dictionary_objects.h"
#include "lib/api/object/dictionary_text.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/decimal.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "lib/json/text_patch.h"

#define RENUMBERED UINT32_MAX
#define PATCHED    (UINT32_C(1) << 31)

/* One allocation: the head, the view, the data that the view points to, the
 * text. The view of a renumbered object points into `beside`, which is the same
 * object at another revision and has the text. The view of a patched object
 * points into the object from which it was made; a reference to that one
 * follows the view.
 */
struct published {
    struct object object;
    const struct object *beside; /* its dictionary, or NULL */
    atomic_uint references;
    uint32_t packed; /* with `beside`: length of the packed text, with PATCHED;
                      * or RENUMBERED */
    _Alignas(8) char view[];
};

static struct published *
published_of(const struct object *object)
{
    return (struct published *)(uintptr_t)object;
}

static size_t
aligned(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static size_t
packed_length(const struct published *p)
{
    return p->packed & ~PATCHED;
}

/* The text is at the end: packed, or whole with a final NUL. */
static const char *
own_text(const struct published *p)
{
    return (const char *)p + p->object.bytes
           - (p->beside != NULL ? packed_length(p) : p->object.length + 1);
}

static bool
is_patched(const struct published *p)
{
    return p->packed != RENUMBERED && (p->packed & PATCHED) != 0;
}

/* The reference to the original of a patched object; it follows the view. */
static const struct object **
origin_of(struct published *p)
{
    return (void *)(p->view + aligned(p->object.kind->record->size));
}

static const struct object *
publish(const struct kind *kind, const struct json *tree, const char *text, size_t length,
        const struct packed_text *packed_text)
{
    const struct object *beside = packed_text != NULL ? packed_text->beside : NULL;
    const void *like = beside != NULL ? beside->view : NULL;
    struct record_space space = record_measure(kind->record, tree, like);
    size_t view_size = aligned(kind->record->size);
    size_t text_size = beside != NULL ? packed_text->length : length + 1;
    size_t bytes = sizeof(struct published) + view_size + space.aligned + space.packed + text_size;
    struct published *p = xmalloc(bytes);
    char *block = p->view + view_size;

    memset(p->view, 0, view_size);
    record_decode_into(kind->record, tree, like, &space, block, p->view);
    memcpy(block + space.aligned + space.packed, beside != NULL ? packed_text->packed : text,
           text_size);
    atomic_init(&p->references, 1);
    p->packed = beside != NULL ? (uint32_t)text_size : 0;
    p->beside = beside != NULL ? object_ref(beside) : NULL;
    p->object = (struct object){
        .kind = kind,
        .view = p->view,
        .length = (uint32_t)length,
        .bytes = (uint32_t)bytes,
    };
    if (p->object.meta->resource_version != NULL)
        p->object.revision = strtoll(p->object.meta->resource_version, NULL, 10);
    return &p->object;
}

const struct object *
object_restore(const struct kind *kind, const struct json *tree, const char *text, size_t length,
               struct dictionary_objects *dictionaries)
{
    const struct object *object;
    struct packed_text packed_text;

    if (dictionaries == NULL)
        return publish(kind, tree, text, length, NULL);
    if (dictionary_objects_pack(dictionaries, kind, tree, text, length, &packed_text))
        return publish(kind, tree, text, length, &packed_text);
    object = publish(kind, tree, text, length, NULL);
    dictionary_objects_add(dictionaries, tree, object);
    return object;
}

const struct object *
object_new_packed(const struct kind *kind, const struct json *tree,
                  struct dictionary_objects *dictionaries)
{
    CLEANUP_STRBUF struct strbuf text;
    char room[8192]; /* enough for most objects */

    strbuf_init_in(&text, room, sizeof(room));
    json_print(tree, &text);
    return object_restore(kind, tree, text.text, text.length, dictionaries);
}

const struct object *
object_new(const struct kind *kind, const struct json *tree)
{
    return object_new_packed(kind, tree, NULL);
}

const struct object *
object_renumbered(const struct object *object, int64_t revision)
{
    const size_t view_size = aligned(object->kind->record->size);
    char room[DECIMAL_SIZE];
    const char *number = decimal_of(revision, room);
    const size_t length = strlen(number);
    const size_t bytes = sizeof(struct published) + view_size + length + 1;
    struct published *p = xmalloc(bytes);
    struct meta *meta = (struct meta *)p->view;

    memcpy(p->view, object->view, object->kind->record->size);
    memcpy(p->view + view_size, number, length + 1);
    atomic_init(&p->references, 1);
    p->packed = RENUMBERED;
    p->beside = object_ref(object);
    p->object = *object;
    p->object.view = p->view;
    p->object.length += (uint32_t)(length - strlen(meta->resource_version));
    p->object.bytes = (uint32_t)bytes;
    p->object.revision = revision;
    meta->resource_version = p->view + view_size;
    return &p->object;
}

/* The object against whose text the object's own is packed, or NULL. */
static const struct object *
dictionary_of(const struct object *object)
{
    const struct published *p = published_of(object);

    return p->packed != RENUMBERED ? p->beside : NULL;
}

/* The view is a copy of the original's, changed where the patch sets members.
 */
static const struct object *
publish_patched(const struct object *object, const struct json *patch, size_t length,
                const struct packed_text *text)
{
    const struct record *record = object->kind->record;
    const struct record_space space = record_measure(record, patch, NULL);
    const size_t view_size = aligned(record->size) + sizeof(object);
    const size_t bytes =
        sizeof(struct published) + view_size + space.aligned + space.packed + text->length;
    struct published *p = xmalloc(bytes);
    char *block = p->view + view_size;

    atomic_init(&p->references, 1);
    p->packed = (uint32_t)text->length | PATCHED;
    p->beside = object_ref(text->beside);
    p->object = (struct object){
        .kind = object->kind,
        .view = p->view,
        .length = (uint32_t)length,
        .bytes = (uint32_t)bytes,
    };
    memcpy(p->view, object->view, record->size);
    *origin_of(p) = object_ref(object);
    record_decode_into(record, patch, NULL, &space, block, p->view);
    memcpy(block + space.aligned + space.packed, text->packed, text->length);
    p->object.revision = strtoll(p->object.meta->resource_version, NULL, 10);
    return &p->object;
}

const struct object *
object_patched(const struct object *object, const struct json *patch, struct arena *arena,
               struct dictionary_objects *dictionaries)
{
    const struct published *p = published_of(object);
    CLEANUP_STRBUF struct strbuf text;
    char room[8192]; /* enough for most objects */
    struct packed_text packed;

    strbuf_init_in(&text, room, sizeof(room));
    if (p->packed == RENUMBERED || is_patched(p)
        || !text_patch(object->kind->record, object_text(object, arena), patch, &text)
        || !dictionary_objects_pack_next(dictionaries, object, dictionary_of(object), text.text,
                                         text.length, &packed))
        return NULL;
    return publish_patched(object, patch, text.length, &packed);
}

/* The view may point to parts of `beside` instead of copying them. */
static struct record_kept
kept_beside(const struct object *beside)
{
    const struct published *p = published_of(beside);

    return (struct record_kept){p->view, p->object.bytes - sizeof(*p)};
}

/* A copy of the view, in the arena, without the members that are decoded anew.
 */
static char *
view_without_status(const struct object *object, const struct field *status, struct arena *arena)
{
    char *view = arena_memdup(arena, object->view, object->kind->record->size);

    memset(view + status->offset, 0, status->of->size);
    ((struct meta *)(void *)view)->resource_version = NULL;
    return view;
}

static const struct object *
publish_status(const struct object *object, const char *view, const struct json *patch,
               size_t length, const struct packed_text *text)
{
    const struct record *record = object->kind->record;
    const struct record_kept kept = kept_beside(text->beside);
    const void *like = text->beside->view;
    const struct record_space new = record_measure(record, patch, like);
    const struct record_space old = record_measure_copy(record, view, kept);
    const size_t view_size = aligned(record->size);
    const size_t bytes = sizeof(struct published) + view_size + old.aligned + new.aligned
                         + new.packed + old.packed + text->length;
    struct published *p = xmalloc(bytes);
    char *moved = p->view + view_size;
    char *block = moved + old.aligned;
    char *texts = block + new.aligned + new.packed;

    memset(p->view, 0, view_size);
    memcpy(p->view, view, record->size);
    record_copy_into(record, kept, moved, texts, p->view);
    record_decode_into(record, patch, like, &new, block, p->view);
    memcpy(texts + old.packed, text->packed, text->length);
    atomic_init(&p->references, 1);
    p->packed = (uint32_t)text->length;
    p->beside = object_ref(text->beside);
    p->object = (struct object){
        .kind = object->kind,
        .view = p->view,
        .length = (uint32_t)length,
        .bytes = (uint32_t)bytes,
    };
    p->object.revision = strtoll(p->object.meta->resource_version, NULL, 10);
    return &p->object;
}

const struct object *
object_with_status(const struct object *object, struct json *status, int64_t revision,
                   struct arena *arena, struct dictionary_objects *dictionaries)
{
    const struct record *record = object->kind->record;
    const struct field *f = record_find(record, "status");
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *patch = json_object(arena);
    char room[8192]; /* enough for most objects */
    struct packed_text packed;

    /* With offset 0 the status has no struct of its own to replace. */
    if (f == NULL || f->offset == FIELD_UNBOUND || f->offset == 0 || (f->flags & FIELD_OPTIONAL)
        || dictionaries == NULL)
        return NULL;
    json_set_string(arena, json_make_object(arena, patch, "metadata"), "resourceVersion",
                    decimal_of(revision, room));
    json_set(arena, patch, "status", status);
    strbuf_init_in(&text, room, sizeof(room));
    if (!text_replace(record, object_text(object, arena), patch, "status", &text)
        || !dictionary_objects_pack_next(dictionaries, object, dictionary_of(object), text.text,
                                         text.length, &packed))
        return NULL;
    return publish_status(object, view_without_status(object, f, arena), patch, text.length,
                          &packed);
}

int
object_parse(const struct kind *kind, const char *text, size_t length,
             const struct object **ret_object, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(8 * length);
    struct json *tree = json_parse(arena, text, length, NULL, err);
    int r;

    if (tree == NULL)
        return -EINVAL;
    r = record_normalize(kind->record, arena, tree, NULL, err);
    if (r < 0)
        return r;
    *ret_object = object_new(kind, tree);
    return 0;
}

const struct object *
object_ref(const struct object *object)
{
    atomic_fetch_add_explicit(&published_of(object)->references, 1, memory_order_relaxed);
    return object;
}

void
object_unref(const struct object *object)
{
    struct published *p;

    if (object == NULL)
        return;
    p = published_of(object);
    if (atomic_fetch_sub_explicit(&p->references, 1, memory_order_acq_rel) != 1)
        return;
    if (is_patched(p))
        object_unref(*origin_of(p));
    object_unref(p->beside); /* recursive, but chains are short */
    free(p);
}

void
object_unrefp(const struct object **object)
{
    object_unref(*object);
}

bool
object_is_whole(const struct object *object)
{
    return published_of(object)->beside == NULL;
}

struct text_span
object_own_text(const struct object *object)
{
    return (struct text_span){own_text(published_of(object)), object->length};
}

/* resourceVersion precedes all texts that users write, and a quote inside a
 * text is escaped, so the first match is the right one.
 */
static const char *
renumbered_text(const struct published *p, struct arena *arena)
{
    static const char name[] = "\"resourceVersion\":\"";
    const char *from = object_text(p->beside, arena);
    const char *number = strstr(from, name) + strlen(name);
    const char *behind = strchr(number, '"');
    const size_t before = (size_t)(number - from);
    const char *now = p->object.meta->resource_version;
    const size_t length = strlen(now);
    char *text = arena_text(arena, p->object.length);

    memcpy(text, from, before);
    memcpy(text + before, now, length);
    memcpy(text + before + length, behind, p->beside->length - (size_t)(behind - from));
    return text;
}

const char *
object_text(const struct object *object, struct arena *arena)
{
    const struct published *p = published_of(object);
    char *text;

    if (p->beside == NULL)
        return own_text(p);
    if (p->packed == RENUMBERED)
        return renumbered_text(p, arena);
    text = arena_text(arena, object->length);
    dictionary_text_unpack(object_own_text(p->beside),
                           (struct text_span){own_text(p), packed_length(p)}, text, object->length);
    return text;
}

struct json *
object_tree(const struct object *object, struct arena *arena)
{
    return json_parse(arena, object_text(object, arena), object->length, NULL, NULL);
}

struct json *
object_tree_as(const struct object *object, const struct kind *kind, struct arena *arena)
{
    struct json *tree = object_tree(object, arena);

    if (kind == object->kind || kind->stored_as != object->kind)
        return tree;
    tree = kind->from_stored(arena, tree);
    record_normalize(kind->record, arena, tree, NULL, NULL);
    return tree;
}

const struct object *
object_as(const struct object *object, const struct kind *kind)
{
    CLEANUP(arena_freep) struct arena *arena = NULL;

    if (kind == object->kind || kind->stored_as != object->kind)
        return object_ref(object);
    arena = arena_new(8 * object->length);
    return object_new(kind, object_tree_as(object, kind, arena));
}

size_t
object_bytes(const struct object *object)
{
    return object->bytes;
}

/* Writes as much of the text as fits before `end`, and a NUL; returns the NUL's
 * place.
 */
static char *
put_text(char *at, const char *end, const char *text)
{
    size_t room = (size_t)(end - at) - 1;
    size_t length = strnlen(text, room);

    memcpy(at, text, length);
    at[length] = '\0';
    return at + length;
}

void
object_key(const struct object *object, char out[OBJECT_KEY_SIZE])
{
    const struct meta *meta = object->meta;
    char *at = out, *end = out + OBJECT_KEY_SIZE;

    if (meta->namespace != NULL) {
        at = put_text(at, end, meta->namespace);
        at = put_text(at, end, "/");
    }
    put_text(at, end, meta->name != NULL ? meta->name : "");
}
