/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "controller/apiserver/objects/job_placement.h"
#include "lib/api/node/node.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "testsuite/lib/suite.h"

#define NODES "/api/v1/nodes"

static const struct principal lifecycle_room = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

/* Alice's Job j with a time limit, and its pod. */
static void
make_job_with(struct world *w, const char *more)
{
    CLEANUP_FREE char *body = NULL;
    CLEANUP_FREE char *job =
        xasprintf("{\"metadata\":{\"name\":\"j\"},\"spec\":{%s\"script\":{\"text\":"
                  "\"#!/bin/sh\\n\"},\"backoffLimit\":0,\"template\":{\"spec\":{"
                  "\"activeDeadlineSeconds\":60,\"restartPolicy\":\"Never\","
                  "\"containers\":[{\"name\":\"main\",\"image\":\"host\"}]}}}}",
                  more);
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_POST, JOBS, job);

    ck_assert_msg(a.code == 201, "%s", a.text);
    body = xasprintf("{\"metadata\":{\"name\":\"j-0\",\"ownerReferences\":[{"
                     "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
                     "\"j\",\"uid\":\"%s\",\"controller\":true}]},\"spec\":{"
                     "\"activeDeadlineSeconds\":60,\"restartPolicy\":"
                     "\"Never\",\"containers\":[{\"name\":\"main\"}]}}",
                     answer_get(&a, "metadata.uid"));
    ck_assert_int_eq(world_code(w, &lifecycle_room, HTTP_POST, PODS, body), 201);
}

static void
make_job(struct world *w)
{
    make_job_with(w, "");
}

static struct answer
patch(struct world *w, const struct principal *who, const char *template_spec)
{
    CLEANUP_FREE char *body = xasprintf("{\"spec\":{\"template\":{\"spec\":{%s}}}}", template_spec);

    return world_ask(w, who, HTTP_PATCH, JOBS "/j", body);
}

static int
code(struct world *w, const struct principal *who, const char *template_spec)
{
    CLEANUP_ANSWER struct answer a = patch(w, who, template_spec);

    return a.code;
}

static void
is_refused(struct world *w, const struct principal *who, const char *template_spec,
           const char *words)
{
    CLEANUP_ANSWER struct answer a = patch(w, who, template_spec);

    ck_assert_msg(a.code == 403 && strstr(a.text, "JobUpdate: ") != NULL
                      && strstr(a.text, words) != NULL,
                  "%s", a.text);
}

static int
bind_pod(struct world *w, const char *metadata)
{
    CLEANUP_FREE char *body =
        xasprintf("{\"metadata\":{%s},\"target\":{\"name\":\"n1\"}}", metadata);

    return world_code(w, &scheduler_room, HTTP_POST, PODS "/j-0/binding", body);
}

#define NUMBER(n) "\"annotations\":{\"kiln.hpc/update\":\"" n "\"}"
#define SELECTS   "\"nodeSelector\":{\"a\":\"b\"}"

START_TEST(a_pod_gets_a_node_only_as_its_job_says)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_job(&w);
    {
        CLEANUP_ANSWER struct answer a = patch(&w, &alice, SELECTS);

        ck_assert_msg(a.code == 200, "%s", a.text);
        ck_assert_ptr_nonnull(strstr(a.text, "\"kiln.hpc/update\":\"1\""));
    }
    ck_assert_int_eq(bind_pod(&w, ""), 409);

    /* The job controller has updated the pod; the scheduler does not know that
     * yet.
     */
    ck_assert_int_eq(world_code(&w, &lifecycle_room, HTTP_PATCH, PODS "/j-0",
                                "{\"metadata\":{" NUMBER("1") "},\"spec\":{" SELECTS "}}"),
                     200);
    ck_assert_int_eq(bind_pod(&w, ""), 409);
    ck_assert_int_eq(bind_pod(&w, NUMBER("1")), 201);
}
END_TEST

