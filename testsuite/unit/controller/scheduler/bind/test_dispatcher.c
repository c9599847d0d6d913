/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/bind/dispatcher.h"

#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"
#include "testsuite/lib/suite.h"

struct room {
    struct fake_clock time;
    struct fake_client *api;
    struct dispatcher *d;
};

/* The events of one call. */
struct fate {
    bool is_silent; /* needs no request when it starts */
    unsigned started, done, dropped;
    struct fate *next_of_same; /* requested by its answer */
    struct dispatcher *d;
    const struct dispatch_kind *kind;
};

static struct client_call *
fate_start(struct client *client, client_done_fn *done, void *done_context, void *context)
{
    struct fate *f = context;

    if (f->is_silent)
        return NULL;
    f->started++;
    return client_call(
        client, NULL, &(struct client_request){.verb = CLIENT_GET, .kind = &node_kind, .name = "n"},
        done, done_context);
}

static void
fate_done(const struct client_reply *reply, void *context)
{
    struct fate *f = context;

    (void)reply;
    f->done++;
    if (f->next_of_same != NULL)
        dispatcher_add(f->d, "a", f->kind, f->next_of_same);
}

static void
fate_dropped(void *context)
{
    ((struct fate *)context)->dropped++;
}

static const struct dispatch_kind minor = {
    .name = "minor",
    .relevance = 1,
    .start = fate_start,
    .done = fate_done,
    .dropped = fate_dropped,
};
static const struct dispatch_kind major = {
    .name = "major",
    .relevance = 2,
    .start = fate_start,
    .done = fate_done,
    .dropped = fate_dropped,
};

static void
room_begin(struct room *r, unsigned at_a_time)
{
    static const struct fake_clock clock = FAKE_CLOCK;

    *r = (struct room){.time = clock, .api = fake_client_new()};
    r->d = dispatcher_new(&(struct dispatcher_settings){
        .client = fake_client_client(r->api),
        .clock = &r->time.clock,
        .at_a_time = at_a_time,
    });
}

static void
room_end(struct room *r)
{
    dispatcher_free(r->d);
    fake_client_free(r->api);
}

/* No call is under way: as many as may be are started at once. */
static void
check_idle(struct room *r, unsigned at_a_time)
{
    struct fate fates[2] = {0};

    ck_assert_uint_le(at_a_time, ARRAY_SIZE(fates));
    for (unsigned i = 0; i < at_a_time; i++) {
        CLEANUP_FREE char *key = xasprintf("idle-%u", i);

        dispatcher_add(r->d, key, &minor, &fates[i]);
        ck_assert_uint_eq(fates[i].started, 1);
    }
    fake_client_run(r->api);
    for (unsigned i = 0; i < at_a_time; i++)
        ck_assert_uint_eq(fates[i].done, 1);
}

START_TEST(of_one_object_one_call_is_under_way_and_one_waits)
{
    struct room r;
    struct fate first = {0}, second = {0}, third = {0};

    room_begin(&r, 2);
    dispatcher_add(r.d, "a", &minor, &first);
    dispatcher_add(r.d, "a", &minor, &second);
    ck_assert_uint_eq(first.started, 1);
    ck_assert_uint_eq(second.started, 0);
    dispatcher_add(r.d, "a", &minor, &third);
    ck_assert_uint_eq(second.dropped, 1);
    ck_assert_uint_eq(dispatcher_waiting(r.d, &minor), 1);

    fake_client_run(r.api);
    ck_assert_uint_eq(first.done, 1);
    ck_assert_uint_eq(third.done, 1);
    ck_assert_uint_eq(second.done, 0);
    ck_assert_uint_eq(dispatcher_waiting(r.d, NULL), 0);
    check_idle(&r, 2);
    room_end(&r);
}
END_TEST

START_TEST(a_more_important_call_takes_the_place_of_one_that_waits)
{
    struct room r;
    struct fate first = {0}, status = {0}, bind = {0}, late = {0};

    room_begin(&r, 0);
    dispatcher_add(r.d, "a", &minor, &first);
    dispatcher_add(r.d, "a", &minor, &status);
    dispatcher_add(r.d, "a", &major, &bind);
    ck_assert_uint_eq(status.dropped, 1);
    ck_assert_ptr_null(dispatcher_add(r.d, "a", &minor, &late));
    ck_assert_uint_eq(late.dropped, 1);
    fake_client_run(r.api);
    ck_assert_uint_eq(bind.done, 1);
    room_end(&r);
}
END_TEST

