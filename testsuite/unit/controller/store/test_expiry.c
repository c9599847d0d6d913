/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/expiry.h"

#include <check.h>

#include "controller/store/store_state.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

static void
put(struct place *p, const struct kind *kind, const char *name, const char *more)
{
    struct store_txn *txn = store_begin(p->store);

    store_txn_put(txn, place_object(kind, store_txn_revision(txn), "a", name, more), NULL);
    store_commit(txn, NULL, NULL);
    place_settle(p);
}

static void
put_event(struct place *p, const char *name)
{
    put(p, &event_kind, name, "");
}

static void
put_event_about(struct place *p, const char *name, const char *kind, const char *about)
{
    CLEANUP_FREE char *more = xasprintf(
        ",\"involvedObject\":{\"kind\":\"%s\",\"namespace\":\"a\",\"name\":\"%s\"}", kind, about);

    put(p, &event_kind, name, more);
}

static void
put_pod_of(struct place *p, const char *name, unsigned uid)
{
    CLEANUP_FREE char *more = xasprintf(",\"spec\":{\"securityContext\":{\"runAsUser\":%u},"
                                        "\"containers\":[{\"name\":\"main\",\"image\":\"none\"}]}",
                                        uid);

    put(p, &pod_kind, name, more);
}

static void
put_event_signed_by_1002(struct place *p, unsigned n)
{
    struct store_txn *txn = store_begin(p->store);
    CLEANUP_FREE char *text =
        xasprintf("{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"l%u\","
                  "\"namespace\":\"a\",\"annotations\":{\"" ANNOTATION_UID "\":\"1002\"},"
                  "\"resourceVersion\":\"%" PRId64 "\"},"
                  "\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"gone%u\"}}",
                  n, store_txn_revision(txn), n);
    const struct object *object = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(&event_kind, text, strlen(text), &object, &err) == 0, "%s",
                  err.text);
    store_txn_put(txn, object, NULL);
    store_commit(txn, NULL, NULL);
    place_settle(p);
}

static bool
is_there(const struct place *p, const char *name)
{
    return store_find(p->store, STORE_PUBLISHED, &event_kind, "a", name) != NULL;
}

static void
remember_removal(const struct store_change *change, void *context)
{
    if (change->new_object == NULL)
        snprintf(context, 16, "%s", change->old_object->meta->name);
}

static void
open_with(struct place *p, int64_t age_s, size_t limit)
{
    store_close(p->store);
    p->event_age_s = age_s;
    p->event_limit = limit;
    place_open(p);
}

START_TEST(an_event_that_nobody_repeats_goes_and_watches_hear_of_it)
{
    struct place p;
    struct store_watch *watch;
    char removed[16] = "";

    place_init(&p);
    open_with(&p, 60, 0);
    put_event(&p, "old");
    put_event(&p, "again");
    store_watch(p.store, &event_kind, store_revision(p.store), -1, NULL, remember_removal, removed,
                &watch);
    p.now_us += 59 * 1000000;
    put_event(&p, "again");
    expiry_remove_expired(contents_section(&p.store->contents, &event_kind)->expiry);
    place_settle(&p);
    ck_assert_uint_eq(store_count(p.store, &event_kind), 2);

    p.now_us += 2 * 1000000;
    expiry_remove_expired(contents_section(&p.store->contents, &event_kind)->expiry);
    place_settle(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 1);
    ck_assert_str_eq(removed, "old");
    place_fini(&p);
}
END_TEST

START_TEST(of_too_many_events_the_oldest_go_and_stay_gone)
{
    struct place p;

    place_init(&p);
    open_with(&p, 0, 3);
    put_event(&p, "e1");
    put_event(&p, "e2");
    put_event(&p, "e3");
    put_event(&p, "e4");
    put_event(&p, "e1");
    expiry_remove_expired(contents_section(&p.store->contents, &event_kind)->expiry);
    place_settle(&p);
    place_reopen(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 3);
    ck_assert_ptr_null(store_find(p.store, STORE_PUBLISHED, &event_kind, "a", "e2"));
    ck_assert_ptr_nonnull(store_find(p.store, STORE_PUBLISHED, &event_kind, "a", "e1"));
    place_fini(&p);
}
END_TEST

START_TEST(a_user_who_makes_too_many_events_loses_only_his_own)
{
    struct place p;
    char name[16];

    place_init(&p);
    open_with(&p, 0, 20);
    put_pod_of(&p, "quiet", 1001);
    put_pod_of(&p, "loud", 1002);
    put_event_about(&p, "q1", "Pod", "quiet");
    put_event_about(&p, "q2", "Pod", "quiet");
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "l%u", i);
        put_event_about(&p, name, "Pod", i % 2 == 0 ? "loud" : "louder");
        if (i == 0)
            put_pod_of(&p, "louder", 1002);
    }
    expiry_remove_expired(contents_section(&p.store->contents, &event_kind)->expiry);
    place_settle(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 20);
    ck_assert(is_there(&p, "q1"));
    ck_assert(is_there(&p, "q2"));
    ck_assert(!is_there(&p, "l21"));
    ck_assert(is_there(&p, "l39"));
    place_fini(&p);
}
END_TEST

START_TEST(an_event_that_a_user_wrote_counts_for_him_whatever_it_is_about)
{
    struct place p;

    place_init(&p);
    open_with(&p, 0, 3);
    put_pod_of(&p, "quiet", 1001);
    put_event_about(&p, "q1", "Pod", "quiet");
    for (unsigned i = 0; i < 4; i++)
        put_event_signed_by_1002(&p, i);
    expiry_remove_expired(contents_section(&p.store->contents, &event_kind)->expiry);
    place_settle(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 3);
    ck_assert(is_there(&p, "q1"));
    ck_assert(!is_there(&p, "l1"));
    place_fini(&p);
}
END_TEST

START_TEST(users_and_the_system_have_half_of_the_room_each)
{
    struct place p;
    char name[16];

    place_init(&p);
    open_with(&p, 0, 10);
    for (unsigned i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        put_event_about(&p, name, "Node", i == 0 ? "first" : "broken");
    }
    expiry_remove_expired(contents_section(&p.store->contents, &event_kind)->expiry);
    place_settle(&p);
    ck_assert_uint_eq(store_count(p.store, &event_kind), 10);
    ck_assert(is_there(&p, "n0"));
    ck_assert(!is_there(&p, "n2"));

    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "u%u", i);
        put_event_about(&p, name, "Pod", "gone");
    }
    expiry_remove_expired(contents_section(&p.store->contents, &event_kind)->expiry);
    place_settle(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 10);
    ck_assert(is_there(&p, "n0"));
    ck_assert(is_there(&p, "n8"));
    ck_assert(!is_there(&p, "n7"));
    ck_assert(is_there(&p, "u15"));
    ck_assert(!is_there(&p, "u14"));
    place_fini(&p);
}
END_TEST

SUITE("expiry", an_event_that_nobody_repeats_goes_and_watches_hear_of_it,
      of_too_many_events_the_oldest_go_and_stay_gone,
      a_user_who_makes_too_many_events_loses_only_his_own,
      an_event_that_a_user_wrote_counts_for_him_whatever_it_is_about,
      users_and_the_system_have_half_of_the_room_each)
