/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_layout.h"

#include <errno.h>
#include <string.h>

#include "lib/api/value/cpuset.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_request.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;
static struct error error;
static struct step_layout layout;

static struct bitset
set_of(const char *list)
{
    struct bitset set = {0};

    ck_assert_int_eq(cpuset_parse(list, &set, NULL), 0);
    return set;
}

static struct step_place
place(const char *name, const char *cpus, const char *busy)
{
    return (struct step_place){.name = name, .cpus = set_of(cpus), .busy = set_of(busy)};
}

static int
make(const struct step_request *request, const struct step_place *places, unsigned n)
{
    error = (struct error){0};
    return step_layout_make(arena, request, places, n, &layout, &error);
}

/* "n1:0,1[0-1] n2:2[4]": the tasks and CPUs of each node. */
static const char *
picture(void)
{
    struct strbuf out = STRBUF_INIT;
    char *text;

    for (unsigned i = 0; i < layout.n_nodes; i++) {
        strbuf_printf(&out, "%s%s:", i > 0 ? " " : "", layout.nodes[i].name);
        for (unsigned j = 0; j < layout.nodes[i].n_tasks; j++)
            strbuf_printf(&out, "%s%u", j > 0 ? "," : "", layout.nodes[i].tasks[j]);
        strbuf_add_text(&out, "[");
        cpuset_format(&layout.nodes[i].cpus, &out);
        strbuf_add_text(&out, "]");
    }
    text = arena_strdup(arena, out.text);
    strbuf_fini(&out);
    return text;
}

static void
setup(void)
{
    arena = arena_new(0);
}

static void
teardown(void)
{
    arena_free(arena);
}

#define EXPECT(expected, places, n, ...)                                  \
    do {                                                                  \
        const struct step_request request = {__VA_ARGS__};                \
        int r = make(&request, (places), (n));                            \
        ck_assert_msg(r == 0, "line %d: %d %s", __LINE__, r, error.text); \
        ck_assert_str_eq(picture(), (expected));                          \
    } while (0)

#define REFUSED(code, words, places, n, ...)                                                     \
    do {                                                                                         \
        const struct step_request request = {__VA_ARGS__};                                       \
        ck_assert_int_eq(make(&request, (places), (n)), (code));                                 \
        ck_assert_msg(strstr(error.text, (words)) != NULL, "line %d: %s", __LINE__, error.text); \
    } while (0)

START_TEST(a_task_has_its_share_of_the_job_unless_the_step_says_otherwise)
{
    const struct step_place one[] = {place("n1", "0-7", "")};

    setup();
    EXPECT("n1:0[0-7]", one, 1, .tasks = 1, .job_tasks = 1);
    EXPECT("n1:0[0-1]", one, 1, .tasks = 1, .job_tasks = 4);
    EXPECT("n1:0,1,2,3[0-7]", one, 1, .tasks = 4, .job_tasks = 4);
    EXPECT("n1:0,1,2,3[0-7]", one, 1, .tasks = 4, .job_tasks = 1);
    EXPECT("n1:0[0-2]", one, 1, .tasks = 1, .job_tasks = 1, .job_cpus_per_task = 3);
    EXPECT("n1:0[0]", one, 1, .tasks = 1, .job_tasks = 1, .is_exact = true);
    EXPECT("n1:0,1[0-5]", one, 1, .tasks = 2, .cpus_per_task = 3, .job_tasks = 8);
    ck_assert_uint_eq(layout.cpus_per_task, 3);
    EXPECT("n1:0,1,2,3,4,5,6,7[0-7]", one, 1, .tasks = 8, .job_tasks = 3);
    teardown();
}
END_TEST

