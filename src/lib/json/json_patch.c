/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand operations of a patch can copy a value into itself or shift a long array at
 * each step, so the work of a patch is bounded by what it copies and moves and not by its
 * length. Where RFC 6902 and upstream's library differ, the library counts: clients have been
 * tested against that.
 */
#include "lib/json/json_patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

#define MAX_OPERATIONS 10000

/* Upstream's limit on the bytes that `copy` adds in one patch. */
#define MAX_COPIED (3u << 20)

/* The items that insertions and removals may shift in total: a few hundredths
 * of a second at worst.
 */
#define MAX_SHIFTED 20000000u

struct patch_state {
    struct arena *arena;
    size_t copied;  /* approximate bytes */
    size_t shifted; /* items */
    struct json **root;
    struct error *err;
};

/* The target of a pointer: the container, and the name or index in it. */
struct patch_location {
    struct json *container; /* NULL: the root itself */
    char *name;
    uint32_t index; /* of an array; its count for "-" */
};

static int
no_place(struct patch_state *s, const char *path)
{
    return error_set(s->err, -ENOENT, "'%s' does not exist", path);
}

/* Cuts off one reference token and unescapes it in place. */
static char *
next_token(char **rest)
{
    char *token = *rest;
    char *slash = strchr(token, '/');
    char *to = token;

    if (slash != NULL)
        *slash = '\0';
    *rest = slash != NULL ? slash + 1 : NULL;
    for (const char *from = token; *from != '\0'; from++) {
        if (from[0] == '~' && (from[1] == '0' || from[1] == '1'))
            *to++ = *++from == '0' ? '~' : '/';
        else
            *to++ = *from;
    }
    *to = '\0';
    return token;
}

static bool
parse_index(const struct json *array, const char *name, uint32_t *ret_index)
{
    char *end;
    long value;

    if (strcmp(name, "-") == 0) {
        *ret_index = array->count;
        return true;
    }
    errno = 0;
    value = strtol(name, &end, 10);
    if (end == name || *end != '\0' || errno != 0)
        return false;
    if (value < 0)
        value += (long)array->count;
    if (value < 0 || value > (long)array->count)
        return false;
    *ret_index = (uint32_t)value;
    return true;
}

static struct json *
child(const struct json *container, const char *name)
{
    uint32_t index;

    if (json_is(container, JSON_OBJECT))
        return json_get(container, name);
    if (json_is(container, JSON_ARRAY) && parse_index(container, name, &index))
        return json_at(container, index);
    return NULL;
}

static int
find_place(struct patch_state *s, const char *path, struct patch_location *ret_place)
{
    struct json *at = *s->root;
    char *rest, *token;

    memset(ret_place, 0, sizeof(*ret_place));
    if (path[0] == '\0')
        return 0;
    if (path[0] != '/')
        return error_set(s->err, -EINVAL, "'%s' is not a JSON pointer", path);
    rest = arena_strdup(s->arena, path + 1);
    for (;;) {
        token = next_token(&rest);
        if (rest == NULL)
            break;
        at = child(at, token);
        if (at == NULL)
            return no_place(s, path);
    }
    ret_place->container = at;
    ret_place->name = token;
    if (json_is(at, JSON_ARRAY))
        return parse_index(at, token, &ret_place->index) ? 0 : no_place(s, path);
    return json_is(at, JSON_OBJECT) ? 0 : no_place(s, path);
}

/* Counts the items that an insertion or removal at `at` shifts. */
static int
count_shift(struct patch_state *s, const struct json *container, uint32_t at)
{
    s->shifted += json_count(container) - at;
    if (s->shifted <= MAX_SHIFTED)
        return 0;
    return error_set(s->err, -EFBIG, "the patch moves more than %u list items", MAX_SHIFTED);
}

static struct json *
value_at(const struct patch_state *s, const struct patch_location *place)
{
    if (place->container == NULL)
        return *s->root;
    return child(place->container, place->name);
}

static int
op_add(struct patch_state *s, const char *path, struct json *value)
{
    struct patch_location place;
    int r = find_place(s, path, &place);

    if (r < 0)
        return r;
    if (place.container == NULL)
        *s->root = value;
    else if (place.container->type == JSON_ARRAY) {
        r = count_shift(s, place.container, place.index);
        if (r == 0)
            json_insert(s->arena, place.container, place.index, value);
    } else
        json_set(s->arena, place.container, place.name, value);
    return r;
}

