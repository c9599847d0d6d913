/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/answer_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

void
answer_reader_fini(struct answer_reader *reading)
{
    object_unref(reading->object);
    for (size_t i = 0; i < reading->n_objects; i++)
        object_unref(reading->objects[i]);
    free(reading->objects);
    arena_free(reading->arena);
    memset(reading, 0, sizeof(*reading));
}

/* Upstream omits kind and apiVersion from the items of a list; Kiln's server
 * writes them.
 */
static int
read_object(struct arena *arena, const struct kind *kind, struct json *tree,
            const struct object **ret_object, struct error *err)
{
    struct record_notes notes = {0};
    int r;

    json_set_string(arena, tree, "apiVersion", kind->api_version);
    json_set_string(arena, tree, "kind", kind->name);
    r = record_normalize(kind->record, arena, tree, &notes, err);
    if (r < 0)
        return r;
    *ret_object = object_new(kind, tree);
    return 0;
}

static int
read_list(struct answer_reader *reading, const struct kind *kind, const struct json *tree,
          struct error *err)
{
    const struct json *items = json_get(tree, "items");
    uint32_t count = json_is(items, JSON_ARRAY) ? json_count(items) : 0;

    reading->resource_version = json_path_text(tree, "metadata.resourceVersion");
    reading->continue_token = json_path_text(tree, "metadata.continue");
    if (count == 0)
        return 0;
    reading->objects = xnew_array(const struct object *, count);
    for (uint32_t i = 0; i < count; i++) {
        int r = read_object(reading->arena, kind, items->items[i], &reading->objects[i], err);

        if (r < 0)
            return error_wrap(err, r, "items[%u]", i);
        reading->n_objects++;
    }
    return 0;
}

static int
read_status(struct answer_reader *reading, struct json *tree, struct error *err)
{
    struct record_notes notes = {0};
    int r = record_normalize(&status_record, reading->arena, tree, &notes, err);

    if (r < 0)
        return r;
    record_decode(&status_record, reading->arena, tree, &reading->status);
    reading->has_status = true;
    return 0;
}

static int
read_tree(struct answer_reader *reading, const struct kind *kind, struct json *tree,
          struct error *err)
{
    const char *name = json_get_text(tree, "kind");

    if (name == NULL)
        return 0;
    if (strcmp(name, "Status") == 0)
        return read_status(reading, tree, err);
    if (strcmp(name, kind->name) == 0)
        return read_object(reading->arena, kind, tree, &reading->object, err);
    if (strcmp(name, kind->list_name) == 0)
        return read_list(reading, kind, tree, err);
    return 0;
}

int
answer_reader_read(const struct kind *kind, const char *text, size_t length,
                   struct answer_reader *ret_reading, struct error *err)
{
    struct answer_reader reading = {.arena = arena_new(length * 4)};
    struct json *tree = json_parse(reading.arena, text, length, NULL, err);
    int r = tree != NULL ? read_tree(&reading, kind, tree, err) : -EINVAL;

    if (r < 0) {
        answer_reader_fini(&reading);
        return r;
    }
    *ret_reading = reading;
    return 0;
}

/* A bookmark is an object of the kind in which only resourceVersion is set. */
static int
read_frame(struct answer_reader *reading, const struct kind *kind, const struct json *tree,
           const char *type, struct error *err)
{
    struct json *object = json_get(tree, "object");

    if (type == NULL || !json_is(object, JSON_OBJECT))
        return error_set(err, -EINVAL, "a watch frame without an object");
    if (strcmp(type, "BOOKMARK") == 0) {
        reading->resource_version = json_path_text(object, "metadata.resourceVersion");
        return 0;
    }
    return read_tree(reading, kind, object, err);
}

int
answer_reader_read_frame(const struct kind *kind, const char *text, size_t length,
                         struct answer_reader *ret_reading, const char **ret_type,
                         struct error *err)
{
    struct answer_reader reading = {.arena = arena_new(length * 4)};
    struct json *tree = json_parse(reading.arena, text, length, NULL, err);
    const char *type = json_get_text(tree, "type");
    int r = tree != NULL ? read_frame(&reading, kind, tree, type, err) : -EINVAL;

    if (r < 0) {
        answer_reader_fini(&reading);
        return r;
    }
    *ret_type = type;
    *ret_reading = reading;
    return 0;
}
