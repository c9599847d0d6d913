/* SPDX-License-Identifier: Apache-2.0 */
/* backfill [NODES [WAITING [ENDS [with|without|withheld|named]]]] - the cost of
 * reservations and of backfilling
 *
 * NODES (5000) of 40 CPUs in two NUMA nodes, full of four pods each that end at
 * many different times; WAITING (100000) pods on whole cores, of mixed shapes
 * and time limits, which are all tried once; then ENDS (200) pods end before
 * their time. Each with backfill and without; the results are CPU time of the
 * thread. Withheld: the nodes are empty, and all but ten have a daily
 * maintenance before any pod would end. Named: these nodes have a Reservation
 * that has begun, and all waiting pods name it.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/informers.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "controller/scheduler/scheduler.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"

#define PER_NODE 4u
#define NUMA     2u
#define CORES    10u /* of a NUMA node, two PUs each */
#define TURN     64u /* cycles per turn of the scheduler's loop */

#define ON_CORES ",\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":\"%s\"%s}"

enum mode {
    WITHOUT,
    WITH,
    WITHHELD, /* the nodes are empty, also for NAMED */
    NAMED,
    MODES,
};

static const char *const mode_names[] = {
    "without",
    "with",
    "withheld",
    "named",
};

static int64_t
thread_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

struct cluster {
    struct fake_client *api;
    struct scheduler *scheduler;
    struct informers *informers;
    unsigned nodes, waiting, ends;
    enum mode mode;
};

static void
add_node(struct cluster *c, unsigned i)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    unsigned n = NUMA * CORES;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"n%u\"},\"status\":{"
                  "\"allocatable\":{\"cpu\":\"%u\",\"memory\":\"64Gi\","
                  "\"pods\":\"256\"},\"topology\":{\"cpus\":\"0-%u\","
                  "\"packages\":[\"0-%u\"],\"cores\":[",
                  i, 2 * n, 2 * n - 1, 2 * n - 1);
    for (unsigned core = 0; core < n; core++)
        strbuf_printf(&s, "%s\"%u,%u\"", core > 0 ? "," : "", core, core + n);
    strbuf_add_text(&s, "],\"numaNodes\":[");
    for (unsigned m = 0; m < NUMA; m++)
        strbuf_printf(&s,
                      "%s{\"node\":%u,\"cpus\":\"%u-%u,%u-%u\",\"memory\":"
                      "\"32Gi\"}",
                      m > 0 ? "," : "", m, m * CORES, (m + 1) * CORES - 1, n + m * CORES,
                      n + (m + 1) * CORES - 1);
    strbuf_add_text(&s, "]}}}");
    fake_client_put(c->api, &node_kind, s.text);
}

static void
add_pod(struct cluster *c, const char *prefix, unsigned number, unsigned cpus, unsigned mib,
        unsigned limit_s)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s%u\",\"namespace\":\"default\","
                  "\"annotations\":{\"kiln.hpc/job-id\":\"%u\"}},\"spec\":{"
                  "\"activeDeadlineSeconds\":%u,\"containers\":[{\"name\":"
                  "\"c\",\"resources\":{\"requests\":{\"cpu\":\"%u\","
                  "\"memory\":\"%uMi\"}}}]" ON_CORES "}}",
                  prefix, number, number + 1, limit_s, cpus, mib,
                  number % 3 == 0 ? "single-numa-node" : "best-effort",
                  c->mode == NAMED ? ",\"reservation\":\"m\"" : "");
    fake_client_put(c->api, &pod_kind, s.text);
}

static void
work(struct cluster *c)
{
    do
        fake_client_run(c->api);
    while (scheduler_work(c->scheduler, 1000));
    scheduler_tick(c->scheduler);
    fake_client_run(c->api);
}

static void
fill(struct cluster *c)
{
    for (unsigned i = 0; i < c->nodes * PER_NODE; i++) {
        add_pod(c, "r", i, NUMA * CORES * 2 / PER_NODE, 1024, 60 + i * 7919 % 604800);
        if (i % 1000 == 999)
            work(c);
    }
    work(c);
}

/* There are twenty sizes, ten amounts of memory, and twenty-four time limits.
 */
static void
make_wait(struct cluster *c)
{
    for (unsigned i = 0; i < c->waiting; i++) {
        unsigned mixed = i * 2654435761u >> 8;

        add_pod(c, "w", i, i == 0 ? 40 : 2 + 2 * (mixed % 20), 1024 * (1 + mixed / 20 % 10),
                3600 * (1 + mixed / 200 % 24));
    }
    fake_client_run(c->api);
}

/* Adds a daily maintenance, or a Reservation that has begun. */
static void
add_reservation(struct cluster *c)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    time_t from = time(NULL) + (c->mode == NAMED ? -1800 : 1800);
    struct tm utc;
    char start[32];

    gmtime_r(&from, &utc);
    strftime(start, sizeof(start), "%Y-%m-%dT%H:%M:%SZ", &utc);
    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"m\",\"uid\":\"u\"},\"spec\":{"
                  "\"start\":\"%s\"%s,\"nodes\":[",
                  start,
                  c->mode == NAMED ? ""
                                   : ",\"duration\":\"1h\",\"recurrence\":"
                                     "\"Daily\",\"maintenance\":true");
    for (unsigned i = 10; i < c->nodes; i++)
        strbuf_printf(&s, "%s\"n%u\"", i > 10 ? "," : "", i);
    strbuf_add_text(&s, "]}}");
    fake_client_put(c->api, &reservation_kind, s.text);
    work(c);
}

