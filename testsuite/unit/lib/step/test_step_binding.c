/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_binding.h"

#include <errno.h>
#include <string.h>

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_distribution.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;

/* Two sockets of two cores of two threads; the second threads are 4 to 7. Each socket is
 * a NUMA node, and the second has the number 8.
 */
static struct topology_pu pus[] = {
    {.core = 0},
    {.core = 1},
    {.core = 2, .package = 1, .numa = 1},
    {.core = 3, .package = 1, .numa = 1},
    {.core = 0},
    {.core = 1},
    {.core = 2, .package = 1, .numa = 1},
    {.core = 3, .package = 1, .numa = 1},
};
static struct topology_numa numa[] = {{.os_index = 0}, {.os_index = 8}};
static struct topology machine = {
    .pus = {{0xFF}}, .pu = pus, .n_pu = 8, .numa = numa, .n_numa = 2, .n_packages = 2};

/* "0,4 1": the CPUs of each task; or the text of the error. */
static const char *
bind(const char *binding, const char *distribution, const char *cpus, unsigned per_task, unsigned n)
{
    struct step_binding b;
    struct step_distribution d;
    struct bitset set = {0}, sets[16];
    struct error error = {0};
    struct strbuf out = STRBUF_INIT;
    char *text;

    ck_assert_int_eq(cpuset_parse(cpus, &set, NULL), 0);
    ck_assert_int_eq(step_distribution_parse(distribution, &d, NULL), 0);
    if (step_binding_parse(arena, binding, &b, &error) < 0
        || step_binding_apply(&b, &d, &machine, &set, per_task, n, sets, &error) < 0)
        return arena_strdup(arena, error.text);
    for (unsigned i = 0; i < n; i++) {
        strbuf_add_text(&out, i > 0 ? " " : "");
        cpuset_format(&sets[i], &out);
    }
    text = arena_strdup(arena, out.text);
    strbuf_fini(&out);
    return text;
}

START_TEST(tasks_are_bound_inside_the_step)
{
    static const struct {
        const char *binding, *distribution, *cpus;
        unsigned per_task, n;
        const char *expected;
    } cases[] = {
        /* Threads of a core are neighbours. */
        {NULL, NULL, "0-7", 2, 4, "0,4 1,5 2,6 3,7"},
        {NULL, NULL, "0-7", 1, 3, "0 4 1"},
        {NULL, "*:cyclic", "0-7", 2, 4, "0,4 2,6 1,5 3,7"},
        {NULL, "*:cyclic", "0-7", 1, 4, "0 2 4 6"},
        {NULL, "*:fcyclic", "0-7", 2, 2, "0,2 4,6"},
        {NULL, "*:block:cyclic", "0-7", 1, 4, "0 1 4 5"},
        /* A step with fewer CPUs than its tasks want begins again. */
        {NULL, NULL, "0-1", 1, 3, "0 1 0"},
        {NULL, "*:cyclic", "0,2", 1, 3, "0 2 0"},
        {NULL, NULL, "0-3", 0, 2, "0-3 0-3"},
        {"none", NULL, "0-3", 1, 2, "0-3 0-3"},
        {"threads", NULL, "0-3", 1, 2, "0 1"},
        {"cores", NULL, "0-7", 1, 3, "0,4 0,4 1,5"},
        {"cores", NULL, "0-3", 1, 2, "0 1"},
        {"sockets", NULL, "0-6", 1, 2, "0-1,4-5 0-1,4-5"},
        {"q,ldoms", "*:cyclic", "0-7", 1, 2, "0-1,4-5 2-3,6-7"},
        {"rank", NULL, "1-3", 1, 4, "1 2 3 1"},
        {"rank_ldom", NULL, "0-7", 1, 3, "0-1,4-5 2-3,6-7 0-1,4-5"},
        {"map_cpu:5,0x2", NULL, "0-7", 1, 3, "5 2 5"},
        {"map_cpu:1*2,3", NULL, "0-7", 1, 3, "1 1 3"},
        {"mask_cpu:0x3,F0", NULL, "0-7", 1, 2, "0-1 4-7"},
        {"v,map_ldom:8,0", NULL, "0-7", 1, 2, "2-3,6-7 0-1,4-5"},
        {"mask_ldom:0x101", NULL, "0-7", 1, 1, "0-7"},
        {"map_ldom:8", NULL, "0-1", 1, 1,
         "--cpu-bind: the step has no CPU of the NUMA node of task 0"},
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(strcmp(bind(cases[i].binding, cases[i].distribution, cases[i].cpus,
                                  cases[i].per_task, cases[i].n),
                             cases[i].expected)
                          == 0,
                      "%s of %s: %s, expected %s", cases[i].binding, cases[i].cpus,
                      bind(cases[i].binding, cases[i].distribution, cases[i].cpus,
                           cases[i].per_task, cases[i].n),
                      cases[i].expected);
    arena_free(arena);
}
END_TEST

START_TEST(a_wrong_binding_is_refused)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"corse", "'corse' is no binding; there are none, threads"},
        {"verbose,x", "'x' is no binding"},
        {"map_cpu:", "'' is no number"},
        {"map_cpu:1,", "'' is no number"},
        {"map_cpu:-1", "'-1' is no number from 0 to 1023"},
        {"map_cpu:1024", "no number from 0 to 1023"},
        {"map_cpu:1*0", "'*0' is no number of tasks"},
        {"map_cpu:1*1025", "no number of tasks"},
        {"map_cpu:0*1024,1", "more than 1024 values"},
        {"mask_cpu:0x", "is no mask such as 0xF0"},
        {"mask_cpu:0x0", "has no bit"},
        {"mask_cpu:g", "is no mask"},
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct step_binding b;
        struct error error = {0};

        ck_assert_int_eq(step_binding_parse(arena, cases[i].text, &b, &error), -EINVAL);
        ck_assert_msg(strstr(error.text, cases[i].expected) != NULL, "%s: %s", cases[i].text,
                      error.text);
    }
    arena_free(arena);
}
END_TEST

START_TEST(a_machine_without_topology_has_one_core_for_each_cpu)
{
    const struct step_distribution d = {0};
    const struct bitset cpus = {{0xF0}};
    struct step_binding b = {.kind = STEP_BINDING_CORES};
    struct bitset sets[2];

    ck_assert_int_eq(step_binding_apply(&b, &d, NULL, &cpus, 2, 2, sets, NULL), 0);
    ck_assert_uint_eq(sets[0].words[0], 0x30);
    ck_assert_uint_eq(sets[1].words[0], 0xC0);
    b.kind = STEP_BINDING_SOCKETS;
    ck_assert_int_eq(step_binding_apply(&b, &d, NULL, &cpus, 2, 2, sets, NULL), 0);
    ck_assert_uint_eq(sets[1].words[0], 0xF0);
}
END_TEST

START_TEST(masks_are_written_as_slurm_writes_them)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct bitset set = {{0x1}};

    step_binding_format_mask(&set, &out);
    ck_assert_str_eq(out.text, "0x1");
    strbuf_truncate(&out, 0);
    bitset_add(&set, 71);
    step_binding_format_mask(&set, &out);
    ck_assert_str_eq(out.text, "0x800000000000000001");
}
END_TEST

SUITE("step_binding", tasks_are_bound_inside_the_step, a_wrong_binding_is_refused,
      a_machine_without_topology_has_one_core_for_each_cpu, masks_are_written_as_slurm_writes_them)
