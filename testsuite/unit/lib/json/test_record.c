/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/record.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

struct part {
    const char *name;
    int64_t size;
};

struct knot {
    LIST_OF(int64_t) sizes;
};

struct thing {
    const char *name;
    bool on;
    const int64_t *limit;
    int64_t made_at_us;
    struct part main;
    const struct part *spare;
    LIST_OF(struct part) parts;
    LIST_OF(const char *) words;
    struct string_map labels;
    bool wanted;
    const char *note;
    const struct json *extra;
    LIST_OF(struct knot) knots;
};

static const struct field part_fields[] = {
    {.name = "name", .type = FIELD_STRING, .offset = offsetof(struct part, name)},
    {.name = "size", .type = FIELD_INT, .offset = offsetof(struct part, size)},
    {.name = "ignored", .type = FIELD_STRING, .offset = FIELD_UNBOUND},
};
static const struct record part_record = {
    .name = "Part",
    .size = sizeof(struct part),
    RECORD_FIELDS(part_fields),
};
static const struct field knot_fields[] = {
    {.name = "sizes",
     .type = FIELD_LIST,
     .element = FIELD_INT,
     .offset = offsetof(struct knot, sizes)},
};
static const struct record knot_record = {
    .name = "Knot",
    .size = sizeof(struct knot),
    RECORD_FIELDS(knot_fields),
};

/* Converts a text to capitals; refuses digits. */
static int
capitalize(struct arena *arena, struct json *value, struct error *err)
{
    char *text = arena_strdup(arena, value->text);

    for (char *p = text; *p != '\0'; p++) {
        if (*p >= '0' && *p <= '9')
            return error_set(err, -EINVAL, "'%s' has digits", value->text);
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    }
    value->text = text;
    return 0;
}

static const struct field thing_fields[] = {
    {.name = "name", .type = FIELD_STRING, .offset = offsetof(struct thing, name)},
    {.name = "on", .type = FIELD_BOOL, .offset = offsetof(struct thing, on)},
    {.name = "limit",
     .type = FIELD_INT64,
     .flags = FIELD_OPTIONAL,
     .offset = offsetof(struct thing, limit)},
    {.name = "madeAt", .type = FIELD_TIME, .offset = offsetof(struct thing, made_at_us)},
    {.name = "main",
     .type = FIELD_OBJECT,
     .of = &part_record,
     .offset = offsetof(struct thing, main)},
    {.name = "spare",
     .type = FIELD_OBJECT,
     .flags = FIELD_OPTIONAL,
     .of = &part_record,
     .offset = offsetof(struct thing, spare)},
    {.name = "parts",
     .type = FIELD_LIST,
     .element = FIELD_OBJECT,
     .of = &part_record,
     .offset = offsetof(struct thing, parts)},
    {.name = "words",
     .type = FIELD_LIST,
     .element = FIELD_STRING,
     .offset = offsetof(struct thing, words)},
    {.name = "labels",
     .type = FIELD_MAP,
     .element = FIELD_STRING,
     .offset = offsetof(struct thing, labels)},
    {.name = "wanted",
     .type = FIELD_BOOL,
     .flags = FIELD_KEPT,
     .offset = offsetof(struct thing, wanted)},
    {.name = "note",
     .type = FIELD_STRING,
     .canonicalize = capitalize,
     .offset = offsetof(struct thing, note)},
    {.name = "codes",
     .type = FIELD_LIST,
     .element = FIELD_STRING,
     .canonicalize = capitalize,
     .offset = FIELD_UNBOUND},
    {.name = "extra",
     .type = FIELD_OBJECT,
     .of = &part_record,
     .flags = FIELD_TREE,
     .offset = offsetof(struct thing, extra)},
    {.name = "knots",
     .type = FIELD_LIST,
     .element = FIELD_OBJECT,
     .of = &knot_record,
     .offset = offsetof(struct thing, knots)},
};
static const struct record thing_record = {
    .name = "Thing",
    .size = sizeof(struct thing),
    RECORD_FIELDS(thing_fields),
};

static struct json *
parse(struct arena *arena, const char *text)
{
    struct json *v = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(v);
    return v;
}

START_TEST(a_struct_goes_to_json_and_back)
{
    static const char text[] = "{\"name\":\"x\",\"on\":true,\"limit\":0,"
                               "\"madeAt\":\"2024-02-29T12:00:00Z\",\"main\":{\"size\":3},"
                               "\"spare\":{\"name\":\"s\"},"
                               "\"parts\":[{\"name\":\"a\",\"size\":1},{\"name\":\"b\"}],"
                               "\"words\":[\"p\",\"q\"],\"labels\":{\"k\":\"v\"}}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct thing t = {0};

    record_decode(&thing_record, arena, parse(arena, text), &t);
    json_print(record_encode(&thing_record, arena, &t), &out);

    ck_assert_str_eq(out.text, text);
    ck_assert_int_eq(*t.limit, 0);
    ck_assert_uint_eq(t.parts.count, 2);
    ck_assert_str_eq(t.parts.items[1].name, "b");
    ck_assert_str_eq(string_map_find(&t.labels, "k"), "v");
}
END_TEST

