/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/informer.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/skipped_waits.h"
#include "testsuite/lib/suite.h"

/* A client whose answers the test gives: it stores the pending call and watch.
 */
static struct {
    struct client client;
    struct client_call call;
    struct client_watch watch;
    bool has_call, has_watch;
    char continue_token[32];
    char version[32];
    client_done_fn *done;
    client_event_fn *event;
    void *context;
} api;

static struct informer *informer;
static struct strbuf told = STRBUF_INIT;

static struct client_call *
script_call(struct client *client, struct arena *arena, const struct client_request *request,
            client_done_fn *done, void *context)
{
    (void)arena;
    api.has_call = true;
    api.call.client = client;
    api.done = done;
    api.context = context;
    snprintf(api.continue_token, sizeof(api.continue_token), "%s",
             request->continue_token != NULL ? request->continue_token : "");
    return &api.call;
}

static void
script_cancel(struct client_call *call)
{
    (void)call;
    api.has_call = false;
}

static struct client_watch *
script_watch(struct client *client, const struct client_watch_request *request,
             client_event_fn *event, void *context)
{
    api.has_watch = true;
    api.watch.client = client;
    api.event = event;
    api.context = context;
    snprintf(api.version, sizeof(api.version), "%s", request->resource_version);
    return &api.watch;
}

static void
script_stop(struct client_watch *watch)
{
    (void)watch;
    api.has_watch = false;
}

static const struct client_ops ops = {
    .call = script_call,
    .cancel = script_cancel,
    .watch = script_watch,
    .stop = script_stop,
};

static const struct object *
pod(const char *name, const char *uid, int version)
{
    const struct object *object = NULL;
    char text[256];

    snprintf(text, sizeof(text),
             "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
             "\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\","
             "\"resourceVersion\":\"%d\"}}",
             name, uid, version);
    ck_assert_int_eq(object_parse(&pod_kind, text, strlen(text), &object, NULL), 0);
    return object;
}

static void
changed(const struct object *old_object, const struct object *new_object, void *context)
{
    const struct object *o = new_object != NULL ? new_object : old_object;

    (void)context;
    strbuf_printf(&told, "%c%s@%d ",
                  old_object == NULL   ? '+'
                  : new_object == NULL ? '-'
                                       : '~',
                  o->meta->name, (int)o->revision);
}

static void
synced(void *context)
{
    (void)context;
    strbuf_add_text(&told, "synced ");
}

static void
start(void)
{
    api.client.ops = &ops;
    skip_waits();
    api.client.loop = loop_new();
    informer = informer_new(&(struct informer_settings){
        .client = &api.client,
        .kind = &pod_kind,
        .changed = changed,
        .synced = synced,
    });
}

static void
stop(void)
{
    informer_free(informer);
    loop_free(api.client.loop);
    strbuf_fini(&told);
}

static void
answer(const char *version, const char *continue_token, size_t n,
       const struct object *const *objects)
{
    const struct client_reply reply = {
        .code = 200,
        .objects = objects,
        .n_objects = n,
        .resource_version = version,
        .continue_token = continue_token,
    };

    ck_assert(api.has_call);
    api.has_call = false;
    api.done(&reply, api.context);
    for (size_t i = 0; i < n; i++)
        object_unref(objects[i]);
}

#define ANSWER(version, token, ...)                         \
    do {                                                    \
        const struct object *const list[] = {__VA_ARGS__};  \
        answer((version), (token), ARRAY_SIZE(list), list); \
    } while (0)

static void
send_event(enum client_event_type type, const struct object *object)
{
    ck_assert(api.has_watch);
    api.event(&(struct client_event){.type = type,
                                     .object = object,
                                     .resource_version = object->meta->resource_version},
              api.context);
    object_unref(object);
}

static void
end_watch(int64_t code)
{
    const struct status status = {.code = code};

    api.event(&(struct client_event){.type = CLIENT_ERROR, .status = code != 0 ? &status : NULL},
              api.context);
}

static void
stop_loop(void *arg)
{
    loop_stop(arg);
}