START_TEST(the_number_and_the_pod_are_not_the_users_to_write)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_job(&w);
    ck_assert_int_eq(code(&w, &alice, SELECTS), 200);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_PATCH, JOBS "/j", "{\"metadata\":{" NUMBER("7") "}}");

        ck_assert_int_eq(a.code, 200);
        ck_assert_ptr_nonnull(strstr(a.text, "\"kiln.hpc/update\":\"1\""));
    }
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_PATCH, PODS "/j-0", "{\"metadata\":{" NUMBER("1") "}}"), 403);
    ck_assert_int_eq(world_code(&w, &lifecycle_room, HTTP_PATCH, PODS "/j-0",
                                "{\"metadata\":{" NUMBER("2") "},\"spec\":{" SELECTS "}}"),
                     403);
    ck_assert_int_eq(
        world_code(&w, &lifecycle_room, HTTP_PATCH, PODS "/j-0", "{\"spec\":{" SELECTS "}}"), 422);
}
END_TEST

START_TEST(the_program_of_a_job_never_changes)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_job(&w);
    ck_assert_int_eq(code(&w, &alice, "\"hostname\":\"x\""), 422);
    ck_assert_int_eq(code(&w, &admin, "\"hostname\":\"x\"," SELECTS), 422);
}
END_TEST

START_TEST(without_kilns_rules_a_template_is_immutable)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_job(&w);
    w.server->profile = &api_profile_conformance;
    ck_assert_int_eq(code(&w, &alice, SELECTS), 422);
    ck_assert_int_eq(code(&w, &alice, "\"activeDeadlineSeconds\":5"), 422);
}
END_TEST

START_TEST(a_running_jobs_limit_is_lowered_by_its_owner_and_raised_by_operators)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_job(&w);
    ck_assert_int_eq(code(&w, &alice, "\"activeDeadlineSeconds\":90"), 200);
    ck_assert_int_eq(code(&w, &alice, "\"activeDeadlineSeconds\":60"), 200);
    ck_assert_int_eq(world_code(&w, &lifecycle_room, HTTP_PATCH, PODS "/j-0",
                                "{\"metadata\":{" NUMBER("2") "}}"),
                     200);
    ck_assert_int_eq(bind_pod(&w, NUMBER("2")), 201);

    is_refused(&w, &alice, SELECTS, "it has a node already (n1)");
    is_refused(&w, &alice, "\"activeDeadlineSeconds\":61", "you may lower it");
    is_refused(&w, &alice, "\"activeDeadlineSeconds\":null", "you may lower it");
    ck_assert_int_eq(code(&w, &alice, "\"activeDeadlineSeconds\":50"), 200);
    ck_assert_int_eq(code(&w, &operator_, "\"activeDeadlineSeconds\":99"), 200);
    ck_assert_int_eq(world_code(&w, &lifecycle_room, HTTP_PATCH, PODS "/j-0",
                                "{\"metadata\":{" NUMBER("4") "},\"spec\":{"
                                                              "\"activeDeadlineSeconds\":99}}"),
                     200);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_PATCH, JOBS "/j", "{}"), 403);
}
END_TEST

/* The change is for the tasks that wait; the job controller leaves the others as
 * they are.
 */
START_TEST(an_array_changes_while_some_of_its_tasks_run)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_job_with(&w, "\"array\":{\"tasks\":\"0-9\"},");
    ck_assert_int_eq(bind_pod(&w, ""), 201);
    ck_assert_int_eq(code(&w, &alice, "\"activeDeadlineSeconds\":90," SELECTS), 200);
    ck_assert_int_eq(code(&w, &alice, "\"activeDeadlineSeconds\":null"), 200);
    ck_assert_int_eq(code(&w, &alice, "\"hostname\":\"x\""), 422);
    ck_assert_int_eq(code(&w, &bob, SELECTS), 403);
}
END_TEST

