/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <sqlite3.h>

#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/merge.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

/* The numeric result of a query, read directly from the database. */
static int64_t
ask(const struct place *p, const char *query)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db", p->directory);
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    int64_t answer;

    ck_assert_int_eq(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, query, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    answer = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return answer;
}

START_TEST(changes_of_a_transaction_have_consecutive_revisions)
{
    struct place p;
    struct store_txn *txn;
    int64_t revision;

    place_init(&p);
    txn = store_begin(p.store);
    revision = store_txn_revision(txn);
    ck_assert_int_eq(revision, store_revision(p.store) + 1);
    place_txn_put(txn, "x", "n1");
    ck_assert_int_eq(store_txn_revision(txn), revision + 1);
    place_txn_put(txn, "y", "n1");
    store_commit(txn, NULL, NULL);
    place_settle(&p);

    ck_assert_int_eq(place_find(&p, "x")->revision, revision);
    ck_assert_int_eq(place_find(&p, "y")->revision, revision + 1);
    ck_assert_int_eq(store_revision(p.store), revision + 1);
    place_fini(&p);
}
END_TEST

START_TEST(a_rollback_forgets_everything)
{
    struct place p;
    struct store_txn *txn;
    struct place_names names = {0};
    int64_t revision;

    place_init(&p);
    place_put(&p, "x", "n1");
    place_put(&p, "y", "n1");
    txn = store_begin(p.store);
    store_txn_put_secret(txn, "kept", "old");
    store_txn_put_blob(txn, "d1", "one", 3);
    store_commit(txn, NULL, NULL);

    txn = store_begin(p.store);
    revision = store_txn_revision(txn);
    ck_assert_int_eq(store_txn_job_id(txn), 1);
    place_txn_put(txn, "x", "n2");
    place_txn_remove(txn, "y");
    place_txn_put(txn, "y", "n3");
    place_txn_put(txn, "new", "n3");
    place_txn_remove(txn, "new");
    store_txn_put_secret(txn, "kept", "new");
    store_txn_put_secret(txn, "other", "new");
    store_txn_remove_secret(txn, "kept");
    store_txn_release_blob(txn, "d1");
    store_txn_put_blob(txn, "d2", "two", 3);
    store_rollback(txn);

    txn = store_begin(p.store);
    ck_assert_int_eq(store_txn_revision(txn), revision);
    ck_assert_int_eq(store_txn_job_id(txn), 1);
    store_rollback(txn);
    ck_assert_str_eq(store_find_secret(p.store, "kept"), "old");
    ck_assert_ptr_null(store_find_secret(p.store, "other"));
    ck_assert_ptr_null(store_find(p.store, STORE_PENDING, &pod_kind, "a", "new"));
    place_settle(&p);
    place_reopen(&p);
    store_visit_index(p.store, &pod_kind, POD_BY_NODE, STORE_PUBLISHED, "n1", place_add_name,
                      &names);
    ck_assert_uint_eq(names.count, 2);
    ck_assert_uint_eq(store_count(p.store, &pod_kind), 2);
    ck_assert_str_eq(store_find_secret(p.store, "kept"), "old");
    ck_assert_int_eq(ask(&p, "SELECT count(*) FROM blobs"), 1);
    place_fini(&p);
}
END_TEST

/* Merges a patch into the object like the API server. */
static void
patch(struct place *p, const char *name, const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct store_txn *txn = store_begin(p->store);
    const struct object *old = store_find(p->store, STORE_PENDING, &pod_kind, "a", name);
    struct json *tree = json_merge(arena, object_tree(old, arena),
                                   json_parse(arena, text, strlen(text), NULL, NULL));
    struct json *metadata = json_get(tree, "metadata");
    CLEANUP_STRBUF struct strbuf delta = STRBUF_INIT;

    json_set(arena, metadata, "resourceVersion",
             json_stringf(arena, "%" PRId64, store_txn_revision(txn)));
    ck_assert_int_eq(record_normalize(pod_kind.record, arena, tree, NULL, NULL), 0);
    json_print(json_merge_diff(arena, object_tree(old, arena), tree), &delta);
    store_txn_put(txn, object_new_packed(&pod_kind, tree, store_txn_patterns(txn)), delta.text);
    store_commit(txn, NULL, NULL);
}

