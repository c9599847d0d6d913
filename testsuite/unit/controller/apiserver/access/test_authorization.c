/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization: each line of the table, with a second user. */
#include "controller/apiserver/access/authorization.h"

#include <sys/types.h>
#include <unistd.h>

#include "lib/api/cluster/lease.h"
#include "lib/api/job/job.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/world.h"

#define NODES  "/api/v1/nodes"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
#define PIPE   "/api/v1/namespaces"

static void
bind_to(struct world *w, const char *pod, const char *node)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s/binding", pod);
    CLEANUP_FREE char *body = xasprintf("{\"target\":{\"name\":\"%s\"}}", node);

    ck_assert_int_eq(world_code(w, &scheduler_room, HTTP_POST, target, body), 201);
}

START_TEST(a_user_changes_and_deletes_only_what_is_theirs)
{
    CLEANUP_WORLD struct world w;
    const char *patch = "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}";

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS, POD("a")), 201);

    ck_assert_int_eq(world_code(&w, &bob, HTTP_PATCH, PODS "/a", patch), 403);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_DELETE, PODS "/a", NULL), 403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, PODS "/a", patch), 200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_DELETE, PODS "/a", NULL), 200);
}
END_TEST

START_TEST(a_user_deletes_of_a_collection_only_what_is_theirs)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &bob, HTTP_POST, PODS, POD("b"));

    ck_assert_int_eq(world_code(&w, &bob, HTTP_DELETE, PODS, NULL), 200);

    ck_assert_int_eq(world_code(&w, &bob, HTTP_GET, PODS "/a", NULL), 200);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_GET, PODS "/b", NULL), 404);
}
END_TEST

START_TEST(a_user_submits_only_where_they_belong)
{
    CLEANUP_WORLD struct world w;
    const char *target = "/api/v1/namespaces/physics/pods";

    world_init(&w);
    world_code(&w, &admin, HTTP_POST, PIPE, "{\"metadata\":{\"name\":\"physics\"}}");
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, target, POD("a")), 403);

    world_code(&w, &admin, HTTP_PATCH, PIPE "/physics",
               "{\"metadata\":{\"annotations\":{\"kiln.hpc/members\":\"*\"}}}");

    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, target, POD("a")), 201);
}
END_TEST

START_TEST(others_see_shape_and_owner_but_not_what_is_run)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    {
        CLEANUP_ANSWER struct answer mine = world_ask(&w, &alice, HTTP_GET, PODS "/a", NULL);
        CLEANUP_ANSWER struct answer theirs = world_ask(&w, &bob, HTTP_GET, PODS "/a", NULL);
        CLEANUP_ANSWER struct answer list = world_ask(&w, &bob, HTTP_GET, PODS, NULL);

        ck_assert_ptr_nonnull(strstr(mine.text, "secret"));
        ck_assert_ptr_null(strstr(theirs.text, "secret"));
        ck_assert_ptr_null(strstr(list.text, "secret"));
        ck_assert_ptr_nonnull(strstr(theirs.text, "\"alice\""));
        ck_assert_str_eq(answer_get(&theirs, "status.phase"), "Pending");
    }
}
END_TEST

START_TEST(a_script_is_read_by_its_owner_and_administrators_alone)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\"")), 201);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_GET, JOBS "/j/script", NULL), 200);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_GET, JOBS "/j/script", NULL), 200);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_GET, JOBS "/j/script", NULL), 403);
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_GET, JOBS "/j/script", NULL), 403);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, JOBS "/j/script", NULL), 403);
}
END_TEST

START_TEST(a_user_neither_places_nor_reports)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));

    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_POST, PODS "/a/binding", "{\"target\":{\"name\":\"n1\"}}"),
        403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, PODS "/a/status",
                                "{\"status\":{\"phase\":\"Running\"}}"),
                     403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS,
                                "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"nodeName\":"
                                "\"n1\",\"containers\":[{\"name\":\"main\"}]}}"),
                     403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS,
                                "{\"metadata\":{\"name\":\"b\"},\"spec\":{"
                                "\"priorityClassName\":\"system-node-critical\","
                                "\"containers\":[{\"name\":\"main\"}]}}"),
                     403);
}
END_TEST

