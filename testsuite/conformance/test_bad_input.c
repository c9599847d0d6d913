/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_input.c - objects with any value replaced by nonsense never crash
 *
 * Every value of every recorded manifest is replaced in turn by values that do
 * not belong there, and the object is processed completely: normalize, default,
 * prepare, validate at creation and as a change, print, read back. The only
 * check is that an accepted object reads back unchanged.
 */
#include "lib/api/object/causes.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "testsuite/lib/vectors.h"

static struct json *
nonsense(struct arena *arena, unsigned which)
{
    switch (which) {
    case 0:
        return json_null(arena);
    case 1:
        return json_string(arena, "");
    case 2:
        return json_string(arena, "-\xc3\xa9 /..['']%!");
    case 3:
        return json_int(arena, 0);
    case 4:
        return json_int(arena, -1);
    case 5:
        return json_number(arena, "2147483648");
    case 6:
        return json_number(arena, "1e999");
    case 7:
        return json_bool(arena, true);
    case 8:
        return json_array(arena);
    case 9:
        return json_object(arena);
    case 10: {
        struct json *list = json_array(arena);

        json_append(arena, list, json_null(arena));
        json_append(arena, list, json_object(arena));
        return list;
    }
    case 11: {
        struct json *map = json_object(arena);

        json_set(arena, map, "", json_null(arena));
        json_set(arena, map, "a", json_string(arena, "b"));
        return map;
    }
    default:
        return NULL;
    }
}

/* The n-th value of the tree in a fixed order, so that it can be replaced. */
static struct json **
place_of(struct json **at, unsigned *n)
{
    struct json *v = *at;
    struct json **found;

    if ((*n)-- == 0)
        return at;
    for (uint32_t i = 0; i < json_count(v); i++) {
        found = place_of(v->type == JSON_ARRAY ? &v->items[i] : &v->members[i].value, n);
        if (found != NULL)
            return found;
    }
    return NULL;
}

static void
go_all_the_way(struct arena *arena, const struct kind *kind, struct json *tree,
               const struct json *old)
{
    struct error err = {0};
    struct causes c;

    if (record_normalize(kind->record, arena, tree, NULL, &err) < 0) {
        if (err.text[0] == '\0') {
            printf("Bail out! refused without a word\n");
            exit(EXIT_FAILURE);
        }
        return;
    }
    if (kind->set_defaults != NULL)
        kind->set_defaults(arena, tree);
    if (kind->prepare != NULL)
        kind->prepare(arena, tree, old);
    causes_init(&c, arena);
    if (kind->validate != NULL)
        kind->validate(&c, tree, old);
    if (kind->validate_status != NULL && old != NULL)
        kind->validate_status(&c, tree, old);
}

static bool
reads_back(struct arena *arena, const struct kind *kind, struct json *tree)
{
    const struct object *first, *second = NULL;
    bool same;

    if (record_normalize(kind->record, arena, tree, NULL, NULL) < 0)
        return true;
    first = object_new(kind, tree);
    same = object_parse(kind, object_text(first, arena), first->length, &second, NULL) == 0
           && strcmp(object_text(first, arena), object_text(second, arena)) == 0;
    object_unref(first);
    object_unref(second);
    return same;
}

static void
try_one(struct vectors *v, const struct kind *kind, const struct json *manifest, unsigned place,
        unsigned which)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(64 * 1024);
    struct json *tree = json_dup(arena, manifest);
    struct json *change = json_dup(arena, manifest);
    struct json *old = json_dup(arena, manifest);
    unsigned n = place;

    *place_of(&tree, &n) = nonsense(arena, which);
    n = place;
    *place_of(&change, &n) = nonsense(arena, which);
    if (record_normalize(kind->record, arena, old, NULL, NULL) < 0)
        old = NULL;
    go_all_the_way(arena, kind, tree, NULL);
    if (old != NULL)
        go_all_the_way(arena, kind, change, old);
    if (reads_back(arena, kind, tree))
        vectors_pass(v, kind->name);
    else
        vectors_fail(v, kind->name, "place %u, nonsense %u", place, which);
}

static void
try_line(struct vectors *v, struct arena *arena, const struct json *line)
{
    static unsigned lines;
    struct json *manifest = json_get(line, "manifest");
    const struct kind *kind = kind_find_any_name(json_get_text(line, "kind"));
    unsigned places = 0, left;

    (void)arena;
    /* The manifests are similar, so a part of them covers everything. */
    if (kind == NULL || lines++ % 2 != 0)
        return;
    do
        left = ++places;
    while (place_of(&manifest, &left) != NULL);
    for (unsigned place = 0; place < places; place++)
        for (unsigned which = 0; which < 12; which++)
            try_one(v, kind, manifest, place, which);
}

int
main(void)
{
    struct vectors v = {0};

    vectors_each(&v, "api/validation.jsonl.gz", try_line);
    return vectors_end(&v);
}
