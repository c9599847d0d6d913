/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/objects/status_change.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

#define BINDING "{\"target\":{\"name\":\"n1\"},\"allocation\":{\"memoryNodes\":\"0\"}}"

static const struct principal lifecycle = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

/* Applies the same patch twice: a redundant member makes the second take the
 * path of all patches.
 */
static struct answer
tell(struct world *w, const struct principal *who, enum body_format format, const char *target,
     const char *kind, const char *rest)
{
    CLEANUP_FREE char *at = xasprintf("%s/status", target);
    CLEANUP_FREE char *body =
        kind != NULL ? xasprintf("{\"kind\":\"%s\",%s}", kind, rest) : xasprintf("{%s}", rest);

    return world_put(
        w, &(struct question){
               .who = who, .method = HTTP_PATCH, .target = at, .format = format, .body = body});
}

/* Returns an answer without the members that differ for every object. */
static const char *
comparable(const struct answer *a)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *meta = json_get(a->body, "metadata");

    if (a->code < 300) {
        ck_assert(json_remove(meta, "name"));
        ck_assert(json_remove(meta, "uid"));
        ck_assert(json_remove(meta, "resourceVersion"));
    }
    json_print(a->body, &text);
    return arena_strdup(a->arena, text.text);
}

static void
check_alike(const struct answer *plain, const struct answer *whole, const char *what)
{
    ck_assert_msg(plain->code == whole->code && plain->n_warnings == whole->n_warnings,
                  "%s: %d (%u) %s, %d (%u) %s", what, plain->code, plain->n_warnings, plain->text,
                  whole->code, whole->n_warnings, whole->text);
    if (plain->code < 300)
        ck_assert_str_eq(comparable(plain), comparable(whole));
}

/* Reopens store and server with the data on the disk. */
static void
restart(struct world *w)
{
    struct error err = {0};

    loop_drain(w->loop);
    apiserver_stop(w->server);
    store_close(w->store);
    loop_drain(w->loop);
    apiserver_free(w->server);
    loop_drain(w->loop);
    ck_assert_int_eq(store_open(&(struct store_settings){.loop = w->loop,
                                                         .clock = &w->time.clock,
                                                         .location.directory = w->directory,
                                                         .moved = world_moved,
                                                         .moved_context = w,
                                                         .failed = world_failed,
                                                         .context = w},
                                &w->store, &err),
                     0);
    w->server = apiserver_new(&(struct apiserver_settings){.loop = w->loop,
                                                           .clock = &w->time.clock,
                                                           .store = w->store,
                                                           .workers = w->workers,
                                                           .counts = w->counts,
                                                           .profile = &api_profile_kiln,
                                                           .policy = &w->policy});
    loop_drain(w->loop);
}

static void
check_stored_alike(struct world *w, const char *plain, const char *whole)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &admin, HTTP_GET, plain, NULL);
    CLEANUP_ANSWER struct answer b = world_ask(w, &admin, HTTP_GET, whole, NULL);

    ck_assert_int_eq(a.code, 200);
    check_alike(&a, &b, plain);
}

static const char *const of_pods[] = {
    "\"status\":{\"phase\":\"Running\"}",
    "\"metadata\":{},\"status\":{\"phase\":\"Unknown\",\"reason\":\"NodeLost\","
    "\"message\":\"node \\\"n1\\\" }],\"}",
    "\"status\":{\"reason\":null,\"message\":null,\"phase\":\"Running\"}",
    "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
    "\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}]}",
    "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\","
    "\"reason\":\"Broken\"},{\"type\":\"Initialized\",\"status\":\"True\"}]}",
    "\"status\":{\"conditions\":[]}",
    "\"status\":{\"conditions\":null}",
    "\"status\":{\"startTime\":\"2026-01-02T03:04:05Z\",\"hostIP\":\"10.1.2.3\"}",
    "\"status\":{\"hostIP\":\"10.1.2.3\",\"hostIPs\":null}",
    "\"status\":{\"podIP\":\"10.0.0.1\"}",
    "\"status\":{\"podIP\":\"nowhere\"}",
    "\"status\":{\"observed\":{\"cpus\":\"0-3\",\"memoryNodes\":\"0\","
    "\"processes\":7}}",
    "\"status\":{\"observed\":null,\"usage\":{\"peakMemoryBytes\":12345678901}}",
    "\"status\":{\"cause\":{\"code\":\"NoNode\",\"message\":\"0/1\"}}",
    "\"status\":{\"cause\":null,\"frozenMicroseconds\":0}",
    "\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\""
    ":{\"startedAt\":\"2026-01-02T03:04:05Z\"}},\"lastState\":{},\"ready\":true,"
    "\"restartCount\":0,\"image\":\"host\",\"imageID\":\"\",\"started\":true}]}",
    "\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"state\":{"
    "\"terminated\":{\"exitCode\":3,\"reason\":\"Error\"}},\"ready\":false,"
    "\"restartCount\":0,\"image\":\"host\",\"imageID\":\"\"}]}",
    "\"status\":{\"qosClass\":\"Guaranteed\"}",
    "\"status\":{\"qosClass\":null}",
    "\"status\":{\"allocation\":null}",
    "\"status\":{\"allocation\":{\"cpus\":\"7\"}}",
    "\"status\":{\"phase\":7}",
    "\"status\":{\"unheardOf\":1,\"phase\":\"Running\"}",
    "\"status\":{\"nominatedNodeName\":\"-\"}",
    "\"status\":{}",
    "\"status\":null",
    "\"status\":{\"conditions\":[{\"type\":\"a b\",\"status\":\"True\"}]}",
    "\"metadata\":{\"labels\":{\"a\":\"b\"}},\"status\":{\"phase\":\"Pending\"}",
    "\"metadata\":{\"uid\":\"another\"},\"status\":{\"phase\":\"Pending\"}",
    "\"metadata\":{\"resourceVersion\":\"1\"},\"status\":{\"phase\":\"Pending\"}",
    "\"spec\":{\"priority\":7},\"status\":{\"phase\":\"Pending\"}",
};

