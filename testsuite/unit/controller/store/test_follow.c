/* SPDX-License-Identifier: Apache-2.0 */
/* A store that waits follows the one that leads. $KILN_TEST_POSTGRES is the URL of a
 * database of its own (as when testsuite/cluster/heads_store.t starts this program);
 * there is nothing to follow in a file.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/store/event_writer.h"
#include "controller/store/expiry.h"
#include "controller/store/memory/blob_counts.h"
#include "controller/store/memory/object_index.h"
#include "controller/store/store_state.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/loop/timer.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

#define NAMES  60
#define ROUNDS 8

static const char *
database(void)
{
    return getenv("KILN_TEST_POSTGRES");
}

static void
psql(const char *statement)
{
    CLEANUP_FREE char *command =
        xasprintf("psql -qX '%s' -c \"SET client_min_messages = error; %s\" >/dev/null", database(),
                  statement);

    ck_assert_int_eq(system(command), 0); /* NOLINT: a test's own text */
}

static void
psql_aside(const char *statement)
{
    CLEANUP_FREE char *command =
        xasprintf("psql -qX '%s' -c \"%s\" >/dev/null 2>&1 &", database(), statement);

    ck_assert_int_eq(system(command), 0); /* NOLINT: a test's own text */
}

/* --- what a store holds --------------------------------------------------------- */

/* The sum of all objects that were said to be there. */
static uint64_t moved_sum;

static uint64_t
hash_of(const struct object *object)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *text = object_text(object, arena);
    uint64_t hash = 1469598103934665603u;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

static void
object_moved(const struct object *before, const struct object *after, void *context)
{
    (void)context;
    moved_sum -= before != NULL ? hash_of(before) : 0;
    moved_sum += after != NULL ? hash_of(after) : 0;
}

static bool
write_object(const struct object *object, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    strbuf_printf(context, "%s\n", object_text(object, arena));
    return true;
}

static bool
count_object(const struct object *object, void *context)
{
    (void)object;
    ++*(size_t *)context;
    return true;
}

static void
write_section(struct store *s, const struct kind *kind, struct strbuf *out)
{
    struct section *section = contents_section(&s->contents, kind);

    strbuf_printf(out, "%s: %zu\n", section->name, section->count);
    for (struct entry *e = object_index_first(section->objects); e != NULL; e = e->next[0]) {
        strbuf_printf(out, "row %lld, %u bytes:", (long long)e->row, e->delta_bytes);
        for (unsigned i = 0; i < e->n_deltas; i++)
            strbuf_printf(out, " %lld", (long long)e->deltas[i]);
        strbuf_add_char(out, '\n');
        if (e->heads[STORE_PUBLISHED] != NULL)
            write_object(e->heads[STORE_PUBLISHED], out);
        ck_assert_ptr_eq(e->heads[STORE_PUBLISHED], e->heads[STORE_PENDING]);
    }
}

/* Everything but the events, which are read at the end. */
static char *
text_of(struct store *s)
{
    struct strbuf out = STRBUF_INIT;

    for (unsigned i = 0; i < n_kinds; i++)
        if (!kind_is(kinds[i], KIND_TRANSIENT))
            write_section(s, kinds[i], &out);
    for (int node = 0; node < 4; node++) {
        CLEANUP_FREE char *name = xasprintf("n%d", node);
        size_t count = 0;

        store_visit_index(s, &pod_kind, 0, STORE_PUBLISHED, name, count_object, &count);
        strbuf_printf(&out, "%s: %zu\n", name, count);
    }
    for (int i = 0; i < NAMES; i++) {
        CLEANUP_FREE char *name = xasprintf("d%d", i);

        strbuf_printf(&out, "%s: %lld\n", name,
                      (long long)blob_counts_get(s->contents.blobs, name).count);
        strbuf_printf(&out, "%s\n",
                      store_find_secret(s, name) != NULL ? store_find_secret(s, name) : "none");
    }
    strbuf_printf(&out, "moved: %llu\n", (unsigned long long)moved_sum);
    return strbuf_take(&out);
}

