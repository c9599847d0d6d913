/* SPDX-License-Identifier: Apache-2.0 */
/* Repeated preemption: victims come back as their jobs' next attempts. */
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define PODS     24
#define ATTEMPTS 64

struct sort {
    const char *cpu;
    const char *placement;
    int priority;
};

struct crowd {
    struct world *w;
    struct random_source dice;
    struct sort sorts[PODS];
    unsigned attempts[PODS]; /* 0: not submitted yet */
    unsigned n_evicted;
};

static const char *
name_of(const struct crowd *c, unsigned pod, char out[32])
{
    snprintf(out, 32, "p%u-r%u", pod, c->attempts[pod]);
    return out;
}

static const struct pod *
pod_at(const struct crowd *c, unsigned pod)
{
    char name[32];
    const struct object *o =
        fake_client_find(c->w->api, &pod_kind, "default", name_of(c, pod, name));

    return o != NULL ? pod_of(o) : NULL;
}

static void
submit(struct crowd *c, unsigned pod)
{
    const struct sort *s = &c->sorts[pod];
    char name[32], spec[256];

    c->attempts[pod]++;
    ck_assert_uint_lt(c->attempts[pod], ATTEMPTS);
    snprintf(spec, sizeof(spec), ",\"priority\":%d%s", s->priority, s->placement);
    world_add_pod(c->w, name_of(c, pod, name), s->cpu, "1Gi", spec);
}

/* Time passes; evicted pods are submitted again. */
static void
pass(struct crowd *c, int64_t ms)
{
    world_advance(c->w, ms);
    for (unsigned i = 0; i < PODS; i++)
        if (c->attempts[i] > 0 && pod_at(c, i) == NULL) {
            c->n_evicted++;
            submit(c, i);
        }
    world_settle(c->w);
}

static void
crowd_init(struct crowd *c, uint64_t seed)
{
    static const char *const cpus[] = {"2", "4", "8"};
    static const char *const placements[] = {"", EXCLUSIVE, SINGLE_NUMA};
    char name[16];

    *c = (struct crowd){.dice = {seed}, .w = world_new(NULL)};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        world_add_numa_node(c->w, name, 2, 4);
    }
    for (unsigned i = 0; i < PODS; i++)
        c->sorts[i] = (struct sort){
            .cpu = cpus[random_below(&c->dice, ARRAY_SIZE(cpus))],
            .placement = placements[random_below(&c->dice, ARRAY_SIZE(placements))],
            .priority = 10 * (int)random_below(&c->dice, 4),
        };
}

START_TEST(room_is_made_for_who_then_starts_and_it_ends)
{
    unsigned n_evicted = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct crowd c;
        unsigned before;

        crowd_init(&c, seed);
        for (unsigned i = 0; i < PODS; i++) {
            submit(&c, i);
            pass(&c, (int64_t)random_below(&c.dice, 3000));
        }
        for (unsigned s = 0; s < 60; s++)
            pass(&c, 1000);
        before = c.n_evicted;
        for (unsigned s = 0; s < 400; s++)
            pass(&c, 1000);

        ck_assert_uint_eq(c.n_evicted, before);
        for (unsigned i = 0; i < PODS; i++) {
            const struct pod *pod = pod_at(&c, i);

            ck_assert_msg(pod->spec.node_name != NULL || pod->status.nominated_node_name == NULL,
                          "seed %d: p%u has been promised %s and is not there", (int)seed, i,
                          pod->status.nominated_node_name);
        }
        n_evicted += c.n_evicted;
        world_free(c.w);
    }
    ck_assert_uint_gt(n_evicted, 100);
}
END_TEST

/* No pod that waits at the end could preempt pods of lower priority: the most
 * important pods all run, or the nodes are full of them.
 */
START_TEST(the_most_important_run_when_all_is_quiet)
{
    for (uint64_t seed = 101; seed <= 120; seed++) {
        struct crowd c;

        crowd_init(&c, seed);
        for (unsigned i = 0; i < PODS; i++) {
            c.sorts[i] = (struct sort){"4", SINGLE_NUMA, (int)(i % 4) * 10};
            submit(&c, i);
            pass(&c, (int64_t)random_below(&c.dice, 3000));
        }
        for (unsigned s = 0; s < 100; s++)
            pass(&c, 1000);

        /* 48 PUs: twelve pods, six each of priorities 30 and 20. */
        for (unsigned i = 0; i < PODS; i++)
            ck_assert_msg((pod_at(&c, i)->spec.node_name != NULL) == (c.sorts[i].priority >= 20),
                          "seed %d: p%u of priority %d", (int)seed, i, c.sorts[i].priority);
        world_free(c.w);
    }
}
END_TEST

/* ---- Pods that are ending ---- */

static void
put_on(struct world *w, const char *name, const char *node, int64_t killed_in_s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char time[TIME_TEXT_SIZE];

    strbuf_printf(&text, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"", name);
    if (killed_in_s != 0) {
        time_format(clock_real_us(&w->time.clock) + killed_in_s * 1000000, false, time);
        strbuf_printf(&text, ",\"deletionTimestamp\":\"%s\"", time);
    }
    strbuf_printf(&text,
                  "},\"spec\":{\"nodeName\":\"%s\",\"priority\":%d,"
                  "\"terminationGracePeriodSeconds\":30,"
                  "\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"8\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Running\"}}",
                  node, killed_in_s != 0 ? 100 : 0); /* what is ending is no victim */
    fake_client_put(w->api, &pod_kind, text.text);
}

/* Whether a running pod is preempted for an urgent one, while another is killed
 * so many seconds from now.
 */
static bool
preempts(int64_t killed_in_s, char **ret_nominated)
{
    struct world *w = world_new(NULL);
    bool is_preempted;

    world_add_numa_node(w, "n1", 1, 4);
    world_add_numa_node(w, "n2", 1, 4);
    put_on(w, "runs", "n1", 0);
    put_on(w, "ends", "n2", killed_in_s);
    world_settle(w);
    world_add_pod(w, "urgent", "8", "1Gi", ",\"priority\":10");
    world_settle(w);
    world_advance(w, 1000);
    is_preempted = fake_client_find(w->api, &pod_kind, "default", "runs") == NULL;
    *ret_nominated = xstrdup(world_pod(w, "urgent")->status.nominated_node_name != NULL
                                 ? world_pod(w, "urgent")->status.nominated_node_name
                                 : "");
    if (!is_preempted) { /* and it gets the room, not another pod */
        world_add_pod(w, "other", "8", "1Gi", "");
        fake_client_remove(w->api, &pod_kind, "default", "ends");
        world_advance(w, 5000);
        ck_assert_str_eq(world_node_of(w, "urgent"), "n2");
        ck_assert_str_eq(world_node_of(w, "other"), "");
    }
    world_free(w);
    return is_preempted;
}

START_TEST(nobody_is_ended_for_room_that_an_ending_pod_makes_as_soon)
{
    CLEANUP_FREE char *soon = NULL, *late = NULL, *never = NULL;

    ck_assert(!preempts(20, &soon));
    ck_assert_str_eq(soon, "n2");
    ck_assert(preempts(100, &late));  /* a victim has 30 seconds */
    ck_assert(preempts(-60, &never)); /* it should be gone for long */
}
END_TEST

SUITE("preemption", room_is_made_for_who_then_starts_and_it_ends,
      the_most_important_run_when_all_is_quiet,
      nobody_is_ended_for_room_that_an_ending_pod_makes_as_soon)
