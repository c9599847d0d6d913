/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

START_TEST(an_event_goes_to_its_stored_form_and_back)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v = object_tree_of(arena, &events_event_kind,
                                    "{'kind':'Event','apiVersion':'events.k8s.io/v1','metadata':"
                                    "{'name':'e','namespace':'a'},'eventTime':"
                                    "'2024-03-01T00:00:00.000001Z','reportingController':'k/s',"
                                    "'reportingInstance':'h','action':'Bind','reason':'Scheduled',"
                                    "'regarding':{'kind':'Pod','namespace':'a','name':'p'},"
                                    "'note':'words','type':'Normal'}");
    const char *before = printed(arena, v);
    struct json *stored = events_event_kind.to_stored(arena, v);
    struct json *back;

    ck_assert_ptr_eq(events_event_kind.stored_as, &event_kind);
    ck_assert_int_eq(record_normalize(event_kind.record, arena, stored, NULL, NULL), 0);
    ck_assert_str_eq(json_get_text(stored, "message"), "words");
    ck_assert_str_eq(json_get_text(stored, "apiVersion"), "v1");
    ck_assert_str_eq(json_path_text(stored, "involvedObject.name"), "p");

    back = events_event_kind.from_stored(arena, stored);
    ck_assert_int_eq(record_normalize(events_event_kind.record, arena, back, NULL, NULL), 0);
    ck_assert_str_eq(printed(arena, back), before);
}
END_TEST

START_TEST(a_new_event_has_a_time_and_none_of_the_old_counts)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *v =
        object_tree_of(arena, &events_event_kind,
                       "{'metadata':{'name':'e','namespace':'a'},'reportingInstance':'h',"
                       "'reason':'Scheduled','regarding':{'namespace':'a'},'type':'Odd',"
                       "'deprecatedCount':1}");

    ck_assert_str_eq(complaints(arena, events_event_kind.validate, v, NULL),
                     "eventTime FieldValueRequired, type FieldValueInvalid, "
                     "count FieldValueInvalid");
}
END_TEST

SUITE("events_event", an_event_goes_to_its_stored_form_and_back,
      a_new_event_has_a_time_and_none_of_the_old_counts)