/* --- a storm of changes ------------------------------------------------------------ */

struct storm {
    struct place leader;
    unsigned seed;
    int rounds;
    bool ends_suddenly;
    void (*last_words)(struct storm *s); /* before the leader ends; or NULL */
};

static unsigned
any(struct storm *s, unsigned n)
{
    return ((s->seed = s->seed * 1103515245 + 12345) >> 8) % n;
}

static const struct object *
long_pod(int64_t revision, const char *name, unsigned node, unsigned word, const char *message)
{
    CLEANUP_FREE char *more =
        xasprintf(",\"spec\":{\"containers\":[{\"name\":\"main\",\"command\":[\"%0*u\"]}],"
                  "\"nodeName\":\"n%u\"},\"status\":{\"message\":\"%s\"}",
                  word % 50 == 0 ? 200000 : 200, word, node, message);

    return place_object(&pod_kind, revision, "a", name, more);
}

struct known {
    unsigned node, word;
    bool is_there;
};
static struct known known[NAMES];

static void
change_pod(struct storm *s, struct store_txn *txn, unsigned k)
{
    CLEANUP_FREE char *name = xasprintf("p%u", k);
    CLEANUP_FREE char *message = xasprintf("m%u", any(s, 1000));
    CLEANUP_FREE char *delta = NULL;
    unsigned what = any(s, 8);

    if (known[k].is_there && what == 0) {
        place_txn_remove(txn, name);
        known[k].is_there = false;
        return;
    }
    if (known[k].is_there && what > 2)
        delta = xasprintf("{\"status\":{\"message\":\"%s\"}}", message);
    else
        known[k] = (struct known){any(s, 4), any(s, 1000), true};
    store_txn_put(
        txn, long_pod(store_txn_revision(txn), name, known[k].node, known[k].word, message), delta);
}

static void
change_other(struct storm *s, struct store_txn *txn, unsigned k)
{
    CLEANUP_FREE char *name = xasprintf("d%u", k);
    CLEANUP_FREE char *script = xcalloc(1, 4 << 20);

    if (any(s, 2) == 0)
        store_txn_put_blob(txn, name, script, any(s, 10) == 0 ? 4 << 20 : 10);
    else if (blob_counts_get(s->leader.store->contents.blobs, name).count > 0)
        store_txn_release_blob(txn, name);
    if (any(s, 3) == 0)
        store_txn_put_secret(txn, name, name);
    else
        store_txn_remove_secret(txn, name);
    store_txn_put(txn, place_object(&lease_kind, store_txn_revision(txn), "a", name, ""), NULL);
}

static void
blow(struct storm *s)
{
    for (unsigned t = 1 + any(s, 5); t > 0; t--) {
        struct store_txn *txn = store_begin(s->leader.store);

        for (unsigned i = any(s, 30); i > 0; i--)
            change_pod(s, txn, any(s, NAMES));
        if (any(s, 2) == 0)
            change_other(s, txn, any(s, NAMES));
        store_commit(txn, NULL, NULL);
        if (any(s, 2) == 0)
            place_settle(&s->leader);
    }
    place_settle(&s->leader);
}

/* So much to read that the store that waits pauses for a while: more remains for the end. */
static void
blow_hard(struct storm *s)
{
    struct store_txn *txn = store_begin(s->leader.store);

    for (unsigned k = 0; k < NAMES; k++) {
        CLEANUP_FREE char *name = xasprintf("p%u", k);

        known[k] = (struct known){k % 4, 50 * k, true};
        store_txn_put(txn, long_pod(store_txn_revision(txn), name, k % 4, 50 * k, "long"), NULL);
    }
    store_commit(txn, NULL, NULL);
    place_settle(&s->leader);
}

/* What the leader does while the other store waits, which reads some of it meanwhile,
 * and the rest at the end.
 */