START_TEST(a_step_waits_for_busy_cpus_and_is_refused_if_it_never_fits)
{
    const struct step_place one[] = {place("n1", "0-3", "0-1")};

    setup();
    EXPECT("n1:0,1[2-3]", one, 1, .tasks = 2, .is_exact = true);
    REFUSED(-EBUSY, "Requested nodes are busy", one, 1, .tasks = 3, .is_exact = true);
    REFUSED(-EBUSY, "busy", one, 1, .tasks = 1, .job_tasks = 1);
    EXPECT("n1:0,1,2[0,2-3]", one, 1, .tasks = 3, .is_exact = true, .overlaps = true);
    EXPECT("n1:0,1,2,3,4,5[2-3]", one, 1, .tasks = 6, .is_exact = true, .overcommits = true);
    REFUSED(-ENOSPC, "More processors requested than permitted: 5 tasks, 1 CPU for each", one, 1,
            .tasks = 5, .job_tasks = 2);
    REFUSED(-ENOSPC, "More processors requested", one, 1, .tasks = 2, .cpus_per_task = 3);
    REFUSED(-ENOSPC, "Only allocated 1 nodes asked for 2", one, 1, .tasks = 2, .min_nodes = 2);
    teardown();
}
END_TEST

/* As Debian's Slurm does with -N2 -n5 on nodes of 8 and 8 CPUs. */
START_TEST(tasks_go_over_nodes_as_the_distribution_says)
{
    const struct step_place two[] = {place("n1", "0-3", ""), place("n2", "0-3", "")};

#define TWO(text) .tasks = 5, .min_nodes = 2, .is_exact = true, .distribution = (text)
    setup();
    EXPECT("n1:0,1,2,3[0-3] n2:4[0]", two, 2, TWO(NULL));
    EXPECT("n1:0,1,2,3[0-3] n2:4[0]", two, 2, TWO("block:cyclic"));
    EXPECT("n1:0,2,4[0-2] n2:1,3[0-1]", two, 2, TWO("cyclic"));
    EXPECT("n1:0,1,4[0-2] n2:2,3[0-1]", two, 2, TWO("plane=2"));
    EXPECT("n1:0,1,2[0-2] n2:3,4[0-1]", two, 2, TWO("block,NoPack"));
    EXPECT("n1:0,1[0-1]", two, 2, .tasks = 2, .min_nodes = 2, .is_exact = true,
           .distribution = "plane=2");
    EXPECT("n1:0,1[0-1]", two, 2, .tasks = 2, .min_nodes = 2, .is_exact = true,
           .distribution = "block,Pack");
    EXPECT("n1:0[0] n2:1[0]", two, 2, .tasks = 2, .min_nodes = 2, .is_exact = true);
    EXPECT("n1:0[0]", two, 2, .tasks = 1, .min_nodes = 2, .is_exact = true);
    EXPECT("n1:0,1[0-1] n2:2,3[0-1]", two, 2, .tasks_per_node = 2, .min_nodes = 2,
           .is_exact = true);
    REFUSED(-ENOSPC, "More processors", two, 2, .tasks = 5, .tasks_per_node = 2, .is_exact = true);
    teardown();
}
END_TEST

START_TEST(a_step_takes_the_nodes_that_it_names_and_free_ones_first)
{
    const struct step_place three[] = {place("n1", "0-1", "0-1"), place("n2", "0-1", ""),
                                       place("n3", "4-5", "")};

    setup();
    EXPECT("n2:0[0]", three, 3, .tasks = 1, .is_exact = true);
    EXPECT("n3:0[4]", three, 3, .tasks = 1, .is_exact = true, .nodes = "n3");
    EXPECT("n3:0[4]", three, 3, .tasks = 1, .is_exact = true, .excluded_nodes = "n[1-2]");
    EXPECT("n3:0[4]", three, 3, .tasks = 1, .is_exact = true, .first_node = 2);
    EXPECT("n2:0,1[0-1] n3:2[4]", three, 3, .tasks = 3, .is_exact = true);
    REFUSED(-EBUSY, "busy", three, 3, .tasks = 3, .max_nodes = 2, .nodes = "n[1-2]",
            .is_exact = true);
    REFUSED(-EINVAL, "'n9' is no node of the job", three, 3, .nodes = "n[3,9]");
    REFUSED(-EINVAL, "--relative=3", three, 3, .first_node = 3);
    REFUSED(-EINVAL, "no node of the job is left", three, 3, .excluded_nodes = "n[1-3]");
    REFUSED(-EINVAL, "--nodelist", three, 3, .nodes = "n[1-");
    teardown();
}
END_TEST

