/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/store/store.h"
#include "lib/base/fd.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

static void
count_one(void *context)
{
    ++*(unsigned *)context;
}

static const struct object *
object_in(struct store_txn *txn, const struct kind *kind, const char *name)
{
    return place_object(kind, store_txn_revision(txn), "a", name, "");
}

static void
put(struct place *p, const struct kind *kind, const char *name, unsigned *done)
{
    struct store_txn *txn = store_begin(p->store);

    store_txn_put(txn, object_in(txn, kind, name), NULL);
    store_commit(txn, count_one, done);
}

START_TEST(nothing_pending_is_durable_at_once_and_from_within)
{
    struct place p;
    unsigned done = 0;

    place_init(&p);

    store_when_durable(p.store, count_one, &done);

    ck_assert_uint_eq(done, 1);
    place_fini(&p);
}
END_TEST

START_TEST(who_looked_up_what_is_pending_waits_for_it)
{
    struct place p;
    unsigned committed = 0, looked = 0;

    place_init(&p);
    put(&p, &pod_kind, "x", &committed);
    store_when_durable(p.store, count_one, &looked);
    ck_assert_uint_eq(committed + looked, 0);
    place_settle(&p);

    ck_assert_uint_eq(committed, 1);
    ck_assert_uint_eq(looked, 1);
    place_fini(&p);
}
END_TEST

#define CHAIN 200

struct chain {
    struct place *place;
    unsigned length;
};

/* Each acknowledgement brings the next write, so batches follow batches. */
static void
put_next(void *context)
{
    struct chain *chain = context;
    struct store_txn *txn;
    char name[16];

    if (chain->length == CHAIN) {
        loop_stop(chain->place->loop);
        return;
    }
    snprintf(name, sizeof(name), "p%u", chain->length++);
    txn = store_begin(chain->place->store);
    place_txn_put(txn, name, "n1");
    store_commit(txn, put_next, chain);
}

START_TEST(writes_may_be_made_from_acknowledgements)
{
    struct place p;
    struct chain chain = {&p, 0};

    place_init(&p);
    put_next(&chain);
    loop_run(p.loop);

    ck_assert_uint_eq(store_count(p.store, &pod_kind), CHAIN);
    place_fini(&p);
}
END_TEST

START_TEST(closing_waits_for_what_was_committed)
{
    struct place p;
    unsigned done = 0;

    place_init(&p);
    for (int i = 0; i < 50; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        put(&p, &pod_kind, name, &done);
    }
    place_reopen(&p);

    ck_assert_uint_eq(done, 50);
    ck_assert_uint_eq(store_count(p.store, &pod_kind), 50);
    place_fini(&p);
}
END_TEST

static int64_t
size_of_log(const struct place *p)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db-wal", p->directory);
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_size;
}

START_TEST(a_lease_renewed_costs_the_disk_nothing)
{
    struct place p;
    unsigned done = 0;
    int64_t size;

    place_init(&p);
    put(&p, &lease_kind, "n1", &done);
    place_settle(&p);
    size = size_of_log(&p);
    for (int i = 0; i < 1000; i++)
        put(&p, &lease_kind, "n1", &done);
    place_settle(&p);

    ck_assert_uint_eq(done, 1001);
    ck_assert_int_eq(size_of_log(&p), size);
    ck_assert_int_eq(
        store_find(p.store, STORE_PUBLISHED, &lease_kind, "a", "n1")->revision,
        store_revision(p.store));
    place_fini(&p);
}
END_TEST

START_TEST(a_lease_is_published_behind_what_was_written_before_it)
{
    struct place p;
    unsigned done = 0;

    place_init(&p);
    put(&p, &lease_kind, "n1", &done);
    place_settle(&p);
    put(&p, &pod_kind, "x", &done);
    put(&p, &lease_kind, "n1", &done);

    ck_assert_int_eq(
        store_find(p.store, STORE_PUBLISHED, &lease_kind, "a", "n1")->revision,
        1);
    place_settle(&p);
    ck_assert_int_eq(
        store_find(p.store, STORE_PUBLISHED, &lease_kind, "a", "n1")->revision,
        3);
    place_fini(&p);
}
END_TEST

