/* SPDX-License-Identifier: Apache-2.0 */
/* asleep [PODS [EVENTS]] - what an event costs the scheduler that helps none of
 * the unschedulable pods
 *
 * PODS (100000) unschedulable pods on 100 nodes: of one shape, each with its
 * own shape, and blocked by other pods. Then EVENTS (1000) of each kind are
 * passed directly to the scheduler; and once more after an event that helps the
 * blocked ones. The results are CPU time of the thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "controller/scheduler/informers.h"
#include "controller/scheduler/scheduler.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"

#define NODES 100

static int64_t
thread_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A group of similar pods. */
static const struct sort {
    const char *name;
    const char *cpu; /* NULL: a different number for each, all too large */
    const char *spec;
} sorts[] = {
    {"of one shape", "64", ""},
    {"each of its own", NULL, ""},
    {"unevenly spread", "1",
     ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"rack\","
     "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":"
     "{\"matchLabels\":{\"a\":\"b\"}}}]"},
    {"without their like", "1",
     ",\"affinity\":{\"podAffinity\":{"
     "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":"
     "\"rack\",\"labelSelector\":{\"matchLabels\":{\"a\":\"b\"}}}]}}"},
};

struct cluster {
    struct fake_client *api;
    struct scheduler *scheduler;
    struct informers *informers;
};

static void
add_pods(struct cluster *c, const struct sort *sort, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

        strbuf_printf(&s,
                      "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"d\"},"
                      "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":"
                      "{\"requests\":{\"cpu\":\"",
                      i);
        if (sort->cpu == NULL)
            strbuf_printf(&s, "%u", 64 + i);
        else
            strbuf_add_text(&s, sort->cpu);
        strbuf_printf(&s, "\"}}}]%s}}", sort->spec);
        fake_client_put(c->api, &pod_kind, s.text);
    }
}

static void
cluster_init(struct cluster *c, const struct sort *sort, unsigned pods)
{
    struct error err = {0};

    c->api = fake_client_new();
    if (scheduler_new(
            &(struct scheduler_settings){
                .client = fake_client_client(c->api),
                .clock = &clock_system,
                .seed = 1,
            },
            &c->scheduler, &err)
        < 0) {
        fprintf(stderr, "asleep: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    for (unsigned i = 0; i < NODES; i++) {
        CLEANUP_FREE char *json = xasprintf("{\"metadata\":{\"name\":\"n%u\"},\"status\":{"
                                            "\"allocatable\":{\"cpu\":\"32\",\"pods\":\"99\"}}}",
                                            i);

        fake_client_put(c->api, &node_kind, json);
    }
    add_pods(c, sort, pods);
    c->informers = informers_new(c->scheduler, fake_client_client(c->api), NULL, NULL);
    fake_client_run(c->api);
    scheduler_start(c->scheduler);
    while (scheduler_work(c->scheduler, 1000))
        fake_client_run(c->api);
    scheduler_tick(c->scheduler);
    fake_client_run(c->api);
}

static void
cluster_fini(struct cluster *c)
{
    informers_free(c->informers);
    scheduler_free(c->scheduler);
    fake_client_free(c->api);
}

static double
us_per_event(int64_t began_ns, unsigned events)
{
    return (double)(thread_cpu_ns() - began_ns) / 1e3 / events;
}

/* A node of the pods gets a label, and loses it again. */
static double
relabel(struct cluster *c, unsigned events)
{
    const struct object *a = object_ref(fake_client_find(c->api, &node_kind, NULL, "n0"));
    const struct object *b = object_ref(
        fake_client_put(c->api, &node_kind,
                        "{\"metadata\":{\"name\":\"n0\",\"labels\":{\"color\":\"red\"}},"
                        "\"status\":{\"allocatable\":{\"cpu\":\"32\",\"pods\":\"99\"}}}"));
    int64_t began_ns;
    double us;

    fake_client_run(c->api);
    began_ns = thread_cpu_ns();
    for (unsigned i = 0; i < events; i++)
        scheduler_node_changed(c->scheduler, i % 2 == 0 ? b : a, i % 2 == 0 ? a : b);
    us = us_per_event(began_ns, events);
    object_unref(a);
    object_unref(b);
    return us;
}

/* A pod of another namespace appears on a node. */
static double
come_and_go(struct cluster *c, unsigned events)
{
    const struct object *pod = object_ref(
        fake_client_put(c->api, &pod_kind,
                        "{\"metadata\":{\"name\":\"x\",\"namespace\":\"other\"},\"spec\":{"
                        "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\"}]}}"));
    int64_t began_ns;
    double us;

    fake_client_run(c->api);
    began_ns = thread_cpu_ns();
    for (unsigned i = 0; i < events; i++)
        scheduler_pod_changed(c->scheduler, NULL, pod);
    us = us_per_event(began_ns, events);
    object_unref(pod);
    return us;
}

/* An event that helps all pods that are blocked by others. */
static void
help(struct cluster *c)
{
    fake_client_put(c->api, &pod_kind,
                    "{\"metadata\":{\"name\":\"y\",\"namespace\":\"d\","
                    "\"labels\":{\"a\":\"b\"}},\"spec\":{\"nodeName\":\"n1\","
                    "\"containers\":[{\"name\":\"c\"}]}}");
    fake_client_run(c->api);
}

static void
run(const struct sort *sort, unsigned pods, unsigned events)
{
    struct cluster c;
    double labels_us, pods_us, awake_us;
    size_t sleeping;

    cluster_init(&c, sort, pods);
    labels_us = relabel(&c, events);
    pods_us = come_and_go(&c, events);
    sleeping = scheduler_count(c.scheduler).unschedulable_pods;
    help(&c);
    awake_us = relabel(&c, events);
    printf("%-20s %9zu %18.2f %16.2f %18.2f %9zu\n", sort->name, sleeping, labels_us, pods_us,
           awake_us, scheduler_count(c.scheduler).active + scheduler_count(c.scheduler).backoff);
    fflush(stdout);
    cluster_fini(&c);
}

int
main(int argc, char **argv)
{
    unsigned pods = argc > 1 ? (unsigned)atoi(argv[1]) : 100000;
    unsigned events = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;

    printf("%-20s %9s %18s %16s %18s %9s\n", "unschedulable pods", "asleep", "us/node relabelled",
           "us/pod elsewhere", "after one helped", "woken");
    for (size_t i = 0; i < ARRAY_SIZE(sorts); i++)
        run(&sorts[i], pods, events);
    return EXIT_SUCCESS;
}
