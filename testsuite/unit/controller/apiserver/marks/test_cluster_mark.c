/* SPDX-License-Identifier: Apache-2.0 */
/* A node's mark, and new job ids after a start. The state directory is copied as
 * an administrator would: with cp, while the store is open.
 */
#include "testsuite/unit/controller/apiserver/world.h"

#include <stdlib.h>

#include "controller/apiserver/marks/lost_pods.h"
#include "controller/apiserver/marks/node_reports.h"
#include "controller/apiserver/request/server.h"
#include "testsuite/lib/suite.h"

#define NODES "/api/v1/nodes"
#define JOBS  "/apis/batch/v1/namespaces/default/jobs"
#define READY                                                                \
    "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"conditions\":[{\"type\":" \
    "\"Ready\",\"status\":\"True\"}]}}"

static const struct principal agent_n2 = {.type = PRINCIPAL_AGENT,
                                          .uid = 2000,
                                          .name = "alice",
                                          .groups = no_groups,
                                          .n_groups = 1,
                                          .node = "n2-alice"};

static void
copy_directory(const struct world *w, char **ret_copy)
{
    CLEANUP_FREE char *command = NULL;

    *ret_copy = scratch_new();
    command = xasprintf("cp -a %s/. %s/", w->directory, *ret_copy);
    ck_assert_int_eq(system(command), 0);
}

/* The world goes on with a copy of the directory, as if it had been put back. */
static void
go_on_with(struct world *w, const char *copy)
{
    world_close(w);
    scratch_freep(&w->directory);
    w->directory = scratch_new();
    {
        CLEANUP_FREE char *command = xasprintf("cp -a %s/. %s/", copy, w->directory);

        ck_assert_int_eq(system(command), 0);
    }
    world_open(w);
}

static void
add_node(struct world *w)
{
    ck_assert_int_eq(
        world_code(w, &machine_root, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n1\"}}"), 201);
    ck_assert_int_eq(world_code(w, &machine_root, HTTP_POST, NODES "/n1/enrol", NULL), 201);
    w->startup_wait_ms = 600000;
}

static void
make_ready(struct world *w)
{
    CLEANUP_ANSWER struct answer a = world_put(w, &(struct question){.who = &agent_n1,
                                                                     .method = HTTP_PATCH,
                                                                     .target = NODES "/n1/status",
                                                                     .format = BODY_MERGE_PATCH,
                                                                     .body = READY});

    ck_assert_int_eq(a.code, 200);
}

static char *
body_of_mark(const char *mark)
{
    return mark != NULL ? xasprintf("{\"mark\":\"%s\"}", mark) : xstrdup("{}");
}

/* The node sends its mark, and gets the next one. */
static struct answer
send_mark(struct world *w, const char *mark)
{
    CLEANUP_FREE char *body = body_of_mark(mark);

    return world_ask(w, &agent_n1, HTTP_POST, NODES "/n1/mark", body);
}

static char *
next_mark(struct world *w, const char *mark)
{
    CLEANUP_ANSWER struct answer a = send_mark(w, mark);

    ck_assert_int_eq(a.code, 201);
    return xstrdup(answer_get(&a, "mark"));
}

static int64_t
id_of(const struct answer *a)
{
    ck_assert_int_eq(a->code, 201);
    return json_get_int(json_get(a->body, "status"), "id", 0);
}

static int64_t
submit(struct world *w)
{
    CLEANUP_ANSWER struct answer a =
        world_ask(w, &alice, HTTP_POST, JOBS, JOB("\"generateName\":\"a-\""));

    return id_of(&a);
}

static void
begin_job_at(struct world *w, const char *target, struct asked *asked)
{
    world_begin(w,
                &(struct question){.who = &alice,
                                   .method = HTTP_POST,
                                   .target = target,
                                   .format = BODY_JSON,
                                   .body = JOB("\"generateName\":\"b-\"")},
                asked);
    loop_drain(w->loop);
}

static void
begin_job(struct world *w, struct asked *asked)
{
    begin_job_at(w, JOBS, asked);
}

static bool
has_lost(const struct answer *a, int64_t revision)
{
    const struct json *list = json_get(a->body, "lost");

    for (uint32_t i = 0; i < json_count(list); i++)
        if (json_get_int(json_at(list, i), "after", 0) < revision
            && json_get_int(json_at(list, i), "before", 0) > revision)
            return true;
    return false;
}