static bool
storm_goes_on(const struct error *why, int wakes, void *context)
{
    struct storm *s = context;

    (void)why;
    if (wakes < 0)
        return true;
    if (s->rounds == ROUNDS - 1 && s->ends_suddenly)
        blow_hard(s);
    else
        blow(s);
    if (s->rounds == ROUNDS / 2) /* the sessions that only read */
        psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ="
             " current_database() AND application_name = 'kiln-controller reader'");
    if (s->rounds++ < ROUNDS) {
        usleep(s->rounds < ROUNDS ? 100000 : 0);
        return true;
    }
    if (s->last_words != NULL)
        s->last_words(s);
    place_fini(&s->leader);
    s->leader = (struct place){0};
    return true;
}

static void
begin(struct storm *s, unsigned seed)
{
    bool was_there = true;
    struct error err = {0};

    psql("DROP SCHEMA IF EXISTS kiln CASCADE");
    ck_assert_msg(engine_postgres_create(database(), false, &was_there, &err) == 0, "%s", err.text);
    memset(known, 0, sizeof(known));
    *s = (struct storm){.seed = seed};
    s->leader = (struct place){
        .directory = scratch_new(),
        .database = database(),
        .loop = loop_new(),
        .clock = {place_now, place_now},
        .now_us = 1,
    };
    place_open(&s->leader);
    for (int i = 0; i < 10; i++)
        blow(s);
}

/* The text of the store that has waited, or of one that has read everything. */
static char *
open_and_tell(struct storm *s, bool *ret_was_warm)
{
    const struct engine_waits waits = {.waits = storm_goes_on, .context = s};
    struct place p = {
        .directory = scratch_new(),
        .database = database(),
        .waits = s != NULL ? &waits : NULL,
        .moved = object_moved,
        .loop = loop_new(),
        .clock = {place_now, place_now},
        .now_us = 1,
    };
    char *text;

    moved_sum = 0;
    place_open(&p);
    text = text_of(p.store);
    *ret_was_warm = p.store->was_warm;
    place_fini(&p);
    return text;
}

static bool
follow_and_compare(struct storm *s)
{
    bool was_warm = false, is_warm = true;
    CLEANUP_FREE char *followed = open_and_tell(s, &was_warm);
    CLEANUP_FREE char *read = open_and_tell(NULL, &is_warm);

    ck_assert(!is_warm);
    ck_assert_uint_gt(strlen(read), 20000);
    ck_assert_str_eq(followed, read);
    return was_warm;
}

START_TEST(a_followed_store_equals_a_cold_start)
{
    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    for (unsigned seed = 1; seed <= 4; seed++) {
        struct storm s;

        begin(&s, seed);
        s.ends_suddenly = seed % 2 == 0;
        ck_assert(follow_and_compare(&s));
    }
}
END_TEST

/* --- lists that lead nowhere ---------------------------------------------------------- */

/* As a leader of an earlier release does. */
static void
write_no_list(struct storm *s)
{
    blow(s);
    psql("DELETE FROM kiln.changes WHERE batch = (SELECT max(batch) - 1 FROM kiln.changes)");
}

static void
trim_the_list(struct storm *s)
{
    blow(s);
    psql("DELETE FROM kiln.changes WHERE batch < (SELECT max(batch) FROM kiln.changes)");
}

/* As in a database that was put back, and led by another since. */
static void
change_the_holder(struct storm *s)
{
    psql("UPDATE kiln.changes SET holder = 'another'");
    blow(s);
}

static void
spoil_a_row(struct storm *s)
{
    blow(s);
    /* not a lease: these are written once more when the leader ends */
    psql("UPDATE kiln.objects SET checksum = 1 WHERE id ="
         " (SELECT max(id) FROM kiln.objects WHERE kind = 'pods');"
         " UPDATE kiln.changes SET deltas = deltas || 0::int8, rows = rows ||"
         " (SELECT max(id) FROM kiln.objects WHERE kind = 'pods')"
         " WHERE batch = (SELECT max(batch) FROM kiln.changes)");
}

