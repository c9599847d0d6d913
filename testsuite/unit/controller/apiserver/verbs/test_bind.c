/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

#define BINDING(node, cpus)                                                \
    "{\"target\":{\"name\":\"" node "\"},\"allocation\":{\"cpus\":\"" cpus \
    "\",\"memoryNodes\":\"0\"}}"

static int
bind_pod(struct world *w, const char *name, const char *body)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s/binding", name);

    return world_code(w, &scheduler_room, HTTP_POST, target, body);
}

START_TEST(a_binding_sets_node_allocation_and_condition)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));

    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "0-3")), 201);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, PODS "/a", NULL);
        const struct json *condition = json_at(json_get_path(a.body, "status.conditions"), 0);

        ck_assert_str_eq(answer_get(&a, "spec.nodeName"), "n1");
        ck_assert_str_eq(answer_get(&a, "status.allocation.cpus"), "0-3");
        ck_assert_str_eq(json_get_text(condition, "type"), "PodScheduled");
        ck_assert_str_eq(json_get_text(condition, "status"), "True");
    }
}
END_TEST

/* The pod without the members that differ for every pod. */
static struct json *
read_pod(struct world *w, const char *path, struct answer *a)
{
    struct json *meta;

    *a = world_ask(w, &alice, HTTP_GET, path, NULL);
    ck_assert_int_eq(a->code, 200);
    meta = json_get(a->body, "metadata");
    ck_assert(json_remove(meta, "name"));
    ck_assert(json_remove(meta, "uid"));
    ck_assert(json_remove(meta, "resourceVersion"));
    return a->body;
}

/* A binding with annotations, even none, is written as a whole tree, any other
 * as a patch; the pods must not show the difference.
 */
START_TEST(a_binding_does_the_same_as_a_patch_and_as_a_tree)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    for (int i = 0; i < 3; i++) {
        CLEANUP_ANSWER struct answer patched = {0}, whole = {0};
        CLEANUP_FREE char *a = xasprintf("a%d", i);
        CLEANUP_FREE char *b = xasprintf("b%d", i);
        CLEANUP_FREE char *at_a = xasprintf(PODS "/a%d", i);
        CLEANUP_FREE char *at_b = xasprintf(PODS "/b%d", i);
        CLEANUP_FREE char *body_a = xasprintf(POD("%s"), a);
        CLEANUP_FREE char *body_b = xasprintf(POD("%s"), b);

        world_code(&w, &alice, HTTP_POST, PODS, body_a);
        world_code(&w, &alice, HTTP_POST, PODS, body_b);
        ck_assert_int_eq(bind_pod(&w, a, BINDING("n1", "0-3")), 201);
        ck_assert_int_eq(bind_pod(&w, b,
                                  "{\"metadata\":{\"annotations\":{}},\"target\":{\"name\":"
                                  "\"n1\"},\"allocation\":{\"cpus\":\"4-7\",\"memoryNodes\":"
                                  "\"0\"}}"),
                         201);
        read_pod(&w, at_a, &patched);
        read_pod(&w, at_b, &whole);
        json_set_string(whole.arena, json_get_path(whole.body, "status.allocation"), "cpus", "0-3");
        ck_assert_msg(json_equals(patched.body, whole.body), "%s\n%s", patched.text, whole.text);
        ck_assert_int_eq(world_code(&w, &admin, HTTP_DELETE, at_a, "{\"gracePeriodSeconds\":0}"),
                         200);
        ck_assert_int_eq(world_code(&w, &admin, HTTP_DELETE, at_b, "{\"gracePeriodSeconds\":0}"),
                         200);
    }
}
END_TEST

START_TEST(no_core_is_given_twice)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
    bind_pod(&w, "a", BINDING("n1", "0-3"));

    ck_assert_int_eq(bind_pod(&w, "b", BINDING("n1", "3-5")), 409);
    ck_assert_int_eq(bind_pod(&w, "b", BINDING("n2", "3-5")), 201);
}
END_TEST

#define WISH(value) "{\"metadata\":{\"annotations\":{\"kiln.hpc/yield\":" value "}}}"
#define FROZEN(status, reason)                                               \
    "{\"status\":{\"conditions\":[{\"type\":\"Frozen\",\"status\":\"" status \
    "\",\"reason\":\"" reason "\"}]}}"