START_TEST(a_new_job_waits_for_the_node_that_was_ready)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_FREE char *mark = NULL;
    struct asked asked;
    int64_t before;

    world_init(&w);
    add_node(&w);
    make_ready(&w);
    before = submit(&w);
    mark = next_mark(&w, NULL);
    world_close(&w);
    world_open(&w);
    begin_job(&w, &asked);
    ck_assert(!asked.awaited.is_here);
    {
        CLEANUP_ANSWER struct answer told = send_mark(&w, mark);
        CLEANUP_ANSWER struct answer made = world_wait(&w, &asked);

        ck_assert_int_eq(id_of(&made), before + 1);
        ck_assert_uint_eq(json_count(json_get(told.body, "lost")), 0);
    }
    ck_assert_int_eq(submit(&w), before + 2);
}
END_TEST

/* As ksub, which then says why it waits. */
START_TEST(a_request_may_say_how_long_it_waits)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_FREE char *mark = NULL;
    struct asked asked, brief;
    int64_t before;

    world_init(&w);
    add_node(&w);
    make_ready(&w);
    before = submit(&w);
    mark = next_mark(&w, NULL);
    world_close(&w);
    world_open(&w);
    begin_job(&w, &asked);
    begin_job_at(&w, JOBS "?kiln.hpc/startupWait=1", &brief);
    {
        CLEANUP_ANSWER struct answer refused = world_wait(&w, &brief);

        ck_assert_int_eq(refused.code, 503);
        ck_assert_ptr_nonnull(
            strstr(json_get_text(refused.body, "message"), "until its nodes have reported"));
    }
    ck_assert(!asked.awaited.is_here);
    {
        CLEANUP_ANSWER struct answer told = send_mark(&w, mark);
        CLEANUP_ANSWER struct answer made = world_wait(&w, &asked);

        ck_assert_int_eq(told.code, 201);
        ck_assert_int_eq(id_of(&made), before + 1);
    }
}
END_TEST

/* Otherwise a user could delay all by a minute, or end the waiting too early. */
START_TEST(a_node_of_a_user_is_neither_waited_for_nor_believed)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_FREE char *mark = NULL, *body = NULL;
    struct asked asked;
    int64_t before;

    world_init(&w);
    w.policy.allows_rootless_agents = true;
    ck_assert_int_eq(
        world_code(&w, &alice, HTTP_POST, NODES, "{\"metadata\":{\"name\":\"n2-alice\"}}"), 201);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES "/n2-alice/enrol", NULL), 201);
    {
        CLEANUP_ANSWER struct answer a = world_put(
            &w, &(struct question){.who = &agent_n2,
                                   .method = HTTP_PATCH,
                                   .target = NODES "/n2-alice/status",
                                   .format = BODY_MERGE_PATCH,
                                   .body = "{\"status\":{\"conditions\":[{\"type\":\"Ready\","
                                           "\"status\":\"True\"}]}}"});

        ck_assert_int_eq(a.code, 200);
    }
    w.startup_wait_ms = 600000;
    before = submit(&w);
    world_close(&w);
    world_open(&w);
    ck_assert_int_eq(submit(&w), before + 1);

    add_node(&w);
    make_ready(&w);
    mark = next_mark(&w, NULL);
    world_close(&w);
    world_open(&w);
    begin_job(&w, &asked);
    body = body_of_mark(mark);
    ck_assert_int_eq(world_code(&w, &agent_n2, HTTP_POST, NODES "/n2-alice/mark", body), 201);
    loop_drain(w.loop);
    ck_assert(!asked.awaited.is_here);
    {
        CLEANUP_ANSWER struct answer told = send_mark(&w, mark);
        CLEANUP_ANSWER struct answer made = world_wait(&w, &asked);

        ck_assert_int_eq(told.code, 201);
        ck_assert_int_eq(id_of(&made), before + 2);
    }
}
END_TEST

START_TEST(nothing_waits_without_a_ready_node)
{
    CLEANUP_WORLD struct world w;
    int64_t before;

    world_init(&w);
    add_node(&w);
    before = submit(&w);
    world_close(&w);
    world_open(&w);
    ck_assert_int_eq(submit(&w), before + 1);
}
END_TEST

