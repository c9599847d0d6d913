/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/group_nodes.h"

#include <errno.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/client/client.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"

/* A controller that takes one request at a time and answers when the test tells
 * it to.
 */
static struct {
    struct client client;
    struct client_call call;
    client_done_fn *done;
    void *context;
    unsigned asked;
    unsigned cancelled;
    bool is_wanted;
} controller;

static struct client_call *
ask(struct client *client, UNUSED struct arena *arena, const struct client_request *request,
    client_done_fn *done, void *context)
{
    ck_assert_ptr_eq(request->kind, &pod_group_kind);
    ck_assert_str_eq(request->namespace, "physics");
    ck_assert_str_eq(request->name, "job-7");
    controller.call.client = client;
    controller.done = done;
    controller.context = context;
    if (++controller.asked > 1)
        loop_stop(client->loop);
    return &controller.call;
}

static void
cancel(UNUSED struct client_call *call)
{
    controller.cancelled++;
}

static struct {
    unsigned calls;
    int code;
    char list[64];
} got;

static void
on_got(const char *list, const struct error *err, UNUSED void *context)
{
    got.calls++;
    got.code = err != NULL ? err->code : 0;
    strcpy(got.list, list != NULL ? list : "none");
    loop_stop(controller.client.loop);
}

static bool
is_wanted(UNUSED void *context)
{
    return controller.is_wanted;
}

static struct group_nodes *
begin(void)
{
    static const struct client_ops ops = {.call = ask, .cancel = cancel};
    struct group_nodes *g;

    memset(&controller, 0, sizeof(controller));
    memset(&got, 0, sizeof(got));
    controller.client.ops = &ops;
    controller.client.loop = loop_new();
    controller.is_wanted = true;
    g = group_nodes_new(&controller.client);
    group_nodes_get(g, &(struct group_nodes_question){
                           .namespace = "physics",
                           .group = "job-7",
                           .node = "n2",
                           .is_wanted = is_wanted,
                           .got = on_got,
                       });
    return g;
}

static void
end(struct group_nodes *g)
{
    group_nodes_free(g);
    loop_free(controller.client.loop);
}

static void
answer(int code, const char *spec, const char *status)
{
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"job-7\",\"namespace\":\"physics\"},\"spec\":{"
                  "\"schedulingPolicy\":{\"gang\":{\"minCount\":2}}%s},\"status\":{%s}}",
                  spec, status);
    const struct object *group = NULL;

    ck_assert_int_eq(object_parse(&pod_group_kind, text, strlen(text), &group, NULL), 0);
    controller.done(&(struct client_reply){.code = code, .object = code == 200 ? group : NULL},
                    controller.context);
    object_unref(group);
}

#define APART ",\"onePerNode\":true"

START_TEST(the_list_that_names_the_node_is_the_answer)
{
    struct group_nodes *g = begin();

    answer(200, APART, "\"nodes\":\"n[1-3]\"");
    ck_assert_uint_eq(got.calls, 1);
    ck_assert_str_eq(got.list, "n[1-3]");
    ck_assert_uint_eq(controller.asked, 1);
    end(g);
}
END_TEST

START_TEST(a_group_without_such_a_list_has_none)
{
    static const struct {
        int code;
        const char *spec;
    } cases[] = {{404, APART}, {403, APART}, {200, ""}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct group_nodes *g = begin();

        answer(cases[i].code, cases[i].spec, "");
        ck_assert_uint_eq(got.calls, 1);
        ck_assert_str_eq(got.list, "none");
        ck_assert_int_eq(got.code, 0);
        end(g);
    }
}
END_TEST

/* A pod that was bound before the others of its group. */
START_TEST(the_agent_asks_again_until_the_list_names_the_node)
{
    static const char *const first[] = {"", "\"nodes\":\"n[1,3]\"", "\"nodes\":\"n[1\""};

    for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
        struct group_nodes *g = begin();

        answer(200, APART, first[i]);
        ck_assert_uint_eq(got.calls, 0);
        loop_run(controller.client.loop);
        ck_assert_uint_eq(controller.asked, 2);
        answer(200, APART, "\"nodes\":\"n[1-2]\"");
        ck_assert_str_eq(got.list, "n[1-2]");
        end(g);
    }
}
END_TEST

START_TEST(the_agent_gives_up_when_the_pod_is_not_wanted_any_more)
{
    struct group_nodes *g = begin();

    answer(200, APART, "");
    controller.is_wanted = false;
    loop_run(controller.client.loop);
    ck_assert_uint_eq(controller.asked, 1);
    ck_assert_uint_eq(got.calls, 1);
    ck_assert_str_eq(got.list, "none");
    end(g);
}
END_TEST

START_TEST(a_request_under_way_is_cancelled_at_the_end)
{
    struct group_nodes *g = begin();

    end(g);
    ck_assert_uint_eq(controller.cancelled, 1);
    ck_assert_uint_eq(got.calls, 1);
    ck_assert_int_eq(got.code, -ECANCELED);
}
END_TEST

SUITE("group_nodes", the_list_that_names_the_node_is_the_answer,
      a_group_without_such_a_list_has_none, the_agent_asks_again_until_the_list_names_the_node,
      the_agent_gives_up_when_the_pod_is_not_wanted_any_more,
      a_request_under_way_is_cancelled_at_the_end)