START_TEST(nobody_but_an_administrator_chooses_whose_a_job_is)
{
    CLEANUP_WORLD struct world w;
    const char *body = "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"securityContext\":{"
                       "\"runAsUser\":2002},\"containers\":[{\"name\":\"main\"}]}}";

    world_init(&w);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS, body), 403);
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_POST, PODS, body), 403);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, PODS, body), 201);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_DELETE, PODS "/x", NULL), 200);
}
END_TEST

START_TEST(an_operator_holds_and_cancels_but_does_not_rewrite)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));

    ck_assert_int_eq(world_code(&w, &operator_, HTTP_PATCH, JOBS "/j",
                                "{\"metadata\":{\"annotations\":{\"kiln.hpc/held-by\":"
                                "\"olga\"}},\"spec\":{\"suspend\":true}}"),
                     200);
    ck_assert_int_eq(
        world_code(&w, &operator_, HTTP_PATCH, JOBS "/j", "{\"spec\":{\"backoffLimit\":9}}"), 403);
    /* and the owner cannot release what an operator holds */
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_PATCH, JOBS "/j", "{\"spec\":{\"suspend\":false}}"), 403);
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_PATCH, JOBS "/j",
                                "{\"metadata\":{\"annotations\":{\"kiln.hpc/held-by\":"
                                "null}},\"spec\":{\"suspend\":false}}"),
                     200);
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_DELETE, JOBS "/j", NULL), 200);
}
END_TEST

START_TEST(an_operator_takes_over_the_hold_of_the_owner)
{
    CLEANUP_WORLD struct world w;
    const char *hold = "{\"spec\":{\"suspend\":true}}";
    const char *release = "{\"spec\":{\"suspend\":false}}";

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));
    world_code(&w, &alice, HTTP_PATCH, JOBS "/j", hold);

    /* no hold is requested: the owner's hold remains */
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_PATCH, JOBS "/j",
                                "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
                     200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/j", release), 200);

    world_code(&w, &alice, HTTP_PATCH, JOBS "/j", hold);
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_PATCH, JOBS "/j", hold), 200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/j", release), 403);
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_PATCH, JOBS "/j", release), 200);
}
END_TEST

START_TEST(an_operator_cordons_nodes_and_a_user_does_not)
{
    CLEANUP_WORLD struct world w;
    const char *cordon = "{\"spec\":{\"unschedulable\":true}}";

    world_init(&w);
    world_code(&w, &machine_root, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1\"}}");

    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, NODES "/n1", cordon), 403);
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_PATCH, NODES "/n1", cordon), 200);
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_DELETE, NODES "/n1", NULL), 403);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_DELETE, NODES "/n1", NULL), 200);
}
END_TEST

START_TEST(an_agent_has_its_own_node_and_lease_and_nothing_else)
{
    CLEANUP_WORLD struct world w;
    const char *status = "{\"status\":{\"phase\":\"Running\"}}";

    world_init(&w);
    world_code(&w, &machine_root, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1\"}}");
    world_code(&w, &machine_root, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n2\"}}");
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
    bind_to(&w, "a", "n1");
    bind_to(&w, "b", "n2");

    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, NODES "/n1", NULL), 200);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, NODES "/n2", NULL), 403);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, NODES, NULL), 403);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, PODS "/a", NULL), 200);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, PODS "/b", NULL), 403);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, PODS, NULL), 403);
    ck_assert_int_eq(
        world_code(&w, &agent_n1, HTTP_GET, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", NULL),
        200);
    ck_assert_int_eq(
        world_code(&w, &agent_n1, HTTP_GET, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", NULL),
        403);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_PATCH, PODS "/a/status", status), 200);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_PATCH, PODS "/b/status", status), 403);
    ck_assert_int_eq(
        world_code(&w, &agent_n1, HTTP_POST, LEASES, "{\"metadata\":{\"name\":\"n1\"}}"), 201);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, LEASES "/n2", NULL), 403);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_POST, PODS, POD("c")), 403);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_DELETE, PODS "/b", NULL), 403);
}
END_TEST