START_TEST(no_more_than_so_many_are_under_way)
{
    struct room r;
    struct fate fates[5] = {0};

    room_begin(&r, 2);
    for (unsigned i = 0; i < 5; i++) {
        CLEANUP_FREE char *key = xasprintf("%u", i);

        dispatcher_add(r.d, key, &minor, &fates[i]);
    }
    for (unsigned i = 0; i < 5; i++)
        ck_assert_uint_eq(fates[i].started, i < 2);
    ck_assert_uint_eq(dispatcher_waiting(r.d, NULL), 3);
    fake_client_run(r.api);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_uint_eq(fates[i].done, 1);
    room_end(&r);
}
END_TEST

START_TEST(a_call_that_changes_nothing_is_dropped)
{
    struct room r;
    struct fate silent = {.is_silent = true}, other = {0};

    room_begin(&r, 1);
    ck_assert_ptr_null(dispatcher_add(r.d, "a", &minor, &silent));
    ck_assert_uint_eq(silent.dropped, 1);
    dispatcher_add(r.d, "a", &minor, &other);
    ck_assert_uint_eq(other.started, 1);
    silent = (struct fate){.is_silent = true};
    dispatcher_add(r.d, "b", &minor, &silent);
    fake_client_run(r.api);
    ck_assert_uint_eq(silent.dropped, 1);
    check_idle(&r, 1);
    room_end(&r);
}
END_TEST

START_TEST(a_call_that_is_cancelled_makes_way)
{
    struct room r;
    struct fate first = {0}, second = {0}, third = {0};
    struct dispatched_call *under_way, *waiting;

    room_begin(&r, 1);
    under_way = dispatcher_add(r.d, "a", &minor, &first);
    waiting = dispatcher_add(r.d, "b", &minor, &second);
    dispatcher_add(r.d, "c", &minor, &third);
    dispatch_cancel(waiting);
    dispatch_cancel(under_way);
    ck_assert_uint_eq(third.started, 1);
    fake_client_run(r.api);
    ck_assert_uint_eq(first.done + first.dropped, 0);
    ck_assert_uint_eq(second.started + second.done + second.dropped, 0);
    ck_assert_uint_eq(third.done, 1);
    room_end(&r);
}
END_TEST

START_TEST(nothing_starts_while_it_is_held)
{
    struct room r;
    struct fate first = {0}, second = {0};

    room_begin(&r, 1);
    dispatcher_add(r.d, "a", &minor, &first);
    dispatcher_hold(r.d, true);
    dispatcher_add(r.d, "b", &minor, &second);
    fake_client_run(r.api);
    ck_assert_uint_eq(first.done, 1);
    ck_assert_uint_eq(second.started, 0);
    dispatcher_hold(r.d, false);
    fake_client_run(r.api);
    ck_assert_uint_eq(second.done, 1);
    room_end(&r);
}
END_TEST

START_TEST(an_answer_may_ask_for_the_next_call)
{
    struct room r;
    struct fate second = {0};
    struct fate first = {.next_of_same = &second, .kind = &major};

    room_begin(&r, 0);
    first.d = r.d;
    dispatcher_add(r.d, "a", &major, &first);
    fake_client_run(r.api);
    ck_assert_uint_eq(first.done, 1);
    ck_assert_uint_eq(second.done, 1);
    room_end(&r);
}
END_TEST

static struct dispatched_call *
add_for(struct room *r, const char *letters, struct fate *fate)
{
    const char *keys[8];
    CLEANUP_FREE char *text = xstrdup(letters);
    unsigned count = 0;

    for (char *c = strtok(text, " "); c != NULL; c = strtok(NULL, " "))
        keys[count++] = c;
    return dispatcher_add_for_all(r->d, keys, count, &major, fate);
}

