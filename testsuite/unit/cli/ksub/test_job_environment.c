/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/job_environment.h"

#include <check.h>
#include <string.h>

#include "cli/ksub/submission.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static const char *const environment[] = {
    "HOME=/home/u",          "PATH=/bin:/usr/bin", "X=1",       "KILN_JOB_ID=7",
    "KILN_SERVER=head:6820", "no-equals-sign",     "=nameless", NULL,
};

/* The user's entries, each followed by a bar; ksub's own entries begin after
 * these.
 */
static void
export_as(const char *list, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;
    const struct submission s = {.exported = list};

    job_environment(&s, (char *const *)(uintptr_t)environment, &all);
    for (size_t at = 0; at < all.length; at += strlen(all.text + at) + 1) {
        if (strncmp(all.text + at, "KILN_SUBMIT_DIR=", 16) == 0)
            break;
        strbuf_printf(out, "%s|", all.text + at);
    }
}

START_TEST(export_says_which_variables_go_along)
{
    static const char all[] = "HOME=/home/u|PATH=/bin:/usr/bin|X=1|KILN_SERVER=head:6820|";
    static const struct {
        const char *list;
        const char *entries;
    } cases[] = {
        {NULL, all},
        {"ALL", all},
        {"all", all},
        {"NONE", ""},
        {"NIL", ""},
        {"X", "X=1|"},
        {"X,HOME", "X=1|HOME=/home/u|"},
        {"X=2", "X=2|"},
        {"MISSING", ""},
        {"Y='a,b',X", "Y=a,b|X=1|"},
        {"Y=\"it's\"", "Y=it's|"},
        {",,X,", "X=1|"},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        export_as(cases[i].list, &out);
        ck_assert_msg(strcmp(out.text, cases[i].entries) == 0, "%s: %s", cases[i].list, out.text);
    }
}
END_TEST

START_TEST(a_value_of_the_list_takes_the_place_of_the_one_there)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    export_as("ALL,X=2", &out);

    ck_assert_str_eq(out.text, "HOME=/home/u|PATH=/bin:/usr/bin|"
                               "KILN_SERVER=head:6820|X=2|");
}
END_TEST

START_TEST(tasks_account_and_partition_are_told_to_the_job)
{
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;
    const struct submission s = {
        .exported = "NONE",
        .tasks = 4,
        .cpus_per_task = 2,
        .account = "physics",
        .partition = "long",
    };
    static const char *const expected[] = {
        "KILN_NTASKS=4",           "KILN_JOB_NUM_NODES=1",
        "KILN_CPUS_PER_TASK=2",    "KILN_JOB_ACCOUNT=physics",
        "KILN_JOB_PARTITION=long",
    };

    job_environment(&s, (char *const *)(uintptr_t)environment, &all);

    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        ck_assert_ptr_nonnull(memmem(all.text, all.length, expected[i], strlen(expected[i]) + 1));
}
END_TEST

/* Of an outer job, the agent's settings stay behind, and its user's go along. */
START_TEST(variables_of_another_job_do_not_go_along)
{
    static const char *const rows[][5] = {
        {"OMP_NUM_THREADS=8", "KILN_CPUS_PER_TASK=8", NULL},
        {"OMP_PLACES=cores", "OMP_PROC_BIND=close", "GOMP_CPU_AFFINITY=2-3", "KILN_CPUS=2-3", NULL},
        {"CUDA_VISIBLE_DEVICES=0", "ROCR_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK=1", "KILN_JOB_ID=7",
         NULL},
    };
    static const char *const kept[][4] = {
        {"OMP_NUM_THREADS=4", "KILN_CPUS_PER_TASK=8", NULL},
        {"OMP_NUM_THREADS=8", NULL},
        {"OMP_PLACES=cores", "GOMP_CPU_AFFINITY=1", "KILN_CPUS=2-3", NULL},
        {"CUDA_VISIBLE_DEVICES=0", NULL},
    };
    const struct submission s = {0};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;

        job_environment(&s, (char *const *)(uintptr_t)rows[i], &all);
        ck_assert_msg(strncmp(all.text, "KILN_SUBMIT_DIR=", 16) == 0, "%s", all.text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;

        job_environment(&s, (char *const *)(uintptr_t)kept[i], &all);
        ck_assert_str_eq(all.text, kept[i][0]);
    }
}
END_TEST

START_TEST(slurms_variables_are_those_that_were_asked_for)
{
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf found = STRBUF_INIT;
    const struct submission s = {
        .exported = "NONE",
        .is_slurms = true,
        .tasks = 4,
        .cpus_per_task = 2,
        .gpu_type = "a100",
        .open_mode = "append",
        .dependency = "afterok:7",
        .slurm = {.tasks_per_node = 4,
                  .gpus_per_node = 2,
                  .cpus_per_gpu = 4,
                  .words = {{"distribution", "plane=4"},
                            {"cpu-freq", "low-high:PERFORMANCE"},
                            {"profile", "energy,task"},
                            {"mem-bind", "q,local"},
                            {"comment", "has no variable"}},
                  .n_words = 5},
    };

    job_environment(&s, (char *const *)(uintptr_t)environment, &all);
    for (size_t at = 0; at < all.length; at += strlen(all.text + at) + 1)
        if (strncmp(all.text + at, "SLURM", 5) == 0 || strstr(all.text + at, "TASK") != NULL)
            strbuf_printf(&found, "%s|", all.text + at);

    ck_assert_str_eq(found.text, "KILN_NTASKS=4|SLURM_NTASKS=4|SLURM_NTASKS_PER_NODE=4|"
                                 "SLURM_CPUS_PER_GPU=4|SLURM_GPUS_PER_NODE=a100:2|"
                                 "SLURM_DISTRIBUTION=plane|SLURM_DIST_PLANESIZE=4|"
                                 "SLURM_CPU_FREQ_REQ=Low-High:Performance|"
                                 "SLURM_PROFILE=Energy,Task|SLURM_MEM_BIND=q,local|"
                                 "SLURM_JOB_DEPENDENCY=afterok:7|SLURM_OPEN_MODE=a|");
}
END_TEST

SUITE("job_environment", export_says_which_variables_go_along,
      a_value_of_the_list_takes_the_place_of_the_one_there,
      tasks_account_and_partition_are_told_to_the_job, variables_of_another_job_do_not_go_along,
      slurms_variables_are_those_that_were_asked_for)