START_TEST(unknown_fields_are_dropped_and_named)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct record_notes notes;
    struct error err = {0};
    struct json *v = parse(arena, "{\"parts\":[{\"nme\":1,\"name\":\"a\"}],"
                                  "\"nope\":{},\"name\":null,\"on\":false}");

    ck_assert_int_eq(record_normalize(&thing_record, arena, v, &notes, &err), 0);
    json_print(v, &out);

    ck_assert_uint_eq(notes.n_unknown, 2);
    ck_assert_str_eq(notes.unknown[0], "parts[0].nme");
    ck_assert_str_eq(notes.unknown[1], "nope");
    ck_assert_str_eq(out.text, "{\"parts\":[{\"name\":\"a\"}]}");
}
END_TEST

START_TEST(a_value_of_the_wrong_type_is_refused_with_its_path)
{
    static const struct {
        const char *text, *path;
    } cases[] = {
        {"[]", "body"},
        {"{\"name\":1}", "name"},
        {"{\"name\":\"a\\u0000b\"}", "name"},
        {"{\"main\":[]}", "main"},
        {"{\"parts\":[{},{\"size\":\"1\"}]}", "parts[1].size"},
        {"{\"parts\":[{\"size\":1.5}]}", "parts[0].size"},
        {"{\"parts\":[{\"size\":2147483648}]}", "parts[0].size"},
        {"{\"limit\":9223372036854775808}", "limit"},
        {"{\"labels\":{\"a\":1}}", "labels.a"},
        {"{\"madeAt\":\"yesterday\"}", "madeAt"},
        {"{\"madeAt\":\"2023-02-29T00:00:00Z\"}", "madeAt"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct error err = {0};
        struct json *v = parse(arena, cases[i].text);

        ck_assert_int_lt(record_normalize(&thing_record, arena, v, NULL, &err), 0);
        ck_assert_msg(strncmp(err.text, cases[i].path, strlen(cases[i].path)) == 0, "%s: %s",
                      cases[i].text, err.text);
    }
}
END_TEST

START_TEST(times_are_read_in_any_zone_and_written_in_utc)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
        {"2024-06-01T02:00:00+02:00", "2024-06-01T00:00:00.000000Z"},
        {"2024-06-01T00:00:00.5Z", "2024-06-01T00:00:00.500000Z"},
        {"1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"},
    };
    char text[TIME_TEXT_SIZE];
    int64_t us;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(time_parse(cases[i].in, &us), 0);
        time_format(us, true, text);
        ck_assert_str_eq(text, cases[i].out);
    }
}
END_TEST

/* Members that upstream's encoder writes although no value was given. */
static const struct field shown_fields[] = {
    {.name = "text", .type = FIELD_STRING, .flags = FIELD_ALWAYS, .offset = FIELD_UNBOUND},
    {.name = "number", .type = FIELD_INT, .flags = FIELD_ALWAYS, .offset = FIELD_UNBOUND},
    {.name = "time", .type = FIELD_TIME, .flags = FIELD_ALWAYS, .offset = FIELD_UNBOUND},
    {.name = "list",
     .type = FIELD_LIST,
     .element = FIELD_STRING,
     .flags = FIELD_ALWAYS,
     .offset = FIELD_UNBOUND},
    {.name = "other", .type = FIELD_STRING, .offset = FIELD_UNBOUND},
};
static const struct record shown_record = {
    .name = "Shown",
    RECORD_FIELDS(shown_fields),
};
static const struct field holder_fields[] = {
    {.name = "shown",
     .type = FIELD_OBJECT,
     .of = &shown_record,
     .flags = FIELD_ALWAYS,
     .offset = FIELD_UNBOUND},
};
static const struct record holder_record = {
    .name = "Holder",
    RECORD_FIELDS(holder_fields),
};

START_TEST(members_that_are_always_written_are_added_at_every_depth)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"{}", "{\"shown\":{\"text\":\"\",\"number\":0,\"time\":null,"
               "\"list\":null}}"},
        {"{\"shown\":null}", "{\"shown\":{\"text\":\"\",\"number\":0,\"time\":null,"
                             "\"list\":null}}"},
        {"{\"shown\":{\"list\":[],\"other\":\"\",\"number\":1}}",
         "{\"shown\":{\"text\":\"\",\"number\":1,\"time\":null,"
         "\"list\":[]}}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        struct json *v = parse(arena, cases[i].in);

        ck_assert_int_eq(record_normalize(&holder_record, arena, v, NULL, NULL), 0);
        json_print(v, &out);
        ck_assert_str_eq(out.text, cases[i].out);
    }
}
END_TEST

