/* SPDX-License-Identifier: Apache-2.0 */
/* api - the API server alone: reads, writes, watches, memory
 *
 *     testsuite/bench/api/api [OBJECTS [SECONDS [WATCHERS [EVENTS]]]]
 *
 * kiln-controller --conformance serves OBJECTS (100000) pods, 10,000 of them in
 * one namespace. For comparison, a bare evhttp that answers a constant of 1 KiB
 * runs beside it. This process sends requests to both over 64 kept connections.
 * CPU is the server's own, of all its threads. All processes share the machine,
 * so only the ratios are meaningful. Writes are durable.
 */
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "testsuite/bench/api/audience.h"
#include "testsuite/bench/api/pass.h"
#include "testsuite/bench/api/population.h"
#include "testsuite/bench/http/asker.h"
#include "testsuite/bench/http/served.h"

#define CONNECTIONS 64
#define PAGE        500
#define FEW         10000 /* pods of the namespace that is listed */

/* Reads during a pass of the scheduler, at a rate that leaves CPUs free. */
#define PASS_NODES       5000
#define PASS_PODS        40000
#define PASS_S           1.5
#define PASS_CONNECTIONS 8

struct bench {
    struct served bare;
    struct served api;
    unsigned long objects;
    double seconds;
    double bare_rate;
};

static void
heading(void)
{
    printf("%-34s %10s %9s %9s %8s %8s  %s\n", "", "/s", "p50 us", "p99 us", "CPU us", "of bare",
           "target");
}

static void
row(const struct bench *b, const char *name, const struct asker_answers *a, const char *target)
{
    printf("%-34s %10.0f %9.0f %9.0f %8.1f %8.2f  %s\n", name, a->per_second, a->p50_us, a->p99_us,
           a->cpu_us, a->per_second / b->bare_rate, target);
    fflush(stdout);
}

static void
ask_get(struct strbuf *out, unsigned long n, const void *arg)
{
    (void)arg;
    population_add_head(out, "GET", "/api/v1/namespaces/bench/pods/pod-%lu", n * 7919 % FEW);
    strbuf_add_text(out, "\r\n");
}

static void
ask_page(struct strbuf *out, unsigned long n, const void *arg)
{
    (void)n;
    (void)arg;
    population_add_head(out, "GET", "/api/v1/namespaces/bench/pods?limit=%d", PAGE);
    strbuf_add_text(out, "\r\n");
}

static void
ask_create(struct strbuf *out, unsigned long n, const void *arg)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    (void)arg;
    population_add_pod(&body, "made", n, POPULATION_AS_SENT);
    population_add_head(out, "POST", "/api/v1/namespaces/made/pods");
    strbuf_printf(out,
                  "Content-Type: application/json\r\n"
                  "Content-Length: %zu\r\n\r\n%s",
                  body.length, body.text);
}

static void
ask_patch(struct strbuf *out, unsigned long n, const void *arg)
{
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    /* The value is always new, because a change without an effect is no event.
     */
    strbuf_printf(&body, "{\"metadata\":{\"labels\":{\"turn\":\"%s-%lu\"}}}", (const char *)arg, n);
    population_add_head(out, "PATCH", "/api/v1/namespaces/bench/pods/pod-%lu", n * 7919 % FEW);
    strbuf_printf(out,
                  "Content-Type: application/merge-patch+json\r\n"
                  "Content-Length: %zu\r\n\r\n%s",
                  body.length, body.text);
}

static struct asker_plan
plan_of(const struct bench *b, void (*ask)(struct strbuf *out, unsigned long n, const void *arg),
        int status)
{
    return (struct asker_plan){
        .server = &b->api,
        .connections = CONNECTIONS,
        .seconds = b->seconds,
        .status = status,
        .ask = ask,
        .arg = "alone",
    };
}

