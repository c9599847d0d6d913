/* SPDX-License-Identifier: Apache-2.0 */
/* store - durable transactions per second, and the cost of a start
 *
 *     testsuite/bench/store [OBJECTS [DIRECTORY [start]]]
 *
 * Writes like the API server, with one and with 64 transactions in flight, each
 * acknowledged when it is durable; the disk's own fdatasync is measured for
 * comparison. Then opens the store again with what was written. Objects are
 * made before the clock starts, so only the store is measured. With the word
 * `start`, only opens what an earlier run left in the directory.
 */
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "controller/store/store.h"
#include "lib/api/cluster/lease.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/loop/loop.h"

#define SYNCS 500

struct bench {
    const char *directory;
    unsigned objects;
    struct loop *loop;
    struct store *store;
};

/* One run; `make` makes the object of each transaction, before the clock
 * starts.
 */
struct pod_run {
    struct bench *bench;
    const char *name;
    unsigned count;
    unsigned in_flight;
    const struct object *(*make)(int64_t revision, unsigned i);
    const char *delta;
    bool has_blobs;
    const struct object **made;
    double *began; /* later: how long it took */
    unsigned begun;
    unsigned done;
};

/* One transaction under way. */
struct write {
    struct pod_run *run;
    unsigned i;
};

static double
now_s(void)
{
    return (double)clock_monotonic_us(&clock_system) / 1e6;
}

static void
die(const char *what, const struct error *err)
{
    fprintf(stderr, "store: %s: %s\n", what, err->text);
    exit(EXIT_FAILURE);
}

static void
failed(const struct error *err, void *context)
{
    (void)context;
    die("the store failed", err);
}

static double
open_store(struct bench *b)
{
    const struct store_settings settings = {
        .loop = b->loop,
        .clock = &clock_system,
        .location = {b->directory, getenv("KILN_BENCH_DATABASE")},
        .failed = failed,
    };
    struct error err = {0};
    double start = now_s();

    if (store_open(&settings, &b->store, &err) < 0)
        die("cannot open", &err);
    return now_s() - start;
}

static const struct object *
parse(const struct kind *kind, char *text TAKES)
{
    const struct object *object = NULL;
    struct error err = {0};

    if (object_parse(kind, text, strlen(text), &object, &err) < 0)
        die("cannot make an object", &err);
    free(text);
    return object;
}

#define POD_SPEC                                                          \
    "{\"containers\":[{\"name\":\"main\",\"image\":\"host\",\"args\":["   \
    "\"--input\",\"/scratch/project/data/run-0042.h5\"],\"workingDir\":"  \
    "\"/home/alice/project\",\"resources\":{\"requests\":{\"cpu\":\"8\"," \
    "\"memory\":\"16Gi\"},\"limits\":{\"memory\":\"16Gi\"}}}],"           \
    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":86400,"        \
    "\"securityContext\":{\"runAsUser\":4711,\"runAsGroup\":100},"        \
    "\"placement\":{\"numaPolicy\":\"best-effort\",\"cpuPolicy\":"        \
    "\"exclusive\"},\"execution\":{\"stdoutPath\":"                       \
    "\"/home/alice/project/out-%%j.txt\",\"umask\":\"0022\",\"limits\":[" \
    "{\"name\":\"nofile\",\"soft\":\"1024\",\"hard\":\"1048576\"},"       \
    "{\"name\":\"stack\",\"soft\":\"8388608\",\"hard\":\"unlimited\"}]}}"

static const struct object *
make_job(int64_t revision, unsigned i)
{
    return parse(&job_kind,
                 xasprintf("{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{"
                           "\"name\":\"job-%u\",\"namespace\":\"project\",\"uid\":"
                           "\"6e1f2b0a-3f61-4c57-9a39-%012u\",\"resourceVersion\":\"%" PRId64
                           "\",\"generation\":1,\"creationTimestamp\":"
                           "\"2026-01-01T00:00:00Z\",\"labels\":{\"kiln.hpc/user\":\"alice\"},"
                           "\"annotations\":{\"kiln.hpc/user\":\"alice\"}},\"spec\":{"
                           "\"parallelism\":1,\"completions\":1,\"backoffLimit\":0,"
                           "\"template\":{\"metadata\":{},\"spec\":" POD_SPEC
                           "},\"completionMode\":\"NonIndexed\",\"suspend\":false,"
                           "\"script\":{\"digest\":\"sha256:"
                           "a948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447"
                           "\",\"size\":2048}},\"status\":{\"id\":%u}}",
                           i + 1, i, revision, i + 1));
}

