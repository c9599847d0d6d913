/* SPDX-License-Identifier: Apache-2.0 */
/* Over HTTP: authentication, answers, and watches as streams. */
#include "controller/apiserver/http_handler.h"

#include <unistd.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/house.h"

START_TEST(health_and_version_are_told_to_anybody)
{
    CLEANUP_HOUSE struct house h;

    house_init(&h);
    {
        CLEANUP_EXCHANGE struct exchange health = ask(&h, h.remote, HTTP_GET, "/healthz", NULL);
        CLEANUP_EXCHANGE struct exchange version = ask(&h, h.remote, HTTP_GET, "/version", NULL);

        ck_assert_int_eq(health.status, 200);
        ck_assert_str_eq(health.text, "ok");
        ck_assert_int_eq(version.status, 200);
        ck_assert_ptr_nonnull(strstr(version.text, "\"minor\":\"32\""));
    }
}
END_TEST

START_TEST(nobody_else_is_let_in_without_proof)
{
    CLEANUP_HOUSE struct house h;

    house_init(&h);
    {
        CLEANUP_EXCHANGE struct exchange e =
            ask(&h, h.remote, HTTP_GET, "/api/v1/namespaces", NULL);

        ck_assert_int_eq(e.status, 401);
        ck_assert_ptr_nonnull(strstr(e.text, "\"Unauthorized\""));
    }
}
END_TEST

START_TEST(a_local_peer_is_who_the_kernel_says)
{
    CLEANUP_HOUSE struct house h;

    house_init(&h);
    {
        CLEANUP_EXCHANGE struct exchange made = ask(&h, h.local, HTTP_POST, PODS, POD("a"));
        CLEANUP_EXCHANGE struct exchange got = ask(&h, h.local, HTTP_GET, PODS "/a", NULL);
        CLEANUP_FREE char *uid = xasprintf("\"runAsUser\":%u", (unsigned)getuid());

        ck_assert_int_eq(made.status, 201);
        ck_assert_str_eq(made.type, "application/json");
        ck_assert_str_eq(got.text, made.text);
        ck_assert_ptr_nonnull(strstr(got.text, uid));
    }
}
END_TEST

START_TEST(paths_that_are_none_are_404)
{
    CLEANUP_HOUSE struct house h;

    house_init(&h);
    {
        CLEANUP_EXCHANGE struct exchange text = ask(&h, h.local, HTTP_GET, "/nonsense", NULL);
        CLEANUP_EXCHANGE struct exchange status =
            ask(&h, h.local, HTTP_GET, "/api/v1/widgets", NULL);
        CLEANUP_EXCHANGE struct exchange method = ask(&h, h.local, HTTP_PUT, PODS, "{}");

        ck_assert_int_eq(text.status, 404);
        ck_assert_str_eq(text.text, "404 page not found\n");
        ck_assert_int_eq(status.status, 404);
        ck_assert_ptr_nonnull(strstr(status.text, "\"NotFound\""));
        ck_assert_int_eq(method.status, 405);
    }
}
END_TEST