START_TEST(a_waiting_request_is_refused_when_the_server_stops)
{
    CLEANUP_WORLD struct world w;
    struct asked asked;

    world_init(&w);
    add_node(&w);
    make_ready(&w);
    world_close(&w);
    world_open(&w);
    begin_job(&w, &asked);
    apiserver_stop(w.server);
    {
        CLEANUP_ANSWER struct answer a = world_wait(&w, &asked);

        ck_assert_int_eq(a.code, 503);
    }
    store_close(w.store);
    w.startup_wait_ms = 0;
    workers_free(w.workers);
    loop_drain(w.loop);
    apiserver_free(w.server);
    user_counts_free(w.counts);
    node_classes_free(w.classes);
    loop_free(w.loop);
    world_open(&w);
}
END_TEST

/* A copy that was made while the store was open is put back after ten jobs, and
 * is opened again before the node reports.
 */
START_TEST(a_copy_that_was_opened_twice_knows_what_it_lacks)
{
    CLEANUP_WORLD struct world w;
    CLEANUP(scratch_freep) char *copy = NULL;
    CLEANUP_FREE char *old = NULL, *mark = NULL;
    int64_t revision, last = 0;

    world_init(&w);
    add_node(&w);
    submit(&w);
    old = next_mark(&w, NULL);
    copy_directory(&w, &copy);
    for (int i = 0; i < 10; i++)
        last = submit(&w);
    revision = store_revision(w.store);
    mark = next_mark(&w, old);

    go_on_with(&w, copy);
    world_close(&w);
    world_open(&w);
    {
        /* A mark from before the copy shows nothing, but the range is known. */
        CLEANUP_ANSWER struct answer a = send_mark(&w, old);

        ck_assert(has_lost(&a, revision));
        ck_assert(!has_lost(&a, store_revision(w.store) + 1));
    }
    ck_assert_int_gt(submit(&w), last);
    {
        CLEANUP_ANSWER struct answer a = send_mark(&w, mark);

        ck_assert(has_lost(&a, revision));
        ck_assert_int_gt(store_revision(w.store), revision);
    }
}
END_TEST

/* The store that was replaced had gone far beyond what the copy has reserved. */
START_TEST(a_copy_learns_how_far_it_is_behind)
{
    CLEANUP_WORLD struct world w;
    CLEANUP(scratch_freep) char *copy = NULL;
    CLEANUP_FREE char *mark = NULL, *again = NULL;
    struct store_txn *txn;
    struct asked asked;
    int64_t last;

    world_init(&w);
    add_node(&w);
    make_ready(&w);
    submit(&w);
    copy_directory(&w, &copy);
    txn = store_begin(w.store);
    store_txn_raise(txn, store_revision(w.store) + 50000000, 500000);
    store_txn_put_secret(txn, "x", "y");
    store_commit(txn, NULL, NULL);
    last = submit(&w);
    mark = next_mark(&w, NULL);

    go_on_with(&w, copy);
    begin_job(&w, &asked);
    ck_assert(!asked.awaited.is_here);
    {
        CLEANUP_ANSWER struct answer told = send_mark(&w, mark);
        CLEANUP_ANSWER struct answer made = world_wait(&w, &asked);

        ck_assert(has_lost(&told, 50000001));
        ck_assert_int_gt(id_of(&made), last);
    }
    /* The same mark again, of another node, changes nothing more. */
    last = store_revision(w.store);
    again = next_mark(&w, mark);
    ck_assert_int_eq(store_revision(w.store), last);
}
END_TEST

/* Each has issued revisions that the other knows nothing of. */
START_TEST(each_branch_of_a_copy_lacks_the_other)
{
    CLEANUP_WORLD struct world w;
    CLEANUP(scratch_freep) char *copy = NULL, *one = NULL;
    CLEANUP_FREE char *first = NULL, *mark_one = NULL, *mark_other = NULL;
    int64_t revision_one, revision_other;

    world_init(&w);
    add_node(&w);
    submit(&w);
    first = next_mark(&w, NULL); /* makes the key for seals */
    copy_directory(&w, &copy);
    go_on_with(&w, copy);
    submit(&w);
    revision_one = store_revision(w.store);
    mark_one = next_mark(&w, NULL);
    world_close(&w);
    copy_directory(&w, &one); /* closed in good order */
    world_open(&w);

    go_on_with(&w, copy);
    submit(&w);
    revision_other = store_revision(w.store);
    mark_other = next_mark(&w, NULL);
    {
        CLEANUP_ANSWER struct answer a = send_mark(&w, mark_one);

        ck_assert(has_lost(&a, revision_one));
    }
    go_on_with(&w, one);
    {
        CLEANUP_ANSWER struct answer own = send_mark(&w, mark_one);
        CLEANUP_ANSWER struct answer a = send_mark(&w, mark_other);

        ck_assert(!has_lost(&own, revision_one));
        ck_assert(has_lost(&a, revision_other));
    }
}
END_TEST