static void
leave_a_row_out(struct storm *s)
{
    blow(s);
    psql("UPDATE kiln.objects SET checksum = NULL, id = 1 + (SELECT max(id) FROM kiln.objects)"
         " WHERE id = (SELECT max(o.id) FROM kiln.objects AS o LEFT JOIN kiln.deltas AS d"
         " ON d.object = o.id WHERE d.object IS NULL AND o.kind = 'pods')");
}

START_TEST(a_list_that_does_not_fit_has_everything_read)
{
    void (*const words[])(struct storm * s) = {write_no_list, trim_the_list, change_the_holder,
                                               spoil_a_row, leave_a_row_out};

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        struct storm s;

        begin(&s, 7);
        s.last_words = words[i];
        ck_assert_msg(!follow_and_compare(&s), "way %zu", i);
    }
}
END_TEST

/* --- the end of the list -------------------------------------------------------------- */

static bool
never_waits(const struct error *why, int wakes, void *context)
{
    (void)why;
    (void)wakes;
    (void)context;
    return true;
}

static void
lead_again(struct storm *s)
{
    static const struct engine_waits waits = {.waits = never_waits};

    store_close(s->leader.store);
    s->leader.waits = &waits; /* so it is listed, and trims */
    place_open(&s->leader);
}

static bool
comes_true(const char *condition)
{
    CLEANUP_FREE char *command =
        xasprintf("psql -qAtX '%s' -c 'SELECT %s' | grep -q t", database(), condition);

    for (int i = 0; i < 100; i++) {
        if (system(command) == 0) /* NOLINT: a test's own text */
            return true;
        usleep(100000);
    }
    return false;
}

/* The leader trims after its first words. */
START_TEST(old_changes_go_unless_a_standby_needs_them)
{
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 3);
    psql("UPDATE kiln.changes SET at = now() - interval '3 minutes'");
    lead_again(&s);
    ck_assert(comes_true("max(at) - min(at) < interval $$1 minute$$ FROM kiln.changes"));

    psql("UPDATE kiln.changes SET at = now() - interval '3 minutes';"
         " DELETE FROM kiln.controllers; INSERT INTO kiln.controllers"
         " VALUES ('x', '', '', '', '', '', 0, 1, now(), now())");
    lead_again(&s);
    ck_assert(comes_true("count(*) = 2 FROM kiln.controllers"));
    usleep(500000);
    ck_assert(comes_true("max(at) - min(at) > interval $$1 minute$$ FROM kiln.changes"));

    psql("UPDATE kiln.changes SET at = now() - interval '11 minutes'");
    lead_again(&s);
    ck_assert(comes_true("max(at) - min(at) < interval $$1 minute$$ FROM kiln.changes"));
    place_fini(&s.leader);
}
END_TEST

/* --- the end of a lead ---------------------------------------------------------------- */

static bool
holds(const char *condition)
{
    CLEANUP_FREE char *command =
        xasprintf("psql -qAtX '%s' -c 'SELECT %s' | grep -q t", database(), condition);

    return system(command) == 0; /* NOLINT: a test's own text */
}

static void
open_next(struct place *p)
{
    *p = (struct place){
        .directory = scratch_new(),
        .database = database(),
        .loop = loop_new(),
        .clock = {place_now, place_now},
        .now_us = 1,
    };
    place_open(p);
}

/* Before anything is freed, which takes seconds with many objects. */
START_TEST(a_store_that_has_finished_has_given_the_lead_back)
{
    struct place next;
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 5);
    place_put(&s.leader, "last", "n1");
    store_finish(s.leader.store, place_stop, s.leader.loop);
    loop_run(s.leader.loop);
    ck_assert_ptr_nonnull(place_find(&s.leader, "last"));
    ck_assert(holds("holder = $$$$ FROM kiln.leader"));
    ck_assert(store_waits(s.leader.store));

    place_put(&s.leader, "late", "n1");
    open_next(&next);
    ck_assert_ptr_nonnull(place_find(&next, "last"));
    ck_assert_int_eq(next.store->opening.opened_at, next.store->opening.begun_at);
    place_fini(&s.leader);
    place_reopen(&next);
    ck_assert_ptr_null(place_find(&next, "late"));
    place_fini(&next);
}
END_TEST