static const struct object *
make_pod_on(int64_t revision, unsigned i, const char *node)
{
    return parse(&pod_kind,
                 xasprintf("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                           "\"name\":\"job-%u-0\",\"namespace\":\"project\",\"uid\":"
                           "\"7e1f2b0a-3f61-4c57-9a39-%012u\",\"resourceVersion\":\"%" PRId64
                           "\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{"
                           "\"kiln.hpc/user\":\"alice\"},\"ownerReferences\":[{"
                           "\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"job-%u\","
                           "\"uid\":\"6e1f2b0a-3f61-4c57-9a39-%012u\",\"controller\":true}]},"
                           "\"spec\":" POD_SPEC ",\"status\":{\"phase\":\"Pending\"%s}}",
                           i + 1, i, revision, i + 1, i, node));
}

static const struct object *
make_pod(int64_t revision, unsigned i)
{
    return make_pod_on(revision, i, "");
}

#define BOUND ",\"allocation\":{\"cpus\":\"0-7\",\"memoryNodes\":\"0\"}"

static const struct object *
make_bound(int64_t revision, unsigned i)
{
    return make_pod_on(revision, i, BOUND);
}

static const struct object *
make_lease(int64_t revision, unsigned i)
{
    return parse(&lease_kind, xasprintf("{\"kind\":\"Lease\",\"apiVersion\":"
                                        "\"coordination.k8s.io/v1\",\"metadata\":{"
                                        "\"name\":\"n%u\",\"namespace\":\"kube-node-lease\","
                                        "\"resourceVersion\":\"%" PRId64 "\"},\"spec\":{"
                                        "\"holderIdentity\":\"n%u\"}}",
                                        i % 1000, revision, i % 1000));
}

static void next(int outcome, void *context);

static void
put_blobs(struct store_txn *txn, unsigned i)
{
    char digest[80];
    char content[4096];

    memset(content, 'x', sizeof(content));
    snprintf(digest, sizeof(digest), "sha256:%064u", i);
    store_txn_put_blob(txn, digest, content, 2048);
    store_txn_put_blob(txn, "sha256:environment", content, 4096);
}

static void
begin_one(struct pod_run *run)
{
    struct store_txn *txn = store_begin(run->bench->store);
    struct write *w = xnew(struct write);
    unsigned i = run->begun++;

    if (run->has_blobs)
        put_blobs(txn, i);
    w->run = run;
    w->i = i;
    run->began[i] = now_s();
    store_txn_put(txn, run->made[i], run->delta);
    store_commit(txn, next, w);
}