START_TEST(named_cpus_must_be_the_jobs_and_free)
{
    const struct step_place one[] = {place("n1", "4-7", "7")};

    setup();
    EXPECT("n1:0,1[4,6]", one, 1, .tasks = 2, .cpu_bind = "map_cpu:4,6");
    REFUSED(-EBUSY, "busy", one, 1, .tasks = 1, .cpu_bind = "map_cpu:7");
    REFUSED(-ENOSPC, "on n1: --cpu-bind names CPU 0, and the job has only the CPUs 4-7", one, 1,
            .tasks = 1, .cpu_bind = "map_cpu:0");
    REFUSED(-EINVAL, "'corse' is no binding", one, 1, .tasks = 1, .cpu_bind = "corse");
    REFUSED(-EINVAL, "'blok' is no distribution", one, 1, .tasks = 1, .distribution = "blok");
    teardown();
}
END_TEST

START_TEST(gpus_and_memory_are_held_only_if_they_were_asked_for)
{
    struct step_place one[] = {place("n1", "0-7", "")};

    setup();
    one[0].gpus = 4;
    one[0].busy_gpus = set_of("1");
    one[0].memory_bytes = INT64_C(4) << 30;
    one[0].busy_memory_bytes = INT64_C(3) << 30;
    EXPECT("n1:0[0]", one, 1, .tasks = 1, .is_exact = true);
    ck_assert(bitset_is_empty(&layout.nodes[0].gpus));
    EXPECT("n1:0,1[0-1]", one, 1, .tasks = 2, .is_exact = true, .gpus_per_task = 1);
    ck_assert_uint_eq(bitset_count(&layout.nodes[0].gpus), 2);
    ck_assert(bitset_has(&layout.nodes[0].gpus, 0) && bitset_has(&layout.nodes[0].gpus, 2));
    REFUSED(-EBUSY, "busy", one, 1, .tasks = 4, .is_exact = true, .gpus_per_task = 1);
    REFUSED(-ENOSPC, "more GPUs than the 4", one, 1, .tasks = 5, .is_exact = true,
            .gpus_per_task = 1);
    REFUSED(-EBUSY, "busy", one, 1, .tasks = 1, .is_exact = true, .memory_bytes = INT64_C(2) << 30);
    EXPECT("n1:0[0]", one, 1, .tasks = 1, .is_exact = true, .overlaps = true,
           .memory_bytes = INT64_C(2) << 30);
    REFUSED(-ENOSPC, "--mem asks for 5120 MiB, and the job has 4096 MiB on n1", one, 1, .tasks = 1,
            .is_exact = true, .memory_bytes = INT64_C(5) << 30);
    teardown();
}
END_TEST

START_TEST(neighbours_are_taken_in_the_order_of_the_node)
{
    static const uint16_t order[] = {0, 4, 1, 5, 2, 6, 3, 7};
    struct step_place one[] = {place("n1", "0-7", "")};

    setup();
    one[0].order = order;
    EXPECT("n1:0[0,4]", one, 1, .tasks = 1, .cpus_per_task = 2);
    one[0].busy = set_of("0");
    EXPECT("n1:0[1,4]", one, 1, .tasks = 1, .cpus_per_task = 2);
    teardown();
}
END_TEST

START_TEST(nodes_and_tasks_have_short_texts)
{
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT, tasks = STRBUF_INIT;
    const struct step_place three[] = {place("n1", "0-3", ""), place("n2", "0-3", ""),
                                       place("n3", "0-3", "")};

    setup();
    EXPECT("n1:0,1,2,3[0-3] n2:4,5,6,7[0-3] n3:8[0]", three, 3, .tasks = 9, .is_exact = true);
    step_layout_format_nodes(&layout, &nodes);
    step_layout_format_tasks(&layout, &tasks);
    ck_assert_str_eq(nodes.text, "n[1-3]");
    ck_assert_str_eq(tasks.text, "4(x2),1");
    teardown();
}
END_TEST

SUITE("step_layout", a_task_has_its_share_of_the_job_unless_the_step_says_otherwise,
      a_step_waits_for_busy_cpus_and_is_refused_if_it_never_fits,
      tasks_go_over_nodes_as_the_distribution_says,
      a_step_takes_the_nodes_that_it_names_and_free_ones_first,
      named_cpus_must_be_the_jobs_and_free, gpus_and_memory_are_held_only_if_they_were_asked_for,
      neighbours_are_taken_in_the_order_of_the_node, nodes_and_tasks_have_short_texts)