/* The chain of a mark counts only with its seal. */
START_TEST(a_forged_chain_is_not_read)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_FREE char *mark = NULL, *forged = NULL;
    char *digit;

    world_init(&w);
    add_node(&w);
    submit(&w);
    mark = next_mark(&w, NULL);
    forged = xstrdup(mark);
    digit = strrchr(forged, ':') - 1; /* the last digit of a run */
    *digit = *digit == '0' ? '1' : '0';
    {
        CLEANUP_ANSWER struct answer a = send_mark(&w, forged);

        ck_assert_int_eq(a.code, 201);
        ck_assert_uint_eq(json_count(json_get(a.body, "lost")), 0);
    }
    forged[40]++; /* of the revision, which the first seal covers */
    {
        CLEANUP_ANSWER struct answer a = send_mark(&w, forged);

        ck_assert_uint_eq(json_count(json_get(a.body, "lost")), 0);
    }
}
END_TEST

/* The node sends its mark with the pods that it has; `pods` NULL: it could. */
static int
send_pods(struct world *w, const struct principal *who, const char *mark, const char *pods)
{
    CLEANUP_FREE char *body =
        pods != NULL ? xasprintf("{\"mark\":\"%s\",\"listsPods\":true,\"pods\":[%s]}", mark, pods)
                     : xasprintf("{\"mark\":\"%s\",\"listsPods\":true}", mark);

    return world_code(w, who, HTTP_POST, NODES "/n1/mark", body);
}

static int
bind_pod(struct world *w, const char *name)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s/binding", name);

    return world_code(w, &scheduler_room, HTTP_POST, target,
                      "{\"target\":{\"name\":\"n1\"},\"allocation\":{\"cpus\":\"8-9\","
                      "\"memoryNodes\":\"0\"}}");
}

static char *
add_pod(struct world *w, const char *name)
{
    CLEANUP_FREE char *body = xasprintf(
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["
        "{\"name\":\"main\",\"command\":[\"/bin/true\"]}]}}",
        name);
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_POST, PODS, body);

    ck_assert_int_eq(a.code, 201);
    return xstrdup(answer_get(&a, "metadata.uid"));
}

static char *
item(const char *name, const char *uid, const char *cpus)
{
    return xasprintf("{\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"%s\","
                     "\"allocation\":{\"cpus\":\"%s\",\"memoryNodes\":\"0\"}}",
                     name, uid, cpus);
}

static bool
has_node(struct world *w, const char *name, const char *cpus)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s", name);
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_GET, target, NULL);

    if (answer_get(&a, "spec.nodeName") == NULL)
        return false;
    ck_assert_str_eq(answer_get(&a, "spec.nodeName"), "n1");
    ck_assert_str_eq(answer_get(&a, "status.allocation.cpus"), cpus);
    return true;
}

START_TEST(no_pod_is_bound_before_the_nodes_have_reported)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_FREE char *mark = NULL, *uid = NULL;

    world_init(&w);
    add_node(&w);
    make_ready(&w);
    uid = add_pod(&w, "a");
    mark = next_mark(&w, NULL);
    world_close(&w);
    world_open(&w);
    ck_assert_int_eq(bind_pod(&w, "a"), 503);
    /* The report is not whole without the pods. */
    ck_assert_int_eq(send_pods(&w, &agent_n1, mark, NULL), 201);
    ck_assert_int_eq(bind_pod(&w, "a"), 503);
    ck_assert_int_eq(send_pods(&w, &agent_n1, mark, ""), 201);
    ck_assert_int_eq(bind_pod(&w, "a"), 201);
}
END_TEST