static void
put_large(struct place *p, const char *name)
{
    struct store_txn *txn = store_begin(p->store);
    char word[1001];

    memset(word, 'w', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    store_txn_put(txn, place_pod(store_txn_revision(txn), name, "n1", word), NULL);
    store_commit(txn, NULL, NULL);
}

START_TEST(small_changes_are_kept_beside_the_body_and_come_back_the_same)
{
    struct place p;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *text = NULL;

    place_init(&p);
    put_large(&p, "x");
    put_large(&p, "y");
    patch(&p, "x", "{\"status\":{\"phase\":\"Running\",\"message\":\"m\"}}");
    patch(&p, "x", "{\"metadata\":{\"labels\":{\"l\":\"v\"}}}");
    patch(&p, "x", "{\"status\":{\"message\":null}}");
    place_settle(&p);
    ck_assert_int_eq(ask(&p, "SELECT count(*) FROM deltas"), 3);
    text = xstrdup(object_text(place_find(&p, "x"), arena));

    place_reopen(&p);

    ck_assert_str_eq(object_text(place_find(&p, "x"), arena), text);
    ck_assert_int_eq(place_find(&p, "y")->revision, 2);
    place_fini(&p);
}
END_TEST

START_TEST(a_full_write_folds_the_small_ones)
{
    struct place p;

    place_init(&p);
    put_large(&p, "x");
    put_large(&p, "y");
    patch(&p, "x", "{\"status\":{\"phase\":\"Running\"}}");
    patch(&p, "y", "{\"status\":{\"phase\":\"Running\"}}");
    place_put(&p, "x", "n2");
    place_settle(&p);

    ck_assert_int_eq(ask(&p, "SELECT count(*) FROM deltas"), 1);
    place_reopen(&p);
    ck_assert_str_eq(pod_of(place_find(&p, "x"))->spec.node_name, "n2");
    ck_assert_str_eq(pod_of(place_find(&p, "y"))->status.phase, "Running");
    place_fini(&p);
}
END_TEST

START_TEST(many_small_changes_fold_themselves)
{
    struct place p;

    place_init(&p);
    put_large(&p, "x");
    for (int i = 0; i < 100; i++) {
        CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"annotations\":{\"n\":\"%d\"}}}", i);

        patch(&p, "x", text);
    }
    place_settle(&p);

    ck_assert_int_lt(ask(&p, "SELECT count(*) FROM deltas"), 10);
    place_reopen(&p);
    ck_assert_str_eq(string_map_find(&place_find(&p, "x")->meta->annotations, "n"), "99");
    place_fini(&p);
}
END_TEST

START_TEST(a_removal_takes_the_rows_deltas_along)
{
    struct place p;

    place_init(&p);
    put_large(&p, "x");
    patch(&p, "x", "{\"status\":{\"phase\":\"Running\"}}");
    place_settle(&p);
    place_reopen(&p); /* also after reading the database */
    patch(&p, "x", "{\"status\":{\"phase\":\"Failed\"}}");
    place_remove(&p, "x");
    place_settle(&p);

    ck_assert_int_eq(ask(&p, "SELECT count(*) FROM deltas"), 0);
    ck_assert_int_eq(ask(&p, "SELECT count(*) FROM objects"), 0);
    place_fini(&p);
}
END_TEST

START_TEST(a_rolled_back_fold_leaves_the_small_changes)
{
    struct place p;
    struct store_txn *txn;

    place_init(&p);
    put_large(&p, "x");
    patch(&p, "x", "{\"status\":{\"phase\":\"Running\"}}");
    txn = store_begin(p.store);
    place_txn_put(txn, "x", "n2");
    store_rollback(txn);
    place_remove(&p, "x");
    place_settle(&p);

    ck_assert_int_eq(ask(&p, "SELECT count(*) FROM deltas"), 0);
    place_fini(&p);
}
END_TEST