static uint32_t
next_number(uint32_t *state)
{
    *state = *state * 1103515245 + 12345;
    return *state >> 16;
}

START_TEST(a_status_is_patched_alike_without_a_tree_and_with_one)
{
    CLEANUP_WORLD struct world w;
    uint32_t state = 1;

    world_init(&w);
    for (unsigned i = 0; i < 6; i++) {
        CLEANUP_FREE char *plain = xasprintf(PODS "/a%u", i);
        CLEANUP_FREE char *whole = xasprintf(PODS "/b%u", i);
        const char *names[] = {plain, whole};

        for (unsigned k = 0; k < 2; k++) {
            CLEANUP_FREE char *pod = xasprintf(POD("%c%u"), k == 0 ? 'a' : 'b', i);
            CLEANUP_FREE char *at = xasprintf("%s/binding", names[k]);

            ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS, pod), 201);
            ck_assert_int_eq(world_code(&w, &scheduler_room, HTTP_POST, at, BINDING), 201);
        }
        for (unsigned k = 0; k < 60; k++) {
            const char *patch = of_pods[next_number(&state) % ARRAY_SIZE(of_pods)];
            enum body_format format =
                next_number(&state) % 2 ? BODY_STRATEGIC_PATCH : BODY_MERGE_PATCH;
            const struct principal *who = next_number(&state) % 3 ? &agent_n1 : &lifecycle;
            CLEANUP_ANSWER struct answer a = tell(&w, who, format, plain, NULL, patch);
            CLEANUP_ANSWER struct answer b = tell(&w, who, format, whole, "Pod", patch);

            check_alike(&a, &b, patch);
        }
        check_stored_alike(&w, plain, whole);
    }
    restart(&w);
    for (unsigned i = 0; i < 6; i++) {
        CLEANUP_FREE char *plain = xasprintf(PODS "/a%u", i);
        CLEANUP_FREE char *whole = xasprintf(PODS "/b%u", i);

        check_stored_alike(&w, plain, whole);
    }
}
END_TEST

START_TEST(an_end_is_said_once_and_stays)
{
    static const char *const ends[] = {
        "\"status\":{\"phase\":\"Succeeded\",\"reason\":\"Completed\"}",
        "\"status\":{\"phase\":\"Failed\"}",
        "\"status\":{\"message\":\"said late\"}",
        "\"status\":{\"phase\":\"Succeeded\",\"reason\":\"Completed\"}",
    };
    static const int codes[] = {200, 409, 200, 200};
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &scheduler_room, HTTP_POST, PODS "/a/binding", BINDING);
    for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
        CLEANUP_ANSWER struct answer a =
            tell(&w, &agent_n1, BODY_STRATEGIC_PATCH, PODS "/a", NULL, ends[i]);

        ck_assert_int_eq(a.code, codes[i]);
    }
}
END_TEST