START_TEST(members_are_put_in_order_and_empty_ones_left_out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *v = parse(arena, "{\"note\":\"\",\"wanted\":false,\"limit\":0,"
                                  "\"labels\":{},\"parts\":[],\"on\":false,"
                                  "\"madeAt\":\"2024-01-01T02:00:00+02:00\","
                                  "\"name\":\"x\",\"words\":[null,\"w\"],"
                                  "\"main\":{}}");

    ck_assert_int_eq(record_normalize(&thing_record, arena, v, NULL, NULL), 0);
    json_print(v, &out);

    ck_assert_str_eq(out.text, "{\"name\":\"x\",\"limit\":0,"
                               "\"madeAt\":\"2024-01-01T00:00:00Z\",\"main\":{},"
                               "\"words\":[\"\",\"w\"],\"wanted\":false}");
}
END_TEST

START_TEST(a_part_shared_with_a_normal_tree_is_as_it_was)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *old = parse(arena, "{\"main\":{\"size\":1,\"name\":\"a\"},"
                                    "\"spare\":{\"size\":2,\"name\":\"b\"}}");
    struct json *v = json_copy(arena, old);

    json_set(arena, v, "spare", json_dup(arena, json_get(old, "spare")));
    json_set_string(arena, v, "name", "x");
    ck_assert_int_eq(record_normalize_change(&thing_record, arena, v, old, NULL, NULL), 0);
    json_print(v, &out);

    /* A struct with another order shows which members were compared. */
    ck_assert_str_eq(out.text, "{\"name\":\"x\",\"main\":{\"size\":1,\"name\":\"a\"},"
                               "\"spare\":{\"name\":\"b\",\"size\":2}}");
    ck_assert_uint_eq(old->count, 2);
}
END_TEST

START_TEST(values_are_brought_to_their_canonical_form)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = parse(arena, "{\"note\":\"a\",\"codes\":[\"b\"]}");
    struct json *bad = parse(arena, "{\"codes\":[\"b\",\"c1\"]}");
    struct error err = {0};

    ck_assert_int_eq(record_normalize(&thing_record, arena, v, NULL, NULL), 0);
    ck_assert_str_eq(json_get_text(v, "note"), "A");
    ck_assert_str_eq(json_text(json_at(json_get(v, "codes"), 0)), "B");
    ck_assert_int_eq(record_normalize(&thing_record, arena, bad, NULL, &err), -EINVAL);
    ck_assert_str_eq(err.text, "codes[1]: 'c1' has digits");
}
END_TEST

START_TEST(a_struct_takes_exactly_the_space_that_was_measured)
{
    static const char text[] = "{\"name\":\"x\",\"limit\":7,\"spare\":{\"name\":\"s\"},"
                               "\"parts\":[{\"name\":\"a\"},{\"name\":\"b\"}],"
                               "\"labels\":{\"k\":\"v\"},"
                               "\"extra\":{\"name\":\"e\",\"size\":[1,{\"a\":null}]}}";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = parse(arena, text);
    struct record_space space = record_measure(&thing_record, v, NULL);
    size_t size = space.aligned + space.packed;
    char *block = arena_alloc(arena, size + 1);
    struct thing t = {0};

    block[size] = '#';
    record_decode_into(&thing_record, v, NULL, &space, block, &t);

    ck_assert_int_eq(block[size], '#');
    ck_assert_int_eq(block[size - 1], '\0');
    ck_assert_str_eq(t.spare->name, "s");
    ck_assert_str_eq(t.parts.items[1].name, "b");
    ck_assert_str_eq(json_get_text(t.extra, "name"), "e");
    ck_assert_uint_eq(json_count(json_get(t.extra, "size")), 2);
}
END_TEST

/* A struct and its memory block, decoded beside another. */
struct decoded {
    struct thing thing;
    size_t aligned, packed;
};

static void
decode_like(struct arena *arena, const struct json *v, const struct thing *like,
            struct decoded *ret)
{
    struct record_space space = record_measure(&thing_record, v, like);
    size_t size = space.aligned + space.packed;
    char *block = arena_alloc(arena, size + 1);

    memset(ret, 0, sizeof(*ret));
    block[size] = '#';
    record_decode_into(&thing_record, v, like, &space, block, &ret->thing);
    ck_assert_int_eq(block[size], '#');
    ret->aligned = space.aligned;
    ret->packed = space.packed;
}

