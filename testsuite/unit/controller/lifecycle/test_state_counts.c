/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/state_counts.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/reconcile/object_cache.h"
#include "lib/api/object/kind.h"
#include "lib/base/metric.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/suite.h"

static struct fake_client *api;
static struct object_cache *cache;
static struct metric_registry *registry;
static struct state_counts *counts;

static void
begin(void)
{
    api = fake_client_new();
    registry = metric_registry_new();
    cache = object_cache_new(fake_client_client(api));
    counts = state_counts_new(cache, registry);
    object_cache_start(cache);
    fake_client_run(api);
}

static void
end(void)
{
    state_counts_free(counts);
    object_cache_free(cache);
    metric_registry_free(registry);
    fake_client_free(api);
}

static void PRINTF(2, 3) put(const struct kind *kind, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fake_client_put(api, kind, text);
    fake_client_run(api);
}

/* Returns the series that are not 0, each as "labels=value ". */
static const char *
look(const char *family)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    static char found[512];
    char *line, *rest;
    size_t length = strlen(family);

    found[0] = '\0';
    metric_format(registry, &text);
    for (line = strtok_r(text.text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *value = strrchr(line, ' ');

        if (strncmp(line, family, length) != 0 || line[length] != '{' || strcmp(value, " 0") == 0)
            continue;
        strncat(found, line + length, sizeof(found) - strlen(found) - 2);
        strcat(found, ";");
    }
    return found;
}

/* ---- Nodes ---- */

static void
put_node(const char *name, const char *spec, const char *ready)
{
    put(&node_kind,
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s},\"status\":{"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
        name, spec, ready);
}

/* A pod that gets four CPUs with its node. */
static void
put_holder(const char *name, const char *node, const char *phase)
{
    const char *allocation = *node != '\0' ? ",\"allocation\":{\"cpus\":\"0-3\"}" : "";

    put(&pod_kind,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"x\"},\"spec\":{\"nodeName\":\"%s\","
        "\"containers\":[{\"name\":\"main\"}]},\"status\":{\"phase\":\"%s\"%s}}",
        name, node, phase, allocation);
}

static void
check_allocated(int cpus)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char line[64];

    metric_format(registry, &text);
    snprintf(line, sizeof(line), "\nkiln_cpus_allocated %d\n", cpus);
    ck_assert_msg(strstr(text.text, line) != NULL, "not %d in:\n%s", cpus, text.text);
}

START_TEST(a_node_is_in_one_state)
{
    begin();
    put_node("n1", "", "True");
    put_node("n2", "", "True");
    put_node("n3", "\"unschedulable\":true", "True");
    ck_assert_str_eq(look("kiln_nodes"), "{state=\"Cordoned\"} 1;{state=\"Ready\"} 2;");

    put(&node_kind,
        "{\"metadata\":{\"name\":\"n4-ann\",\"annotations\":{\"kiln.hpc/uid\":\"1000\"}},"
        "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}");
    ck_assert_str_eq(look("kiln_nodes"),
                     "{state=\"Cordoned\"} 1;{state=\"Ready\"} 2;{state=\"User\"} 1;");
    fake_client_remove(api, &node_kind, NULL, "n4-ann");
    fake_client_run(api);

    put_node("n1", "\"unschedulable\":true", "Unknown");
    put_node("n2",
             "\"taints\":[{\"key\":\"node.kubernetes.io/out-of-service\","
             "\"effect\":\"NoExecute\"}]",
             "False");
    ck_assert_str_eq(look("kiln_nodes"),
                     "{state=\"Cordoned\"} 1;{state=\"Fenced\"} 1;{state=\"NotReady\"} 1;");

    fake_client_remove(api, &node_kind, NULL, "n1");
    fake_client_remove(api, &node_kind, NULL, "n2");
    fake_client_remove(api, &node_kind, NULL, "n3");
    fake_client_run(api);
    ck_assert_str_eq(look("kiln_nodes"), "");
    end();
}
END_TEST

