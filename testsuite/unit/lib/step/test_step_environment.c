/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_environment.h"

#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/bitset.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_request.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;

static const char *slurm_job[] = {
    "PATH=/bin",      "SLURM_JOB_ID=7",
    "SLURM_NTASKS=5", "SLURM_JOB_NODELIST=n[1-3]",
    "SLURM_PROCID=0", "CUDA_VISIBLE_DEVICES=4,5,6,7",
    "KILN_CPUS=0-7",  "GOMP_CPU_AFFINITY=0-7",
    "PATH=/usr/bin",
};
static const char *job[] = {"KILN_JOB_ID=7", "KILN_CPUS_PER_TASK=4", "OMP_NUM_THREADS=4"};

static unsigned first_tasks[] = {0, 1}, second_tasks[] = {2, 3, 4};
static struct step_layout_node nodes[] = {
    {.name = "n1", .n_tasks = 2, .tasks = first_tasks, .cpus = {{0x3}}},
    {.name = "n2", .n_tasks = 3, .tasks = second_tasks, .cpus = {{0x70}}, .gpus = {{0x7}}},
};
static struct step_layout layout = {.n_tasks = 5, .n_nodes = 2, .cpus_per_task = 1, .nodes = nodes};

static const char *
value(char **variables, const char *name)
{
    const size_t length = strlen(name);
    const char *found = "(unset)";

    for (; *variables != NULL; variables++)
        if (strncmp(*variables, name, length) == 0 && (*variables)[length] == '=') {
            ck_assert_str_eq(found, "(unset)");
            found = *variables + length + 1;
        }
    return found;
}

START_TEST(a_task_of_a_slurm_job_has_the_names_that_srun_sets)
{
    static const struct {
        const char *name, *expected;
    } cases[] = {
        {"PATH", "/usr/bin"},
        {"KILN_PROCID", "3"},
        {"SLURM_PROCID", "3"},
        {"SLURM_LOCALID", "1"},
        {"KILN_NODEID", "1"},
        {"SLURM_NODEID", "1"},
        {"SLURM_STEP_ID", "12"},
        {"SLURM_STEPID", "12"},
        {"KILN_STEP_ID", "12"},
        {"SLURM_GTIDS", "2,3,4"},
        {"SLURM_NTASKS", "5"},
        {"SLURM_NPROCS", "5"},
        {"SLURM_NNODES", "2"},
        {"SLURM_STEP_NUM_TASKS", "5"},
        {"KILN_STEP_NUM_TASKS", "5"},
        {"SLURM_STEP_NUM_NODES", "2"},
        {"SLURM_STEP_NODELIST", "n[1-2]"},
        {"KILN_STEP_NODELIST", "n[1-2]"},
        {"SLURM_STEP_TASKS_PER_NODE", "2,3"},
        {"SLURM_JOB_NODELIST", "n[1-3]"},
        {"SLURM_DISTRIBUTION", "block"},
        {"SLURM_UMASK", "0022"},
        {"SLURM_CPUS_ON_NODE", "3"},
        {"SLURMD_NODENAME", "n2"},
        {"SLURM_CPUS_PER_TASK", "(unset)"},
        {"SLURM_NTASKS_PER_NODE", "(unset)"},
        {"KILN_CPUS", "5"},
        {"GOMP_CPU_AFFINITY", "5"},
        {"CUDA_VISIBLE_DEVICES", "5"},
        {"SLURM_GPUS_ON_NODE", "1"},
    };
    const struct step_request q = {.environment = {slurm_job, 9}, .umask = 022, .gpus_per_task = 1};
    const struct bitset cpus = {{0x20}};
    struct step_environment *e;
    char **variables;

    arena = arena_new(0);
    e = step_environment_new(arena, &q, &layout, 1, "12");
    variables = step_environment_of_task(e, 1, &cpus);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(strcmp(value(variables, cases[i].name), cases[i].expected) == 0,
                      "%s=%s, expected %s", cases[i].name, value(variables, cases[i].name),
                      cases[i].expected);
    step_environment_put_pid(variables, 4711);
    ck_assert_str_eq(value(variables, "SLURM_TASK_PID"), "4711");
    ck_assert_str_eq(value(step_environment_of_task(e, 2, NULL), "KILN_PROCID"), "4");
    arena_free(arena);
}
END_TEST

START_TEST(a_job_without_slurm_names_gets_none)
{
    const struct step_request q = {.environment = {job, 3}};
    char **variables;

    arena = arena_new(0);
    variables = step_environment_of_task(step_environment_new(arena, &q, &layout, 0, "0"), 0, NULL);
    for (char **v = variables; *v != NULL; v++)
        ck_assert_msg(strncmp(*v, "SLURM", 5) != 0, "%s", *v);
    ck_assert_str_eq(value(variables, "KILN_STEP_NUM_TASKS"), "5");
    step_environment_put_pid(variables, 1);
    arena_free(arena);
}
END_TEST

START_TEST(threads_follow_the_cpus_of_the_step)
{
    static const char *own[] = {"KILN_CPUS_PER_TASK=4", "OMP_NUM_THREADS=3"};
    struct step_request q = {.environment = {job, 3}};
    char **variables;

    arena = arena_new(0);
    variables = step_environment_of_task(step_environment_new(arena, &q, &layout, 0, "0"), 0, NULL);
    ck_assert_str_eq(value(variables, "OMP_NUM_THREADS"), "1");
    ck_assert_str_eq(value(variables, "KILN_CPUS_PER_TASK"), "1");
    q.environment.items = own;
    q.environment.count = 2;
    variables = step_environment_of_task(step_environment_new(arena, &q, &layout, 0, "0"), 0, NULL);
    ck_assert_str_eq(value(variables, "OMP_NUM_THREADS"), "3");
    arena_free(arena);
}
END_TEST

SUITE("step_environment", a_task_of_a_slurm_job_has_the_names_that_srun_sets,
      a_job_without_slurm_names_gets_none, threads_follow_the_cpus_of_the_step)
