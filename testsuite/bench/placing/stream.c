/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/placing/stream.h"

#include <errno.h>
#include <numaif.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/hardware/hardware.h"
#include "lib/allocator/allocator.h"
#include "lib/allocator/demand.h"
#include "lib/allocator/occupancy.h"
#include "lib/allocator/topology_index.h"
#include "lib/api/node/topology.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

#define DOUBLES (16u << 20) /* of each array: 128 MiB */
#define ROUNDS  10u

struct worker {
    double *a, *b, *c;
    size_t count;
    pthread_barrier_t *barrier;
    int cpu; /* -1: any */
};

/* Each thread first touches its part, then computes a = b + 3 c. */
static void *
work(void *context)
{
    struct worker *w = context;

    if (w->cpu >= 0) {
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(w->cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
    }
    for (size_t i = 0; i < w->count; i++) {
        w->a[i] = 0;
        w->b[i] = 1;
        w->c[i] = 2;
    }
    pthread_barrier_wait(w->barrier);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < w->count; i++)
            w->a[i] = w->b[i] + 3.0 * w->c[i];
    pthread_barrier_wait(w->barrier);
    return NULL;
}

static double *
map_array(void)
{
    void *p = mmap(NULL, DOUBLES * sizeof(double), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        exit(EXIT_FAILURE);
    return p;
}

/* GB/s of that many threads, each on a CPU of the grant, if there is one. */
static double
measure(unsigned threads, const struct grant *g)
{
    double *arrays[] = {map_array(), map_array(), map_array()};
    struct worker *workers = xnew_array(struct worker, threads);
    pthread_t *ids = xnew_array(pthread_t, threads);
    size_t part = DOUBLES / threads;
    unsigned cpu = BITSET_BITS;
    pthread_barrier_t barrier;
    int64_t began_us;

    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        if (g != NULL)
            cpu = bitset_next(&g->cpus, i == 0 ? 0 : cpu + 1);
        workers[i] = (struct worker){
            .a = arrays[0] + i * part,
            .b = arrays[1] + i * part,
            .c = arrays[2] + i * part,
            .count = part,
            .barrier = &barrier,
            .cpu = g != NULL ? (int)cpu : -1,
        };
        pthread_create(&ids[i], NULL, work, &workers[i]);
    }
    pthread_barrier_wait(&barrier);
    began_us = clock_monotonic_us(&clock_system);
    pthread_barrier_wait(&barrier);
    began_us = clock_monotonic_us(&clock_system) - began_us;
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    free(workers);
    free(ids);
    return 3.0 * sizeof(double) * DOUBLES * ROUNDS / (double)began_us / 1e3;
}

/* Binds like the shepherd: memory only from those NUMA nodes. */
static void
bind_memory(const struct grant *g, const struct topology_index *s)
{
    unsigned long nodes[BITSET_BITS / (8 * sizeof(unsigned long))] = {0};
    const unsigned bits = 8 * sizeof(*nodes);

    for (unsigned i = 0; i < s->n_numa; i++)
        if ((g->memory_nodes >> i & 1) != 0)
            nodes[s->topology->numa[i].os_index / bits] |= 1ul
                                                           << s->topology->numa[i].os_index % bits;
    set_mempolicy(MPOL_BIND, nodes, BITSET_BITS);
}

/* Measures in a child process, so that the binding stays there. */
static double
measure_apart(unsigned threads, const struct grant *g, const struct topology_index *s)
{
    double result = 0;
    int ends[2];
    pid_t pid;

    if (pipe(ends) < 0)
        return 0;
    pid = fork();
    if (pid == 0) {
        if (g != NULL)
            bind_memory(g, s);
        result = measure(threads, g);
        _exit(write(ends[1], &result, sizeof(result)) < 0);
    }
    close(ends[1]);
    if (pid < 0 || read(ends[0], &result, sizeof(result)) < 0)
        result = 0;
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return result;
}

/* An index of its own, by the form that nodes report. */
static int
find_index(const struct topology *t, struct topology_index **ret_index, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(topology_cache_freep)
    struct topology_cache *cache = topology_cache_new();

    return topology_cache_find(cache, topology_encode(t, arena), ret_index, err);
}

int
stream_run(struct stream_result *ret_result, struct error *err)
{
    struct topology *t;
    struct topology_index *s;
    struct occupancy *o;
    struct grant g;
    struct demand d = {
        .is_exclusive = true,
        .threads_per_core = 1,
        .numa_policy = NUMA_SINGLE,
        .memory_bytes = INT64_C(3) * DOUBLES * sizeof(double),
    };
    int r = hardware_discover(&(struct hardware_request){0}, &t, err);

    if (r < 0)
        return r;
    if (t->n_numa < 2) {
        topology_free(t);
        return error_set(err, -EOPNOTSUPP,
                         "this machine has one NUMA node: memory is equally "
                         "far from all cores");
    }
    r = find_index(t, &s, err);
    topology_free(t);
    if (r < 0)
        return r;
    o = occupancy_new(s);
    d.pus = s->numa[0].n_cores;
    if (allocator_grant(o, &d, &g) != ALLOCATOR_FITS) {
        r = error_set(err, -ENOSPC, "no NUMA node has 384 MiB free");
    } else {
        ret_result->cores = d.pus;
        ret_result->bound_gb_s = measure_apart(d.pus, &g, s);
        ret_result->unbound_gb_s = measure_apart(d.pus, NULL, s);
    }
    occupancy_free(o);
    topology_index_unref(s);
    return r;
}