static void
measure_bare(struct bench *b)
{
    struct asker_plan plan = plan_of(b, ask_get, 200);
    struct asker_answers answers;

    plan.server = &b->bare;
    asker_run(&plan, &answers);
    b->bare_rate = answers.per_second;
    row(b, "evhttp alone, a constant of 1 KiB", &answers, "");
}

static void
measure_one(const struct bench *b, const char *name,
            void (*ask)(struct strbuf *out, unsigned long n, const void *arg), int status,
            const char *target)
{
    struct asker_plan plan = plan_of(b, ask, status);
    struct asker_answers answers;

    asker_run(&plan, &answers);
    row(b, name, &answers, target);
}

static void
measure_list(const struct bench *b)
{
    struct asker_plan plan = plan_of(b, ask_page, 200);
    struct asker_answers answers;

    plan.connections = 4;
    asker_run(&plan, &answers);
    row(b, "LIST 500 of 10,000", &answers, "");
    printf("  %-32s %10.0f %47s\n", "MB/s", answers.bytes / answers.seconds / 1e6, ">= 200");
    printf("  %-32s %10.0f\n", "MB/s of the server's own CPU",
           answers.bytes / (answers.cpu_us * (double)answers.count));
}

static void
measure_all_pages(const struct bench *b)
{
    double cpu_us = served_cpu_us(&b->api);
    struct population_walk walk;

    population_walk_all(&b->api, PAGE, &walk);
    printf("%-34s %10.0f objects/s, %.0f MB/s, %lu objects, %lu pages, "
           "%.2f s, CPU %.2f us each\n",
           "LIST of all, pages of 500", (double)walk.objects / walk.seconds,
           walk.bytes / walk.seconds / 1e6, walk.objects, walk.pages, walk.seconds,
           (served_cpu_us(&b->api) - cpu_us) / (double)walk.objects);
}

/* Sends patches at that rate; 0: as fast as possible. */
static void
measure_watches(const struct bench *b, unsigned watchers, unsigned long events, double per_second)
{
    struct asker_plan plan = plan_of(b, ask_patch, 200);
    struct asker_answers answers;
    struct audience *audience = audience_new(&b->api, watchers);
    double made = population_metric(&b->api, "kiln_watch_frames_made_total");
    double cpu_us = served_cpu_us(&b->api);
    double seconds;

    plan.arg = per_second > 0 ? "watched" : "more";
    plan.seconds = 0;
    plan.most = events;
    plan.per_second = per_second;
    asker_run(&plan, &answers);
    seconds = audience_wait(audience, events);
    made = population_metric(&b->api, "kiln_watch_frames_made_total") - made;
    cpu_us = served_cpu_us(&b->api) - cpu_us;
    if (per_second > 0)
        printf("%u watchers, events at %.0f/s\n", watchers, per_second);
    else
        printf("%u watchers, events as fast as they go\n", watchers);
    row(b, "  PATCH beside them", &answers, "");
    printf("  %-32s %10.0f %47s\n", "events/s", (double)events / seconds,
           per_second > 0 ? "1000" : "");
    printf("  %-32s %10.2f\n", "CPU us/delivery", cpu_us / ((double)watchers * (double)events));
    printf("  %-32s %10.3f %47s\n", "encodings/event", made / (double)events, "1");
    audience_free(audience);
}

static void
ask_get_locally(struct strbuf *out, unsigned long n, const void *arg)
{
    (void)arg;
    pass_add_get(out, "/api/v1/namespaces/bench/pods/pod-%lu", n * 7919 % FEW);
}

static void
ask_page_locally(struct strbuf *out, unsigned long n, const void *arg)
{
    (void)n;
    (void)arg;
    pass_add_get(out, "/api/v1/namespaces/bench/pods?limit=%d", PAGE);
}

static void
row_of_pass(const char *name, const struct asker_answers *a)
{
    printf("  %-32s %10.0f %9.0f %9.0f %8.1f\n", name, a->per_second, a->p50_us, a->p99_us,
           a->cpu_us);
    fflush(stdout);
}