START_TEST(cpus_are_counted_by_the_state_of_their_node_and_as_held_by_pods)
{
    begin();
    put(&node_kind, "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{\"cpu\":\"64\"},"
                    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    put(&node_kind, "{\"metadata\":{\"name\":\"n2\"},\"status\":{\"allocatable\":{\"cpu\":\"32\"},"
                    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}");
    ck_assert_str_eq(look("kiln_cpus"), "{state=\"NotReady\"} 32;{state=\"Ready\"} 64;");
    put_holder("a", "", "Pending");
    check_allocated(0);

    put_holder("a", "n1", "Pending");
    put_holder("b", "n1", "Running");
    check_allocated(8);
    put_holder("a", "n1", "Running");
    check_allocated(8);

    put_holder("a", "n1", "Succeeded");
    check_allocated(4);
    put(&pod_kind,
        "{\"metadata\":{\"name\":\"c\",\"namespace\":\"x\"},\"spec\":{\"nodeName\":\"n1\","
        "\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{\"cpu\":\"2\"}}}]},"
        "\"status\":{\"phase\":\"Running\"}}");
    check_allocated(6);
    fake_client_remove(api, &pod_kind, "x", "c");
    fake_client_run(api);
    check_allocated(4);
    fake_client_remove(api, &pod_kind, "x", "b");
    fake_client_run(api);
    check_allocated(0);
    end();
}
END_TEST

/* ---- Jobs ---- */

static void
put_job(const char *namespace, const char *spec, const char *status)
{
    put(&job_kind,
        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"%s\"},\"spec\":{%s"
        "\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}},"
        "\"status\":{%s}}",
        namespace, spec, status);
}

static void
fail_job(const char *namespace, const char *reason)
{
    char status[256];

    snprintf(status, sizeof(status),
             "\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\","
             "\"reason\":\"%s\"}]",
             reason);
    put_job(namespace, "", status);
}

START_TEST(a_job_goes_from_state_to_state_and_out)
{
    begin();
    put_job("physics", "\"suspend\":true,", "");
    ck_assert_str_eq(look("kiln_jobs"), "{namespace=\"physics\",state=\"Held\",reason=\"\"} 1;");
    put_job("physics", "", "");
    ck_assert_str_eq(look("kiln_jobs"), "{namespace=\"physics\",state=\"Pending\",reason=\"\"} 1;");
    put_job("physics", "", "\"active\":1,\"ready\":1");
    ck_assert_str_eq(look("kiln_jobs"), "{namespace=\"physics\",state=\"Running\",reason=\"\"} 1;");
    fail_job("physics", "DeadlineExceeded");
    ck_assert_str_eq(look("kiln_jobs"), "{namespace=\"physics\",state=\"Deadline\",reason="
                                        "\"DeadlineExceeded\"} 1;");

    fake_client_remove(api, &job_kind, "physics", "j");
    fake_client_run(api);
    ck_assert_str_eq(look("kiln_jobs"), "");
    end();
}
END_TEST

START_TEST(a_job_that_succeeded_is_complete)
{
    begin();
    put_job("physics", "", "\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]");

    ck_assert_str_eq(look("kiln_jobs"),
                     "{namespace=\"physics\",state=\"Completed\",reason=\"\"} 1;");
    end();
}
END_TEST

START_TEST(reasons_that_are_not_ours_are_one)
{
    begin();
    fail_job("a", "SomebodysOwn");
    fail_job("b", "AndAnother");

    ck_assert_str_eq(look("kiln_jobs"), "{namespace=\"a\",state=\"Failed\",reason=\"Other\"} 1;"
                                        "{namespace=\"b\",state=\"Failed\",reason=\"Other\"} 1;");
    end();
}
END_TEST

/* Namespaces after the thousandth share one series, and leave it again. */
START_TEST(namespaces_beyond_a_thousand_are_counted_together)
{
    char name[16];

    begin();
    for (int i = 0; i < 1002; i++) {
        snprintf(name, sizeof(name), "ns%d", i);
        put_job(name, "\"suspend\":true,", "");
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "ns%d", i);
        fake_client_remove(api, &job_kind, name, "j");
    }
    fake_client_run(api);
    ck_assert_str_eq(look("kiln_jobs"), "{namespace=\"(others)\",state=\"Held\",reason=\"\"} 2;");

    fake_client_remove(api, &job_kind, "ns1000", "j");
    put_job("ns1001", "", "");
    ck_assert_str_eq(look("kiln_jobs"),
                     "{namespace=\"(others)\",state=\"Pending\",reason=\"\"} 1;");
    end();
}
END_TEST

/* ---- Pods ---- */

static void
put_pod(const char *name, const char *status)
{
    put(&pod_kind,
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"x\"},\"spec\":{"
        "\"containers\":[{\"name\":\"main\"}]},\"status\":{%s}}",
        name, status);
}

START_TEST(pods_are_counted_by_phase_and_by_why_they_wait_or_ended)
{
    begin();
    put_pod("new", "");
    put_pod("waits", "\"phase\":\"Pending\",\"conditions\":[{\"type\":"
                     "\"PodScheduled\",\"status\":\"False\",\"reason\":"
                     "\"Unschedulable\"}]");
    put_pod("runs", "\"phase\":\"Running\"");
    put_pod("ended", "\"phase\":\"Failed\",\"reason\":\"OOMKilled\"");
    put_pod("odd", "\"phase\":\"Failed\",\"reason\":\"SomebodysOwn\"");
    ck_assert_str_eq(look("kiln_pods"),
                     "{namespace=\"x\",phase=\"Failed\",reason=\"OOMKilled\"} 1;"
                     "{namespace=\"x\",phase=\"Failed\",reason=\"Other\"} 1;"
                     "{namespace=\"x\",phase=\"Pending\",reason=\"\"} 1;"
                     "{namespace=\"x\",phase=\"Pending\",reason=\"Unschedulable\"} 1;"
                     "{namespace=\"x\",phase=\"Running\",reason=\"\"} 1;");

    put_pod("waits", "\"phase\":\"Running\"");
    fake_client_remove(api, &pod_kind, "x", "ended");
    fake_client_remove(api, &pod_kind, "x", "odd");
    fake_client_remove(api, &pod_kind, "x", "new");
    fake_client_run(api);
    ck_assert_str_eq(look("kiln_pods"), "{namespace=\"x\",phase=\"Running\",reason=\"\"} 2;");
    end();
}
END_TEST

START_TEST(a_controller_that_does_not_lead_counts_nothing)
{
    begin();
    put_node("n1", "", "True");
    put_pod("runs", "\"phase\":\"Running\"");
    put_job("physics", "", "");

    state_counts_free(counts);
    counts = NULL;

    ck_assert_str_eq(look("kiln_nodes"), "");
    ck_assert_str_eq(look("kiln_jobs"), "");
    ck_assert_str_eq(look("kiln_pods"), "");
    end();
}
END_TEST

SUITE("state_counts", a_node_is_in_one_state,
      cpus_are_counted_by_the_state_of_their_node_and_as_held_by_pods,
      a_job_goes_from_state_to_state_and_out, a_job_that_succeeded_is_complete,
      reasons_that_are_not_ours_are_one, namespaces_beyond_a_thousand_are_counted_together,
      pods_are_counted_by_phase_and_by_why_they_wait_or_ended,
      a_controller_that_does_not_lead_counts_nothing)