START_TEST(an_agent_of_the_release_before_is_named)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    make_job(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1\"}}"),
                     201);
    ck_assert_int_eq(bind_pod(&w, ""), 201);
    is_refused(&w, &alice, "\"activeDeadlineSeconds\":50",
               "the agent of node n1 is of an earlier release");
    ck_assert_int_eq(world_code(&w, &admin, HTTP_PATCH, NODES "/n1/status",
                                "{\"status\":{\"agentFeatures\":["
                                "\"ChangedLimit\"]}}"),
                     200);
    ck_assert_int_eq(code(&w, &alice, "\"activeDeadlineSeconds\":50"), 200);
}
END_TEST

#define SIBLINGS 400

static void
make_siblings(struct world *w, const char *uid)
{
    for (unsigned i = 1; i <= SIBLINGS; i++) {
        CLEANUP_FREE char *body =
            xasprintf("{\"metadata\":{\"name\":\"j-%u\",\"ownerReferences\":[{"
                      "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","
                      "\"uid\":\"%s\",\"controller\":true}]},\"spec\":{"
                      "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\"}]}}",
                      i, uid);
        CLEANUP_FREE char *path = xasprintf(PODS "/j-%u/binding", i);

        ck_assert_int_eq(world_code(w, &lifecycle_room, HTTP_POST, PODS, body), 201);
        if (i % 2 == 0)
            ck_assert_int_eq(
                world_code(w, &scheduler_room, HTTP_POST, path, "{\"target\":{\"name\":\"n1\"}}"),
                201);
    }
}

/* The program is linked so that visits by index call this function. */
static unsigned n_visited;

struct counted_visit {
    store_visit_fn *visit;
    void *context;
};

static bool
count_visit(const struct object *object, void *context)
{
    const struct counted_visit *c = context;

    n_visited++;
    return c->visit(object, c->context);
}

void __real_store_visit_index(const struct store *store, const struct kind *kind, unsigned index,
                              enum store_head head, const char *value, store_visit_fn *visit,
                              void *context);
void __wrap_store_visit_index(const struct store *store, const struct kind *kind, unsigned index,
                              enum store_head head, const char *value, store_visit_fn *visit,
                              void *context);

void
__wrap_store_visit_index(const struct store *store, const struct kind *kind, unsigned index,
                         enum store_head head, const char *value, store_visit_fn *visit,
                         void *context)
{
    struct counted_visit c = {visit, context};

    __real_store_visit_index(store, kind, index, head, value, count_visit, &c);
}

START_TEST(a_large_job_is_judged_without_a_look_at_its_pods)
{
    CLEANUP_WORLD struct world w;
    const struct object *job;

    world_init(&w);
    make_job(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1\"}}"),
                     201);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_PATCH, NODES "/n1/status",
                                "{\"status\":{\"agentFeatures\":["
                                "\"ChangedLimit\",\"Freeze\"]}}"),
                     200);
    job = store_find(w.store, STORE_PENDING, &job_kind, "default", "j");
    n_visited = 0;
    ck_assert_ptr_null(job_placement_find(w.server, job, NODE_FEATURE_CHANGED_LIMIT).node);
    ck_assert_uint_eq(n_visited, 0);
    make_siblings(&w, job->meta->uid);
    job = store_find(w.store, STORE_PENDING, &job_kind, "default", "j");

    n_visited = 0;
    ck_assert_str_eq(job_placement_find(w.server, job, NODE_FEATURE_CHANGED_LIMIT).node, "n1");
    ck_assert_uint_eq(n_visited, 1);
    ck_assert_int_eq(code(&w, &alice, "\"activeDeadlineSeconds\":50"), 200);
}
END_TEST

SUITE("admission_job_update", a_pod_gets_a_node_only_as_its_job_says,
      the_number_and_the_pod_are_not_the_users_to_write, the_program_of_a_job_never_changes,
      without_kilns_rules_a_template_is_immutable,
      a_running_jobs_limit_is_lowered_by_its_owner_and_raised_by_operators,
      an_array_changes_while_some_of_its_tasks_run, an_agent_of_the_release_before_is_named,
      a_large_job_is_judged_without_a_look_at_its_pods)
