/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/scheduler/full_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "controller/scheduler/informers.h"
#include "controller/scheduler/scheduler.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"

#define PER_NODE 20u
#define NUMA     2u
#define CORES    10u /* of a NUMA node, two PUs each */

int64_t
thread_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void
add_node(struct full_cluster *c, unsigned i)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    unsigned n = NUMA * CORES;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"n%u\",\"labels\":{\"rack\":\"r%u\"}"
                  "},\"status\":{\"allocatable\":{\"cpu\":\"%u\",\"memory\":"
                  "\"64Gi\",\"pods\":\"256\"},\"topology\":{\"cpus\":\"0-%u\","
                  "\"packages\":[\"0-%u\"],\"cores\":[",
                  i, i / 40, 2 * n, 2 * n - 1, 2 * n - 1);
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

const struct object *
full_cluster_add_pod(struct fake_client *api, const char *name, unsigned job, unsigned cpus,
                     unsigned more_mib, const char *spec)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                  "\"labels\":{\"batch.kubernetes.io/job-name\":\"%s\","
                  "\"batch.kubernetes.io/job-completion-index\":\"0\","
                  "\"job-name\":\"%s\"}",
                  name, name, name);
    if (job > 0)
        strbuf_printf(&s,
                      ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
                      "\"kind\":\"Job\",\"name\":\"job-%u\",\"uid\":\"%u\","
                      "\"controller\":true}]",
                      job, job);
    strbuf_printf(&s,
                  "},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
                  "\"requests\":{\"cpu\":\"%u\",\"memory\":\"%uMi\"}}}]%s}}",
                  cpus, 1024 + more_mib, spec);
    return fake_client_put(api, &pod_kind, s.text);
}

void
full_cluster_work(struct full_cluster *c)
{
    do
        fake_client_run(c->api);
    while (scheduler_work(c->scheduler, 1000));
    scheduler_tick(c->scheduler);
    fake_client_run(c->api);
}

/* Some end in a minute, some in a week; a tenth has no time limit. */
static void
fill(struct full_cluster *c)
{
    for (unsigned i = 0; i < c->nodes * PER_NODE; i++) {
        char name[32], spec[160];

        snprintf(name, sizeof(name), "r%u", i);
        if (i % 10 == 9)
            snprintf(spec, sizeof(spec), ON_CORES, "best-effort");
        else
            snprintf(spec, sizeof(spec), ",\"activeDeadlineSeconds\":%u" ON_CORES,
                     60 + i * 7919 % 604800, "best-effort");
        full_cluster_add_pod(c->api, name, 0, 2, 0, spec);
        if (i % 1000 == 999)
            full_cluster_work(c);
    }
    full_cluster_work(c);
}

static void
make_wait(struct full_cluster *c)
{
    for (unsigned i = 0; i < c->waiting; i++) {
        char name[32], spec[160];

        snprintf(name, sizeof(name), "job-%u-%u", 1 + i / ELEMENTS, i % ELEMENTS);
        snprintf(spec, sizeof(spec), "%s" ON_CORES,
                 c->waits_for_label ? ",\"nodeSelector\":{\"a\":\"b\"}" : "", "best-effort");
        full_cluster_add_pod(c->api, name, 1 + i / ELEMENTS, 4, 0, spec);
    }
    full_cluster_work(c);
}

void
full_cluster_init(struct full_cluster *c)
{
    struct error err = {0};

    c->api = fake_client_new();
    if (scheduler_new(
            &(struct scheduler_settings){
                .client = fake_client_client(c->api),
                .clock = &clock_system,
                .seed = 1,
                .run_aside = c->run_aside,
                .aside_context = c->aside_context,
                .without_forecast = c->without_forecast,
            },
            &c->scheduler, &err)
        < 0) {
        fprintf(stderr, "full_cluster: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    for (unsigned i = 0; i < c->nodes; i++)
        add_node(c, i);
    c->informers = informers_new(c->scheduler, fake_client_client(c->api), NULL, NULL);
    fake_client_run(c->api);
    scheduler_start(c->scheduler);
    fill(c);
    make_wait(c);
}

void
full_cluster_fini(struct full_cluster *c)
{
    informers_free(c->informers);
    scheduler_free(c->scheduler);
    fake_client_free(c->api);
}
