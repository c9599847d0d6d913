/* SPDX-License-Identifier: Apache-2.0 */
/* why [NODES [WAITING [QUESTIONS [SORT]]]] - the cost of an answer to "why does
 * it wait?"
 *
 * NODES (5000) of 40 CPUs in two NUMA nodes, full of pods on whole cores that
 * end at many different times (20 per node); WAITING (100000) pods, of jobs of
 * 20000. Then QUESTIONS (200) of each sort, or of the sorts from SORT (0) on,
 * in CPU time of the thread, and the largest answer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/scheduler/scheduler.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/bench/scheduler/full_cluster.h"
#include "testsuite/lib/fake_client.h"

enum about { OF_NEW, OF_POD, OF_JOB };

/* One sort of questions; questions of a sort differ by their number. */
struct sort {
    const char *name;
    unsigned cpus, more_cpus; /* more per question, 18 times; with 1 Mi each */
    const char *numa_policy;  /* NULL: no exclusive cores */
    const char *spec;         /* "@" stands for the number */
    enum about about;
};

static const struct sort sorts[] = {
    {"a pod that waits", .about = OF_POD},
    {"a job of 20,000", .about = OF_JOB},
    {"of a shape that waits", 4, 0, "best-effort", "", OF_NEW},
    {"of a new shape each", 4, 2, "best-effort", "", OF_NEW},
    {"by amounts, new each", 4, 2, NULL, "", OF_NEW},
    {"a whole NUMA node", 20, 0, "single-numa-node", "", OF_NEW},
    {"NUMA nodes, new each", 4, 2, "single-numa-node", "", OF_NEW},
    {"a whole node", 40, 0, "best-effort", "", OF_NEW},
    {"too large for all", 4000, 1, NULL, "", OF_NEW},
    {"no such label", 1, 0, NULL, ",\"nodeSelector\":{\"a\":\"b\"}", OF_NEW},
    {"one rack", 4, 0, "best-effort", ",\"nodeSelector\":{\"rack\":\"r7\"}", OF_NEW},
    {"spread over racks", 1, 0, NULL,
     ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"rack\","
     "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":"
     "{\"matchLabels\":{\"a\":\"b\"}}}]",
     OF_NEW},
    {"spread, new each", 1, 0, NULL,
     ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"rack\","
     "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":"
     "{\"matchLabels\":{\"a\":\"b@\"}}}]",
     OF_NEW},
    {"apart, new each", 1, 0, NULL,
     ",\"affinity\":{\"podAntiAffinity\":{"
     "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":"
     "\"rack\",\"labelSelector\":{\"matchLabels\":{\"a\":\"b@\"}}}]}}",
     OF_NEW},
};

static const struct object *
make_question(struct full_cluster *c, struct fake_client *other, unsigned i,
              const struct sort *sort)
{
    unsigned n = i * 7919 % c->waiting;
    CLEANUP_STRBUF struct strbuf spec = STRBUF_INIT;
    char text[160];

    if (sort->about == OF_POD) {
        snprintf(text, sizeof(text), "job-%u-%u", 1 + n / ELEMENTS, n % ELEMENTS);
        return object_ref(fake_client_find(c->api, &pod_kind, "default", text));
    }
    if (sort->about == OF_JOB) {
        snprintf(text, sizeof(text),
                 "{\"metadata\":{\"name\":\"job-%u\",\"namespace\":\"default\","
                 "\"uid\":\"%u\"},\"spec\":{}}",
                 1 + n / ELEMENTS, 1 + n / ELEMENTS);
        return object_ref(fake_client_put(other, &job_kind, text));
    }
    for (const char *at = sort->spec; *at != '\0'; at++)
        if (*at == '@')
            strbuf_printf(&spec, "%u", i);
        else
            strbuf_add(&spec, at, 1);
    if (sort->numa_policy != NULL)
        strbuf_printf(&spec, ON_CORES, sort->numa_policy);
    return object_ref(full_cluster_add_pod(other, "new", 0, sort->cpus + i % 18 * sort->more_cpus,
                                           sort->more_cpus > 0 ? i : 0,
                                           spec.text != NULL ? spec.text : ""));
}

static int
compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static int64_t
number_of(const struct json *why, const char *name)
{
    return json_get_int(json_get(why, "start"), name, 0);
}

static void
ask(struct full_cluster *c, const struct sort *sort, unsigned questions)
{
    struct fake_client *other = fake_client_new();
    CLEANUP_FREE int64_t *ns = xnew_array(int64_t, questions);
    int64_t ends = 0, trials = 0;
    size_t bytes = 0;

    for (unsigned i = 0; i < questions; i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        const struct object *o = make_question(c, other, i, sort);
        int64_t began_ns = thread_cpu_ns();
        const struct json *why = scheduler_explain(c->scheduler, o, sort->about == OF_NEW, arena);

        ns[i] = thread_cpu_ns() - began_ns;
        json_print(why, &text);
        bytes = text.length > bytes ? text.length : bytes;
        ends = number_of(why, "ends") > ends ? number_of(why, "ends") : ends;
        trials = number_of(why, "trials") > trials ? number_of(why, "trials") : trials;
        object_unref(o);
    }
    qsort(ns, questions, sizeof(*ns), compare);
    printf("%-22s %8.2f %8.2f %8.2f %7zu %6lld %6lld\n", sort->name,
           (double)ns[questions / 2] / 1e6, (double)ns[questions * 99 / 100] / 1e6,
           (double)ns[questions - 1] / 1e6, bytes, (long long)ends, (long long)trials);
    fflush(stdout);
    fake_client_free(other);
}

int
main(int argc, char **argv)
{
    struct full_cluster c = {
        .nodes = argc > 1 ? (unsigned)atoi(argv[1]) : 5000,
        .waiting = argc > 2 ? (unsigned)atoi(argv[2]) : 100000,
    };
    unsigned questions = argc > 3 ? (unsigned)atoi(argv[3]) : 200;
    struct scheduler_counts counts;

    full_cluster_init(&c);
    counts = scheduler_count(c.scheduler);
    printf("%u nodes, %llu pods run, %u wait (%zu asleep)\n", c.nodes,
           (unsigned long long)counts.scheduled, c.waiting, counts.unschedulable_pods);
    printf("%-22s %8s %8s %8s %7s %6s %6s\n", "ms of CPU an answer", "p50", "p99", "max", "bytes",
           "ends", "trials");
    for (size_t i = argc > 4 ? (size_t)atoi(argv[4]) : 0; i < ARRAY_SIZE(sorts); i++)
        ask(&c, &sorts[i], questions);
    full_cluster_fini(&c);
    return EXIT_SUCCESS;
}
