/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - a scheduler in a small cluster that a test defines
 *
 * The fake API, the real informers and the real scheduler, on a fake clock.
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "controller/scheduler/informers.h"
#include "controller/scheduler/scheduler.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/fake_client.h"
#include "testsuite/lib/fake_clock.h"

struct world {
    struct fake_clock time;
    struct fake_client *api;
    struct scheduler *scheduler;
    struct informers *informers;
    bool is_ready; /* the scheduler has reported work, or has some left */
};

static inline void
world_note_ready(void *context)
{
    ((struct world *)context)->is_ready = true;
}

/* A scheduler that has synced with the API and does not lead. */
static inline void
world_open(struct world *w, const struct scheduler_settings *settings)
{
    struct scheduler_settings set = settings != NULL ? *settings : (struct scheduler_settings){0};
    struct error err = {0};

    set.client = fake_client_client(w->api);
    set.clock = &w->time.clock;
    set.seed = 1;
    if (set.ready == NULL) {
        set.ready = world_note_ready;
        set.context = w;
    }
    w->is_ready = true;
    ck_assert_msg(scheduler_new(&set, &w->scheduler, &err) == 0, "%s", err.text);
    w->informers = informers_new(w->scheduler, set.client, NULL, NULL);
    fake_client_run(w->api);
    ck_assert(informers_has_synced(w->informers));
}

static inline void
world_close(struct world *w)
{
    informers_free(w->informers);
    scheduler_free(w->scheduler);
}

static inline struct world *
world_new(const struct scheduler_settings *settings)
{
    static const struct fake_clock clock = FAKE_CLOCK;
    struct world *w = xnew(struct world);

    w->time = clock;
    w->api = fake_client_new();
    world_open(w, settings);
    scheduler_start(w->scheduler);
    return w;
}

/* Replaces the scheduler by another one, as after a crash. */
static inline void
world_restart(struct world *w)
{
    world_close(w);
    world_open(w, NULL);
    scheduler_start(w->scheduler);
}

static inline void
world_free(struct world *w)
{
    world_close(w);
    fake_client_free(w->api);
    free(w);
}

/* Works like scheduler_loop: only when work was reported. */
static inline bool
world_work(struct world *w)
{
    if (!w->is_ready)
        return false;
    w->is_ready = false;
    w->is_ready |= scheduler_work(w->scheduler, 1000);
    return true;
}

/* Runs until nothing is left to do at this time. */
static inline void
world_settle(struct world *w)
{
    do {
        fake_client_run(w->api);
        scheduler_tick(w->scheduler);
        fake_client_run(w->api);
    } while (world_work(w));
    scheduler_tick(w->scheduler);
    fake_client_run(w->api);
}

static inline void
world_advance(struct world *w, int64_t ms)
{
    fake_clock_advance(&w->time, ms * 1000);
    world_settle(w);
}

/* A node with `numa` NUMA nodes of `cores` cores of two PUs, and 16 GiB each.
 */
static inline void
world_add_numa_node(struct world *w, const char *name, unsigned numa, unsigned cores)
{
    unsigned n = numa * cores;
    struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":"
                  "{\"cpu\":\"%u\",\"memory\":\"%uGi\",\"pods\":\"256\"},"
                  "\"agentFeatures\":[\"Freeze\",\"Yield\"],"
                  "\"topology\":{\"cpus\":\"0-%u\",\"packages\":[\"0-%u\"],"
                  "\"cores\":[",
                  name, 2 * n, 16 * numa, 2 * n - 1, 2 * n - 1);
    for (unsigned c = 0; c < n; c++)
        strbuf_printf(&s, "%s\"%u,%u\"", c > 0 ? "," : "", c, c + n);
    strbuf_add_text(&s, "],\"numaNodes\":[");
    for (unsigned i = 0; i < numa; i++)
        strbuf_printf(&s,
                      "%s{\"node\":%u,\"cpus\":\"%u-%u,%u-%u\","
                      "\"memory\":\"16Gi\"}",
                      i > 0 ? "," : "", i, i * cores, (i + 1) * cores - 1, n + i * cores,
                      n + (i + 1) * cores - 1);
    strbuf_add_text(&s, "]}}}");
    fake_client_put(w->api, &node_kind, s.text);
    strbuf_fini(&s);
}

/* A node without a topology. */
static inline void
world_add_node(struct world *w, const char *name, unsigned cpus)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"allocatable\":"
                  "{\"cpu\":\"%u\",\"memory\":\"64Gi\",\"pods\":\"110\"}}}",
                  name, cpus);
    fake_client_put(w->api, &node_kind, s.text);
    strbuf_fini(&s);
}

/* `spec` has further members of the spec, each after a comma. */
static inline void
world_add_pod(struct world *w, const char *name, const char *cpu, const char *memory,
              const char *spec)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_printf(&s,
                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                  "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":"
                  "\"host\",\"resources\":{\"requests\":{\"cpu\":\"%s\","
                  "\"memory\":\"%s\"}}}]%s}}",
                  name, cpu, memory, spec);
    fake_client_put(w->api, &pod_kind, s.text);
    strbuf_fini(&s);
}

#define EXCLUSIVE                                                 \
    ",\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":" \
    "\"best-effort\"}"
#define SINGLE_NUMA                                               \
    ",\"placement\":{\"cpuPolicy\":\"exclusive\",\"numaPolicy\":" \
    "\"single-numa-node\"}"

static inline const struct pod *
world_pod(const struct world *w, const char *name)
{
    const struct object *o = fake_client_find(w->api, &pod_kind, "default", name);

    if (o == NULL) {
        fprintf(stderr, "pod '%s' is not there\n", name);
        abort();
    }
    return pod_of(o);
}

static inline const struct allocation *
world_allocation(const struct world *w, const char *name)
{
    const struct allocation *a = world_pod(w, name)->status.allocation;

    if (a == NULL) {
        fprintf(stderr, "pod '%s' has no allocation\n", name);
        abort();
    }
    return a;
}

/* The node of the pod, or "". */
static inline const char *
world_node_of(const struct world *w, const char *name)
{
    const struct pod *pod = world_pod(w, name);

    return pod->spec.node_name != NULL ? pod->spec.node_name : "";
}