START_TEST(a_pod_that_a_node_has_is_bound_to_it)
{
    CLEANUP_WORLD struct world w;
    CLEANUP_FREE char *mark = NULL, *a = NULL, *b = NULL, *c = NULL;
    CLEANUP_FREE char *list = NULL, *item_a = NULL, *item_b = NULL;
    CLEANUP_FREE char *item_c = NULL;

    world_init(&w);
    add_node(&w);
    make_ready(&w);
    a = add_pod(&w, "a");
    b = add_pod(&w, "b");
    c = add_pod(&w, "c");
    mark = next_mark(&w, NULL);
    world_close(&w);
    world_open(&w);
    item_a = item("a", a, "2-3");
    item_b = item("b", a, "4-5"); /* a uid of another pod */
    item_c = item("c", c, "x");   /* cannot be read */
    ck_assert_int_eq(send_pods(&w, &alice, mark, item_a), 201);
    ck_assert_int_eq(bind_pod(&w, "a"), 503);
    ck_assert(!has_node(&w, "a", ""));
    list = xasprintf("%s,%s,%s,17", item_a, item_b, item_c);
    ck_assert_int_eq(send_pods(&w, &agent_n1, mark, list), 201);
    ck_assert(has_node(&w, "a", "2-3"));
    ck_assert(!has_node(&w, "b", ""));
    ck_assert(!has_node(&w, "c", ""));
    /* Again, with other cores: nothing changes. */
    free(item_a);
    item_a = item("a", a, "6-7");
    ck_assert_int_eq(send_pods(&w, &agent_n1, mark, item_a), 201);
    ck_assert(has_node(&w, "a", "2-3"));
    ck_assert_int_eq(bind_pod(&w, "a"), 409);
    ck_assert_int_eq(bind_pod(&w, "b"), 201);
}
END_TEST

/* --- pods that the store has lost with their bindings ------------------------- */

static const struct principal lifecycle_room = {.type = PRINCIPAL_LIFECYCLE, .name = "lifecycle"};

/* The Job's pod of that name and attempt is made, as the job controller does. */
static char *
make_pod(struct world *w, const char *job, const char *name, int attempt)
{
    CLEANUP_FREE char *body =
        xasprintf("{\"metadata\":{\"name\":\"%s\",\"annotations\":{\"kiln.hpc/attempt\":\"%d\","
                  "\"kiln.hpc/uid\":\"2001\",\"kiln.hpc/user\":\"alice\"},\"ownerReferences\":[{"
                  "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"%s\","
                  "\"controller\":true}]},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["
                  "{\"name\":\"main\",\"command\":[\"/bin/true\"]}]}}",
                  name, attempt, job);
    CLEANUP_ANSWER struct answer a = world_ask(w, &lifecycle_room, HTTP_POST, PODS, body);

    ck_assert_int_eq(a.code, 201);
    return xstrdup(answer_get(&a, "metadata.uid"));
}

static void
check_pod(struct world *w, const char *name, const char *uid, const char *node, const char *phase)
{
    CLEANUP_FREE char *target = xasprintf(PODS "/%s", name);
    CLEANUP_ANSWER struct answer a = world_ask(w, &alice, HTTP_GET, target, NULL);
    const char *is = answer_get(&a, "spec.nodeName");

    ck_assert_int_eq(a.code, 200);
    if (uid != NULL)
        ck_assert_str_eq(answer_get(&a, "metadata.uid"), uid);
    ck_assert_str_eq(is != NULL ? is : "", node);
    ck_assert_str_eq(answer_get(&a, "status.phase"), phase);
}

static char *
item_of_job(const char *name, int uid, int64_t revision, const char *job)
{
    return xasprintf("{\"namespace\":\"default\",\"name\":\"%s\","
                     "\"uid\":\"00000000-0000-4000-8000-00000000000%d\",\"revision\":%lld,"
                     "\"job\":{\"name\":\"j\",\"uid\":\"%s\"},"
                     "\"allocation\":{\"cpus\":\"%d\",\"memoryNodes\":\"0\"}}",
                     name, uid, (long long)revision, job, uid);
}

#define NODES_UID(n) "00000000-0000-4000-8000-00000000000" #n