#define WHOLE                                                             \
    "{\"name\":\"x\",\"on\":true,\"limit\":7,\"madeAt\":"                 \
    "\"2024-01-01T00:00:00Z\",\"main\":{\"name\":\"m\",\"size\":1},"      \
    "\"spare\":{\"name\":\"s\"},\"parts\":[{\"name\":\"a\"},"             \
    "{\"name\":\"b\"}],\"words\":[\"v\",\"w\"],\"labels\":{\"k\":\"v\"}," \
    "\"note\":\"N\",\"extra\":{\"name\":\"e\",\"size\":[1,{\"a\":null}]}}"

START_TEST(a_value_of_another_struct_is_not_held_again)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = parse(arena, WHOLE);
    struct decoded first, second;

    decode_like(arena, v, NULL, &first);
    decode_like(arena, v, &first.thing, &second);

    ck_assert_uint_gt(first.aligned, 0);
    ck_assert_uint_eq(second.aligned, 0);
    ck_assert_uint_eq(second.packed, 0);
    ck_assert_ptr_eq(second.thing.parts.items, first.thing.parts.items);
    ck_assert_ptr_eq(second.thing.limit, first.thing.limit);
    ck_assert_ptr_eq(second.thing.extra, first.thing.extra);
    ck_assert_str_eq(second.thing.name, "x");
}
END_TEST

/* For every pair, a struct decoded beside another equals one decoded alone. */
START_TEST(a_struct_beside_another_is_what_it_is_alone)
{
    static const char *const texts[] = {
        WHOLE,
        "{}",
        "{\"name\":\"x\"}",
        "{\"name\":\"y\",\"on\":true,\"limit\":8}",
        "{\"name\":\"xy\",\"limit\":7,\"note\":\"x\"}",
        "{\"main\":{\"name\":\"m\"},\"spare\":{\"name\":\"s\",\"size\":1}}",
        "{\"main\":{\"size\":1},\"spare\":{}}",
        "{\"parts\":[{\"name\":\"a\"}],\"words\":[\"v\"]}",
        "{\"parts\":[{\"name\":\"a\"},{\"name\":\"c\"}],"
        "\"words\":[\"w\",\"v\"],\"labels\":{\"k\":\"w\"}}",
        "{\"parts\":[{\"name\":\"a\"},{\"name\":\"b\"},{}],"
        "\"words\":[\"v\",\"w\",\"v\"],\"labels\":{\"j\":\"v\"}}",
        "{\"parts\":[{\"name\":\"a\"},{\"name\":\"b\"}],"
        "\"words\":[\"v\",\"v\"],\"labels\":{\"k\":\"v\",\"l\":\"v\"}}",
        "{\"madeAt\":\"2024-01-01T00:00:01Z\",\"wanted\":true,"
        "\"extra\":{\"name\":\"e\",\"size\":[1,{\"a\":1}]}}",
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
        for (unsigned k = 0; k < ARRAY_SIZE(texts); k++) {
            struct decoded first, alone, beside;

            decode_like(arena, parse(arena, texts[i]), NULL, &first);
            decode_like(arena, parse(arena, texts[k]), NULL, &alone);
            decode_like(arena, parse(arena, texts[k]), &first.thing, &beside);

            ck_assert(json_equals(record_encode(&thing_record, arena, &beside.thing),
                                  record_encode(&thing_record, arena, &alone.thing)));
        }
}
END_TEST

/* There are more lists than can be noted: further lists are kept twice, and
 * nothing else changes.
 */
START_TEST(a_value_that_cannot_be_noted_is_held_twice)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = json_object(arena);
    struct json *list = json_array(arena);
    struct decoded first, second;

    for (unsigned i = 0; i < 2 * RECORD_NOTES; i++) {
        struct json *knot = json_object(arena);
        struct json *size = json_array(arena);

        json_append(arena, size, json_int(arena, i));
        json_set(arena, knot, "sizes", size);
        json_append(arena, list, knot);
    }
    json_set(arena, v, "knots", list);
    json_set_string(arena, v, "name", "x");

    decode_like(arena, v, NULL, &first);
    decode_like(arena, v, &first.thing, &second);

    ck_assert_uint_gt(second.aligned, 0);
    ck_assert(json_equals(record_encode(&thing_record, arena, &second.thing), v));
}
END_TEST

SUITE("record", a_struct_goes_to_json_and_back, unknown_fields_are_dropped_and_named,
      a_value_of_the_wrong_type_is_refused_with_its_path,
      times_are_read_in_any_zone_and_written_in_utc,
      members_that_are_always_written_are_added_at_every_depth,
      members_are_put_in_order_and_empty_ones_left_out,
      a_part_shared_with_a_normal_tree_is_as_it_was, values_are_brought_to_their_canonical_form,
      a_struct_takes_exactly_the_space_that_was_measured,
      a_value_of_another_struct_is_not_held_again, a_struct_beside_another_is_what_it_is_alone,
      a_value_that_cannot_be_noted_is_held_twice)
