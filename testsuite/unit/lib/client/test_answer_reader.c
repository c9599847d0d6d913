/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/answer_reader.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

static int
read_answer(const char *text, struct answer_reader *reading)
{
    return answer_reader_read(&pod_kind, text, strlen(text), reading, NULL);
}

START_TEST(an_object_is_read_as_its_kind)
{
    CLEANUP_ANSWER_READER struct answer_reader r = {0};

    ck_assert_int_eq(read_answer("{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
                                 "\"metadata\":{\"name\":\"a\","
                                 "\"resourceVersion\":\"7\"}}",
                                 &r),
                     0);

    ck_assert_ptr_nonnull(r.object);
    ck_assert_str_eq(r.object->meta->name, "a");
    ck_assert_int_eq(r.object->revision, 7);
}
END_TEST

START_TEST(a_list_is_read_though_its_items_say_no_kind)
{
    CLEANUP_ANSWER_READER struct answer_reader r = {0};

    ck_assert_int_eq(read_answer("{\"kind\":\"PodList\",\"metadata\":{"
                                 "\"resourceVersion\":\"9\",\"continue\":\"c\"},\"items\":["
                                 "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}},"
                                 "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"8\"}}"
                                 "]}",
                                 &r),
                     0);

    ck_assert_uint_eq(r.n_objects, 2);
    ck_assert_str_eq(r.objects[1]->meta->name, "b");
    ck_assert_str_eq(r.resource_version, "9");
    ck_assert_str_eq(r.continue_token, "c");
}
END_TEST

START_TEST(a_status_is_read_in_place_of_an_object)
{
    CLEANUP_ANSWER_READER struct answer_reader r = {0};

    ck_assert_int_eq(read_answer("{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":"
                                 "\"gone\",\"reason\":\"Gone\",\"code\":410}",
                                 &r),
                     0);

    ck_assert(r.has_status);
    ck_assert_int_eq(r.status.code, 410);
    ck_assert_str_eq(r.status.message, "gone");
    ck_assert_ptr_null(r.object);
}
END_TEST

START_TEST(an_object_of_another_kind_leaves_the_reading_empty)
{
    CLEANUP_ANSWER_READER struct answer_reader r = {0};

    ck_assert_int_eq(read_answer("{\"kind\":\"NodeSecret\",\"secret\":\"x\"}", &r), 0);

    ck_assert_ptr_null(r.object);
    ck_assert(!r.has_status);
}
END_TEST

START_TEST(a_text_that_is_no_answer_is_refused)
{
    static const char *const cases[] = {
        "",
        "{",
        "<html>",
        "{\"kind\":\"Pod\",\"metadata\":[]}",
        "{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":7}}]}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_ANSWER_READER struct answer_reader r = {0};

        ck_assert_msg(read_answer(cases[i], &r) == -EINVAL, "'%s' was taken", cases[i]);
        ck_assert_ptr_null(r.arena);
    }
}
END_TEST

START_TEST(a_frame_has_its_type_and_its_object)
{
    static const char text[] = "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"metadata\":"
                               "{\"name\":\"a\",\"resourceVersion\":\"7\"}}}";
    CLEANUP_ANSWER_READER struct answer_reader r = {0};
    const char *type = NULL;

    ck_assert_int_eq(answer_reader_read_frame(&pod_kind, text, strlen(text), &r, &type, NULL), 0);

    ck_assert_str_eq(type, "ADDED");
    ck_assert_str_eq(r.object->meta->name, "a");
}
END_TEST

START_TEST(a_bookmark_is_a_version_and_no_object)
{
    static const char text[] = "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":"
                               "{\"resourceVersion\":\"70\"}}}";
    CLEANUP_ANSWER_READER struct answer_reader r = {0};
    const char *type = NULL;

    ck_assert_int_eq(answer_reader_read_frame(&pod_kind, text, strlen(text), &r, &type, NULL), 0);

    ck_assert_ptr_null(r.object);
    ck_assert_str_eq(r.resource_version, "70");
}
END_TEST

SUITE("reading", an_object_is_read_as_its_kind, a_list_is_read_though_its_items_say_no_kind,
      a_status_is_read_in_place_of_an_object, an_object_of_another_kind_leaves_the_reading_empty,
      a_text_that_is_no_answer_is_refused, a_frame_has_its_type_and_its_object,
      a_bookmark_is_a_version_and_no_object)
