/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/extenders/extender_rounds.h"

#include "controller/scheduler/extenders/extender.h"
#include "testsuite/lib/fake_extender_transport.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define SECOND INT64_C(1000000)

/* An extender that filters and prioritizes, and the world that calls it. */
struct town {
    struct fake_extender_transport mail;
    struct extender extender[2];
    struct extenders all;
    struct world *w;
};

static const struct extender chooses = {
    .url = "http://x",
    .filter_verb = "filter",
    .prioritize_verb = "prioritize",
    .weight = 5,
    .timeout_us = 5 * SECOND,
    .is_node_cache_capable = true,
};

static struct town *
town_new(const struct extender *first, const struct extender *second)
{
    struct town *t = xnew(struct town);

    fake_extender_transport_init(&t->mail);
    t->extender[t->all.count++] = *first;
    if (second != NULL)
        t->extender[t->all.count++] = *second;
    t->all.items = t->extender;
    t->w = world_new(&(struct scheduler_settings){
        .extenders = &t->all,
        .extender_transport = &t->mail.extender_transport,
    });
    return t;
}

static void
town_free(struct town *t)
{
    world_free(t->w);
    ck_assert(list_is_empty(&t->mail.trips));
    free(t);
}

static void
answer(struct town *t, const char *verb, const char *text)
{
    fake_extender_transport_answer(&t->mail, verb, text, NULL);
    world_settle(t->w);
}

static void
break_off(struct town *t, const char *verb)
{
    fake_extender_transport_answer(&t->mail, verb, NULL, "it is dead");
    world_settle(t->w);
}

static bool
is_asked(struct town *t, const char *verb)
{
    return fake_extender_transport_find(&t->mail, verb) != NULL;
}

static const char *
said_of(const struct world *w, const char *pod)
{
    return pod_find_condition(world_pod(w, pod), "PodScheduled")->message;
}

START_TEST(an_extender_filters_and_prioritizes)
{
    struct town *t = town_new(&chooses, NULL);

    world_add_node(t->w, "n1", 8);
    world_add_node(t->w, "n2", 8);
    world_add_node(t->w, "n3", 8);
    world_add_pod(t->w, "a", "1", "1Gi", "");
    world_settle(t->w);
    ck_assert_ptr_nonnull(strstr(fake_extender_transport_body(&t->mail, "filter"),
                                 "\"Nodes\":null,\"NodeNames\":[\"n1\","
                                 "\"n2\",\"n3\"]"));
    ck_assert_str_eq(world_node_of(t->w, "a"), "");

    answer(t, "filter", "{\"NodeNames\":[\"n1\",\"n3\"],\"FailedNodes\":{\"n2\":\"no\"}}");
    ck_assert_ptr_nonnull(strstr(fake_extender_transport_body(&t->mail, "prioritize"),
                                 "\"NodeNames\":[\"n1\",\"n3\"]"));
    answer(t, "prioritize", "[{\"Host\":\"n1\",\"Score\":1},{\"Host\":\"n3\",\"Score\":9}]");

    ck_assert_str_eq(world_node_of(t->w, "a"), "n3");
    town_free(t);
}
END_TEST

START_TEST(others_are_scheduled_while_one_waits)
{
    struct extender picky = chooses;
    struct town *t;

    picky.resources = (const char *[]){"example.com/x"};
    picky.n_resources = 1;
    t = town_new(&picky, NULL);
    fake_client_put(t->w->api, &node_kind,
                    "{\"metadata\":{\"name\":\"n1\"},\"status\":{"
                    "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\","
                    "\"pods\":\"10\",\"example.com/x\":\"2\"}}}");
    fake_client_put(t->w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},"
                    "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":"
                    "\"host\",\"resources\":{\"requests\":{\"example.com/x\":"
                    "\"1\"},\"limits\":{\"example.com/x\":\"1\"}}}]}}");
    world_add_pod(t->w, "b", "1", "1Gi", "");
    world_settle(t->w);

    ck_assert_str_eq(world_node_of(t->w, "a"), "");
    ck_assert_uint_eq(scheduler_count(t->w->scheduler).parked, 1);
    ck_assert_str_eq(world_node_of(t->w, "b"), "n1");
    answer(t, "filter", "{\"nodenames\":[\"n1\"]}");
    ck_assert_str_eq(world_node_of(t->w, "a"), "n1");
    /* only one node is left, so no scores are requested */
    ck_assert_uint_eq(t->mail.posted, 1);
    town_free(t);
}
END_TEST