START_TEST(after_a_stop_in_order_watches_go_on_where_they_were)
{
    struct place p;
    struct store_watch *watch;
    unsigned done = 0;
    int64_t revision;

    place_init(&p);
    put(&p, &lease_kind, "n1", &done);
    put(&p, &pod_kind, "x", &done);
    put(&p, &lease_kind, "n1", &done);
    place_settle(&p);
    revision = store_revision(p.store);

    place_reopen(&p);

    ck_assert_int_eq(store_revision(p.store), revision);
    ck_assert_int_eq(
        store_find(p.store, STORE_PUBLISHED, &lease_kind, "a", "n1")->revision,
        revision);
    ck_assert_int_eq(
        store_watch(p.store, &pod_kind, revision, -1, NULL, NULL, NULL, &watch),
        0);
    place_fini(&p);
}
END_TEST

START_TEST(events_come_back_though_nobody_waits_for_their_disk)
{
    struct place p;
    unsigned done = 0;

    place_init(&p);
    put(&p, &event_kind, "e1", &done);
    put(&p, &event_kind, "e2", &done);
    put(&p, &event_kind, "e1", &done);
    place_settle(&p);
    ck_assert_uint_eq(done, 3);

    place_reopen(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 2);
    ck_assert_int_eq(
        store_find(p.store, STORE_PUBLISHED, &event_kind, "a", "e1")->revision,
        3);
    place_fini(&p);
}
END_TEST

START_TEST(a_damaged_database_of_events_is_begun_anew)
{
    struct place p;
    unsigned done = 0;
    CLEANUP_FREE char *path = NULL;
    char block[8192];

    place_init(&p);
    path = xasprintf("%s/events.db", p.directory);
    put(&p, &event_kind, "e1", &done);
    place_settle(&p);
    store_close(p.store);
    memset(block, 'x', sizeof(block));
    ck_assert_int_eq(file_write_atomic(path, 0600, block, sizeof(block), NULL),
                     0);

    place_open(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 0);
    put(&p, &event_kind, "e2", &done);
    place_reopen(&p);
    ck_assert_uint_eq(store_count(p.store, &event_kind), 1);
    place_fini(&p);
}
END_TEST

/* A file may grow no further from here on: as when the disk is full. */
static void
limit_files(rlim_t bytes)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

struct filling {
    struct place *place;
    unsigned acknowledged;
};

static void
fill(void *context)
{
    struct filling *f = context;
    struct store_txn *txn = store_begin(f->place->store);
    char name[16];
    char word[2001];

    memset(word, 'w', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    snprintf(name, sizeof(name), "p%u", f->acknowledged++);
    store_txn_put(txn,
                  place_pod(store_txn_revision(txn), name, "n1", word),
                  NULL);
    store_commit(txn, fill, f);
}

START_TEST(a_full_disk_is_said_and_nothing_is_acknowledged_after_it)
{
    struct place p;
    struct filling f = {&p, 0};
    unsigned late = 0;

    place_init(&p);
    limit_files(1 << 20);
    fill(&f);
    loop_run(p.loop);
    ck_assert_uint_eq(p.failures, 1);
    ck_assert_ptr_nonnull(strstr(p.failure.text, "kiln.db"));
    ck_assert_ptr_nonnull(strstr(p.failure.text, "ulimit"));
    put(&p, &pod_kind, "late", &late);
    store_when_durable(p.store, count_one, &late);
    for (int i = 0; i < 10; i++) {
        loop_stop(p.loop);
        loop_run(p.loop);
    }
    ck_assert_uint_eq(late, 0);
    ck_assert_ptr_null(place_find(&p, "late"));
    store_close(p.store);
    ck_assert_uint_eq(late, 0);

    limit_files(RLIM_INFINITY);
    place_open(&p);
    ck_assert_uint_eq(store_count(p.store, &pod_kind), f.acknowledged - 1);
    place_fini(&p);
}
END_TEST

SUITE("commit",
      nothing_pending_is_durable_at_once_and_from_within,
      who_looked_up_what_is_pending_waits_for_it,
      writes_may_be_made_from_acknowledgements,
      closing_waits_for_what_was_committed,
      a_lease_renewed_costs_the_disk_nothing,
      a_lease_is_published_behind_what_was_written_before_it,
      after_a_stop_in_order_watches_go_on_where_they_were,
      events_come_back_though_nobody_waits_for_their_disk,
      a_damaged_database_of_events_is_begun_anew,
      a_full_disk_is_said_and_nothing_is_acknowledged_after_it)