static int
wish(struct world *w, const struct principal *who, const char *name, bool is)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s", name);

    return world_code(w, who, HTTP_PATCH, target, is ? WISH("\"job 2 of b\"") : WISH("null"));
}

START_TEST(cores_of_a_pod_are_lent_by_wish_and_fact_together)
{
    static const struct {
        bool is_wished;
        const char *said; /* reported by its agent */
        int code;
    } cases[] = {
        {false, NULL, 409},
        {true, NULL, 409},
        {true, FROZEN("True", "Suspended"), 409},
        {true, FROZEN("False", "Yielded"), 409},
        {false, FROZEN("True", "Yielded"), 409},
        {true, FROZEN("True", "Yielded"), 201},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_WORLD struct world w;

        world_init(&w);
        world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
        world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
        bind_pod(&w, "a", BINDING("n1", "0-3"));
        if (cases[i].is_wished)
            ck_assert_int_eq(wish(&w, &scheduler_room, "a", true), 200);
        if (cases[i].said != NULL)
            ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_PATCH, PODS "/a/status", cases[i].said),
                             200);
        ck_assert_int_eq(bind_pod(&w, "b", BINDING("n1", "2-3")), cases[i].code);
    }
}
END_TEST

START_TEST(a_pod_has_its_cores_again_when_nobody_else_has_them)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("c"));
    bind_pod(&w, "a", BINDING("n1", "0-3"));
    wish(&w, &scheduler_room, "a", true);
    world_code(&w, &agent_n1, HTTP_PATCH, PODS "/a/status", FROZEN("True", "Yielded"));
    ck_assert_int_eq(bind_pod(&w, "b", BINDING("n1", "2-3")), 201);

    /* It may be suspended for another pod as well. */
    ck_assert_int_eq(wish(&w, &scheduler_room, "a", true), 200);
    ck_assert_int_eq(wish(&w, &scheduler_room, "a", false), 409);
    ck_assert_int_eq(wish(&w, &admin, "a", false), 409);
    ck_assert_int_eq(wish(&w, &alice, "a", false), 403);
    world_code(&w, &agent_n1, HTTP_PATCH, PODS "/b/status",
               "{\"status\":{\"phase\":\"Succeeded\"}}");
    ck_assert_int_eq(wish(&w, &scheduler_room, "a", false), 200);
    ck_assert_int_eq(bind_pod(&w, "c", BINDING("n1", "0")), 409);

    /* The agent has not answered a new request yet, whatever it reported for
     * the former one: on the node the agent is asked again before anything
     * starts there.
     */
    ck_assert_int_eq(wish(&w, &alice, "a", true), 403);
}
END_TEST

START_TEST(nobody_is_born_with_a_wish)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &admin, HTTP_POST, PODS,
                                "{\"metadata\":{\"name\":\"a\","
                                "\"annotations\":{\"kiln.hpc/yield\":\"x\"}},"
                                "\"spec\":{\"containers\":[{\"name\":\"main\","
                                "\"image\":\"host\"}],"
                                "\"securityContext\":{\"runAsUser\":1000,"
                                "\"runAsGroup\":1000}}}"),
                     201);
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &admin, HTTP_GET, PODS "/a", NULL);

        ck_assert_ptr_null(
            json_get(json_get_path(a.body, "metadata.annotations"), "kiln.hpc/yield"));
    }
}
END_TEST

START_TEST(a_pod_that_ended_gives_its_cores_back)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
    bind_pod(&w, "a", BINDING("n1", "0-3"));
    world_code(&w, &agent_n1, HTTP_PATCH, PODS "/a/status",
               "{\"status\":{\"phase\":\"Succeeded\"}}");

    ck_assert_int_eq(bind_pod(&w, "b", BINDING("n1", "0-3")), 201);
}
END_TEST

START_TEST(a_bound_pod_is_not_bound_again)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    bind_pod(&w, "a", BINDING("n1", "0"));

    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n2", "0")), 409);
}
END_TEST