static void
measure_beside_pass(const char *name,
                    void (*ask)(struct strbuf *out, unsigned long n, const void *arg),
                    double per_second)
{
    CLEANUP_FREE char *directory = xasprintf("%s/%.3s", getenv(POPULATION_DIRECTORY), name);
    struct served server = {0};
    struct asker_plan plan = {
        .server = &server,
        .connections = PASS_CONNECTIONS,
        .seconds = PASS_S,
        .per_second = per_second,
        .status = 200,
        .ask = ask,
    };
    struct asker_answers during, idle;
    double decided;

    pass_start(&server, directory, PASS_NODES, PASS_PODS);
    decided = pass_decided(&server);
    asker_run(&plan, &during);
    decided = pass_decided(&server) - decided;
    pass_wait(&server, PASS_PODS);
    asker_run(&plan, &idle);
    pass_stop(&server);
    printf("%s beside the scheduler, %d pods, %d nodes\n", name, PASS_PODS, PASS_NODES);
    row_of_pass("idle", &idle);
    row_of_pass("in a pass", &during);
    printf("  %-32s %10.0f\n", "pods decided/s", decided / during.seconds);
}

static int
run(int argc, char **argv)
{
    struct bench b = {
        .objects = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000,
        .seconds = argc > 2 ? atof(argv[2]) : 3,
    };
    unsigned watchers = argc > 3 ? (unsigned)atoi(argv[3]) : 1000;
    unsigned long events = argc > 4 ? strtoul(argv[4], NULL, 10) : 2000;
    size_t empty, full;

    if (b.objects < FEW || watchers == 0 || events == 0) {
        fprintf(stderr, "api: at least %d objects, one watcher\n", FEW);
        return 64;
    }
    served_start(&b.bare, served_bare_run);
    served_start(&b.api, population_serve);
    empty = served_resident_bytes(&b.api);
    population_load(&b.api, "bench", FEW);
    population_load(&b.api, "rest", b.objects - FEW);
    population_load(&b.api, "made", 0);
    full = served_resident_bytes(&b.api);
    heading();
    measure_bare(&b);
    measure_one(&b, "GET one", ask_get, 200, "0.50 of bare");
    measure_list(&b);
    measure_all_pages(&b);
    measure_one(&b, "POST a pod", ask_create, 201, "");
    measure_one(&b, "PATCH a label", ask_patch, 200, "");
    measure_watches(&b, watchers, events, 1000);
    measure_watches(&b, watchers, events, 0);
    printf("%-34s %10.0f bytes, %.0f of them its JSON\n", "resident per object",
           (double)(full - empty) / (double)b.objects, population_object_bytes(&b.api));
    population_stop(&b.api);
    measure_beside_pass("GET one", ask_get_locally, 1000);
    measure_beside_pass("LIST 500", ask_page_locally, 50);
    served_stop(&b.bare);
    return 0;
}

static int
remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

/* The bench runs in a child, so that all its servers are ended and its files
 * removed, however the child ends.
 */
int
main(int argc, char **argv)
{
    char directory[] = "/tmp/kiln-bench-api.XXXXXX";
    sigset_t heard;
    int status = 0, said = 0;
    pid_t bench, ended;

    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, SIGHUP);
    sigaddset(&heard, SIGINT);
    sigaddset(&heard, SIGTERM);
    if (mkdtemp(directory) == NULL || setenv(POPULATION_DIRECTORY, directory, 1) < 0
        || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
        perror("api");
        return 1;
    }
    sigprocmask(SIG_BLOCK, &heard, NULL);
    bench = fork();
    if (bench == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_UNBLOCK, &heard, NULL);
        exit(run(argc, argv));
    }
    do {
        if (sigwait(&heard, &said) == 0 && said != SIGCHLD)
            kill(bench, SIGKILL);
        ended = waitpid(bench, &status, WNOHANG);
    } while (ended == 0);
    while (waitpid(-1, NULL, 0) > 0)
        continue; /* the child's servers */
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