START_TEST(nodes_are_looked_at_again_when_the_answer_comes)
{
    struct town *t = town_new(&chooses, NULL);

    world_add_node(t->w, "n1", 1);
    world_add_pod(t->w, "a", "1", "1Gi", "");
    world_settle(t->w);
    world_add_node(t->w, "n2", 1);
    fake_client_put(t->w->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"b\",\"namespace\":\"default\"},"
                    "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":"
                    "\"main\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
    world_settle(t->w);

    answer(t, "filter", "{\"NodeNames\":[\"n1\"]}");
    ck_assert_str_eq(world_node_of(t->w, "a"), "");
    ck_assert_ptr_nonnull(
        strstr(fake_extender_transport_body(&t->mail, "filter"), "\"NodeNames\":[\"n2\"]"));
    answer(t, "filter", "{\"NodeNames\":[\"n2\"]}");
    ck_assert_str_eq(world_node_of(t->w, "a"), "n2");
    town_free(t);
}
END_TEST

START_TEST(a_refusal_of_extenders_is_reported_and_any_event_wakes_the_pod)
{
    struct town *t = town_new(&chooses, NULL);

    world_add_node(t->w, "n1", 8);
    world_add_node(t->w, "n2", 8);
    world_add_pod(t->w, "a", "1", "1Gi", "");
    world_settle(t->w);
    answer(t, "filter", "{\"NodeNames\":[],\"FailedNodes\":{\"n1\":\"no licence\"}}");

    ck_assert_str_eq(said_of(t->w, "a"), "0/2 nodes are available: 1 no licence, 1 node(s) were "
                                         "filtered out by extender \"http://x\". preemption: 0/2 "
                                         "nodes are available: 1 No preemption victims found for "
                                         "incoming pod, 1 Preemption is not helpful for "
                                         "scheduling.");
    ck_assert_uint_eq(scheduler_count(t->w->scheduler).unschedulable_pods, 1);
    world_add_node(t->w, "n3", 1);
    world_advance(t->w, 1100);
    ck_assert(is_asked(t, "filter"));
    answer(t, "filter", "{\"NodeNames\":[\"n3\"]}");
    ck_assert_str_eq(world_node_of(t->w, "a"), "n3");
    town_free(t);
}
END_TEST

START_TEST(a_dead_extender_loses_no_pod)
{
    struct town *t = town_new(&chooses, NULL);

    world_add_node(t->w, "n1", 8);
    world_add_pod(t->w, "a", "1", "1Gi", "");
    world_settle(t->w);
    break_off(t, "filter");
    ck_assert_str_eq(said_of(t->w, "a"), "it is dead");
    ck_assert_uint_eq(scheduler_count(t->w->scheduler).backoff, 1);

    world_advance(t->w, 1100);
    answer(t, "filter", "nonsense");
    ck_assert_ptr_nonnull(strstr(said_of(t->w, "a"), "not JSON"));
    world_advance(t->w, 2100);
    answer(t, "filter", "{\"NodeNames\":[\"n7\"]}");
    ck_assert_ptr_nonnull(strstr(said_of(t->w, "a"), "not asked about"));
    world_advance(t->w, 4100);
    answer(t, "filter", "{\"Error\":\"out of paper\"}");
    ck_assert_ptr_nonnull(strstr(said_of(t->w, "a"), "out of paper"));
    world_advance(t->w, 8100);
    answer(t, "filter", "{\"NodeNames\":[\"n1\"]}");
    ck_assert_str_eq(world_node_of(t->w, "a"), "n1");
    town_free(t);
}
END_TEST

START_TEST(one_that_is_ignorable_is_done_without)
{
    struct extender meek = chooses;
    struct town *t;

    meek.is_ignorable = true;
    t = town_new(&meek, NULL);
    world_add_node(t->w, "n1", 8);
    world_add_node(t->w, "n2", 8);
    world_add_pod(t->w, "a", "1", "1Gi", "");
    world_settle(t->w);
    break_off(t, "filter");
    break_off(t, "prioritize");
    ck_assert_str_ne(world_node_of(t->w, "a"), "");
    town_free(t);
}
END_TEST

START_TEST(each_filters_what_the_one_before_left)
{
    struct extender second = chooses;
    struct town *t;

    second.url = "http://y";
    second.filter_verb = "sieve";
    second.prioritize_verb = NULL;
    second.is_node_cache_capable = false;
    t = town_new(&chooses, &second);
    world_add_node(t->w, "n1", 8);
    world_add_node(t->w, "n2", 8);
    world_add_node(t->w, "n3", 8);
    world_add_pod(t->w, "a", "1", "1Gi", "");
    world_settle(t->w);
    answer(t, "filter", "{\"NodeNames\":[\"n2\",\"n3\"]}");
    ck_assert_ptr_nonnull(strstr(fake_extender_transport_body(&t->mail, "sieve"), "\"items\":[{"));
    ck_assert_ptr_null(strstr(fake_extender_transport_body(&t->mail, "sieve"), "\"n1\""));
    answer(t, "sieve", "{\"Nodes\":{\"items\":[{\"metadata\":{\"name\":\"n2\"}}]}}");
    ck_assert_str_eq(world_node_of(t->w, "a"), "n2");
    town_free(t);
}
END_TEST

START_TEST(those_in_line_do_not_wait_for_ever)
{
    struct town *t = town_new(&chooses, NULL);

    world_add_node(t->w, "n1", 64);
    for (unsigned i = 0; i < 40; i++) {
        CLEANUP_FREE char *name = xasprintf("p%02u", i);

        world_add_pod(t->w, name, "1", "1Gi", "");
    }
    world_settle(t->w);
    ck_assert_uint_eq(scheduler_count(t->w->scheduler).parked, 40);
    ck_assert_uint_eq(t->mail.posted, 16);
    answer(t, "filter", "{\"NodeNames\":[\"n1\"]}");
    ck_assert_uint_eq(t->mail.posted, 17);

    world_advance(t->w, 5100);
    ck_assert_uint_eq(scheduler_count(t->w->scheduler).parked, 16);
    ck_assert_ptr_nonnull(strstr(said_of(t->w, "p39"), "busy"));
    world_free(t->w);
    ck_assert(list_is_empty(&t->mail.trips));
    free(t);
}
END_TEST

START_TEST(a_pod_that_goes_while_it_is_asked_about_does_not_come_back)
{
    struct town *t = town_new(&chooses, NULL);

    world_add_node(t->w, "n1", 8);
    world_add_pod(t->w, "a", "1", "1Gi", "");
    world_settle(t->w);
    fake_client_remove(t->w->api, &pod_kind, "default", "a");
    world_settle(t->w);
    answer(t, "filter", "{\"NodeNames\":[\"n1\"]}");
    ck_assert_uint_eq(scheduler_count(t->w->scheduler).parked, 0);
    ck_assert_uint_eq(scheduler_count(t->w->scheduler).in_flight, 0);
    ck_assert_uint_eq(scheduler_count(t->w->scheduler).assumed, 0);
    town_free(t);
}
END_TEST

/* Two nodes with a pod of no priority each, and one pod of higher priority that
 * fits on neither.
 */
static struct town *
crowded(const struct extender *e)
{
    struct town *t = town_new(e, NULL);

    for (unsigned i = 1; i <= 2; i++) {
        CLEANUP_STRBUF struct strbuf pod = STRBUF_INIT;
        CLEANUP_FREE char *node = xasprintf("n%u", i);

        world_add_node(t->w, node, 2);
        strbuf_printf(&pod,
                      "{\"metadata\":{\"name\":\"low%u\",\"namespace\":"
                      "\"default\",\"uid\":\"u%u\"},\"spec\":{\"nodeName\":"
                      "\"n%u\",\"containers\":[{\"name\":\"main\","
                      "\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]}}",
                      i, i, i);
        fake_client_put(t->w->api, &pod_kind, pod.text);
    }
    world_add_pod(t->w, "high", "2", "1Gi", ",\"priority\":100");
    world_settle(t->w);
    return t;
}

static const struct extender preempts = {
    .url = "http://x",
    .preempt_verb = "preempt",
    .timeout_us = 5 * SECOND,
    .is_node_cache_capable = true,
};

START_TEST(an_extender_has_a_say_in_preemption)
{
    struct town *t = crowded(&preempts);
    const char *asked = fake_extender_transport_body(&t->mail, "preempt");

    ck_assert_ptr_nonnull(strstr(asked, "\"NodeNameToVictims\":null"));
    ck_assert_ptr_nonnull(strstr(asked, "\"n1\":{\"Pods\":[{\"UID\":\"u1\"}],"
                                        "\"NumPDBViolations\":0}"));
    ck_assert_str_eq(world_node_of(t->w, "low2"), "n2");
    answer(t, "preempt", "{\"NodeNameToMetaVictims\":{\"n2\":{\"Pods\":[{\"UID\":\"u2\"}]}}}");
    world_advance(t->w, 2000);

    ck_assert_ptr_null(fake_client_find(t->w->api, &pod_kind, "default", "low2"));
    ck_assert_ptr_nonnull(fake_client_find(t->w->api, &pod_kind, "default", "low1"));
    ck_assert_str_eq(world_node_of(t->w, "high"), "n2");
    town_free(t);
}
END_TEST

START_TEST(nobody_is_evicted_where_the_extender_leaves_no_node)
{
    struct town *t = crowded(&preempts);

    answer(t, "preempt", "{\"NodeNameToMetaVictims\":{}}");
    ck_assert_ptr_nonnull(fake_client_find(t->w->api, &pod_kind, "default", "low1"));
    ck_assert_ptr_nonnull(fake_client_find(t->w->api, &pod_kind, "default", "low2"));
    ck_assert_ptr_nonnull(strstr(said_of(t->w, "high"), "left by the extender"));
    town_free(t);
}
END_TEST

START_TEST(victims_that_are_not_there_are_a_mistake)
{
    struct town *t = crowded(&preempts);

    answer(t, "preempt", "{\"NodeNameToMetaVictims\":{\"n2\":{\"Pods\":[{\"UID\":\"u9\"}]}}}");
    ck_assert_ptr_nonnull(strstr(said_of(t->w, "high"), "not found on that node"));
    ck_assert_ptr_nonnull(fake_client_find(t->w->api, &pod_kind, "default", "low2"));
    town_free(t);
}
END_TEST

static const struct extender binds = {
    .url = "http://x",
    .bind_verb = "bind",
    .timeout_us = 5 * SECOND,
};

START_TEST(an_extender_binds_and_the_allocation_is_added)
{
    struct town *t = town_new(&binds, NULL);

    world_add_numa_node(t->w, "n1", 1, 2);
    world_add_pod(t->w, "a", "2", "1Gi", EXCLUSIVE);
    world_settle(t->w);
    ck_assert_ptr_nonnull(
        strstr(fake_extender_transport_body(&t->mail, "bind"), "\"Node\":\"n1\"}"));
    ck_assert_str_eq(world_node_of(t->w, "a"), "");
    answer(t, "bind", "{}");
    ck_assert_str_eq(world_node_of(t->w, "a"), "n1");
    ck_assert_str_eq(world_allocation(t->w, "a")->cpus, "0,2");
    town_free(t);
}
END_TEST

START_TEST(a_binding_that_an_extender_refuses_is_tried_again)
{
    struct town *t = town_new(&binds, NULL);

    world_add_node(t->w, "n1", 2);
    world_add_pod(t->w, "a", "2", "1Gi", "");
    world_settle(t->w);
    answer(t, "bind", "{\"Error\":\"not today\"}");
    ck_assert_ptr_nonnull(strstr(said_of(t->w, "a"), "not today"));
    ck_assert_uint_eq(scheduler_count(t->w->scheduler).assumed, 0);
    world_advance(t->w, 1100);
    ck_assert(is_asked(t, "bind"));
    break_off(t, "bind");
    town_free(t);
}
END_TEST

/* A pod of 4 CPUs, perhaps with a resource that concerns the extender. */
static void
put_member(struct world *w, const char *name, bool has_x)
{
    const char *x = has_x ? ",\"example.com/x\":\"1\"" : "";
    const char *limit = has_x ? "\"example.com/x\":\"1\"" : "";
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"spec\":{\"priority\":10,"
        "\"schedulingGroup\":{\"podGroupName\":\"g\"},\"containers\":[{\"name\":\"main\","
        "\"image\":\"host\",\"resources\":{\"requests\":{\"cpu\":\"4\"%s},\"limits\":{%s}}}]}}",
        name, x, limit);

    fake_client_put(w->api, &pod_kind, text);
}