START_TEST(a_pod_that_was_lost_is_the_one_that_its_job_gets)
{
    CLEANUP_WORLD struct world w;
    CLEANUP(scratch_freep) char *copy = NULL;
    CLEANUP_FREE char *mark = NULL, *job = NULL, *made = NULL, *body = NULL;
    CLEANUP_FREE char *later = NULL, *early = NULL, *deleted = NULL, *second = NULL;
    CLEANUP_FREE char *other = NULL;
    CLEANUP_FREE char *p2 = NULL, *p3 = NULL, *p4 = NULL, *p5 = NULL, *p6 = NULL;
    CLEANUP_FREE char *first = NULL, *requeued = NULL;
    int64_t known, lost;

    world_init(&w);
    add_node(&w);
    make_ready(&w);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));

        ck_assert_int_eq(a.code, 201);
        job = xstrdup(answer_get(&a, "metadata.uid"));
    }
    known = store_revision(w.store);
    copy_directory(&w, &copy);
    free(add_pod(&w, "x"));
    free(add_pod(&w, "y"));
    lost = store_revision(w.store);
    mark = next_mark(&w, NULL);

    go_on_with(&w, copy);
    made = make_pod(&w, job, "j-0", 0);
    p6 = make_pod(&w, job, "j-6", 0);
    later = item_of_job("j-1", 1, lost, job);
    early = item_of_job("j-0", 2, lost, job);          /* its Job has got another pod */
    deleted = item_of_job("j-2", 3, known, job);       /* the node has not noticed */
    second = item_of_job("j-3-r1", 4, lost, job);      /* the first attempt is not known */
    other = item_of_job("j-4", 5, lost, NODES_UID(9)); /* of a Job that is gone */
    first = item_of_job("j-6", 6, lost, job);          /* and then requeued */
    requeued = item_of_job("j-6-r1", 7, lost, job);
    body = xasprintf("{\"mark\":\"%s\",\"listsPods\":true,\"listsEnded\":true,\"pods\":[%s,%s],"
                     "\"ended\":[%s,%s,%s,%s,%s]}",
                     mark, later, early, first, deleted, second, other, requeued);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, NODES "/n1/mark", body), 201);
    check_pod(&w, "j-0", made, "", "Pending");
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_POST, NODES "/n1/mark", body), 201);
    check_pod(&w, "j-0", NODES_UID(2), "n1", "Pending");
    ck_assert(has_node(&w, "j-0", "2"));
    check_pod(&w, "j-6", p6, "", "Failed");

    free(make_pod(&w, job, "j-1", 0));
    check_pod(&w, "j-1", NODES_UID(1), "n1", "Pending");
    ck_assert(has_node(&w, "j-1", "1"));
    p2 = make_pod(&w, job, "j-2", 0);
    check_pod(&w, "j-2", p2, "", "Pending");
    p3 = make_pod(&w, job, "j-3", 0);
    check_pod(&w, "j-3", p3, "", "Failed");
    free(make_pod(&w, job, "j-3-r1", 1));
    check_pod(&w, "j-3-r1", NODES_UID(4), "n1", "Pending");
    p4 = make_pod(&w, job, "j-4", 0);
    check_pod(&w, "j-4", p4, "", "Pending");
    /* Of another Job of that name. */
    p5 = make_pod(&w, NODES_UID(8), "j-3-r2", 2);
    check_pod(&w, "j-3-r2", p5, "", "Pending");
}
END_TEST

/* What an agent says becomes names of files and rows. */
START_TEST(a_job_with_an_r_in_its_name_and_a_uid_that_is_none)
{
    CLEANUP_WORLD struct world w;
    CLEANUP(scratch_freep) char *copy = NULL;
    CLEANUP_FREE char *mark = NULL, *job = NULL, *body = NULL, *second = NULL, *p = NULL;
    CLEANUP_FREE char *p2 = NULL, *made = NULL;
    int64_t lost;

    world_init(&w);
    add_node(&w);
    make_ready(&w);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &alice, HTTP_POST, JOBS, JOB("\"name\":\"j\""));

        ck_assert_int_eq(a.code, 201);
        job = xstrdup(answer_get(&a, "metadata.uid"));
    }
    copy_directory(&w, &copy);
    free(add_pod(&w, "x"));
    lost = store_revision(w.store);
    mark = next_mark(&w, NULL);

    go_on_with(&w, copy);
    p = make_pod(&w, job, "train-resnet-0", 0);
    p2 = make_pod(&w, job, "j-0", 0);
    second = item_of_job("train-resnet-0-r1", 7, lost, job);
    body = xasprintf("{\"mark\":\"%s\",\"listsPods\":true,\"listsEnded\":true,\"pods\":["
                     "{\"namespace\":\"default\",\"name\":\"j-0\",\"uid\":\"../../etc\","
                     "\"revision\":%lld,\"job\":{\"name\":\"j\",\"uid\":\"%s\"},"
                     "\"allocation\":{\"cpus\":\"1\",\"memoryNodes\":\"0\"}},"
                     "{\"namespace\":\"default\",\"name\":\"j-1\",\"uid\":\"../../etc\","
                     "\"revision\":%lld,\"job\":{\"name\":\"j\",\"uid\":\"%s\"},"
                     "\"allocation\":{\"cpus\":\"1\",\"memoryNodes\":\"0\"}}],"
                     "\"ended\":[%s]}",
                     mark, (long long)lost, job, (long long)lost, job, second);
    ck_assert_int_eq(world_code(&w, &agent_n1, HTTP_POST, NODES "/n1/mark", body), 201);
    check_pod(&w, "train-resnet-0", p, "", "Failed");
    check_pod(&w, "j-0", p2, "", "Pending");
    made = make_pod(&w, job, "j-1", 0);
    ck_assert_str_ne(made, "../../etc");
    check_pod(&w, "j-1", made, "", "Pending");
}
END_TEST