START_TEST(conformance_has_none_of_kilns_paths_and_one_identity)
{
    static const struct {
        enum http_method method;
        const char *target;
    } kilns[] = {
        {HTTP_GET, "/kiln/v1/whoami"},
        {HTTP_GET, "/kiln/v1/timeline"},
        {HTTP_GET, "/kiln/v1/controllers"},
        {HTTP_POST, "/kiln/v1/pipelines"},
        {HTTP_POST, "/kiln/v1/podreports"},
        {HTTP_POST, "/kiln/v1/scheduling/pause"},
        {HTTP_POST, "/kiln/v1/metrics-token?name=a"},
        {HTTP_GET, PODS "/a/why"},
        {HTTP_GET, "/apis/batch/v1/namespaces/default/jobs/j/script"},
        {HTTP_GET, "/apis/kiln.hpc/v1/partitions"},
        {HTTP_GET, "/apis/metrics.k8s.io/v1beta1/nodes"},
    };
    CLEANUP_HOUSE struct house h;

    house_init(&h);
    for (int conforms = 0; conforms < 2; conforms++) {
        h.w.server->profile = conforms ? &api_profile_conformance : &api_profile_kiln;
        for (size_t i = 0; i < ARRAY_SIZE(kilns); i++) {
            CLEANUP_EXCHANGE struct exchange e = ask(&h, h.local, kilns[i].method, kilns[i].target,
                                                     kilns[i].method == HTTP_POST ? "{}" : NULL);
            const bool is_unknown = e.status == 404
                                    && (strstr(e.text, "could not find the requested") != NULL
                                        || strstr(e.text, "page not found") != NULL);

            ck_assert_msg(is_unknown == conforms, "%s (%d): %d %s", kilns[i].target, conforms,
                          e.status, e.text);
        }
    }
    {
        CLEANUP_EXCHANGE struct exchange unproven = ask(&h, h.remote, HTTP_GET, PODS, NULL);
        CLEANUP_EXCHANGE struct exchange who =
            ask(&h, h.local, HTTP_POST, "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                "{\"kind\":\"SelfSubjectReview\",\"apiVersion\":\"authentication.k8s.io/v1\"}");

        ck_assert_int_eq(unproven.status, 401);
        ck_assert_ptr_nonnull(strstr(who.text, "\"username\":\"admin\",\"uid\":\"u1\""));
    }
}
END_TEST

START_TEST(a_watch_tells_the_state_and_then_what_changes)
{
    CLEANUP_HOUSE struct house h;
    struct listener l = {0};
    struct http_call *call;

    house_init(&h);
    l.loop = h.w.loop;
    strbuf_init(&l.text);
    world_code(&h.w, &alice, HTTP_POST, PODS, POD("a"));

    call = listen_to(&h, &l, PODS "?watch=1");
    while (l.lines < 1)
        loop_run(h.w.loop);
    ck_assert_ptr_nonnull(strstr(l.text.text, "{\"type\":\"ADDED\",\"object\":{\"kind\":"));
    world_code(&h.w, &alice, HTTP_DELETE, PODS "/a", NULL);
    while (l.lines < 2)
        loop_run(h.w.loop);
    ck_assert_ptr_nonnull(strstr(l.text.text, "{\"type\":\"DELETED\""));
    http_call_cancel(call);
    strbuf_fini(&l.text);
}
END_TEST

START_TEST(an_object_that_leaves_a_selection_is_deleted_and_added_when_it_returns)
{
    CLEANUP_HOUSE struct house h;
    struct listener l = {0};
    struct http_call *call;
    const char *first, *second, *third;

    house_init(&h);
    l.loop = h.w.loop;
    strbuf_init(&l.text);
    world_code(&h.w, &alice, HTTP_POST, PODS, POD("a"));
    call = listen_to(&h, &l, PODS "?watch=1&labelSelector=kiln.hpc/user,!gone");
    while (l.lines < 1)
        loop_run(h.w.loop);
    for (unsigned i = 0; i < 2; i++)
        world_code(&h.w, &alice, HTTP_PATCH, PODS "/a",
                   i == 0 ? "{\"metadata\":{\"labels\":{\"gone\":\"1\"}}}"
                          : "{\"metadata\":{\"labels\":{\"gone\":null}}}");

    while (l.lines < 3)
        loop_run(h.w.loop);

    first = strstr(l.text.text, "\"type\":\"ADDED\"");
    ck_assert_ptr_nonnull(first);
    second = strstr(first, "\"type\":\"DELETED\"");
    ck_assert_ptr_nonnull(second);
    third = strstr(second, "\"type\":\"ADDED\"");
    ck_assert_ptr_nonnull(third);
    http_call_cancel(call);
    strbuf_fini(&l.text);
}
END_TEST

static void
end_pod(struct house *h, const char *name)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s/status", name);

    ck_assert_int_eq(
        world_code(&h->w, &agent_n1, HTTP_PATCH, target, "{\"status\":{\"phase\":\"Succeeded\"}}"),
        200);
}

#define ON_N1 PODS "?watch=1&fieldSelector=spec.nodeName%3Dn1"

/* Two watches, a user's and an agent's: does the user's get the end of a pod
 * first? The agent's must get it before the binding of the next pod.
 */