/* Tries every waiting pod, in turns like those of the scheduler's loop. */
static void
measure_pass(struct cluster *c, const char *name)
{
    size_t before = mallinfo2().uordblks, after;
    int64_t longest = 0, began = thread_cpu_ns(), took;
    uint64_t attempts = scheduler_count(c->scheduler).attempts;
    struct scheduler_counts counts;
    bool is_more = true;

    while (is_more) {
        int64_t turn = thread_cpu_ns();

        is_more = scheduler_work(c->scheduler, TURN);
        turn = thread_cpu_ns() - turn;
        longest = turn > longest ? turn : longest;
    }
    took = thread_cpu_ns() - began;
    after = mallinfo2().uordblks;
    counts = scheduler_count(c->scheduler);
    printf("%-9s full pass of %llu cycles %6.0f ms, %5.2f us each, longest turn "
           "%6.2f ms, %4zu + %zu bytes a job\n",
           name, (unsigned long long)(counts.attempts - attempts), (double)took / 1e6,
           (double)took / 1e3 / (double)(counts.attempts - attempts), (double)longest / 1e6,
           after > before ? (after - before) / c->waiting : 0, sizeof(struct queued_pod));
    work(c);
}

/* Measures until the first pod uses the released resources, and until all
 * activated pods were tried.
 */
static void
measure_ends(struct cluster *c, const char *name)
{
    int64_t first_sum = 0, first_most = 0, all_sum = 0;
    unsigned taken = 0;
    uint64_t attempts = scheduler_count(c->scheduler).attempts;

    for (unsigned i = 0; i < c->ends; i++) {
        size_t assumed = scheduler_count(c->scheduler).assumed;
        int64_t began, first = 0, turn;
        char pod[32];
        bool is_more = true;

        snprintf(pod, sizeof(pod), "r%u", i * 97 % (c->nodes * PER_NODE));
        fake_client_remove(c->api, &pod_kind, "default", pod);
        began = thread_cpu_ns();
        fake_client_run(c->api);
        scheduler_tick(c->scheduler);
        for (unsigned turns = 0; is_more || turns < 3; turns++) {
            is_more = scheduler_work(c->scheduler, 1);
            if (first == 0 && scheduler_count(c->scheduler).assumed > assumed)
                first = thread_cpu_ns() - began;
        }
        turn = thread_cpu_ns() - began;
        taken += first > 0;
        first_sum += first;
        first_most = first > first_most ? first : first_most;
        all_sum += turn;
        work(c);
    }
    printf("%-9s %u ends: the room is taken after %5.2f ms (most %5.2f, %u "
           "times); until all are tried %5.2f ms, %.0f cycles\n",
           name, c->ends, taken > 0 ? (double)first_sum / taken / 1e6 : 0.0,
           (double)first_most / 1e6, taken, (double)all_sum / c->ends / 1e6,
           (double)(scheduler_count(c->scheduler).attempts - attempts) / c->ends);
}

static void
run(const struct cluster *asked, enum mode mode)
{
    const char *name = mode == WITH ? "backfill" : mode_names[mode];
    bool is_empty = mode == WITHHELD || mode == NAMED;
    struct cluster c = *asked;
    struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .percentage_of_nodes = 100,
    };
    struct error err = {0};

    for (unsigned i = 0; i < n_default_profile; i++)
        if (mode != WITHOUT || !default_profile[i].plugin->depends_on_time)
            plugins[profile.n_plugins++] = default_profile[i];
    c.mode = mode;
    c.api = fake_client_new();
    if (scheduler_new(
            &(struct scheduler_settings){
                .client = fake_client_client(c.api),
                .clock = &clock_system,
                .seed = 1,
                .profiles = &profile,
                .n_profiles = 1,
                /* retry at once, as if they had failed long ago */
                .initial_backoff_us = 1,
                .max_backoff_us = 1,
            },
            &c.scheduler, &err)
        < 0) {
        fprintf(stderr, "backfill: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    for (unsigned i = 0; i < c.nodes; i++)
        add_node(&c, i);
    c.informers = informers_new(c.scheduler, fake_client_client(c.api), NULL, NULL);
    fake_client_run(c.api);
    scheduler_start(c.scheduler);
    if (is_empty)
        add_reservation(&c);
    else
        fill(&c);
    make_wait(&c);
    measure_pass(&c, name);
    if (!is_empty)
        measure_ends(&c, name);
    informers_free(c.informers);
    scheduler_free(c.scheduler);
    fake_client_free(c.api);
}

int
main(int argc, char **argv)
{
    struct cluster c = {
        .nodes = argc > 1 ? (unsigned)atoi(argv[1]) : 5000,
        .waiting = argc > 2 ? (unsigned)atoi(argv[2]) : 100000,
        .ends = argc > 3 ? (unsigned)atoi(argv[3]) : 200,
    };

    for (unsigned m = 0; m < MODES; m++)
        if (argc > 4 ? strcmp(argv[4], mode_names[m]) == 0 : m <= WITH)
            run(&c, m);
    return 0;
}