static const char *const of_jobs[] = {
    "\"status\":{\"active\":1,\"startTime\":\"2026-01-02T03:04:05Z\"}",
    "\"status\":{\"active\":null,\"attempts\":3}",
    "\"status\":{\"state\":\"Running\",\"ready\":1}",
    "\"status\":{\"succeeded\":1}",
    "\"status\":{\"succeeded\":0}",
    "\"status\":{\"failed\":2}",
    "\"status\":{\"failed\":-1}",
    "\"status\":{\"id\":12}",
    "\"status\":{\"completedIndexes\":\"1,3-5\"}",
    "\"status\":{\"cause\":{\"code\":\"Held\",\"message\":\"}\"}}",
    "\"status\":{\"cause\":null,\"exitCode\":3}",
    "\"status\":{\"lastRun\":{\"podName\":\"p\",\"exitCode\":1}}",
    "\"status\":{\"lastRun\":{\"exitCode\":null,\"reason\":\"Error\"}}",
    "\"status\":{\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\"}]}",
    "\"status\":{\"completionTime\":\"2026-01-02T03:04:05Z\"}",
};

START_TEST(a_status_of_a_job_is_patched_alike)
{
    CLEANUP_WORLD struct world w;
    uint32_t state = 7;

    world_init(&w);
    for (unsigned i = 0; i < 3; i++) {
        CLEANUP_FREE char *plain = xasprintf(JOBS "/a%u", i);
        CLEANUP_FREE char *whole = xasprintf(JOBS "/b%u", i);
        CLEANUP_FREE char *a = xasprintf(JOB("\"name\":\"a%u\""), i);
        CLEANUP_FREE char *b = xasprintf(JOB("\"name\":\"b%u\""), i);

        ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, JOBS, a), 201);
        ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, JOBS, b), 201);
        for (unsigned k = 0; k < 60; k++) {
            const char *patch = of_jobs[next_number(&state) % ARRAY_SIZE(of_jobs)];
            CLEANUP_ANSWER struct answer one =
                tell(&w, &lifecycle, BODY_MERGE_PATCH, plain, NULL, patch);
            CLEANUP_ANSWER struct answer other =
                tell(&w, &lifecycle, BODY_MERGE_PATCH, whole, "Job", patch);

            ck_assert_msg(one.code == other.code, "%s: %s, %s", patch, one.text, other.text);
        }
    }
    restart(&w);
    for (unsigned i = 0; i < 3; i++) {
        CLEANUP_FREE char *plain = xasprintf(JOBS "/a%u", i);
        CLEANUP_FREE char *whole = xasprintf(JOBS "/b%u", i);
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_GET, plain, NULL);
        CLEANUP_ANSWER struct answer b = world_ask(&w, &admin, HTTP_GET, whole, NULL);

        json_remove(json_get(a.body, "status"), "id");
        json_remove(json_get(b.body, "status"), "id");
        ck_assert_msg(json_equals(json_get(a.body, "status"), json_get(b.body, "status"))
                          && json_count(json_get(a.body, "spec"))
                                 == json_count(json_get(b.body, "spec")),
                      "%s\n%s", a.text, b.text);
    }
}
END_TEST

/* The rules of admission apply to submissions. Only where no tree of the pod is
 * made are they not checked again.
 */
START_TEST(the_end_of_a_pod_is_taken_though_a_rule_has_changed)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.allows_root_jobs = true;
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, PODS, POD("a")), 201);
    world_code(&w, &scheduler_room, HTTP_POST, PODS "/a/binding", BINDING);
    w.policy.allows_root_jobs = false;
    {
        CLEANUP_ANSWER struct answer a =
            tell(&w, &agent_n1, BODY_STRATEGIC_PATCH, PODS "/a", NULL, of_pods[0]);

        ck_assert_int_eq(a.code, 200);
        ck_assert_str_eq(answer_get(&a, "status.phase"), "Running");
    }
}
END_TEST

START_TEST(others_are_judged_by_the_whole)
{
    static const struct principal agent_n2 = {
        .type = PRINCIPAL_AGENT, .name = "root", .groups = no_groups, .n_groups = 1, .node = "n2"};
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &scheduler_room, HTTP_POST, PODS "/a/binding", BINDING);
    {
        CLEANUP_ANSWER struct answer user =
            tell(&w, &alice, BODY_STRATEGIC_PATCH, PODS "/a", NULL, of_pods[0]);
        CLEANUP_ANSWER struct answer other =
            tell(&w, &agent_n2, BODY_STRATEGIC_PATCH, PODS "/a", NULL, of_pods[0]);

        ck_assert_int_eq(user.code, 403);
        ck_assert_int_eq(other.code, 403);
    }
}
END_TEST

SUITE("status_change", a_status_is_patched_alike_without_a_tree_and_with_one,
      an_end_is_said_once_and_stays, a_status_of_a_job_is_patched_alike,
      the_end_of_a_pod_is_taken_though_a_rule_has_changed, others_are_judged_by_the_whole)
