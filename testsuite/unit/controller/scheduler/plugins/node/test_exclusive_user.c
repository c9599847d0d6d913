/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes for one user at a time, through the real scheduler. */
#include "lib/api/policy/partition.h"

#include "lib/base/random.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define PODS 24

/* Sets a partition with all nodes. Each call changes its spec. */
static void
set_partition(struct world *w, const char *name, const char *spec)
{
    static int generation;
    CLEANUP_FREE char *text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\","
                                        "\"generation\":%d},\"spec\":{%s}}",
                                        name, ++generation, spec);

    fake_client_put(w->api, &partition_kind, text);
}

static struct world *
make_world(bool without_sharing)
{
    struct world *w = world_new(&(struct scheduler_settings){
        .without_sharing = without_sharing,
        .initial_backoff_us = 1000,
        .max_backoff_us = 1000,
    });

    set_partition(w, "all", "");
    set_partition(w, "one", "\"exclusive\":\"User\"");
    return w;
}

static void
add(struct world *w, const char *name, const char *partition, unsigned user, unsigned cpus,
    const char *more)
{
    CLEANUP_FREE char *spec = xasprintf(",\"securityContext\":{\"runAsUser\":%u},\"placement\":{"
                                        "\"partition\":\"%s\"}%s",
                                        user, partition, more);
    CLEANUP_FREE char *cpu = xasprintf("%u", cpus);

    world_add_pod(w, name, cpu, "1Gi", spec);
}

static void
end(struct world *w, const char *name)
{
    fake_client_remove(w->api, &pod_kind, "default", name);
    world_advance(w, 20000);
}

static const char *
cause_of(const struct world *w, const char *name)
{
    const struct pod_cause *cause = world_pod(w, name)->status.cause;

    return cause != NULL ? cause->message : "none";
}

static void
name_pod(unsigned i, char name[16])
{
    snprintf(name, 16, "p%u", i);
}

START_TEST(a_node_with_such_a_pod_takes_no_other_user)
{
    struct world *w = make_world(false);

    world_add_node(w, "n1", 8);
    add(w, "a", "one", 1, 1, "");
    world_settle(w);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");

    add(w, "same", "one", 1, 1, "");
    add(w, "same-by-all", "all", 1, 1, "");
    add(w, "other", "one", 2, 1, "");
    add(w, "other-by-all", "all", 2, 1, "");
    add(w, "other-by-both", "all,one", 3, 1, "");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "same"), "n1");
    ck_assert_str_eq(world_node_of(w, "same-by-all"), "n1");
    ck_assert_str_eq(world_node_of(w, "other"), "");
    ck_assert_str_eq(world_node_of(w, "other-by-all"), "");
    ck_assert_str_eq(world_node_of(w, "other-by-both"), "");
    ck_assert_str_eq(cause_of(w, "other-by-all"),
                     "waits for a node that is not used by another user on n1");

    end(w, "a");
    end(w, "same");
    ck_assert_str_eq(world_node_of(w, "other-by-all"), "n1");
    ck_assert_str_eq(world_node_of(w, "other"), "");
    world_free(w);
}
END_TEST

START_TEST(such_a_pod_goes_to_no_node_with_another_user)
{
    struct world *w = make_world(false);

    world_add_node(w, "n1", 8);
    add(w, "a", "all", 1, 1, ",\"activeDeadlineSeconds\":600");
    world_settle(w);
    add(w, "b", "one", 2, 1, ",\"activeDeadlineSeconds\":60");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "b"), "");
    ck_assert_str_eq(cause_of(w, "b"), "waits for a node without jobs of other users on n1");

    world_add_node(w, "n2", 1);
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "b"), "n2");
    world_free(w);
}
END_TEST

/* The pod runs since the beginning, and takes ten minutes. */
static void
add_running(struct world *w, const char *name, unsigned user)
{
    char time[TIME_TEXT_SIZE];
    CLEANUP_FREE char *text = NULL;

    time_format(FAKE_BEGIN, false, time);
    text = xasprintf("{\"metadata\":{\"name\":\"%s\",\"namespace\":"
                     "\"default\"},\"spec\":{\"nodeName\":\"n1\","
                     "\"activeDeadlineSeconds\":600,\"securityContext\":{"
                     "\"runAsUser\":%u},\"placement\":{\"partition\":"
                     "\"all\"},\"containers\":[{\"name\":\"c\"}]},"
                     "\"status\":{\"phase\":\"Running\",\"startTime\":"
                     "\"%s\"}}",
                     name, user, time);
    fake_client_put(w->api, &pod_kind, text);
}