START_TEST(job_ids_are_never_issued_twice_over_restarts)
{
    struct place p;
    struct store_txn *txn;

    place_init(&p);
    txn = store_begin(p.store);
    ck_assert_int_eq(store_txn_job_id(txn), 1);
    ck_assert_int_eq(store_txn_job_id(txn), 2);
    place_txn_put(txn, "x", "n1");
    store_commit(txn, NULL, NULL);
    place_settle(&p);

    place_reopen(&p);

    txn = store_begin(p.store);
    ck_assert_int_eq(store_txn_job_id(txn), 3);
    store_rollback(txn);
    place_fini(&p);
}
END_TEST

/* The content of a blob: its text, or "none". */
struct content {
    struct place *place;
    char text[64];
};

static void
take_content(const void *bytes, size_t length, void *context)
{
    struct content *c = context;

    snprintf(c->text, sizeof(c->text), "%.*s", bytes != NULL ? (int)length : 4,
             bytes != NULL ? (const char *)bytes : "none");
    loop_stop(c->place->loop);
}

static const char *
read_blob(struct place *p, struct content *c, const char *digest)
{
    c->place = p;
    store_get_blob(p->store, digest, take_content, c);
    loop_run(p->loop);
    return c->text;
}

START_TEST(a_blob_lives_as_long_as_somebody_names_it)
{
    struct place p;
    struct content c;
    struct store_txn *txn;

    place_init(&p);
    txn = store_begin(p.store);
    store_txn_put_blob(txn, "d1", "one\0two", 7);
    store_txn_put_blob(txn, "d2", "", 0);
    store_commit(txn, NULL, NULL);
    txn = store_begin(p.store);
    store_txn_put_blob(txn, "d1", "one\0two", 7);
    store_commit(txn, NULL, NULL);
    ck_assert_str_eq(read_blob(&p, &c, "d1"), "one");
    ck_assert_str_eq(read_blob(&p, &c, "d2"), "");
    ck_assert_str_eq(read_blob(&p, &c, "d3"), "none");

    txn = store_begin(p.store);
    store_txn_release_blob(txn, "d1");
    store_commit(txn, NULL, NULL);
    place_reopen(&p);
    ck_assert_str_eq(read_blob(&p, &c, "d1"), "one");
    ck_assert_int_eq(ask(&p, "SELECT length(content) FROM blob_contents"), 7);
    txn = store_begin(p.store);
    store_txn_release_blob(txn, "d1");
    store_commit(txn, NULL, NULL);
    place_settle(&p);

    ck_assert_str_eq(read_blob(&p, &c, "d1"), "none");
    ck_assert_int_eq(ask(&p, "SELECT count(*) FROM blob_contents"), 1);
    place_fini(&p);
}
END_TEST

START_TEST(secrets_survive_and_go)
{
    struct place p;
    struct store_txn *txn;

    place_init(&p);
    txn = store_begin(p.store);
    store_txn_put_secret(txn, "node/n1", "one");
    store_txn_put_secret(txn, "node/n2", "two");
    store_commit(txn, NULL, NULL);
    txn = store_begin(p.store);
    store_txn_put_secret(txn, "node/n1", "three");
    store_txn_remove_secret(txn, "node/n2");
    store_txn_remove_secret(txn, "node/n9");
    store_commit(txn, NULL, NULL);

    place_reopen(&p);

    ck_assert_str_eq(store_find_secret(p.store, "node/n1"), "three");
    ck_assert_ptr_null(store_find_secret(p.store, "node/n2"));
    place_fini(&p);
}
END_TEST

SUITE("txn", changes_of_a_transaction_have_consecutive_revisions, a_rollback_forgets_everything,
      small_changes_are_kept_beside_the_body_and_come_back_the_same,
      a_full_write_folds_the_small_ones, many_small_changes_fold_themselves,
      a_removal_takes_the_rows_deltas_along, a_rolled_back_fold_leaves_the_small_changes,
      job_ids_are_never_issued_twice_over_restarts, a_blob_lives_as_long_as_somebody_names_it,
      secrets_survive_and_go)