START_TEST(a_pod_bound_without_an_allocation_is_given_one_where_it_is)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    ck_assert_int_eq(bind_pod(&w, "a", "{\"target\":{\"name\":\"n1\"}}"), 201);

    ck_assert_int_eq(bind_pod(&w, "a", "{\"target\":{\"name\":\"n1\"}}"), 409);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n2", "0")), 409);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "0")), 201);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "1")), 409);
}
END_TEST

START_TEST(cpus_that_the_node_does_not_have_are_refused)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &admin, HTTP_POST, "/api/v1/nodes",
               "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"topology\":{"
               "\"cpus\":\"0-1,3\"}}}");
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));

    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &scheduler_room, HTTP_POST, PODS "/a/binding", BINDING("n1", "1-3"));

        ck_assert_int_eq(a.code, 409);
        ck_assert_ptr_nonnull(
            strstr(answer_get(&a, "message"), "node n1 does not have the CPUs 2"));
    }
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "1,3")), 201);
}
END_TEST

START_TEST(nonsense_is_refused)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(&w, &alice, HTTP_POST, PODS, POD("b"));
    bind_pod(&w, "b", BINDING("n1", "0-1"));

    ck_assert_int_eq(bind_pod(&w, "nobody", BINDING("n1", "0")), 404);
    ck_assert_int_eq(bind_pod(&w, "a", "{\"target\":{}}"), 500);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n1", "zero")), 422);
    ck_assert_int_eq(bind_pod(&w, "a", BINDING("n2", "zero")), 422);
    ck_assert_int_eq(bind_pod(&w, "a", "{\"metadata\":{\"name\":\"x\"},\"target\":{}}"), 400);
}
END_TEST

/* --- groups --------------------------------------------------------------- */

#define BINDINGS "/api/v1/namespaces/default/bindings"
#define ITEM(name, node, cpus)                                           \
    "{\"metadata\":{\"name\":\"" name "\"},\"target\":{\"name\":\"" node \
    "\"},\"allocation\":{\"cpus\":\"" cpus "\",\"memoryNodes\":\"0\"}}"
#define GROUP(items)                                   \
    "{\"apiVersion\":\"v1\",\"kind\":\"BindingList\"," \
    "\"items\":[" items "]}"

static struct answer
bind_group(struct world *w, const char *body)
{
    return world_ask(w, &scheduler_room, HTTP_POST, BINDINGS, body);
}

static void
begin_group(struct world *w)
{
    world_init(w);
    world_code(w, &alice, HTTP_POST, PODS, POD("a"));
    world_code(w, &alice, HTTP_POST, PODS, POD("b"));
    world_code(w, &alice, HTTP_POST, PODS, POD("c"));
}

static bool
is_bound(struct world *w, const char *name)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s", name);
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_GET, target, NULL);

    return answer_get(&a, "spec.nodeName") != NULL;
}

static void
check_none_bound(struct world *w)
{
    ck_assert(!is_bound(w, "a"));
    ck_assert(!is_bound(w, "b"));
    ck_assert(!is_bound(w, "c"));
}

START_TEST(a_group_is_bound_in_one_request)
{
    CLEANUP_WORLD struct world w;

    begin_group(&w);
    {
        CLEANUP_ANSWER struct answer a = bind_group(
            &w, GROUP(ITEM("a", "n1", "0-1") "," ITEM("b", "n1", "2-3") "," ITEM("c", "n2", "0")));

        ck_assert_int_eq(a.code, 201);
        ck_assert_str_eq(answer_get(&a, "status"), "Success");
    }
    {
        CLEANUP_ANSWER struct answer a = world_ask(&w, &alice, HTTP_GET, PODS "/b", NULL);

        ck_assert_str_eq(answer_get(&a, "spec.nodeName"), "n1");
        ck_assert_str_eq(answer_get(&a, "status.allocation.cpus"), "2-3");
    }
    ck_assert(is_bound(&w, "a"));
    ck_assert(is_bound(&w, "c"));
}
END_TEST

START_TEST(a_group_of_one_is_as_good)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer a = {0};

    begin_group(&w);
    a = bind_group(&w, GROUP(ITEM("a", "n1", "0")));
    ck_assert_int_eq(a.code, 201);
    ck_assert(is_bound(&w, "a"));
}
END_TEST