START_TEST(a_call_of_several_waits_for_all_of_them)
{
    struct room r;
    struct fate a = {0}, b = {0}, both = {0}, late = {0}, after = {0};

    room_begin(&r, 0);
    dispatcher_add(r.d, "a", &minor, &a);
    dispatcher_add(r.d, "b", &minor, &b);
    add_for(&r, "a b c", &both);
    ck_assert_uint_eq(both.started, 0);
    ck_assert_uint_eq(dispatcher_waiting(r.d, &major), 1);
    ck_assert_ptr_null(dispatcher_add(r.d, "c", &minor, &late));
    ck_assert_uint_eq(late.dropped, 1);

    fake_client_run(r.api);
    ck_assert_uint_eq(both.done, 1);
    dispatcher_add(r.d, "b", &minor, &after);
    ck_assert_uint_eq(after.started, 1);
    room_end(&r);
}
END_TEST

START_TEST(others_of_its_objects_wait_for_a_call_of_several)
{
    struct room r;
    struct fate both = {0}, b = {0}, c = {0};

    room_begin(&r, 0);
    add_for(&r, "a b", &both);
    ck_assert_uint_eq(both.started, 1);
    dispatcher_add(r.d, "b", &minor, &b);
    dispatcher_add(r.d, "c", &minor, &c);
    ck_assert_uint_eq(b.started, 0);
    ck_assert_uint_eq(c.started, 1);
    fake_client_run(r.api);
    ck_assert_uint_eq(b.done, 1);
    room_end(&r);
}
END_TEST

START_TEST(a_call_of_several_takes_the_place_of_all_that_wait)
{
    struct room r;
    struct fate under_way = {0}, a = {0}, old = {0}, both = {0};

    room_begin(&r, 1);
    dispatcher_add(r.d, "z", &minor, &under_way);
    dispatcher_add(r.d, "a", &minor, &a);
    add_for(&r, "c b x", &old);
    add_for(&r, "a b c", &both);
    ck_assert_uint_eq(a.dropped, 1);
    ck_assert_uint_eq(old.dropped, 1);
    ck_assert_uint_eq(dispatcher_waiting(r.d, NULL), 1);
    fake_client_run(r.api);
    ck_assert_uint_eq(both.done, 1);
    ck_assert_uint_eq(old.started, 0);
    ck_assert_uint_eq(dispatcher_waiting(r.d, NULL), 0);
    room_end(&r);
}
END_TEST

START_TEST(one_of_an_object_takes_the_place_of_a_call_of_several)
{
    struct room r;
    struct fate under_way = {0}, both = {0}, b = {0}, a = {0};

    room_begin(&r, 1);
    dispatcher_add(r.d, "z", &minor, &under_way);
    add_for(&r, "a b", &both);
    dispatcher_add(r.d, "b", &major, &b);
    ck_assert_uint_eq(both.dropped, 1);
    dispatcher_add(r.d, "a", &minor, &a);
    fake_client_run(r.api);
    ck_assert_uint_eq(b.done, 1);
    ck_assert_uint_eq(a.done, 1);
    ck_assert_uint_eq(both.started, 0);
    room_end(&r);
}
END_TEST

START_TEST(a_call_of_several_that_is_cancelled_makes_way)
{
    struct room r;
    struct fate both = {0}, b = {0}, waits = {0};
    struct dispatched_call *call;

    room_begin(&r, 0);
    call = add_for(&r, "a b", &both);
    dispatcher_add(r.d, "b", &minor, &b);
    dispatch_cancel(call);
    ck_assert_uint_eq(b.started, 1);
    call = add_for(&r, "b c", &waits);
    ck_assert_uint_eq(waits.started, 0);
    dispatch_cancel(call);
    ck_assert_uint_eq(dispatcher_waiting(r.d, NULL), 0);
    fake_client_run(r.api);
    ck_assert_uint_eq(b.done, 1);
    ck_assert_uint_eq(both.done + both.dropped + waits.done, 0);
    add_for(&r, "b c", &waits); /* the dispatcher frees it */
    room_end(&r);
}
END_TEST

SUITE("dispatcher", of_one_object_one_call_is_under_way_and_one_waits,
      a_more_important_call_takes_the_place_of_one_that_waits, no_more_than_so_many_are_under_way,
      a_call_that_changes_nothing_is_dropped, a_call_that_is_cancelled_makes_way,
      nothing_starts_while_it_is_held, an_answer_may_ask_for_the_next_call,
      a_call_of_several_waits_for_all_of_them, others_of_its_objects_wait_for_a_call_of_several,
      a_call_of_several_takes_the_place_of_all_that_wait,
      one_of_an_object_takes_the_place_of_a_call_of_several,
      a_call_of_several_that_is_cancelled_makes_way)
