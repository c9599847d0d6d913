/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>

#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

static const char *
list(struct place *p, struct place_names *names, const char *namespace, const char *after,
     int64_t revision)
{
    names->text[0] = '\0';
    names->count = 0;
    ck_assert_int_eq(
        store_list(p->store, &pod_kind, namespace, after, revision, place_add_name, names), 0);
    return names->text;
}

static void
put_in(struct place *p, const char *namespace, const char *name)
{
    struct store_txn *txn = store_begin(p->store);

    store_txn_put(txn, place_object(&pod_kind, store_txn_revision(txn), namespace, name, ""), NULL);
    store_commit(txn, NULL, NULL);
}

START_TEST(a_list_is_in_the_order_of_its_keys_and_keeps_to_its_namespace)
{
    struct place p;
    struct place_names names = {0};

    place_init(&p);
    put_in(&p, "b", "y");
    put_in(&p, "a", "z");
    put_in(&p, "a", "x");
    put_in(&p, "a-b", "w");
    put_in(&p, "c", "v");
    place_settle(&p);

    ck_assert_str_eq(list(&p, &names, NULL, NULL, 0), "x z w y v");
    ck_assert_str_eq(list(&p, &names, "a", NULL, 0), "x z");
    ck_assert_str_eq(list(&p, &names, "none", NULL, 0), "");
    ck_assert_str_eq(list(&p, &names, NULL, "a/z", 0), "w y v");
    ck_assert_str_eq(list(&p, &names, NULL, "a/y", 0), "z w y v");
    ck_assert_str_eq(list(&p, &names, "b", "a/x", 0), "y");
    ck_assert_str_eq(list(&p, &names, "a", "a/z", 0), "");
    ck_assert_str_eq(list(&p, &names, "a", "b/a", 0), "");
    place_fini(&p);
}
END_TEST

START_TEST(pages_at_one_revision_show_what_was_there_whatever_happens_between)
{
    struct place p;
    struct place_names names = {.limit = 2};
    int64_t revision;

    place_init(&p);
    place_put(&p, "b", "n1");
    place_put(&p, "d", "n1");
    place_put(&p, "f", "n1");
    place_put(&p, "h", "n1");
    place_settle(&p);
    revision = store_revision(p.store);
    ck_assert_str_eq(list(&p, &names, "a", NULL, revision), "b d");

    place_put(&p, "e", "n1");
    place_remove(&p, "f");
    place_remove(&p, "h");
    place_put(&p, "h", "n2");
    place_settle(&p);

    ck_assert_str_eq(list(&p, &names, "a", "a/d", revision), "f h");
    ck_assert_str_eq(list(&p, &names, "a", "a/d", 0), "e h");
    place_fini(&p);
}
END_TEST

static bool
take_node(const struct object *object, void *context)
{
    snprintf(context, 16, "%s", pod_of(object)->spec.node_name);
    return true;
}

START_TEST(a_list_at_a_revision_shows_each_object_as_it_was)
{
    struct place p;
    char node[16] = "";
    int64_t first, second;

    place_init(&p);
    place_put(&p, "x", "n1");
    place_settle(&p);
    first = store_revision(p.store);
    place_put(&p, "x", "n2");
    place_settle(&p);
    second = store_revision(p.store);
    place_put(&p, "x", "n3");
    place_put(&p, "x", "n4"); /* not yet published */

    store_list(p.store, &pod_kind, NULL, NULL, first, take_node, node);
    ck_assert_str_eq(node, "n1");
    store_list(p.store, &pod_kind, NULL, NULL, second, take_node, node);
    ck_assert_str_eq(node, "n2");
    store_list(p.store, &pod_kind, NULL, NULL, 0, take_node, node);
    ck_assert_str_eq(node, "n2");
    place_settle(&p);
    store_list(p.store, &pod_kind, NULL, NULL, second, take_node, node);
    ck_assert_str_eq(node, "n2");
    place_fini(&p);
}
END_TEST

START_TEST(a_forgotten_revision_can_neither_be_listed_nor_watched)
{
    struct place p;
    struct place_names names = {0};
    struct store_watch *watch = NULL;
    int64_t old, middle;

    place_init(&p);
    place_put(&p, "x", "n1");
    place_settle(&p);
    old = store_revision(p.store);
    place_remove(&p, "x");
    place_settle(&p);
    middle = store_revision(p.store);
    place_put(&p, "y", "n1");
    place_settle(&p);

    store_compact(p.store, middle);

    ck_assert_int_eq(store_oldest_revision(p.store), middle);
    ck_assert_int_eq(store_list(p.store, &pod_kind, NULL, NULL, old, place_add_name, &names),
                     -ESTALE);
    ck_assert_int_eq(store_watch(p.store, &pod_kind, old, -1, NULL, NULL, NULL, &watch), -ESTALE);
    ck_assert_ptr_null(watch);
    ck_assert_str_eq(list(&p, &names, NULL, NULL, middle), "");
    ck_assert_str_eq(list(&p, &names, NULL, NULL, 0), "y");
    place_fini(&p);
}
END_TEST