static void
count_controller(const struct engine_controller *controller, void *context)
{
    (void)controller;
    ++*(size_t *)context;
}

/* The leader reads the rows every few seconds. */
static bool
knows_controllers(const struct store *store, size_t n)
{
    size_t listed = 0;

    for (int i = 0; i < 300 && listed != n; i++) {
        listed = 0;
        store_visit_controllers(store, count_controller, &listed);
        usleep(100000);
    }
    return listed == n;
}

/* One that has the objects in memory leads sooner than one that is to read them. */
START_TEST(the_lead_is_given_to_a_standby_that_follows)
{
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 6);
    lead_again(&s);
    ck_assert(comes_true("count(*) = 1 FROM kiln.controllers"));
    psql("INSERT INTO kiln.controllers VALUES"
         " ('a', '', 'a', 'cold', '', '', 0, -1, now(), now() + interval '1 minute'),"
         " ('b', '', 'b', 'warm', '', '', 0, 5, now(), now() + interval '1 minute'),"
         " ('c', '', 'c', 'silent', '', '', 0, 9, now(), now() - interval '1 minute')");
    ck_assert(knows_controllers(s.leader.store, 4));
    place_fini(&s.leader);
    ck_assert(holds("holder = $$handover$$ AND place = $$warm$$ FROM kiln.leader"));
}
END_TEST

START_TEST(a_standby_that_reads_is_preferred_to_one_that_has_not_begun)
{
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 7);
    lead_again(&s);
    ck_assert(comes_true("count(*) = 1 FROM kiln.controllers"));
    psql("INSERT INTO kiln.controllers VALUES"
         " ('a', '', 'a', 'cold', '', '', 0, -1, now(), now() + interval '1 minute'),"
         " ('b', '', 'b', 'reads', '', '', 0, -2, now(), now() + interval '1 minute'),"
         " ('c', '', 'c', 'cold2', '', '', 0, -1, now(), now() + interval '1 minute')");
    ck_assert(knows_controllers(s.leader.store, 4));
    place_fini(&s.leader);
    ck_assert(holds("holder = $$handover$$ AND place = $$reads$$ FROM kiln.leader"));
}
END_TEST

static bool
is_told_to_end(void *context)
{
    (void)context;
    return true;
}

START_TEST(a_leader_that_is_told_to_end_while_it_reads_gives_the_lead_back)
{
    const struct engine_waits waits = {.waits = never_waits, .is_over = is_told_to_end};
    struct error err = {0};
    struct place next;
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 10);
    place_put(&s.leader, "last", "n1");
    place_fini(&s.leader);

    next = (struct place){
        .directory = scratch_new(),
        .database = database(),
        .waits = &waits,
        .loop = loop_new(),
        .clock = {place_now, place_now},
        .now_us = 1,
    };
    ck_assert_int_eq(place_try_open(&next, &err), -ECANCELED);
    ck_assert(holds("holder IN ($$$$, $$handover$$) FROM kiln.leader"));
    next.waits = NULL;
    place_open(&next);
    ck_assert_ptr_nonnull(place_find(&next, "last"));
    place_fini(&next);
}
END_TEST

/* --- events ---------------------------------------------------------------------------- */

static void
put_event(struct place *p, const char *name, const char *message)
{
    CLEANUP_FREE char *more = xasprintf(",\"message\":\"%s\"", message);
    CLEANUP_FREE char *delta = xasprintf("{\"message\":\"%s\"}", message);
    struct store_txn *txn = store_begin(p->store);

    store_txn_put(txn, place_object(&event_kind, store_txn_revision(txn), "a", name, more), delta);
    store_commit(txn, NULL, NULL);
}