/* Labels decide about partitions, annotations about owners. */
START_TEST(an_agent_changes_the_status_alone)
{
    CLEANUP_WORLD struct world w;
    const char *change = "{\"metadata\":{\"labels\":{\"kiln.hpc/partition\":\"gpu\"},"
                         "\"annotations\":{\"kiln.hpc/uid\":\"2002\"},\"finalizers\":["
                         "\"example.net/stays\"]},\"status\":{\"phase\":\"Running\"}}";
    static const char *const paths[] = {NODES "/n1", PODS "/a"};

    world_init(&w);
    world_code(&w, &machine_root, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1\"}}");
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    bind_to(&w, "a", "n1");
    for (unsigned i = 0; i < ARRAY_SIZE(paths); i++) {
        char status[64];
        CLEANUP_ANSWER struct answer a = {0};

        snprintf(status, sizeof(status), "%s/status", paths[i]);
        ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_PATCH, status, change), 200);
        a = world_ask(&w, &admin, HTTP_GET, paths[i], NULL);
        ck_assert_str_eq(answer_get(&a, "status.phase"), "Running");
        ck_assert_ptr_null(strstr(a.text, "gpu"));
        ck_assert_ptr_null(strstr(a.text, "\"2002\""));
        ck_assert_ptr_null(strstr(a.text, "example.net/stays"));
    }
}
END_TEST

static const char *
label_of(struct world *w, const char *node, const char *label, char *buffer, size_t size)
{
    char path[64];
    CLEANUP_ANSWER struct answer a = {0};
    const char *value;

    snprintf(path, sizeof(path), "%s/%s", NODES, node);
    a = world_ask(w, &admin, HTTP_GET, path, NULL);
    value = json_get_text(json_get_path(a.body, "metadata.labels"), label);
    snprintf(buffer, size, "%s", value != NULL ? value : "none");
    return buffer;
}

START_TEST(a_new_node_gets_only_permitted_labels)
{
    CLEANUP_WORLD struct world w;
    char *patterns[] = {(char[]){"feature.kiln.hpc/*"}, (char[]){"rack"}};
    char text[64];
    const char *node = "{\"metadata\":{\"name\":\"n1\",\"annotations\":{\"kiln.hpc/uid\":\"7\"},"
                       "\"labels\":{\"kiln.hpc/partition\":\"gpu\",\"rack\":\"1\",\"racks\":\"1\","
                       "\"feature.kiln.hpc/avx\":\"\",\"kubernetes.io/hostname\":\"other\"}}}";

    world_init(&w);
    w.policy.agent_labels = patterns;
    w.policy.n_agent_labels = 2;
    ck_assert_int_eq(world_code(&w, &machine_root, HTTP_POST, NODES, node), 201);
    ck_assert_str_eq(label_of(&w, "n1", "kiln.hpc/partition", text, sizeof(text)), "none");
    ck_assert_str_eq(label_of(&w, "n1", "racks", text, sizeof(text)), "none");
    ck_assert_str_eq(label_of(&w, "n1", "rack", text, sizeof(text)), "1");
    ck_assert_str_eq(label_of(&w, "n1", "feature.kiln.hpc/avx", text, sizeof(text)), "");
    ck_assert_str_eq(label_of(&w, "n1", "kubernetes.io/hostname", text, sizeof(text)), "n1");
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_GET, NODES "/n1", NULL);

        ck_assert_ptr_null(answer_get(&a, "metadata.annotations"));
    }
}
END_TEST

#define EVENT(name, kind, object)                                                \
    "{\"metadata\":{\"name\":\"" name "\"},\"involvedObject\":{\"kind\":\"" kind \
    "\",\"name\":\"" object "\"},\"reason\":\"r\",\"message\":\"m\",\"type\":\"Normal\"}"
#define EVENTS "/api/v1/namespaces/default/events"