START_TEST(the_log_is_bounded_by_age_and_by_bytes)
{
    struct place p;
    int64_t by_age;

    place_init(&p);
    store_close(p.store);
    p.log_age_s = 60;
    p.log_bytes = 100000;
    place_open(&p);
    by_age = store_oldest_revision(p.store);
    place_put(&p, "x", "n1");
    place_settle(&p);
    p.now_us += 59 * 1000000;
    place_put(&p, "y", "n1");
    place_settle(&p);
    ck_assert_int_eq(store_oldest_revision(p.store), by_age);

    p.now_us += 2 * 1000000;
    place_put(&p, "z", "n1");
    place_settle(&p);
    ck_assert_int_eq(store_oldest_revision(p.store), by_age + 1);

    for (int i = 0; i < 1000; i++)
        place_put(&p, "x", "n2");
    place_settle(&p);
    ck_assert_int_gt(store_oldest_revision(p.store), by_age + 500);
    ck_assert_int_lt(store_oldest_revision(p.store), store_revision(p.store));
    place_fini(&p);
}
END_TEST

static void
put_job(struct place *p, const char *name, int64_t id)
{
    struct store_txn *txn = store_begin(p->store);
    CLEANUP_FREE char *more = xasprintf(",\"status\":{\"id\":%" PRId64 "}", id);

    store_txn_put(txn, place_object(&job_kind, store_txn_revision(txn), "a", name, more), NULL);
    store_commit(txn, NULL, NULL);
}

START_TEST(a_job_is_found_by_its_id_also_after_a_restart)
{
    struct place p;

    place_init(&p);
    put_job(&p, "one", 1042);
    ck_assert_ptr_null(store_find_job_id(p.store, STORE_PUBLISHED, 1042));
    ck_assert_ptr_nonnull(store_find_job_id(p.store, STORE_PENDING, 1042));
    place_settle(&p);

    place_reopen(&p);

    ck_assert_str_eq(store_find_job_id(p.store, STORE_PUBLISHED, 1042)->meta->name, "one");
    ck_assert_ptr_null(store_find_job_id(p.store, STORE_PUBLISHED, 104));
    place_fini(&p);
}
END_TEST

static const char *
on_node(struct place *p, struct place_names *names, enum store_head head, const char *node)
{
    names->text[0] = '\0';
    store_visit_index(p->store, &pod_kind, POD_BY_NODE, head, node, place_add_name, names);
    return names->text;
}

START_TEST(an_index_follows_each_head)
{
    struct place p;
    struct place_names names = {0};

    place_init(&p);
    place_put(&p, "x", "n1");
    place_settle(&p);
    place_put(&p, "x", "n2");

    ck_assert_str_eq(on_node(&p, &names, STORE_PUBLISHED, "n1"), "x");
    ck_assert_str_eq(on_node(&p, &names, STORE_PUBLISHED, "n2"), "");
    ck_assert_str_eq(on_node(&p, &names, STORE_PENDING, "n1"), "");
    ck_assert_str_eq(on_node(&p, &names, STORE_PENDING, "n2"), "x");
    place_settle(&p);
    ck_assert_str_eq(on_node(&p, &names, STORE_PUBLISHED, "n1"), "");
    ck_assert_str_eq(on_node(&p, &names, STORE_PUBLISHED, "n2"), "x");
    place_remove(&p, "x");
    place_settle(&p);
    ck_assert_str_eq(on_node(&p, &names, STORE_PENDING, "n2"), "");
    ck_assert_str_eq(on_node(&p, &names, STORE_PUBLISHED, "n2"), "");
    place_fini(&p);
}
END_TEST

SUITE("store read", a_list_is_in_the_order_of_its_keys_and_keeps_to_its_namespace,
      pages_at_one_revision_show_what_was_there_whatever_happens_between,
      a_list_at_a_revision_shows_each_object_as_it_was,
      a_forgotten_revision_can_neither_be_listed_nor_watched,
      the_log_is_bounded_by_age_and_by_bytes, a_job_is_found_by_its_id_also_after_a_restart,
      an_index_follows_each_head)