static bool
holds_the_end(struct house *h)
{
    struct listener user = {.loop = h->w.loop, .text = STRBUF_INIT};
    struct listener agent = {.loop = h->w.loop, .text = STRBUF_INIT};
    struct http_call *calls[2];
    bool is_held;

    world_code(&h->w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&h->w, &alice, HTTP_POST, PODS, POD("b"));
    bind_to_n1(h, "a");
    calls[0] = listen_as(h->local, &user, ON_N1);
    calls[1] = listen_as(h->agent, &agent, ON_N1);
    wait_for(h, &user, "\n");
    wait_for(h, &agent, "\n");

    end_pod(h, "a");
    wait_for(h, &user, "Succeeded");
    {
        CLEANUP_EXCHANGE struct exchange e = ask(h, h->remote, HTTP_GET, "/healthz", NULL);

        ck_assert_int_eq(e.status, 200);
        is_held = strstr(agent.text.text, "Succeeded") == NULL;
    }
    bind_to_n1(h, "b");
    wait_for(h, &agent, "\"name\":\"b\"");
    ck_assert_ptr_nonnull(strstr(agent.text.text, "Succeeded"));
    ck_assert(strstr(agent.text.text, "Succeeded") < strstr(agent.text.text, "\"name\":\"b\""));

    for (unsigned i = 0; i < 2; i++)
        http_call_cancel(calls[i]);
    strbuf_fini(&user.text);
    strbuf_fini(&agent.text);
    for (unsigned i = 0; i < 2; i++)
        world_code(&h->w, &admin, HTTP_DELETE,
                   i == 0 ? PODS "/a?gracePeriodSeconds=0" : PODS "/b?gracePeriodSeconds=0", NULL);
    return is_held;
}

/* An end is held for 200 ms, which a busy machine may take for the rest. */
START_TEST(an_agents_watch_holds_the_end_of_a_pod)
{
    CLEANUP_HOUSE struct house h;
    unsigned attempts = 20;

    house_init(&h);
    while (attempts > 0 && !holds_the_end(&h))
        attempts--;
    ck_assert_uint_gt(attempts, 0);
}
END_TEST

/* Nothing but its timer sends it. */
START_TEST(an_agent_gets_the_end_of_a_pod_that_stays)
{
    CLEANUP_HOUSE struct house h;
    struct listener l = {.text = STRBUF_INIT};
    struct http_call *call;

    house_init(&h);
    l.loop = h.w.loop;
    world_code(&h.w, &alice, HTTP_POST, PODS, POD("a"));
    bind_to_n1(&h, "a");
    call = listen_as(h.agent, &l, ON_N1);
    wait_for(&h, &l, "\n");
    end_pod(&h, "a");
    wait_for(&h, &l, "Succeeded");
    http_call_cancel(call);
    strbuf_fini(&l.text);
}
END_TEST

START_TEST(a_watch_of_what_is_forgotten_ends_with_410)
{
    CLEANUP_HOUSE struct house h;

    house_init(&h);
    world_code(&h.w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&h.w, &alice, HTTP_POST, PODS, POD("b"));
    store_compact(h.w.store, store_revision(h.w.store));
    {
        CLEANUP_EXCHANGE struct exchange e =
            ask(&h, h.local, HTTP_GET, PODS "?watch=1&resourceVersion=1", NULL);

        ck_assert_int_eq(e.status, 200);
        ck_assert_ptr_nonnull(strstr(e.text, "\"type\":\"ERROR\""));
        ck_assert_ptr_nonnull(strstr(e.text, "\"code\":410"));
    }
}
END_TEST

SUITE("http_handler", health_and_version_are_told_to_anybody, nobody_else_is_let_in_without_proof,
      a_local_peer_is_who_the_kernel_says, paths_that_are_none_are_404,
      conformance_has_none_of_kilns_paths_and_one_identity,
      a_watch_tells_the_state_and_then_what_changes,
      an_object_that_leaves_a_selection_is_deleted_and_added_when_it_returns,
      an_agents_watch_holds_the_end_of_a_pod, an_agent_gets_the_end_of_a_pod_that_stays,
      a_watch_of_what_is_forgotten_ends_with_410)
