/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/log_options.h"

#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

static const struct principal lifecycle UNUSED = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

/* Adds a pod of the Job with that uid. */
static void
add_pod(struct world *w, const char *name, const char *job_uid)
{
    CLEANUP_FREE char *body =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":"
                  "\"batch/v1\",\"kind\":\"Job\",\"name\":\"job-7\",\"uid\":\"%s\","
                  "\"controller\":true}]},\"spec\":{\"restartPolicy\":\"Never\","
                  "\"securityContext\":{\"runAsUser\":2001,\"runAsGroup\":2001},"
                  "\"containers\":[{\"name\":\"main\",\"command\":[\"x\"]}]}}",
                  name, job_uid);

    ck_assert_int_eq(world_code(w, &lifecycle, HTTP_POST, PODS, body), 201);
}

/* Returns the request to the agent; NULL, and the code of the refusal. */
static const char *
ask(struct world *w, struct request **ret_q, const struct principal *who, const char *target_text)
{
    struct request *q = request_new(w->server, arena_new(0));
    struct json *words = json_object(q->arena);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct target target;

    ck_assert_int_eq(target_parse(target_text, &target), 0);
    ck_assert_int_eq(route_find(q->arena, HTTP_GET, target.path, false, &q->route), ROUTE_FOUND);
    q->principal = who;
    q->scope = who->type == PRINCIPAL_USER ? SCOPE_OWN : SCOPE_ALL;
    q->options.parameters = world_parameters(q->arena, &target);
    q->options.n_parameters = target.n_parameters;
    target_fini(&target);
    *ret_q = q;
    if (log_options_read(q, words) == NULL)
        return NULL;
    json_remove(words, "uid");
    json_print(words, &text);
    return arena_strdup(q->arena, text.text);
}

static const struct {
    const struct principal *who;
    const char *target;
    const char *words; /* or NULL */
    int code;
} cases[] = {
    {&alice, PODS "/job-7-0/log?follow=1&tailLines=3&limitBytes=9",
     "{\"limitBytes\":9,\"tailLines\":3,\"follow\":true,\"timestamps\":false,"
     "\"container\":\"main\",\"type\":\"log\",\"namespace\":\"default\","
     "\"pod\":\"job-7-0\"}",
     0},
    {&alice, PODS "/job-7-0-r2/log?previous=true&timestamps=true",
     "{\"follow\":false,\"timestamps\":true,\"container\":\"main\",\"type\":"
     "\"log\",\"namespace\":\"default\",\"pod\":\"job-7-0-r1\"}",
     0},
    {&alice, PODS "/job-7-0-r1/log?previous=true",
     "{\"follow\":false,\"timestamps\":false,\"container\":\"main\",\"type\":"
     "\"log\",\"namespace\":\"default\",\"pod\":\"job-7-0\"}",
     0},
    {&alice, PODS "/job-7-0/log?previous=true", NULL, 400},
    /* a pod of another Job */
    {&alice, PODS "/job-8-0-r1/log?previous=true", NULL, 400},
    {&alice, PODS "/nope/log", NULL, 404},
    {&bob, PODS "/job-7-0/log", NULL, 403},
    {&alice, PODS "/job-7-0/log?container=x", NULL, 400},
    {&alice, PODS "/job-7-0/log?sinceTime=yesterday", NULL, 400},
    {&alice, PODS "/job-7-0/log?tailLines=-1", NULL, 422},
    {&alice, PODS "/job-7-0/log?sinceSeconds=0", NULL, 422},
    {&alice, PODS "/job-7-0/log?sinceSeconds=1&sinceTime=2026-01-01T00%3A00%3A00Z", NULL, 422},
};

START_TEST(options_are_checked_and_passed_on)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    add_pod(&w, "job-7-0", "u7");
    add_pod(&w, "job-7-0-r1", "u7");
    add_pod(&w, "job-7-0-r2", "u7");
    add_pod(&w, "job-8-0", "u7");
    add_pod(&w, "job-8-0-r1", "u8");

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        struct request *q;
        const char *words = ask(&w, &q, cases[i].who, cases[i].target);

        if (cases[i].words != NULL)
            ck_assert_str_eq(words, cases[i].words);
        else
            ck_assert_int_eq(q->reply.code, cases[i].code);
        request_free(q);
    }
}
END_TEST

SUITE("log question", options_are_checked_and_passed_on)