/* A user's agent can name any number of pods of its user's Job. */
START_TEST(notes_for_a_node_are_bounded)
{
    struct lost_pods *lost = lost_pods_new();
    CLEANUP_FREE char *large = xmalloc(1u << 20);
    struct lost_pod pod = {.uid = "u", .job_uid = "j", .node = "n1", .allocation = large};
    unsigned n = 0;

    memset(large, 'x', (1u << 20) - 1);
    large[(1u << 20) - 1] = '\0';
    for (int i = 0; i < 10; i++) {
        CLEANUP_FREE char *name = xasprintf("p-%d", i);

        n += lost_pods_note(lost, "default", name, &pod);
        n += lost_pods_note(lost, "default", "p-0", &pod); /* again: it takes no more */
    }
    ck_assert_uint_eq(n, 13); /* three, and ten times the same */
    pod.node = "n2";
    ck_assert(lost_pods_note(lost, "default", "p-0", &pod));
    pod.node = "n1";
    ck_assert(
        lost_pods_note(lost, "default", "p-9", &pod)); /* in the place of the one that moved */
    ck_assert_ptr_nonnull(lost_pods_find(lost, "default", "p-9", "j"));
    lost_pods_free(lost);
}
END_TEST

/* What has ended is asked for, with the second request, only if there was a copy. */
START_TEST(ends_are_asked_for_after_a_copy)
{
    CLEANUP_WORLD struct world w;
    CLEANUP(scratch_freep) char *copy = NULL;
    CLEANUP_FREE char *mark = NULL, *body = NULL, *whole = NULL;

    world_init(&w);
    add_node(&w);
    make_ready(&w);
    copy_directory(&w, &copy);
    submit(&w);
    mark = next_mark(&w, NULL);
    body = xasprintf("{\"mark\":\"%s\",\"listsPods\":true,\"listsEnded\":true,\"pods\":[]}", mark);
    whole = xasprintf("{\"mark\":\"%s\",\"listsPods\":true,\"listsEnded\":true,\"pods\":[],"
                      "\"ended\":[]}",
                      mark);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &agent_n1, HTTP_POST, NODES "/n1/mark", body);

        ck_assert(!json_is_true(json_get(a.body, "wantsEnded")));
    }
    go_on_with(&w, copy);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &agent_n1, HTTP_POST, NODES "/n1/mark", body);

        ck_assert(json_is_true(json_get(a.body, "wantsEnded")));
        ck_assert(json_is_true(json_get(a.body, "awaitsNodes")));
    }
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &agent_n1, HTTP_POST, NODES "/n1/mark", whole);

        ck_assert(!json_is_true(json_get(a.body, "wantsEnded")));
    }
    ck_assert(!node_reports_are_awaited(w.server->node_reports));
}
END_TEST

SUITE("cluster_mark", a_new_job_waits_for_the_node_that_was_ready,
      a_request_may_say_how_long_it_waits, a_node_of_a_user_is_neither_waited_for_nor_believed,
      nothing_waits_without_a_ready_node, a_waiting_request_is_refused_when_the_server_stops,
      a_copy_that_was_opened_twice_knows_what_it_lacks, a_copy_learns_how_far_it_is_behind,
      each_branch_of_a_copy_lacks_the_other, a_forged_chain_is_not_read,
      no_pod_is_bound_before_the_nodes_have_reported, a_pod_that_a_node_has_is_bound_to_it,
      a_pod_that_was_lost_is_the_one_that_its_job_gets,
      a_job_with_an_r_in_its_name_and_a_uid_that_is_none, notes_for_a_node_are_bounded,
      ends_are_asked_for_after_a_copy)
