/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/watch/held_events.h"

#include <check.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"

static struct strbuf sent = STRBUF_INIT;
static struct loop *loop;
static struct held_events *held;

static void
note(enum client_event_type type, const struct object *object, void *context)
{
    ck_assert_ptr_eq(context, &sent);
    strbuf_printf(&sent, "%c%s ", type == CLIENT_DELETED ? '-' : '~', object->meta->uid);
    loop_stop(loop);
}

static void
begin(void)
{
    strbuf_truncate(&sent, 0);
    loop = loop_new();
    held = held_events_new(loop, note, &sent);
}

static void
finish(void)
{
    held_events_free(held);
    loop_free(loop);
    strbuf_fini(&sent);
}

/* One event of a pod in that phase. */
static void
take_as(enum client_event_type type, const char *uid, const char *phase, bool is_being_deleted)
{
    char text[320];
    const struct object *object = NULL;

    snprintf(text, sizeof(text),
             "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"m\",\"namespace\":\"default\",\"uid\":\"%s\","
             "%s\"resourceVersion\":\"1\"},\"status\":{\"phase\":\"%s\"}}",
             uid, is_being_deleted ? "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"," : "", phase);
    ck_assert_int_eq(object_parse(&pod_kind, text, strlen(text), &object, NULL), 0);
    held_events_take(held, type, object);
    object_unref(object);
}

/* An event that is not urgent. */
static void
add(enum client_event_type type, const char *uid)
{
    take_as(type, uid, uid[0] == 'b' ? "Failed" : "Succeeded", false);
}

/* Events that an agent acts on are sent by the call itself: no timer runs in
 * this test.
 */
START_TEST(an_urgent_event_is_sent_at_once_after_those_held)
{
    const struct object *node = NULL;
    const char *text = "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"
                       "\"name\":\"n\",\"uid\":\"n\",\"resourceVersion\":\"1\"}}";
    static const struct {
        enum client_event_type type;
        const char *phase;
        bool is_being_deleted;
    } urgent[] = {
        {CLIENT_ADDED, "Pending", false},     {CLIENT_MODIFIED, "Pending", false},
        {CLIENT_MODIFIED, "Running", false},  {CLIENT_DELETED, "Running", false},
        {CLIENT_MODIFIED, "Running", true},   {CLIENT_ADDED, "Succeeded", false},
        {CLIENT_MODIFIED, "Succeeded", true}, {CLIENT_DELETED, "Failed", true},
    };

    begin();
    for (size_t i = 0; i < ARRAY_SIZE(urgent); i++) {
        const char *expected = urgent[i].type == CLIENT_DELETED ? "~b -u " : "~b ~u ";

        strbuf_truncate(&sent, 0);
        add(CLIENT_MODIFIED, "b");
        ck_assert_uint_eq(sent.length, 0);
        take_as(urgent[i].type, "u", urgent[i].phase, urgent[i].is_being_deleted);
        ck_assert_msg(strcmp(sent.text, expected) == 0, "%zu: '%s', not '%s'", i, sent.text,
                      expected);
    }
    strbuf_truncate(&sent, 0);
    ck_assert_int_eq(object_parse(&node_kind, text, strlen(text), &node, NULL), 0);
    held_events_take(held, CLIENT_MODIFIED, node);
    object_unref(node);
    ck_assert_str_eq(sent.text, "~n ");
    finish();
}
END_TEST

START_TEST(events_leave_by_themselves_in_their_order)
{
    begin();
    add(CLIENT_MODIFIED, "a");
    add(CLIENT_MODIFIED, "b");
    add(CLIENT_MODIFIED, "a");
    ck_assert_uint_eq(sent.length, 0);
    loop_run(loop);
    ck_assert_str_eq(sent.text, "~a ~b ~a ");

    held_events_release(held);
    ck_assert_str_eq(sent.text, "~a ~b ~a ");
    finish();
}
END_TEST

START_TEST(a_deletion_takes_the_place_of_the_change_before_it)
{
    begin();
    add(CLIENT_MODIFIED, "a");
    add(CLIENT_MODIFIED, "b");
    add(CLIENT_DELETED, "a");
    add(CLIENT_DELETED, "c");
    held_events_release(held);
    ck_assert_str_eq(sent.text, "~b -a -c ");
    finish();
}
END_TEST

/* The second deletion is of another object with the same uid, which no store
 * creates.
 */
START_TEST(a_deletion_is_never_dropped)
{
    begin();
    add(CLIENT_MODIFIED, "a");
    add(CLIENT_DELETED, "a");
    add(CLIENT_DELETED, "a");
    held_events_release(held);
    ck_assert_str_eq(sent.text, "-a -a ");
    finish();
}
END_TEST

START_TEST(many_do_not_wait)
{
    size_t before;

    begin();
    for (unsigned i = 0; i < 63; i++)
        add(CLIENT_MODIFIED, "a");
    before = sent.length;
    add(CLIENT_MODIFIED, "a");
    ck_assert_uint_eq(before, 0);
    ck_assert_uint_eq(sent.length, strlen("~a ") * 64);
    finish();
}
END_TEST

START_TEST(a_watch_that_ends_sends_nothing_that_is_still_held)
{
    begin();
    add(CLIENT_MODIFIED, "a");
    add(CLIENT_DELETED, "b");
    held_events_free(held);
    held = NULL;
    ck_assert_str_eq(sent.text, "");
    held_events_release(NULL);
    finish();
}
END_TEST

SUITE("held_events", an_urgent_event_is_sent_at_once_after_those_held,
      events_leave_by_themselves_in_their_order, a_deletion_takes_the_place_of_the_change_before_it,
      a_deletion_is_never_dropped, many_do_not_wait,
      a_watch_that_ends_sends_nothing_that_is_still_held)