static int
op_remove(struct patch_state *s, const char *path)
{
    struct patch_location place;
    int r = find_place(s, path, &place);

    if (r < 0)
        return r;
    if (place.container == NULL || value_at(s, &place) == NULL)
        return no_place(s, path);
    r = count_shift(s, place.container, place.index);
    if (r < 0)
        return r;
    if (place.container->type == JSON_ARRAY)
        json_remove_at(place.container, place.index);
    else
        json_remove(place.container, place.name);
    return 0;
}

static int
op_replace(struct patch_state *s, const char *path, struct json *value)
{
    struct patch_location place;
    int r = find_place(s, path, &place);

    if (r < 0)
        return r;
    if (place.container == NULL)
        *s->root = value;
    else if (place.container->type == JSON_OBJECT)
        json_set(s->arena, place.container, place.name, value);
    else if (place.index < place.container->count)
        place.container->items[place.index] = value;
    else
        return no_place(s, path);
    return 0;
}

static int
op_test(struct patch_state *s, const char *path, const struct json *value)
{
    struct patch_location place;
    int r = find_place(s, path, &place);
    const struct json *is;

    if (r < 0)
        return r;
    is = value_at(s, &place);
    if (is == NULL ? json_is(value, JSON_NULL) : json_equals(is, value))
        return 0;
    return error_set(s->err, -EBADMSG, "the test of '%s' failed", path);
}

static int
find_value(struct patch_state *s, const char *from, struct json **ret_value)
{
    struct patch_location place;
    int r = find_place(s, from, &place);

    if (r < 0)
        return r;
    *ret_value = value_at(s, &place);
    return *ret_value != NULL ? 0 : no_place(s, from);
}

/* Copying a value into itself doubles its size with each operation, so the
 * copied bytes are limited.
 */
static int
op_copy(struct patch_state *s, const char *from, const char *path)
{
    struct json *value = NULL;
    int r = find_value(s, from, &value);

    if (r < 0)
        return r;
    s->copied += json_size(value);
    if (s->copied > MAX_COPIED)
        return error_set(s->err, -EFBIG,
                         "Unable to complete the copy, the accumulated size "
                         "increase of copy is %zu, exceeding the limit %u",
                         s->copied, MAX_COPIED);
    return op_add(s, path, json_dup(s->arena, value));
}

static int
op_move(struct patch_state *s, const char *from, const char *path)
{
    struct json *value = NULL;
    int r = find_value(s, from, &value);

    /* Moving to the same place changes nothing; the root cannot be moved. */
    if (r == 0 && strcmp(from, path) == 0)
        return 0;
    if (r == 0)
        r = op_remove(s, from);
    return r < 0 ? r : op_add(s, path, value);
}

static int
apply_one(struct patch_state *s, const struct json *operation)
{
    const char *op = json_get_text(operation, "op");
    const char *path = json_get_text(operation, "path");
    const char *from = json_get_text(operation, "from");
    const struct json *given = json_get(operation, "value");
    struct json *value;

    if (op == NULL || path == NULL)
        return error_set(s->err, -EINVAL, "an operation requires 'op' and 'path'");
    if (strcmp(op, "remove") == 0)
        return op_remove(s, path);
    if (strcmp(op, "move") == 0 || strcmp(op, "copy") == 0) {
        if (from == NULL)
            return error_set(s->err, -EINVAL, "'%s' requires 'from'", op);
        return op[0] == 'c' ? op_copy(s, from, path) : op_move(s, from, path);
    }
    value = given != NULL ? json_dup(s->arena, given) : json_null(s->arena);
    if (strcmp(op, "test") == 0)
        return op_test(s, path, value);
    if (strcmp(op, "add") == 0)
        return op_add(s, path, value);
    if (strcmp(op, "replace") == 0)
        return op_replace(s, path, value);
    return error_set(s->err, -EINVAL, "'%s' is not an operation", op);
}

int
json_patch_apply(struct arena *arena, struct json **tree, const struct json *operations,
                 struct error *err)
{
    struct patch_state change = {.arena = arena, .root = tree, .err = err};

    if (json_count(operations) > MAX_OPERATIONS)
        return error_set(err, -EFBIG,
                         "The allowed maximum operations in a JSON patch is "
                         "%d, got %u",
                         MAX_OPERATIONS, json_count(operations));
    for (uint32_t i = 0; i < json_count(operations); i++) {
        int r = apply_one(&change, json_at(operations, i));

        if (r < 0)
            return r;
    }
    return 0;
}