static void
put_gang(struct world *w, bool has_x)
{
    fake_client_put(w->api, &pod_group_kind,
                    "{\"metadata\":{\"name\":\"g\",\"namespace\":\"default\"},\"spec\":{"
                    "\"schedulingPolicy\":{\"gang\":{\"minCount\":2}}}}");
    put_member(w, "a", has_x);
    put_member(w, "b", has_x);
}

static struct town *
town_of_gang(void)
{
    static const char *resources[] = {"example.com/x"};
    struct extender picky = chooses;
    struct town *t;

    picky.preempt_verb = "preempt";
    picky.resources = resources;
    picky.n_resources = 1;
    t = town_new(&picky, NULL);
    for (unsigned i = 1; i <= 2; i++) {
        CLEANUP_FREE char *node =
            xasprintf("{\"metadata\":{\"name\":\"n%u\"},\"status\":{\"allocatable\":{\"cpu\":\"4\","
                      "\"memory\":\"8Gi\",\"pods\":\"10\",\"example.com/x\":\"2\"}}}",
                      i);

        fake_client_put(t->w->api, &node_kind, node);
    }
    world_settle(t->w);
    return t;
}

START_TEST(a_gang_that_extenders_would_be_asked_about_is_refused_in_words)
{
    struct town *t = town_of_gang();

    put_gang(t->w, true);
    for (unsigned i = 0; i < 5; i++)
        world_advance(t->w, 1000);
    ck_assert_str_eq(world_node_of(t->w, "a"), "");
    ck_assert_ptr_nonnull(strstr(said_of(t->w, "a"), "extenders accept only one pod at a time"));
    ck_assert_str_eq(world_pod(t->w, "a")->status.cause->code, "BadConstraints");
    ck_assert_uint_eq(t->mail.posted, 0);
    town_free(t);
}
END_TEST