START_TEST(a_conflict_in_the_middle_binds_none_and_is_named)
{
    CLEANUP_WORLD struct world w;

    begin_group(&w);
    world_code(&w, &alice, HTTP_POST, PODS, POD("d"));
    bind_pod(&w, "d", BINDING("n1", "2"));
    {
        CLEANUP_ANSWER struct answer a = bind_group(
            &w, GROUP(ITEM("a", "n1", "0-1") "," ITEM("b", "n1", "2-3") "," ITEM("c", "n2", "0")));

        ck_assert_int_eq(a.code, 409);
        ck_assert_str_eq(answer_get(&a, "details.name"), "b");
        ck_assert_ptr_nonnull(strstr(answer_get(&a, "message"), "overlaps that of pod default/d"));
    }
    check_none_bound(&w);
    /* Cores of withdrawn bindings are free again. */
    ck_assert_int_eq(bind_pod(&w, "c", BINDING("n1", "0-1")), 201);
}
END_TEST

START_TEST(members_of_a_group_do_not_share_a_core)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_ANSWER struct answer a = {0};

    begin_group(&w);
    a = bind_group(&w, GROUP(ITEM("a", "n1", "0-1") "," ITEM("b", "n1", "1-2")));
    ck_assert_int_eq(a.code, 409);
    ck_assert_str_eq(answer_get(&a, "details.name"), "b");
    check_none_bound(&w);
}
END_TEST

START_TEST(a_member_that_is_gone_or_going_binds_none)
{
    CLEANUP_WORLD struct world w;

    begin_group(&w);
    {
        CLEANUP_ANSWER struct answer a =
            bind_group(&w, GROUP(ITEM("a", "n1", "0") "," ITEM("x", "n1", "1")));

        ck_assert_int_eq(a.code, 404);
        ck_assert_str_eq(answer_get(&a, "details.name"), "x");
    }
    {
        CLEANUP_ANSWER struct answer a =
            bind_group(&w, GROUP(ITEM("a", "n1", "0") ",{\"metadata\":{\"name\":\"b\","
                                                      "\"uid\":\"another\"},\"target\":{"
                                                      "\"name\":\"n1\"}}"));

        ck_assert_int_eq(a.code, 409);
        ck_assert_str_eq(answer_get(&a, "details.name"), "b");
    }
    check_none_bound(&w);
}
END_TEST

/* Also without allocations, where a second binding would only add the
 * allocation.
 */
START_TEST(a_pod_that_is_in_the_list_twice_is_refused)
{
    CLEANUP_WORLD struct world w;

    begin_group(&w);
    {
        CLEANUP_ANSWER struct answer a =
            bind_group(&w, GROUP("{\"metadata\":{\"name\":\"a\"},\"target\":{\"name\":"
                                 "\"n1\"}}," ITEM("b", "n1", "0") "," ITEM("a", "n1", "1")));

        ck_assert_int_eq(a.code, 400);
        ck_assert_ptr_nonnull(
            strstr(answer_get(&a, "message"), "pod a is in the BindingList twice"));
    }
    check_none_bound(&w);
}
END_TEST

START_TEST(a_group_that_is_no_group_is_refused)
{
    CLEANUP_WORLD struct world w;
    static const char *const bodies[] = {
        GROUP(""),
        GROUP("1"),
        GROUP("{\"target\":{\"name\":\"n1\"}}"),
        GROUP("{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"},"
              "\"target\":{\"name\":\"n1\"}}"),
        "{\"kind\":\"BindingList\"}",
        "{\"kind\":\"BindingList\",\"items\":{}}",
    };

    begin_group(&w);
    for (unsigned i = 0; i < ARRAY_SIZE(bodies); i++) {
        CLEANUP_ANSWER struct answer a = bind_group(&w, bodies[i]);

        ck_assert_int_eq(a.code, 400);
    }
    check_none_bound(&w);
}
END_TEST

#define MEMBER(name)                                                               \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"restartPolicy\":\"Never\"," \
    "\"schedulingGroup\":{\"podGroupName\":\"g\"},\"containers\":[{\"name\":\"main\"}]}}"
#define POD_GROUPS "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"

