/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/row_decoder.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "controller/store/engine/engine.h"
#include "lib/api/object/dictionary_objects.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

#define BODY                                                                \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"       \
    "\"p\",\"namespace\":\"default\",\"resourceVersion\":\"5\",\"labels\":" \
    "{\"a\":\"1\"}},\"spec\":{\"containers\":[{\"name\":\"main\","          \
    "\"resources\":{}}]},\"status\":{\"phase\":\"Pending\"}}"

static struct error err;

static int
restore_by(struct row_decoder *decoder, const char *body, const char *const *patches, size_t n,
           const struct object **ret)
{
    struct engine_delta deltas[4];
    struct engine_row row = {
        .row = 12,
        .revision = 5,
        .body = body,
        .length = strlen(body),
        .deltas = deltas,
        .n_deltas = n,
    };

    for (size_t i = 0; i < n; i++)
        deltas[i] = (struct engine_delta){
            .revision = 6 + (int64_t)i,
            .patch = patches[i],
            .length = strlen(patches[i]),
        };
    err = (struct error){0};
    return row_decode(decoder, &pod_kind, &row, ret, &err);
}

static int
restore(const char *body, const char *const *patches, size_t n, const struct object **ret)
{
    CLEANUP(row_decoder_freep)
    struct row_decoder *decoder = row_decoder_new(NULL);

    return restore_by(decoder, body, patches, n, ret);
}

START_TEST(a_body_alone_is_the_object)
{
    const struct object *pod = NULL;

    ck_assert_int_eq(restore(BODY, NULL, 0, &pod), 0);
    ck_assert_str_eq(pod->meta->name, "p");
    ck_assert_int_eq(pod->revision, 5);
    object_unref(pod);
}
END_TEST

START_TEST(changes_are_laid_over_it_in_their_order)
{
    static const char *const patches[] = {
        "{\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\"}}",
        "{\"metadata\":{\"labels\":{\"a\":null,\"b\":\"2\"}}}",
        "{\"status\":{\"phase\":\"Succeeded\"}}",
    };
    const struct object *pod = NULL;

    ck_assert_msg(restore(BODY, patches, 3, &pod) == 0, "%s", err.text);
    ck_assert_int_eq(pod->revision, 8);
    ck_assert_str_eq(pod->meta->resource_version, "8");
    ck_assert_str_eq(pod_of(pod)->spec.node_name, "n1");
    ck_assert_str_eq(pod_of(pod)->status.phase, "Succeeded");
    ck_assert_ptr_null(string_map_find(&pod->meta->labels, "a"));
    ck_assert_str_eq(string_map_find(&pod->meta->labels, "b"), "2");
    object_unref(pod);
}
END_TEST

START_TEST(a_row_that_is_no_object_is_damage_and_is_named)
{
    static const char *const torn[] = {"{\"status\":"};
    static const char *const wrong[] = {"{\"spec\":{\"containers\":7}}"};
    static const char *const gone[] = {"{\"metadata\":{\"name\":null}}"};
    static const struct {
        const char *body;
        const char *const *patches;
    } cases[] = {
        {"{", NULL},
        {"", NULL},
        {"{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"4\"}}", NULL},
        {"{\"metadata\":{\"resourceVersion\":\"5\"}}", NULL},
        {"{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"5\"}}", NULL},
        {"{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\","
         "\"resourceVersion\":\"5\"},\"spec\":{\"containers\":[7]}}",
         NULL},
        {BODY, torn},
        {BODY, wrong},
        {BODY, gone},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct object *pod = NULL;
        int r = restore(cases[i].body, cases[i].patches, cases[i].patches != NULL, &pod);

        ck_assert_msg(r == -EUCLEAN, "case %zu: %d", i, r);
        ck_assert_ptr_null(pod);
        ck_assert_msg(strstr(err.text, "row 12") != NULL, "%s", err.text);
    }
}
END_TEST

/* One decoder reads many rows, some with a delta: each result equals that of a
 * new decoder.
 */
START_TEST(earlier_restored_rows_make_no_difference)
{
    static const char *const specs[] = {
        "\"spec\":{\"containers\":null},\"status\":{}",
        "\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{}}]},"
        "\"status\":{}",
        "\"spec\":{\"containers\":null,\"nodeName\":\"n\\\"1\"},"
        "\"status\":{\"phase\":\"Running\"}",
    };
    static const char *const change[] = {"{\"status\":{\"phase\":\"x\"}}"};
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(dictionary_objects_freep)
    struct dictionary_objects *dictionaries = dictionary_objects_new();
    CLEANUP(row_decoder_freep)
    struct row_decoder *decoder = row_decoder_new(dictionaries);

    for (unsigned i = 0; i < 60; i++) {
        const char *body =
            arena_printf(arena,
                         "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                         "\"name\":\"job-%u-0\",\"namespace\":\"a\",\"uid\":\"u-%u\","
                         "\"resourceVersion\":\"5\",\"creationTimestamp\":null},%s}",
                         i * i, i, specs[i / 2 % ARRAY_SIZE(specs)]);
        CLEANUP(object_unrefp) const struct object *one = NULL;
        CLEANUP(object_unrefp) const struct object *other = NULL;

        ck_assert_int_eq(restore(body, change, i % 2, &one), 0);
        ck_assert_int_eq(restore_by(decoder, body, change, i % 2, &other), 0);
        ck_assert_str_eq(object_text(other, arena), object_text(one, arena));
        ck_assert_str_eq(other->meta->name, one->meta->name);
        if (i % 2 == 0)
            ck_assert_str_eq(object_text(other, arena), body);
    }
}
END_TEST

SUITE("row decoder", earlier_restored_rows_make_no_difference, a_body_alone_is_the_object,
      changes_are_laid_over_it_in_their_order, a_row_that_is_no_object_is_damage_and_is_named)