/* A reservation is planned for the job, and a long job of another user is not
 * backfilled.
 */
START_TEST(a_pod_with_exclusive_user_has_a_reservation_that_others_do_not_delay)
{
    struct world *w = make_world(false);

    world_add_node(w, "n1", 8);
    add_running(w, "runs", 1);
    world_settle(w);
    add(w, "alone", "one", 2, 1, ",\"activeDeadlineSeconds\":6000");
    world_advance(w, 20000);
    add(w, "short", "all", 3, 1, ",\"activeDeadlineSeconds\":60");
    add(w, "long", "all", 3, 1, ",\"activeDeadlineSeconds\":6000");
    add(w, "own", "all", 2, 1, ",\"activeDeadlineSeconds\":6000");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "short"), "n1");
    ck_assert_str_eq(world_node_of(w, "own"), "n1");
    ck_assert_str_eq(world_node_of(w, "long"), "");
    end(w, "short");
    end(w, "runs");
    ck_assert_str_eq(world_node_of(w, "alone"), "n1");
    ck_assert_str_eq(world_node_of(w, "long"), "");
    world_free(w);
}
END_TEST

START_TEST(a_more_important_one_has_all_others_of_the_node_end)
{
    struct world *w = make_world(false);

    world_add_node(w, "n1", 8);
    add(w, "a", "all", 1, 1, "");
    add(w, "b", "all", 3, 1, "");
    add(w, "own", "all", 2, 1, "");
    world_settle(w);
    add(w, "c", "one", 2, 1, ",\"priority\":9");
    world_advance(w, 20000);
    world_advance(w, 20000);

    ck_assert_str_eq(world_node_of(w, "c"), "n1");
    ck_assert_ptr_null(fake_client_find(w->api, &pod_kind, "default", "a"));
    ck_assert_ptr_null(fake_client_find(w->api, &pod_kind, "default", "b"));
    ck_assert_str_eq(world_node_of(w, "own"), "n1");
    world_free(w);
}
END_TEST

/* Running pods continue; the change counts for later pods. */
START_TEST(a_change_counts_for_those_that_run_and_those_that_wait)
{
    struct world *w = make_world(false);

    set_partition(w, "one", "");
    world_add_node(w, "n1", 8);
    add(w, "a", "one", 1, 1, "");
    add(w, "b", "all", 2, 1, "");
    world_settle(w);
    for (int i = 0; i < 50; i++)
        set_partition(w, "one", i % 2 == 0 ? "" : "\"exclusive\":\"User\"");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    ck_assert_str_eq(world_node_of(w, "b"), "n1");
    add(w, "c", "one", 1, 1, "");
    add(w, "d", "all", 2, 1, "");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "c"), "");
    ck_assert_str_eq(world_node_of(w, "d"), "");

    set_partition(w, "one", "\"exclusive\":\"\"");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "c"), "n1");
    ck_assert_str_eq(world_node_of(w, "d"), "n1");
    world_free(w);
}
END_TEST

START_TEST(all_that_are_alike_are_told_of_a_change)
{
    struct world *w = make_world(false);
    char name[16];

    world_add_node(w, "n1", 8);
    add(w, "runs", "all", 1, 8, "");
    world_settle(w);
    for (unsigned i = 0; i < 5; i++) {
        name_pod(i, name);
        add(w, name, "one", 1, 2, ",\"activeDeadlineSeconds\":300");
        world_advance(w, 1000);
    }
    world_advance(w, 20000);
    set_partition(w, "one", "\"state\":\"Down\"");
    world_advance(w, 1000);
    world_advance(w, 1000);

    for (unsigned i = 0; i < 5; i++) {
        name_pod(i, name);
        ck_assert_str_eq(cause_of(w, name), "partition one is down");
    }
    world_free(w);
}
END_TEST

START_TEST(a_scheduler_that_starts_again_knows_it)
{
    struct world *w = make_world(false);

    world_add_node(w, "n1", 8);
    add(w, "a", "one", 1, 1, "");
    world_settle(w);
    world_restart(w);
    world_settle(w);
    add(w, "b", "all", 2, 1, "");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "b"), "");
    world_free(w);
}
END_TEST

/* ---- Random runs ---- */

static const struct pod *
find(const struct world *w, unsigned i)
{
    const struct object *object;
    char name[16];

    name_pod(i, name);
    object = fake_client_find(w->api, &pod_kind, "default", name);
    return object != NULL ? pod_of(object) : NULL;
}