static void
next(int outcome, void *context)
{
    struct write *w = context;
    struct pod_run *run = w->run;

    (void)outcome;
    run->began[w->i] = now_s() - run->began[w->i];
    free(w);
    if (++run->done == run->count)
        loop_stop(run->bench->loop);
    if (run->begun < run->count)
        begin_one(run);
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void
measure(struct bench *b, struct pod_run run)
{
    int64_t revision;
    double start, cpu;
    struct store_txn *txn = store_begin(b->store);

    revision = store_txn_revision(txn);
    store_rollback(txn);
    run.bench = b;
    run.made = xnew_array(const struct object *, run.count);
    run.began = xnew_array(double, run.count);
    for (unsigned i = 0; i < run.count; i++)
        run.made[i] = run.make(revision + i, i);
    start = now_s();
    cpu = cpu_s();
    for (unsigned i = 0; i < run.in_flight; i++)
        begin_one(&run);
    loop_run(b->loop);
    start = now_s() - start;
    cpu = cpu_s() - cpu;
    qsort(run.began, run.count, sizeof(run.began[0]), compare);
    printf("%-40s %8.0f/s %8.0f us p50 %8.0f us p99 %6.1f us CPU\n", run.name, run.count / start,
           run.began[run.count / 2] * 1e6, run.began[run.count - 1 - run.count / 100] * 1e6,
           cpu * 1e6 / run.count);
    free(run.made);
    free(run.began);
}

/* The disk's own time: 16 KiB, overwriting existing data. */
static void
measure_disk(struct bench *b)
{
    char *path = xasprintf("%s/sync", b->directory);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    char *block = xcalloc(1, 16384);
    double took[SYNCS];

    for (int i = 0; i < 256; i++)
        if (pwrite(fd, block, 16384, i * 16384) < 0)
            perror(path);
    fsync(fd);
    for (int i = 0; i < SYNCS; i++) {
        double start = now_s();

        if (pwrite(fd, block, 16384, i % 256 * 16384) < 0)
            perror(path);
        fdatasync(fd);
        took[i] = now_s() - start;
    }
    qsort(took, SYNCS, sizeof(took[0]), compare);
    printf("%-40s %8s   %8.0f us p50 %8.0f us p99\n", "fdatasync of 16 KiB", "",
           took[SYNCS / 2] * 1e6, took[SYNCS * 99 / 100] * 1e6);
    close(fd);
    unlink(path);
    free(path);
    free(block);
}

static bool
count_to_100(const struct object *object, void *context)
{
    unsigned *n = context;

    (void)object;
    return ++*n < 100;
}

static long
rss_kib(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f != NULL && fscanf(f, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (f != NULL)
        fclose(f);
    return resident * 4;
}

static void
measure_start(struct bench *b)
{
    long before = rss_kib();
    double took;
    unsigned n = 0;

    took = open_store(b);
    printf("%-40s %8.2f s    %.2f KiB each\n", "start with all of these", took,
           (double)(rss_kib() - before)
               / (double)(store_count(b->store, &job_kind) + store_count(b->store, &pod_kind)));
    took = now_s();
    (void)store_list(b->store, &job_kind, NULL, "project/job-50000", 0, count_to_100, &n);
    printf("%-40s %8.0f us\n", "100 jobs of a list", (now_s() - took) * 1e6);
}

static void
print_machine(const struct bench *b)
{
    struct utsname name;

    uname(&name);
    printf("%s %s, %ld processors, state in %s\n\n", name.sysname, name.release,
           sysconf(_SC_NPROCESSORS_ONLN), b->directory);
}

static void
measure_writing(struct bench *b)
{
    unsigned n = b->objects;

    open_store(b);
    measure(b, (struct pod_run){.name = "create a pod, 1 in flight",
                                .count = n < 3000 ? n : 3000,
                                .in_flight = 1,
                                .make = make_pod});
    measure(b, (struct pod_run){.name = "create a job, 64 in flight",
                                .count = n,
                                .in_flight = 64,
                                .make = make_job});
    measure(b, (struct pod_run){.name = "create or write a pod, 64 in flight",
                                .count = n,
                                .in_flight = 64,
                                .make = make_pod});
    measure(b, (struct pod_run){.name = "bind a pod (a delta), 64 in flight",
                                .count = n,
                                .in_flight = 64,
                                .delta = "{\"status\":{\"allocation\":{\"cpus\":"
                                         "\"0-7\",\"memoryNodes\":\"0\"}}}",
                                .make = make_bound});
    measure(b, (struct pod_run){.name = "write a job and its blobs, 64 in flight",
                                .count = n / 4,
                                .in_flight = 64,
                                .has_blobs = true,
                                .make = make_job});
    measure(b, (struct pod_run){.name = "renew a lease, 64 in flight",
                                .count = n,
                                .in_flight = 64,
                                .make = make_lease});
    store_close(b->store);
    malloc_trim(0);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static void
remove_scratch(const char *directory)
{
    nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int
main(int argc, char **argv)
{
    char scratch[] = "/tmp/kiln-bench-XXXXXX";
    struct bench b = {
        .objects = argc > 1 ? (unsigned)atoi(argv[1]) : 100000,
        .directory = argc > 2 ? argv[2] : mkdtemp(scratch),
        .loop = loop_new(),
    };

    print_machine(&b);
    measure_disk(&b);
    if (argc <= 3)
        measure_writing(&b);
    measure_start(&b);
    store_close(b.store);
    loop_free(b.loop);
    if (argc <= 2)
        remove_scratch(scratch);
    return EXIT_SUCCESS;
}
