/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include <inttypes.h>

#include "testsuite/lib/suite.h"

static void
make_pods(struct world *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_FREE char *body =
            xasprintf("{\"metadata\":{\"name\":\"p-%u\",\"labels\":{\"odd\":\"%u\"}},"
                      "\"spec\":{\"containers\":[{\"name\":\"main\"}]}}",
                      i, i % 2);

        ck_assert_int_eq(world_code(w, &alice, HTTP_POST, PODS, body), 201);
    }
}

static const char *
name_at(const struct answer *a, uint32_t index)
{
    return json_path_text(json_at(json_get(a->body, "items"), index), "metadata.name");
}

START_TEST(pages_are_of_one_revision)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_pods(&w, 5);
    {
        CLEANUP_ANSWER struct answer first = world_ask(&w, &alice, HTTP_GET, PODS "?limit=2", NULL);
        CLEANUP_FREE char *target =
            xasprintf(PODS "?limit=2&continue=%s", answer_get(&first, "metadata.continue"));

        ck_assert_uint_eq(json_count(json_get(first.body, "items")), 2);
        ck_assert_int_eq(json_get_int(json_get(first.body, "metadata"), "remainingItemCount", 0),
                         3);
        world_code(&w, &alice, HTTP_DELETE, PODS "/p-2", NULL);
        world_code(&w, &alice, HTTP_POST, PODS, POD("p-10"));
        {
            CLEANUP_ANSWER struct answer second = world_ask(&w, &alice, HTTP_GET, target, NULL);

            ck_assert_str_eq(name_at(&second, 0), "p-2");
            ck_assert_str_eq(name_at(&second, 1), "p-3");
            ck_assert_str_eq(answer_get(&second, "metadata.resourceVersion"),
                             answer_get(&first, "metadata.resourceVersion"));
        }
    }
}
END_TEST

START_TEST(a_page_whose_history_is_gone_says_how_to_go_on)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_pods(&w, 4);
    {
        CLEANUP_ANSWER struct answer first = world_ask(&w, &alice, HTTP_GET, PODS "?limit=2", NULL);
        CLEANUP_FREE char *target =
            xasprintf(PODS "?limit=2&continue=%s", answer_get(&first, "metadata.continue"));

        make_pods(&w, 0);
        world_code(&w, &alice, HTTP_POST, PODS, POD("q"));
        store_compact(w.store, store_revision(w.store));
        {
            CLEANUP_ANSWER struct answer gone = world_ask(&w, &alice, HTTP_GET, target, NULL);
            CLEANUP_FREE char *fresh =
                xasprintf(PODS "?limit=2&continue=%s", answer_get(&gone, "metadata.continue"));
            CLEANUP_ANSWER struct answer second = world_ask(&w, &alice, HTTP_GET, fresh, NULL);

            ck_assert_int_eq(gone.code, 410);
            ck_assert_int_eq(second.code, 200);
            ck_assert_str_eq(name_at(&second, 0), "p-2");
        }
    }
}
END_TEST

START_TEST(selectors_find_by_label_field_and_name)
{
    static const struct {
        const char *query;
        unsigned count;
    } queries[] = {
        {"?labelSelector=odd%3D1", 2},
        {"?labelSelector=odd%20in%20(0,1)", 5},
        {"?fieldSelector=metadata.name%3Dp-3", 1},
        {"?fieldSelector=spec.nodeName%3D", 5},
        {"?fieldSelector=spec.nodeName%3Dn1", 0},
        {"?fieldSelector=spec.nodeName%3D,metadata.name!%3Dp-0&limit=2", 2},
        {"?labelSelector=odd%3D1&resourceVersion=0&limit=1", 2},
    };
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_pods(&w, 5);

    for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
        CLEANUP_FREE char *target = xasprintf(PODS "%s", queries[i].query);
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, target, NULL);

        ck_assert_msg(json_count(json_get(a.body, "items")) == queries[i].count, "%s: %s",
                      queries[i].query, a.text);
    }
}
END_TEST

#define BATCH 500u

/* Makes held jobs of a user, many per transaction. */
static void
make_jobs(struct world *w, const struct principal *who, unsigned count)
{
    static struct asked asked[BATCH];

    for (unsigned made = 0; made < count; made += BATCH) {
        for (unsigned i = 0; i < BATCH; i++) {
            CLEANUP_FREE char *body =
                xasprintf("{\"metadata\":{\"name\":\"%s-%05u\"},\"spec\":{\"suspend\":"
                          "true,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                          "\"containers\":[{\"name\":\"main\",\"command\":[\"a\"]}]}}}}",
                          who->name, made + i);

            asked[i] = (struct asked){0};
            world_begin(w,
                        &(struct question){.who = who,
                                           .method = HTTP_POST,
                                           .target = JOBS,
                                           .format = BODY_JSON,
                                           .body = body},
                        &asked[i]);
        }
        for (unsigned i = 0; i < BATCH; i++) {
            CLEANUP_ANSWER struct answer a = world_wait(w, &asked[i]);

            ck_assert_int_eq(a.code, 201);
        }
    }
}

/* Whether the whole list came in one turn of the loop. */
static bool
is_listed_at_once(struct world *w, const char *target, struct answer *ret)
{
    struct asked asked = {0};
    bool is_at_once;

    world_begin(w,
                &(struct question){
                    .who = &admin, .method = HTTP_GET, .target = target, .format = BODY_JSON},
                &asked);
    is_at_once = asked.awaited.is_here;
    *ret = world_wait(w, &asked);
    return is_at_once;
}

START_TEST(an_index_with_thousands_is_listed_in_slices)
{
    static const char of_alice[] = JOBS "?fieldSelector=spec.user%3Dalice,status.finished%3Dfalse";
    static const char of_bob[] = JOBS "?fieldSelector=spec.user%3Dbob,status.finished%3Dfalse";
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer few = {0}, many = {0};

    world_init(&w);
    make_jobs(&w, &bob, 500);
    make_jobs(&w, &alice, 4500);

    ck_assert(is_listed_at_once(&w, of_bob, &few));
    ck_assert_uint_eq(json_count(json_get(few.body, "items")), 500);
    ck_assert(!is_listed_at_once(&w, of_alice, &many));
    ck_assert_uint_eq(json_count(json_get(many.body, "items")), 4500);
    ck_assert_str_eq(name_at(&many, 0), "alice-00000");
    ck_assert_str_eq(name_at(&many, 4499), "alice-04499");
}
END_TEST

START_TEST(nonsense_in_a_query_is_refused)
{
    static const struct {
        const char *query;
        int code;
    } queries[] = {
        {"?limit=abc", 400},
        {"?limit=99999999999999999999", 400},
        {"?continue=garbage", 400},
        {"?labelSelector=a%20b", 400},
        {"?fieldSelector=spec.colour%3Dred", 400},
        {"?resourceVersion=999999999", 504},
        {"?resourceVersion=abc", 500},
        {"?resourceVersionMatch=Exact", 422},
        {"?resourceVersionMatch=Exact&resourceVersion=0", 422},
    };
    CLEANUP_WORLD struct world w;

    world_init(&w);

    for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
        CLEANUP_FREE char *target = xasprintf(PODS "%s", queries[i].query);

        ck_assert_msg(world_code(&w, &alice, HTTP_GET, target, NULL) == queries[i].code, "%s",
                      queries[i].query);
    }
}
END_TEST

SUITE("list_objects", pages_are_of_one_revision, a_page_whose_history_is_gone_says_how_to_go_on,
      selectors_find_by_label_field_and_name, an_index_with_thousands_is_listed_in_slices,
      nonsense_in_a_query_is_refused)