static void
make_pod_group(struct world *w, const char *terms)
{
    CLEANUP_FREE char *body = xasprintf(
        "{\"apiVersion\":\"scheduling.k8s.io/v1beta1\",\"kind\":\"PodGroup\",\"metadata\":{"
        "\"name\":\"g\"},\"spec\":{%s}}",
        terms);

    world_init(w);
    ck_assert_int_eq(world_code(w, &alice, HTTP_POST, POD_GROUPS, body), 201);
    ck_assert_int_eq(world_code(w, &alice, HTTP_POST, PODS, MEMBER("b")), 201);
    ck_assert_int_eq(world_code(w, &alice, HTTP_POST, PODS, MEMBER("a")), 201);
}

/* An agent that learns of its pod finds the list there. */
START_TEST(the_nodes_of_a_pod_group_are_written_with_its_bindings)
{
    static const struct {
        const char *terms, *nodes;
    } cases[] = {
        {"\"schedulingPolicy\":{\"gang\":{\"minCount\":2}},\"onePerNode\":true", "n[1-2]"},
        {"\"schedulingPolicy\":{\"gang\":{\"minCount\":2}}", NULL},
        {"\"schedulingPolicy\":{\"gang\":{\"minCount\":3}},\"onePerNode\":true", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_WORLD struct world w;
        CLEANUP_ANSWER struct answer a = {0};

        make_pod_group(&w, cases[i].terms);
        ck_assert_int_eq(world_code(&w, &scheduler_room, HTTP_POST, BINDINGS,
                                    GROUP(ITEM("a", "n2", "0") "," ITEM("b", "n1", "0"))),
                         201);
        a = world_ask(&w, &alice, HTTP_GET, POD_GROUPS "/g", NULL);
        if (cases[i].nodes != NULL)
            ck_assert_str_eq(answer_get(&a, "status.nodes"), cases[i].nodes);
        else
            ck_assert_ptr_null(answer_get(&a, "status.nodes"));
    }
}
END_TEST

/* An agent reads the groups of the pods of its node. */
START_TEST(a_pod_group_is_read_by_the_nodes_of_its_pods)
{
    CLEANUP_WORLD struct world w;

    make_pod_group(&w, "\"schedulingPolicy\":{\"gang\":{\"minCount\":2}},\"onePerNode\":true");
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, POD_GROUPS "/g", NULL), 403);
    bind_pod(&w, "a", BINDING("n1", "0-3"));
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, POD_GROUPS "/g", NULL), 200);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_GET, POD_GROUPS, NULL), 403);
}
END_TEST

START_TEST(a_dry_run_of_a_group_binds_none)
{
    CLEANUP_WORLD struct world w;

    begin_group(&w);
    ck_assert_int_eq(world_code(&w, &scheduler_room, HTTP_POST, BINDINGS "?dryRun=All",
                                GROUP(ITEM("a", "n1", "0") "," ITEM("b", "n1", "1"))),
                     201);
    ck_assert_int_eq(world_code(&w, &scheduler_room, HTTP_POST, BINDINGS "?dryRun=All",
                                GROUP(ITEM("a", "n1", "0") "," ITEM("b", "n1", "0"))),
                     409);
    check_none_bound(&w);
}
END_TEST

START_TEST(a_group_is_the_schedulers_to_bind_and_kilns_own)
{
    CLEANUP_WORLD struct world w;

    begin_group(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, BINDINGS, GROUP(ITEM("a", "n1", "0"))), 403);
    w.server->profile = &api_profile_conformance;
    ck_assert_int_ne(
        world_code(&w, &scheduler_room, HTTP_POST, BINDINGS, GROUP(ITEM("a", "n1", "0"))), 201);
    w.server->profile = &api_profile_kiln;
    check_none_bound(&w);
}
END_TEST

/* A list of pods p0, p1 ..., each with a core of its own. */
static void
format_group(struct strbuf *out, unsigned n)
{
    strbuf_printf(out, "{\"kind\":\"BindingList\",\"items\":[");
    for (unsigned i = 0; i < n; i++)
        strbuf_printf(out,
                      "%s{\"metadata\":{\"name\":\"p%u\"},\"target\":{"
                      "\"name\":\"n1\"},\"allocation\":{\"cpus\":\"%u\","
                      "\"memoryNodes\":\"0\"}}",
                      i > 0 ? "," : "", i, i);
    strbuf_printf(out, "]}");
}

