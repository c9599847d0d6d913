/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/put.h"

#include "lib/api/object/object.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

static struct json *
parse(struct arena *arena, const char *text)
{
    struct json *tree = json_parse(arena, text, strlen(text), NULL, NULL);

    ck_assert_ptr_nonnull(tree);
    return tree;
}

#define MAP(name, data)                                                  \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"default\","    \
    "\"uid\":\"u-" name "\",\"creationTimestamp\":\"2024-01-01T00:00:00" \
    "Z\"},\"data\":" data "}"

static const struct object *
put_map(struct arena *arena, struct store_txn *txn, const char *text, struct error *err)
{
    return put_object(arena, txn,
                      &(struct put){.kind = &config_map_kind, .tree = parse(arena, text)}, err);
}

static const struct object *
find_map(struct world *w, const char *name)
{
    return store_find(w->store, STORE_PENDING, &config_map_kind, "default", name);
}

START_TEST(several_objects_go_into_one_transaction)
{
    CLEANUP_WORLD struct world w;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct store_txn *txn;
    int64_t revision;

    world_init(&w);
    txn = store_begin(w.store);
    revision = store_txn_revision(txn);
    put_map(arena, txn, MAP("a", "{\"k\":\"1\"}"), &err);
    put_map(arena, txn, MAP("b", "{\"k\":\"2\"}"), &err);
    store_commit(txn, NULL, NULL);

    ck_assert_int_eq(find_map(&w, "a")->revision, revision);
    ck_assert_int_eq(find_map(&w, "b")->revision, revision + 1);
}
END_TEST

START_TEST(a_tree_that_does_not_fit_its_kind_is_not_put)
{
    CLEANUP_WORLD struct world w;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct store_txn *txn;

    world_init(&w);
    txn = store_begin(w.store);
    put_map(arena, txn, MAP("a", "{\"k\":\"1\"}"), &err);
    ck_assert_ptr_null(put_map(arena, txn, MAP("b", "{\"k\":2}"), &err));
    ck_assert_ptr_nonnull(strstr(err.text, "data.k"));
    store_rollback(txn);

    ck_assert_ptr_null(find_map(&w, "a"));
    ck_assert_ptr_null(find_map(&w, "b"));
}
END_TEST

START_TEST(nor_is_an_object_taken_out_with_one)
{
    CLEANUP_WORLD struct world w;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error err = {0};
    struct store_txn *txn;
    struct put last = {.kind = &config_map_kind};

    world_init(&w);
    txn = store_begin(w.store);
    put_map(arena, txn, MAP("a", "{\"k\":\"1\"}"), &err);
    last.tree = parse(arena, MAP("a", "[]"));
    ck_assert_int_lt(put_removal(arena, txn, &last, &err), 0);
    last.tree = parse(arena, MAP("a", "{}"));
    ck_assert_int_eq(put_removal(arena, txn, &last, &err), 0);
    store_commit(txn, NULL, NULL);

    ck_assert_ptr_null(find_map(&w, "a"));
}
END_TEST

#define MAPS   "/api/v1/namespaces/default/configmaps"
#define QUOTAS "/api/v1/namespaces/default/resourcequotas"

static int
ask_spoilt(struct world *w, enum http_method method, const char *target)
{
    struct kind spoilt = config_map_kind;
    CLEANUP_ANSWER struct answer a = {0};

    spoilt.stored_as = &config_map_kind;
    spoilt.to_stored = world_spoil;
    spoilt.from_stored = json_dup;
    a = world_put(w, &(struct question){.who = &admin,
                                        .method = method,
                                        .target = target,
                                        .body = "{\"metadata\":{\"name\":\"m\"},"
                                                "\"data\":{\"k\":\"new\"}}",
                                        .format = BODY_JSON,
                                        .kind = &spoilt});
    ck_assert_str_eq(answer_get(&a, "reason"), "InternalError");
    ck_assert_ptr_nonnull(strstr(answer_get(&a, "message"), "metadata.labels"));
    return a.code;
}

static const char *
used(struct world *w, char out[8])
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, QUOTAS "/q", NULL);
    const char *text = json_get_text(json_get_path(a.body, "status.used"), "count/configmaps");

    return strcpy(out, text);
}

START_TEST(a_request_that_makes_such_a_tree_is_answered_500_and_stores_nothing)
{
    CLEANUP_WORLD struct world w;
    char text[8];

    world_init(&w);
    world_code(&w, &admin, HTTP_POST, QUOTAS,
               "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{"
               "\"count/configmaps\":\"5\"}}}");
    world_code(&w, &admin, HTTP_PATCH, QUOTAS "/q/status",
               "{\"status\":{\"hard\":{\"count/configmaps\":\"5\"},\"used\":{"
               "\"count/configmaps\":\"0\"}}}");
    ck_assert_int_eq(ask_spoilt(&w, HTTP_POST, MAPS), 500);
    ck_assert_ptr_null(find_map(&w, "m"));
    ck_assert_str_eq(used(&w, text), "0");

    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, MAPS,
                                "{\"metadata\":{\"name\":\"m\"},\"data\":{\"k\":\"old\"}}"),
                     201);
    ck_assert_str_eq(used(&w, text), "1");
    ck_assert_int_eq(ask_spoilt(&w, HTTP_PUT, MAPS "/m"), 500);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_GET, MAPS "/m", NULL);

        ck_assert_str_eq(answer_get(&a, "data.k"), "old");
    }
}
END_TEST

SUITE("put", several_objects_go_into_one_transaction, a_tree_that_does_not_fit_its_kind_is_not_put,
      nor_is_an_object_taken_out_with_one,
      a_request_that_makes_such_a_tree_is_answered_500_and_stores_nothing)
