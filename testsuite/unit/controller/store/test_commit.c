/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/store/engine/sql.h"
#include "controller/store/store.h"
#include "controller/store/store_state.h"
#include "lib/base/fd.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

static void
count_one(int outcome, void *context)
{
    ck_assert_int_eq(outcome, 0);
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

START_TEST(a_reader_of_a_pending_change_waits_for_it)
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

/* Each acknowledgement starts the next write, so batches follow each other. */
static void
put_next(int outcome, void *context)
{
    struct chain *chain = context;
    struct store_txn *txn;
    char name[16];

    ck_assert_int_eq(outcome, 0);
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
    put_next(0, &chain);
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
    ck_assert_int_eq(store_find(p.store, STORE_PUBLISHED, &lease_kind, "a", "n1")->revision,
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

    ck_assert_int_eq(store_find(p.store, STORE_PUBLISHED, &lease_kind, "a", "n1")->revision, 1);
    place_settle(&p);
    ck_assert_int_eq(store_find(p.store, STORE_PUBLISHED, &lease_kind, "a", "n1")->revision, 3);
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
    ck_assert_int_eq(store_find(p.store, STORE_PUBLISHED, &lease_kind, "a", "n1")->revision,
                     revision);
    ck_assert_int_eq(store_watch(p.store, &pod_kind, revision, -1, NULL, NULL, NULL, &watch), 0);
    place_fini(&p);
}
END_TEST

static void
remove_lease(struct place *p, const char *name, unsigned *done)
{
    struct store_txn *txn = store_begin(p->store);

    store_txn_remove(txn, object_in(txn, &lease_kind, name));
    store_commit(txn, count_one, done);
}

static int64_t
revision_of_lease(const struct place *p, const char *name)
{
    const struct object *lease = store_find(p->store, STORE_PUBLISHED, &lease_kind, "a", name);

    return lease != NULL ? lease->revision : 0;
}

/* The last batch has the state of leases, and the changes of them that nobody has seen yet. */
START_TEST(the_last_batch_has_what_becomes_of_leases_meanwhile)
{
    struct place p;
    unsigned done = 0;

    place_init(&p);
    put(&p, &lease_kind, "removed", &done);
    put(&p, &lease_kind, "anew", &done);
    put(&p, &lease_kind, "renewed", &done);
    place_settle(&p);
    remove_lease(&p, "removed", &done);
    remove_lease(&p, "anew", &done);
    put(&p, &lease_kind, "anew", &done);
    put(&p, &lease_kind, "renewed", &done);
    put(&p, &lease_kind, "new", &done);
    put(&p, &pod_kind, "x", &done);

    place_reopen(&p);

    ck_assert_uint_eq(done, 9);
    ck_assert_int_eq(store_revision(p.store), 9);
    ck_assert_uint_eq(store_count(p.store, &pod_kind), 1);
    ck_assert_uint_eq(store_count(p.store, &lease_kind), 3);
    ck_assert_int_eq(revision_of_lease(&p, "anew"), 6);
    ck_assert_int_eq(revision_of_lease(&p, "renewed"), 7);
    ck_assert_int_eq(revision_of_lease(&p, "new"), 8);
    place_fini(&p);
}
END_TEST

/* While a batch is being written, what it removes is still published. */
START_TEST(a_lease_removed_by_the_batch_before_the_last_one_is_not_in_that)
{
    struct place p;
    unsigned done = 0;

    place_init(&p);
    put(&p, &lease_kind, "n1", &done);
    place_settle(&p);
    remove_lease(&p, "n1", &done);
    store_submit_batch(p.store);
    put(&p, &pod_kind, "x", &done);

    store_finish(p.store, place_stop, p.loop);
    loop_run(p.loop);

    ck_assert_uint_eq(done, 3);
    place_reopen(&p);
    ck_assert_int_eq(store_revision(p.store), 3);
    ck_assert_uint_eq(store_count(p.store, &lease_kind), 0);
    ck_assert_uint_eq(store_count(p.store, &pod_kind), 1);
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
    ck_assert_int_eq(store_find(p.store, STORE_PUBLISHED, &event_kind, "a", "e1")->revision, 3);
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
    ck_assert_int_eq(file_write_atomic(path, 0600, block, sizeof(block), NULL), 0);

    place_open(&p);

    ck_assert_uint_eq(store_count(p.store, &event_kind), 0);
    put(&p, &event_kind, "e2", &done);
    place_reopen(&p);
    ck_assert_uint_eq(store_count(p.store, &event_kind), 1);
    place_fini(&p);
}
END_TEST

/* Limits the size of files from now on, like a full disk. */
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
    int64_t revision; /* of the last */
    int outcome;
};

static void fill(struct filling *f);

static void
filled(int outcome, void *context)
{
    struct filling *f = context;

    f->outcome = outcome;
    if (outcome < 0) {
        loop_stop(f->place->loop);
        return;
    }
    f->acknowledged++;
    fill(f);
}

static void
fill(struct filling *f)
{
    struct store_txn *txn = store_begin(f->place->store);
    char name[16];
    char word[2001];

    memset(word, 'w', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    snprintf(name, sizeof(name), "p%u", f->acknowledged);
    f->revision = store_txn_revision(txn);
    store_txn_put(txn, place_pod(f->revision, name, "n1", word), NULL);
    store_commit(txn, filled, f);
}

static void
turn(struct place *p)
{
    loop_stop(p->loop);
    loop_run(p->loop);
}

static void
note_outcome(int outcome, void *context)
{
    *(int *)context = outcome;
}

static void
wait_until_known(struct place *p, const int *outcome)
{
    while (*outcome == 1)
        turn(p);
}

static int
put_and_wait(struct place *p, const char *name)
{
    struct store_txn *txn = store_begin(p->store);
    int outcome = 1;

    place_txn_put(txn, name, "n1");
    store_commit(txn, note_outcome, &outcome);
    wait_until_known(p, &outcome);
    return outcome;
}

static int
remove_and_wait(struct place *p, const char *name)
{
    struct store_txn *txn = store_begin(p->store);
    int outcome = 1;

    place_txn_remove(txn, name);
    store_commit(txn, note_outcome, &outcome);
    wait_until_known(p, &outcome);
    return outcome;
}

START_TEST(a_full_disk_refuses_what_was_pending_and_then_takes_removals_alone)
{
    struct place p;
    struct filling f = {.place = &p};
    struct store_txn *txn;

    place_init(&p);
    limit_files(1 << 20);
    fill(&f);
    loop_run(p.loop);
    ck_assert_msg(f.outcome == -ENOSPC, "%s", p.failure.text);
    ck_assert_uint_eq(p.failures, 0);
    ck_assert(store_is_read_only(p.store));
    ck_assert_uint_eq(store_count(p.store, &pod_kind), f.acknowledged);

    ck_assert_int_eq(put_and_wait(&p, "late"), -ENOSPC);
    ck_assert_ptr_null(store_find(p.store, STORE_PENDING, &pod_kind, "a", "late"));
    txn = store_begin(p.store);
    ck_assert_int_gt(store_txn_revision(txn), f.revision);
    store_rollback(txn);
    /* From here on, space only comes from copying the log back. */
    while (remove_and_wait(&p, "p0") != 0)
        ;
    ck_assert_ptr_null(place_find(&p, "p0"));

    place_reopen(&p);
    ck_assert_uint_eq(store_count(p.store, &pod_kind), f.acknowledged - 1);
    store_close(p.store);
    limit_files(RLIM_INFINITY);
    place_open(&p);
    ck_assert_int_eq(put_and_wait(&p, "late"), 0);
    place_fini(&p);
}
END_TEST

static void
put_all_sorts(struct store_txn *txn, const char *word)
{
    char large[65536];

    memset(large, 'w', sizeof(large));
    store_txn_put_secret(txn, "secret", word);
    store_txn_put_blob(txn, "blob", word, strlen(word));
    store_txn_put_blob(txn, word, large, sizeof(large));
    store_txn_put(txn, place_pod(store_txn_revision(txn), "changed", "n1", word), NULL);
    store_txn_put(txn, place_pod(store_txn_revision(txn), word, "n1", word), NULL);
    store_txn_put(txn, object_in(txn, &event_kind, word), NULL);
}

static unsigned
count_on_node(struct place *p, const char *node)
{
    struct place_names names = {0};

    store_visit_index(p->store, &pod_kind, POD_BY_NODE, STORE_PENDING, node, place_add_name,
                      &names);
    return names.count;
}

static void
is_as_it_was(struct place *p)
{
    const enum store_head heads[] = {STORE_PENDING, STORE_PUBLISHED};

    for (unsigned i = 0; i < ARRAY_SIZE(heads); i++) {
        const struct object *changed = store_find(p->store, heads[i], &pod_kind, "a", "changed");
        const struct object *event = store_find(p->store, heads[i], &event_kind, "a", "second");

        ck_assert_ptr_nonnull(changed);
        ck_assert_str_eq(pod_of(changed)->spec.containers.items[0].command.items[0], "first");
        ck_assert_ptr_nonnull(store_find(p->store, heads[i], &pod_kind, "a", "first"));
        ck_assert_ptr_null(store_find(p->store, heads[i], &pod_kind, "a", "second"));
        ck_assert_ptr_null(event);
    }
    ck_assert_str_eq(store_find_secret(p->store, "secret"), "first");
    ck_assert_uint_eq(count_on_node(p, "n1"), 2);
}

/* One batch is at the engine, and another one that depends on it is queued. */
START_TEST(everything_that_was_pending_is_taken_back)
{
    struct place p;
    struct store_txn *txn;
    int first = 1, second = 1, looked = 1;

    place_init(&p);
    txn = store_begin(p.store);
    put_all_sorts(txn, "first");
    store_commit(txn, NULL, NULL);
    place_settle(&p);
    limit_files(4096);

    txn = store_begin(p.store);
    put_all_sorts(txn, "second");
    place_txn_remove(txn, "first");
    store_commit(txn, note_outcome, &first);
    turn(&p);
    txn = store_begin(p.store);
    place_txn_remove(txn, "second");
    place_txn_put(txn, "changed", "n2");
    store_txn_remove_secret(txn, "secret");
    store_txn_release_blob(txn, "blob");
    store_commit(txn, note_outcome, &second);
    store_when_durable(p.store, note_outcome, &looked);
    wait_until_known(&p, &looked);

    ck_assert_int_eq(first, -ENOSPC);
    ck_assert_int_eq(second, -ENOSPC);
    ck_assert_int_eq(looked, -ENOSPC);
    is_as_it_was(&p);
    limit_files(RLIM_INFINITY);
    place_reopen(&p);
    is_as_it_was(&p);
    ck_assert_int_eq(put_and_wait(&p, "second"), 0);
    place_reopen(&p);
    ck_assert_ptr_nonnull(place_find(&p, "second"));
    place_fini(&p);
}
END_TEST

/* Another process has taken over the database. */
START_TEST(a_waiter_of_a_failed_store_is_answered_at_its_end)
{
    struct place p;
    CLEANUP_FREE char *path = NULL;
    struct store_txn *txn;
    sqlite3 *db = NULL;
    int lost = 1, late = 1;

    place_init(&p);
    path = xasprintf("%s/kiln.db", p.directory);
    ck_assert_int_eq(sql_open(path, &db, NULL), 0);
    ck_assert_int_eq(sql_exec(db, "UPDATE counters SET epoch = epoch + 1", NULL), 0);
    sql_close(db);

    txn = store_begin(p.store);
    place_txn_put(txn, "x", "n1");
    store_commit(txn, note_outcome, &lost);
    loop_run(p.loop);
    ck_assert_uint_eq(p.failures, 1);
    txn = store_begin(p.store);
    place_txn_put(txn, "y", "n1");
    store_commit(txn, note_outcome, &late);
    turn(&p);
    ck_assert_int_eq(lost, 1);
    store_close(p.store);

    ck_assert_int_eq(lost, -EIO);
    ck_assert_int_eq(late, -EIO);
    place_open(&p);
    ck_assert_uint_eq(store_count(p.store, &pod_kind), 0);
    place_fini(&p);
}
END_TEST

SUITE("commit", nothing_pending_is_durable_at_once_and_from_within,
      a_reader_of_a_pending_change_waits_for_it, writes_may_be_made_from_acknowledgements,
      closing_waits_for_what_was_committed, a_lease_renewed_costs_the_disk_nothing,
      a_lease_is_published_behind_what_was_written_before_it,
      after_a_stop_in_order_watches_go_on_where_they_were,
      the_last_batch_has_what_becomes_of_leases_meanwhile,
      a_lease_removed_by_the_batch_before_the_last_one_is_not_in_that,
      events_come_back_though_nobody_waits_for_their_disk,
      a_damaged_database_of_events_is_begun_anew,
      a_full_disk_refuses_what_was_pending_and_then_takes_removals_alone,
      everything_that_was_pending_is_taken_back, a_waiter_of_a_failed_store_is_answered_at_its_end)