START_TEST(an_agent_writes_events_only_about_its_node_and_pods)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &machine_root, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1\"}}");
    world_code(&w, &machine_root, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n2\"}}");
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));
    bind_to(&w, "a", "n1");
    bind_to(&w, "b", "n2");

#define CODE(event) world_code(&w, &agent_n1, HTTP_POST, EVENTS, event)
    ck_assert_int_eq(CODE(EVENT("e1", "Node", "n1")), 201);
    ck_assert_int_eq(CODE(EVENT("e2", "Pod", "a")), 201);
    ck_assert_int_eq(CODE(EVENT("e3", "Node", "n2")), 403);
    ck_assert_int_eq(CODE(EVENT("e4", "Pod", "b")), 403);
    ck_assert_int_eq(CODE(EVENT("e5", "Job", "j")), 403);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, EVENTS, EVENT("e6", "Job", "j")), 201);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_PATCH, EVENTS "/e6",
                                "{\"involvedObject\":{\"kind\":\"Node\",\"name\":\"n1\"}}"),
                     403);
}
END_TEST

START_TEST(a_users_node_has_the_users_name_and_only_the_users_pods)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    w.policy.allows_rootless_agents = true;
    w.policy.limits.per_user.nodes = 2;
#define NODE(name) "{\"metadata\":{\"name\":\"" name "\"}}"
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES, NODE("n5")), 403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES, NODE("h-bob")), 403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES, NODE("hobalice")), 403);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES, NODE("h-alice")), 201);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES, NODE("h.2001")), 201);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES, NODE("i-alice")), 403);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &bob, HTTP_POST, PODS, POD("b"));
    ck_assert_int_eq(world_code(&w, &scheduler_room, HTTP_POST, PODS "/b/binding",
                                "{\"target\":{\"name\":\"h-alice\"}}"),
                     409);
    ck_assert_int_eq(world_code(&w, &scheduler_room, HTTP_POST, PODS "/a/binding",
                                "{\"target\":{\"name\":\"h-alice\"}}"),
                     201);
}
END_TEST

#define GROUPS    "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
#define CRON_JOBS "/apis/batch/v1/namespaces/default/cronjobs"
#define GROUP(name)                                                         \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"schedulingPolicy\":" \
    "{\"gang\":{\"minCount\":2}}}}"

/* A Job that places its pods together makes a PodGroup of its own name, and could
 * never start if somebody else had made one before.
 */
START_TEST(the_names_of_podgroups_of_others_jobs_are_not_free)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"solver\"")), 201);
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_POST, CRON_JOBS,
                   "{\"metadata\":{\"name\":\"nightly\"},\"spec\":{\"schedule\":\"0 3 * * *\","
                   "\"jobTemplate\":{\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                   "\"containers\":[{\"name\":\"main\",\"command\":[\"true\"]}]}}}}}}"),
        201);

    ck_assert_int_eq(world_code(&w, &bob, HTTP_POST, GROUPS, GROUP("solver")), 403);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_POST, GROUPS, GROUP("nightly-29387460")), 403);
    ck_assert_int_eq(world_code(&w, &bob, HTTP_POST, GROUPS, GROUP("solver-2")), 201);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, GROUPS, GROUP("solver")), 201);
}
END_TEST

/* 4 Ei of each of four pods is 2^64, which is not 0. */
START_TEST(a_job_asks_for_no_more_than_its_partition_has_by_asking_for_everything)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer a = {0};

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, "/apis/kiln.hpc/v1/partitions",
                                "{\"metadata\":{\"name\":\"small\"},\"spec\":{\"maximumMemory\":"
                                "\"1Gi\",\"selector\":{}}}"),
                     201);
    a = world_ask(&w, &alice, HTTP_POST, JOBS,
                  "{\"metadata\":{\"name\":\"all\"},\"spec\":{\"parallelism\":4,\"completions\":4,"
                  "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"placement\":{"
                  "\"partition\":\"small\"},\"containers\":[{\"name\":\"main\",\"resources\":"
                  "{\"requests\":{\"memory\":\"4Ei\"}}}]}}}}");
    ck_assert_msg(a.code == 403 && strstr(a.text, "partition small's limit") != NULL, "%s", a.text);
}
END_TEST