/* None that would be asked about its pods has a say. */
START_TEST(a_gang_that_no_extender_is_asked_about_preempts)
{
    struct town *t = town_of_gang();

    world_add_pod(t->w, "x", "4", "1Gi", "");
    world_add_pod(t->w, "y", "4", "1Gi", "");
    world_settle(t->w);
    put_gang(t->w, false);
    for (unsigned i = 0; i < 8; i++)
        world_advance(t->w, 1000);
    ck_assert_str_ne(world_node_of(t->w, "a"), "");
    ck_assert_str_ne(world_node_of(t->w, "b"), "");
    ck_assert_uint_eq(t->mail.posted, 0);
    town_free(t);
}
END_TEST

SUITE("extender_rounds", an_extender_filters_and_prioritizes, others_are_scheduled_while_one_waits,
      nodes_are_looked_at_again_when_the_answer_comes,
      a_refusal_of_extenders_is_reported_and_any_event_wakes_the_pod, a_dead_extender_loses_no_pod,
      one_that_is_ignorable_is_done_without, each_filters_what_the_one_before_left,
      those_in_line_do_not_wait_for_ever,
      a_pod_that_goes_while_it_is_asked_about_does_not_come_back,
      an_extender_has_a_say_in_preemption, nobody_is_evicted_where_the_extender_leaves_no_node,
      victims_that_are_not_there_are_a_mistake, an_extender_binds_and_the_allocation_is_added,
      a_binding_that_an_extender_refuses_is_tried_again,
      a_gang_that_extenders_would_be_asked_about_is_refused_in_words,
      a_gang_that_no_extender_is_asked_about_preempts)