START_TEST(a_hundred_are_bound_together_and_513_are_too_many)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_STRBUF struct strbuf hundred = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf many = STRBUF_INIT;

    world_init(&w);
    for (unsigned i = 0; i < 100; i++) {
        CLEANUP_FREE char *pod =
            xasprintf("{\"metadata\":{\"name\":\"p%u\"},\"spec\":{\"restartPolicy\":"
                      "\"Never\",\"containers\":[{\"name\":\"main\"}]}}",
                      i);

        ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, PODS, pod), 201);
    }
    format_group(&many, 513);
    ck_assert_int_eq(world_code(&w, &scheduler_room, HTTP_POST, BINDINGS, many.text), 400);
    format_group(&hundred, 100);
    ck_assert_int_eq(world_code(&w, &scheduler_room, HTTP_POST, BINDINGS, hundred.text), 201);
    ck_assert(is_bound(&w, "p0"));
    ck_assert(is_bound(&w, "p99"));
}
END_TEST

static const struct principal lifecycle_room = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

/* A pod that belongs to the Job with that uid. */
static void
make_job_pod(struct world *w, const char *name, const char *uid)
{
    CLEANUP_FREE char *body =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{"
                  "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","
                  "\"uid\":\"%s\",\"controller\":true}]},\"spec\":{"
                  "\"containers\":[{\"name\":\"main\"}]}}",
                  name, uid);

    ck_assert_int_eq(world_code(w, &lifecycle_room, HTTP_POST, PODS, body), 201);
}

START_TEST(no_pod_of_a_held_job_is_given_a_node)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_FREE char *uid = NULL;

    world_init(&w);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));

        uid = xstrdup(answer_get(&a, "metadata.uid"));
    }
    make_job_pod(&w, "early", uid);
    make_job_pod(&w, "waits", uid);
    world_code(&w, &alice, HTTP_POST, PODS, POD("alone"));
    ck_assert_int_eq(bind_pod(&w, "early", BINDING("n1", "0")), 201);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/j",
                                "{\"metadata\":{\"annotations\":{"
                                "\"kiln.hpc/hold\":\"x\"}}}"),
                     200);
    ck_assert_int_eq(bind_pod(&w, "waits", BINDING("n1", "1")), 409);
    ck_assert_int_eq(bind_pod(&w, "alone", BINDING("n1", "2")), 201);

    ck_assert_int_eq(world_code(&w, &alice, HTTP_PATCH, JOBS "/j",
                                "{\"metadata\":{\"annotations\":{"
                                "\"kiln.hpc/hold\":null}}}"),
                     200);
    ck_assert_int_eq(bind_pod(&w, "waits", BINDING("n1", "1")), 201);
}
END_TEST

SUITE("bind", a_binding_sets_node_allocation_and_condition,
      a_binding_does_the_same_as_a_patch_and_as_a_tree, no_core_is_given_twice,
      cores_of_a_pod_are_lent_by_wish_and_fact_together,
      a_pod_has_its_cores_again_when_nobody_else_has_them, nobody_is_born_with_a_wish,
      a_pod_that_ended_gives_its_cores_back, a_bound_pod_is_not_bound_again,
      a_pod_bound_without_an_allocation_is_given_one_where_it_is,
      cpus_that_the_node_does_not_have_are_refused, nonsense_is_refused,
      a_group_is_bound_in_one_request, a_group_of_one_is_as_good,
      a_conflict_in_the_middle_binds_none_and_is_named, members_of_a_group_do_not_share_a_core,
      a_member_that_is_gone_or_going_binds_none, a_pod_that_is_in_the_list_twice_is_refused,
      a_group_that_is_no_group_is_refused, the_nodes_of_a_pod_group_are_written_with_its_bindings,
      a_pod_group_is_read_by_the_nodes_of_its_pods, a_dry_run_of_a_group_binds_none,
      a_group_is_the_schedulers_to_bind_and_kilns_own,
      a_hundred_are_bound_together_and_513_are_too_many, no_pod_of_a_held_job_is_given_a_node)