START_TEST(an_agent_renews_only_its_own_lease)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);

    ck_assert_int_eq(
        world_code(&w, &agent_n1, HTTP_POST, LEASES, "{\"metadata\":{\"name\":\"n2\"}}"), 403);
}
END_TEST

START_TEST(root_of_a_machine_is_not_root_of_the_cluster)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));

    ck_assert_int_eq(world_code(&w, &machine_root, HTTP_DELETE, PODS "/a", NULL), 403);
    ck_assert_int_eq(world_code(&w, &machine_root, HTTP_GET, PODS "/a", NULL), 403);
    ck_assert_int_eq(world_code(&w, &machine_root, HTTP_POST, PODS, POD("b")), 403);
}
END_TEST

START_TEST(the_scheduler_binds_and_the_lifecycle_does_not)
{
    ck_assert_int_eq(
        authorization_scope(PRINCIPAL_SCHEDULER, VERB_CREATE, &pod_kind, SUBRESOURCE_BINDING),
        SCOPE_ALL);
    ck_assert_int_eq(
        authorization_scope(PRINCIPAL_LIFECYCLE, VERB_CREATE, &pod_kind, SUBRESOURCE_BINDING),
        SCOPE_NONE);
    ck_assert_int_eq(
        authorization_scope(PRINCIPAL_SCHEDULER, VERB_CREATE, &job_kind, SUBRESOURCE_NONE),
        SCOPE_NONE);
}
END_TEST

START_TEST(jobs_of_root_and_of_system_users_are_refused)
{
    CLEANUP_WORLD struct world w;
    const struct principal daemon = PERSON(USER, 2, "daemon");

    world_init(&w);

    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, PODS, POD("a")), 403);
    ck_assert_int_eq(world_code(&w, &daemon, HTTP_POST, PODS, POD("a")), 403);
    w.policy.allows_root_jobs = true;
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, PODS, POD("a")), 201);
}
END_TEST

static int
submit_as(struct world *w, const struct principal *who, const char *name, uid_t uid)
{
    CLEANUP_FREE char *pod =
        xasprintf("{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"securityContext\":{"
                  "\"runAsUser\":%u},\"restartPolicy\":\"Never\",\"containers\":[{"
                  "\"name\":\"main\"}]}}",
                  name, (unsigned)uid);

    return world_code(w, who, HTTP_POST, PODS, pod);
}

/* A job of that user could write the store. Root, who runs most tests, is refused
 * by another rule, so this test becomes somebody else for a moment.
 */
START_TEST(an_administrator_submits_nothing_as_the_user_that_runs_the_controller)
{
    CLEANUP_WORLD struct world w;
    const uid_t before = geteuid();
    const uid_t service = before != 0 ? before : 3333;
    int code;

    world_init(&w);
    w.policy.minimum_uid = 1;
    ck_assert_int_eq(submit_as(&w, &admin, "other", 3334), 201);
    if (before == 0)
        ck_assert_int_eq(seteuid(service), 0);
    code = submit_as(&w, &admin, "same", service);
    if (before == 0)
        ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(code, 403);
}
END_TEST

static int
annotate(struct world *w, const struct principal *who, const char *annotations)
{
    CLEANUP_FREE char *body = xasprintf("{\"metadata\":{\"annotations\":{%s}}}", annotations);

    return world_code(w, who, HTTP_PATCH, JOBS "/j", body);
}

static void
check_holder(struct world *w, const char *name)
{
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_GET, JOBS "/j", NULL);
    const struct json *all = json_get_path(a.body, "metadata.annotations");
    const char *by = json_get_text(all, "kiln.hpc/hold");
    const char *at = json_get_text(all, "kiln.hpc/hold-at");

    if (name == NULL) {
        ck_assert_ptr_null(by);
        ck_assert_ptr_null(at);
        return;
    }
    ck_assert_str_eq(by, name);
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(strlen(at), strlen("2026-01-01T00:00:00Z"));
}