static bool
is_alone(const struct pod *pod)
{
    return strcmp(pod_spec_partition(&pod->spec), "one") == 0;
}

static int64_t
user_of(const struct pod *pod)
{
    return *pod->spec.security_context->run_as_user;
}

static void
want_apart(const struct world *w)
{
    for (unsigned i = 0; i < PODS; i++)
        for (unsigned j = 0; j < PODS; j++) {
            const struct pod *a = find(w, i), *b = find(w, j);

            if (a == NULL || b == NULL || a->spec.node_name == NULL || b->spec.node_name == NULL
                || !is_alone(a))
                continue;
            ck_assert(strcmp(a->spec.node_name, b->spec.node_name) != 0
                      || user_of(a) == user_of(b));
        }
}

static void
end_some(struct world *w, struct random_source *random, unsigned of)
{
    char name[16];

    for (unsigned i = 0; i < PODS; i++) {
        const struct pod *pod = find(w, i);

        if (pod == NULL || pod->spec.node_name == NULL || random_below(random, of) != 0)
            continue;
        name_pod(i, name);
        fake_client_remove(w->api, &pod_kind, "default", name);
    }
    world_advance(w, 10000);
}

/* The nodes of all pods, in a row. */
static void
run(uint64_t seed, unsigned nodes, bool without_sharing, struct strbuf *out)
{
    struct world *w = make_world(without_sharing);
    struct random_source random = {.state = seed};
    char name[16];

    for (unsigned i = 0; i < nodes; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        world_add_node(w, name, 4);
    }
    for (unsigned i = 0; i < PODS; i++) {
        name_pod(i, name);
        add(w, name, random_below(&random, 2) == 0 ? "one" : "all", 1 + random_below(&random, 3),
            1 + random_below(&random, 3), "");
        world_settle(w);
        want_apart(w);
        strbuf_printf(out, "%s,", world_node_of(w, name));
        if (random_below(&random, 3) == 0)
            end_some(w, &random, 3);
    }
    for (unsigned turn = 0; turn < 4 * PODS; turn++) {
        end_some(w, &random, 2);
        want_apart(w);
    }
    for (unsigned i = 0; i < PODS; i++)
        ck_assert_ptr_null(find(w, i)); /* all have run */
    world_free(w);
}

START_TEST(never_do_two_users_meet_and_all_have_their_turn)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (uint64_t seed = 1; seed <= 20; seed++)
        run(seed, 4, false, &out);
}
END_TEST

/* On one node, because ties between equal nodes are broken at random. */
START_TEST(results_that_are_shared_decide_the_same)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        CLEANUP_STRBUF struct strbuf shared = STRBUF_INIT;
        CLEANUP_STRBUF struct strbuf apart = STRBUF_INIT;

        run(seed, 1, false, &shared);
        run(seed, 1, true, &apart);
        ck_assert_str_eq(shared.text, apart.text);
    }
}
END_TEST

/* The first node of a user comes when pods of all users wait already, with
 * results that they share.
 */
START_TEST(the_node_of_a_rootless_agent_takes_only_its_users_pods)
{
    struct world *w = make_world(false);

    add(w, "other", "all", 2, 1, "");
    add(w, "other-too", "all", 2, 1, "");
    add(w, "own", "all", 1, 1, "");
    world_settle(w);
    fake_client_put(
        w->api, &node_kind,
        "{\"metadata\":{\"name\":\"h-u1\",\"annotations\":{\"kiln.hpc/uid\":\"1\"}},"
        "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\",\"pods\":\"110\"}}}");
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "own"), "h-u1");
    ck_assert_str_eq(world_node_of(w, "other"), "");
    ck_assert_str_eq(world_node_of(w, "other-too"), "");

    world_add_node(w, "n1", 8);
    world_advance(w, 20000);
    ck_assert_str_eq(world_node_of(w, "other"), "n1");
    ck_assert_str_eq(world_node_of(w, "other-too"), "n1");
    world_free(w);
}
END_TEST

SUITE("exclusive_user", the_node_of_a_rootless_agent_takes_only_its_users_pods,
      a_node_with_such_a_pod_takes_no_other_user, such_a_pod_goes_to_no_node_with_another_user,
      a_pod_with_exclusive_user_has_a_reservation_that_others_do_not_delay,
      a_more_important_one_has_all_others_of_the_node_end,
      a_change_counts_for_those_that_run_and_those_that_wait,
      all_that_are_alike_are_told_of_a_change, a_scheduler_that_starts_again_knows_it,
      never_do_two_users_meet_and_all_have_their_turn, results_that_are_shared_decide_the_same)