static void
look_again(void *loop)
{
    loop_stop(loop);
}

/* They come while the store is already used. */
static void
read_events(struct place *p)
{
    struct timer *timer = timer_new(p->loop, look_again, p->loop);

    for (int i = 0; i < 3000 && !store_has_read(p->store, &event_kind); i++) {
        timer_start(timer, 10);
        loop_run(p->loop);
    }
    ck_assert(store_has_read(p->store, &event_kind));
    timer_free(timer);
}

static void
remove_event(struct place *p, const char *name)
{
    struct store_txn *txn = store_begin(p->store);

    store_txn_remove(txn, place_object(&event_kind, store_txn_revision(txn), "a", name, ""));
    store_commit(txn, NULL, NULL);
}

static const char *
message_of(struct place *p, const char *name, struct arena *arena)
{
    const struct object *event = store_find(p->store, STORE_PUBLISHED, &event_kind, "a", name);

    return event != NULL ? object_text(event, arena) : "";
}

START_TEST(events_outlast_a_leader)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct place next;
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 8);
    for (int i = 0; i < 300; i++) {
        CLEANUP_FREE char *name = xasprintf("e%d", i);

        put_event(&s.leader, name, "once");
        if (i % 100 == 0)
            place_settle(&s.leader);
    }
    put_event(&s.leader, "e0", "twice"); /* as a change of one that is written */
    remove_event(&s.leader, "e1");
    place_fini(&s.leader);

    open_next(&next);
    read_events(&next);
    ck_assert_uint_eq(store_count(next.store, &event_kind), 299);
    ck_assert_ptr_nonnull(strstr(message_of(&next, "e0", arena), "twice"));
    ck_assert_ptr_nonnull(strstr(message_of(&next, "e299", arena), "once"));
    put_event(&next, "e2", "again");
    put_event(&next, "e300", "new");
    place_reopen(&next);
    read_events(&next);
    ck_assert_uint_eq(store_count(next.store, &event_kind), 300);
    ck_assert_ptr_nonnull(strstr(message_of(&next, "e2", arena), "again"));

    psql("UPDATE kiln.events SET at = now() - interval '59 minutes'");
    place_reopen(&next);
    read_events(&next);
    ck_assert_uint_eq(store_count(next.store, &event_kind), 300);
    psql("UPDATE kiln.events SET at = now() - interval '61 minutes'");
    place_reopen(&next);
    read_events(&next);
    ck_assert_uint_eq(store_count(next.store, &event_kind), 0);
    place_fini(&next);
}
END_TEST

/* The lock outlasts the test, unless it is taken back. */
START_TEST(a_locked_table_of_events_does_not_hold_the_last_batch)
{
    struct place next;
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 11);
    put_event(&s.leader, "before", "once");
    place_settle(&s.leader);
    ck_assert(comes_true("count(*) = 1 FROM kiln.events"));
    psql_aside("BEGIN; LOCK TABLE kiln.events; SELECT pg_sleep(60)");
    ck_assert(comes_true("count(*) > 0 FROM pg_locks WHERE relation = $$kiln.events$$::regclass"
                         " AND mode = $$AccessExclusiveLock$$ AND granted"));
    put_event(&s.leader, "late", "once");
    place_settle(&s.leader);
    place_put(&s.leader, "last", "n1");
    store_finish(s.leader.store, place_stop, s.leader.loop);
    loop_run(s.leader.loop);

    ck_assert(holds("holder = $$$$ FROM kiln.leader"));
    ck_assert(event_writer_is_busy(s.leader.store->events));
    psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%'"
         " AND pid <> pg_backend_pid()");
    place_fini(&s.leader);
    open_next(&next);
    read_events(&next);
    ck_assert_ptr_nonnull(place_find(&next, "last"));
    place_fini(&next);
}
END_TEST