/* Runs long enough for the first retry. */
static void
let_time_pass(void)
{
    CLEANUP(timer_freep)
    struct timer *timer = timer_new(api.client.loop, stop_loop, api.client.loop);

    timer_start(timer, 250);
    loop_run(api.client.loop);
}

START_TEST(existing_objects_are_delivered_before_the_informer_is_synced)
{
    start();

    ANSWER("9", NULL, pod("a", "1", 5), pod("b", "2", 6));

    ck_assert(informer_has_synced(informer));
    ck_assert_uint_eq(informer_count(informer), 2);
    ck_assert_ptr_nonnull(informer_find(informer, "ns", "a"));
    ck_assert_ptr_null(informer_find(informer, "other", "a"));
    ck_assert_ptr_nonnull(strstr(told.text, "+a@5"));
    ck_assert_ptr_nonnull(strstr(told.text, "+b@6"));
    ck_assert_str_eq(told.text + told.length - 7, "synced ");
    ck_assert_str_eq(api.version, "9");
    stop();
}
END_TEST

START_TEST(a_list_of_several_pages_is_one_state)
{
    start();

    ANSWER("9", "next", pod("a", "1", 5));
    ck_assert(!informer_has_synced(informer));
    ck_assert_str_eq(api.continue_token, "next");
    ANSWER("9", "", pod("b", "2", 6));

    ck_assert(informer_has_synced(informer));
    ck_assert_uint_eq(informer_count(informer), 2);
    stop();
}
END_TEST

START_TEST(changes_are_told_as_they_come)
{
    start();
    ANSWER("9", NULL, pod("a", "1", 5));
    strbuf_truncate(&told, 0);

    send_event(CLIENT_ADDED, pod("b", "2", 10));
    send_event(CLIENT_MODIFIED, pod("a", "1", 11));
    send_event(CLIENT_DELETED, pod("b", "2", 12));

    ck_assert_str_eq(told.text, "+b@10 ~a@11 -b@12 ");
    ck_assert_uint_eq(informer_count(informer), 1);
    stop();
}
END_TEST

START_TEST(another_life_under_the_same_name_ends_the_first)
{
    start();
    ANSWER("9", NULL, pod("a", "1", 5));
    strbuf_truncate(&told, 0);

    send_event(CLIENT_MODIFIED, pod("a", "2", 10));

    ck_assert_str_eq(told.text, "-a@5 +a@10 ");
    stop();
}
END_TEST

START_TEST(a_lost_connection_goes_on_where_it_was)
{
    start();
    ANSWER("9", NULL, pod("a", "1", 5));
    send_event(CLIENT_MODIFIED, pod("a", "1", 15));

    end_watch(0);
    ck_assert(!api.has_watch);
    let_time_pass();

    ck_assert(api.has_watch);
    ck_assert_str_eq(api.version, "15");
    ck_assert_uint_eq(informer_count(informer), 1);
    stop();
}
END_TEST

START_TEST(a_watch_that_is_too_old_lists_again_and_tells_the_difference)
{
    start();
    ANSWER("9", NULL, pod("same", "1", 5), pod("gone", "2", 6), pod("changed", "3", 7));
    strbuf_truncate(&told, 0);

    end_watch(410);
    let_time_pass();
    ANSWER("99", NULL, pod("same", "1", 5), pod("changed", "3", 70), pod("new", "4", 80));

    ck_assert_ptr_nonnull(strstr(told.text, "-gone@6"));
    ck_assert_ptr_nonnull(strstr(told.text, "~changed@70"));
    ck_assert_ptr_nonnull(strstr(told.text, "+new@80"));
    ck_assert_ptr_null(strstr(told.text, "same"));
    ck_assert_ptr_null(strstr(told.text, "synced"));
    ck_assert_str_eq(api.version, "99");
    stop();
}
END_TEST

/* Fails four times, after which the next wait is longer than let_time_pass. */
static void
lose_the_server(void)
{
    for (int i = 0; i < 4; i++) {
        ck_assert(api.has_watch);
        end_watch(0);
        for (int n = 0; i < 3 && n < 100 && !api.has_watch; n++)
            let_time_pass();
    }
}

/* Data that was sent before a connection was lost may arrive after data that
 * was sent later.
 */