#define HOLD(text)    "\"kiln.hpc/hold\":\"" text "\""
#define HOLD_AT(text) "\"kiln.hpc/hold-at\":\"" text "\""
#define RELEASE       "\"kiln.hpc/hold\":null"

START_TEST(a_hold_is_signed_and_released_by_its_holder_and_by_operators)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));

    /* the owner's hold, whatever name the request has */
    ck_assert_int_eq(annotate(&w, &alice, HOLD_AT("yesterday")), 200);
    check_holder(&w, NULL);
    ck_assert_int_eq(annotate(&w, &alice, HOLD("olga") "," HOLD_AT("long ago")), 200);
    check_holder(&w, "alice");
    ck_assert_int_eq(annotate(&w, &alice, HOLD("alice") "," HOLD_AT("x")), 200);
    check_holder(&w, "alice");
    ck_assert_int_eq(annotate(&w, &bob, RELEASE), 403);
    ck_assert_int_eq(annotate(&w, &alice, RELEASE), 200);
    check_holder(&w, NULL);

    /* an operator takes the hold over, but only explicitly */
    annotate(&w, &alice, HOLD("alice"));
    ck_assert_int_eq(annotate(&w, &operator_, "\"note\":\"seen\""), 200);
    check_holder(&w, "alice");
    ck_assert_int_eq(annotate(&w, &operator_, HOLD("olga")), 200);
    check_holder(&w, "olga");
    ck_assert_int_eq(annotate(&w, &alice, RELEASE), 403);
    ck_assert_int_eq(annotate(&w, &alice, HOLD("alice")), 200);
    check_holder(&w, "olga");
    ck_assert_int_eq(annotate(&w, &alice, HOLD("")), 200);
    check_holder(&w, "olga");
    ck_assert_int_eq(annotate(&w, &admin, HOLD("root")), 200);
    check_holder(&w, "root");
    ck_assert_int_eq(annotate(&w, &operator_, RELEASE), 200);
    check_holder(&w, NULL);
}
END_TEST

START_TEST(a_hold_of_the_former_release_is_one_and_can_be_released)
{
    CLEANUP_WORLD struct world w;
    const char *release = "{\"spec\":{\"suspend\":false},\"metadata\":{"
                          "\"annotations\":{\"kiln.hpc/hold\":null}}}";

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));
    world_code(&w, &operator_, HTTP_PATCH, JOBS "/j", "{\"spec\":{\"suspend\":true}}");
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/j", release), 403);
    ck_assert_int_eq(world_code(&w, &operator_, HTTP_PATCH, JOBS "/j", release), 200);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/j", release), 200);
}
END_TEST

SUITE("authorization", a_user_changes_and_deletes_only_what_is_theirs,
      a_user_deletes_of_a_collection_only_what_is_theirs, a_user_submits_only_where_they_belong,
      others_see_shape_and_owner_but_not_what_is_run,
      a_script_is_read_by_its_owner_and_administrators_alone, a_user_neither_places_nor_reports,
      nobody_but_an_administrator_chooses_whose_a_job_is,
      an_operator_holds_and_cancels_but_does_not_rewrite,
      an_operator_takes_over_the_hold_of_the_owner, an_operator_cordons_nodes_and_a_user_does_not,
      an_agent_has_its_own_node_and_lease_and_nothing_else, an_agent_renews_only_its_own_lease,
      an_agent_changes_the_status_alone, a_new_node_gets_only_permitted_labels,
      an_agent_writes_events_only_about_its_node_and_pods,
      a_users_node_has_the_users_name_and_only_the_users_pods,
      root_of_a_machine_is_not_root_of_the_cluster, the_scheduler_binds_and_the_lifecycle_does_not,
      jobs_of_root_and_of_system_users_are_refused,
      an_administrator_submits_nothing_as_the_user_that_runs_the_controller,
      the_names_of_podgroups_of_others_jobs_are_not_free,
      a_job_asks_for_no_more_than_its_partition_has_by_asking_for_everything,
      a_hold_is_signed_and_released_by_its_holder_and_by_operators,
      a_hold_of_the_former_release_is_one_and_can_be_released)