/* Who asks too early is not told that an event does not exist: see verbs.c. */
START_TEST(events_of_before_are_read_while_the_store_is_used)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct place next;
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 12);
    for (int i = 0; i < 1200; i++) {
        CLEANUP_FREE char *name = xasprintf("e%d", i);

        put_event(&s.leader, name, "once");
    }
    place_fini(&s.leader);
    psql("UPDATE kiln.events SET body = '{' WHERE id = (SELECT max(id) FROM kiln.events)");

    open_next(&next);
    ck_assert(!store_has_read(next.store, &event_kind));
    ck_assert(store_has_read(next.store, &pod_kind));
    ck_assert_uint_eq(store_count(next.store, &event_kind), 0);
    put_event(&next, "e7", "newer");
    put_event(&next, "mine", "newer");
    place_settle(&next);
    read_events(&next);
    ck_assert_uint_eq(store_count(next.store, &event_kind), 1200);
    ck_assert_ptr_nonnull(strstr(message_of(&next, "e7", arena), "newer"));
    ck_assert_ptr_nonnull(strstr(message_of(&next, "e8", arena), "once"));
    ck_assert_str_eq(message_of(&next, "e1199", arena), "");

    place_reopen(&next);
    read_events(&next);
    ck_assert_uint_eq(store_count(next.store, &event_kind), 1200);
    ck_assert_ptr_nonnull(strstr(message_of(&next, "e7", arena), "newer"));
    place_fini(&next);
    ck_assert(holds("count(*) = 1200 FROM kiln.events"));
}
END_TEST

START_TEST(of_too_many_events_those_of_before_are_the_older_ones)
{
    struct place next;
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 13);
    put_event(&s.leader, "old1", "once");
    put_event(&s.leader, "old2", "once");
    place_fini(&s.leader);
    open_next(&next);
    next.event_limit = 2;
    place_reopen(&next);
    put_event(&next, "newest", "once");
    place_settle(&next);
    read_events(&next);
    expiry_remove_expired(contents_section(&next.store->contents, &event_kind)->expiry);
    place_settle(&next);
    ck_assert_uint_eq(store_count(next.store, &event_kind), 2);
    ck_assert_ptr_nonnull(store_find(next.store, STORE_PUBLISHED, &event_kind, "a", "newest"));
    ck_assert_ptr_nonnull(store_find(next.store, STORE_PUBLISHED, &event_kind, "a", "old2"));
    place_fini(&next);
}
END_TEST

/* It was killed, or stands still: nothing was said to it. */
START_TEST(a_leader_that_was_replaced_writes_no_events)
{
    struct place next;
    struct storm s;

    if (database() == NULL)
        SKIP("$KILN_TEST_POSTGRES names no database");
    begin(&s, 9);
    put_event(&s.leader, "said", "by the first one");
    place_settle(&s.leader);
    ck_assert(comes_true("count(*) = 1 FROM kiln.events")); /* nobody waits for it */
    psql("UPDATE kiln.leader SET holder = ''");
    open_next(&next);
    read_events(&next);
    ck_assert_uint_eq(store_count(next.store, &event_kind), 1);

    put_event(&s.leader, "late", "by the first one");
    place_fini(&s.leader);
    ck_assert(holds("count(*) = 1 FROM kiln.events"));
    place_fini(&next);
}
END_TEST

SUITE("follow", a_followed_store_equals_a_cold_start, a_list_that_does_not_fit_has_everything_read,
      old_changes_go_unless_a_standby_needs_them, a_store_that_has_finished_has_given_the_lead_back,
      the_lead_is_given_to_a_standby_that_follows,
      a_standby_that_reads_is_preferred_to_one_that_has_not_begun,
      a_leader_that_is_told_to_end_while_it_reads_gives_the_lead_back,
      a_locked_table_of_events_does_not_hold_the_last_batch, events_outlast_a_leader,
      events_of_before_are_read_while_the_store_is_used,
      of_too_many_events_those_of_before_are_the_older_ones,
      a_leader_that_was_replaced_writes_no_events)