START_TEST(a_watch_that_goes_back_is_not_believed_and_a_list_says_what_is)
{
    start();
    ANSWER("9", NULL, pod("a", "1", 5), pod("b", "2", 6));
    strbuf_truncate(&told, 0);
    send_event(CLIENT_DELETED, pod("a", "1", 12));
    send_event(CLIENT_DELETED, pod("a", "1", 12));
    ck_assert_str_eq(told.text, "-a@12 ");

    send_event(CLIENT_MODIFIED, pod("a", "1", 11));
    ck_assert_str_eq(told.text, "-a@12 ");
    ck_assert(!api.has_watch);
    let_time_pass();

    ANSWER("12", NULL, pod("b", "2", 10));
    ck_assert_str_eq(told.text, "-a@12 ~b@10 ");
    ck_assert_str_eq(api.version, "12");
    send_event(CLIENT_ADDED, pod("c", "3", 13));
    ck_assert_str_eq(told.text, "-a@12 ~b@10 +c@13 ");
    stop();
}
END_TEST

START_TEST(waits_that_grew_while_nobody_answered_do_not_delay_the_list_behind_an_answer)
{
    start();
    ANSWER("9", NULL, pod("a", "1", 5));
    lose_the_server();
    for (int n = 0; n < 100 && !api.has_watch; n++)
        let_time_pass();

    end_watch(410);
    let_time_pass();

    ANSWER("99", NULL, pod("a", "1", 5), pod("new", "2", 80));
    ck_assert_uint_eq(informer_count(informer), 2);
    stop();
}
END_TEST

START_TEST(answers_that_refuse_are_waited_for_longer_and_longer)
{
    int64_t before_ms = 0;

    start();
    for (int i = 0; i < 4; i++) {
        const struct client_reply refusal = {.code = i % 2 ? 403 : 404};

        api.has_call = false;
        before_ms = loop_now_ms();
        api.done(&refusal, api.context);
        for (int n = 0; n < 100 && !api.has_call; n++)
            let_time_pass();
    }

    ck_assert_int_ge(loop_now_ms() - before_ms, 500);
    stop();
}
END_TEST

START_TEST(an_informer_need_not_wait_when_the_server_answers_again)
{
    start();
    ANSWER("9", NULL, pod("a", "1", 5));
    informer_retry_now(informer, 0);
    ck_assert(!api.has_call);
    lose_the_server();

    informer_retry_now(informer, 100);
    let_time_pass();

    ck_assert(api.has_watch);
    ck_assert_str_eq(api.version, "9");
    stop();
}
END_TEST

START_TEST(a_list_that_fails_is_tried_again)
{
    const struct client_reply refusal = {.code = 503};

    start();
    api.has_call = false;
    api.done(&refusal, api.context);
    let_time_pass();

    ANSWER("9", NULL, pod("a", "1", 5));

    ck_assert(informer_has_synced(informer));
    stop();
}
END_TEST

START_TEST(freeing_one_ends_what_is_under_way)
{
    start();
    ck_assert(api.has_call);
    informer_free(informer);
    ck_assert(!api.has_call);

    informer = informer_new(
        &(struct informer_settings){.client = &api.client, .kind = &pod_kind, .changed = changed});
    ANSWER("9", NULL, pod("a", "1", 5));
    ck_assert(api.has_watch);
    informer_free(informer);
    ck_assert(!api.has_watch);
    informer = NULL;
    stop();
}
END_TEST

SUITE("informer", existing_objects_are_delivered_before_the_informer_is_synced,
      a_list_of_several_pages_is_one_state, changes_are_told_as_they_come,
      a_watch_that_goes_back_is_not_believed_and_a_list_says_what_is,
      another_life_under_the_same_name_ends_the_first, a_lost_connection_goes_on_where_it_was,
      a_watch_that_is_too_old_lists_again_and_tells_the_difference,
      waits_that_grew_while_nobody_answered_do_not_delay_the_list_behind_an_answer,
      answers_that_refuse_are_waited_for_longer_and_longer,
      an_informer_need_not_wait_when_the_server_answers_again, a_list_that_fails_is_tried_again,
      freeing_one_ends_what_is_under_way)
