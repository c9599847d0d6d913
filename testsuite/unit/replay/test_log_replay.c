/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/replay/log_replay.h"

#include <errno.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"
#include "testsuite/replay/job_log.h"
#include "testsuite/replay/schedule_score.h"

static char *
tiny_path(void)
{
    const char *top = getenv("top_srcdir");

    return xasprintf("%s/testsuite/data/replay/tiny.swf", top != NULL ? top : ".");
}

static void
read_tiny(struct job_log *log)
{
    CLEANUP_FREE char *path = tiny_path();
    struct error err = {0};

    ck_assert_msg(job_log_read(log, path, 4, &err) == 0, "%s", err.text);
}

static struct log_replay_figures
replay(struct job_log *log, unsigned nodes, unsigned cores)
{
    struct log_replay_figures figures;
    struct error err = {0};

    ck_assert_msg(log_replay_run(log,
                                 &(struct log_replay_settings){
                                     .nodes = nodes,
                                     .cores_per_node = cores,
                                     .seed = 1,
                                     .predicts = true,
                                 },
                                 &figures, &err)
                      == 0,
                  "%s", err.text);
    return figures;
}

static const struct log_job *
find_job(const struct job_log *log, int64_t id)
{
    for (size_t i = 0; i < log->count; i++)
        if (log->jobs[i].id == id)
            return &log->jobs[i];
    ck_abort_msg("no job %lld", (long long)id);
}

/* Checks properties of every schedule, for any order of its jobs. */
static void
assert_possible(const struct job_log *log, unsigned processors)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct log_job *j = &log->jobs[i];
        unsigned used = 0;

        ck_assert_int_ge(j->start_s, j->submit_s);
        for (size_t k = 0; k < log->count; k++)
            if (log->jobs[k].start_s <= j->start_s
                && j->start_s < log->jobs[k].start_s + log->jobs[k].run_s)
                used += log->jobs[k].procs;
        ck_assert_uint_le(used, processors);
    }
}

START_TEST(a_log_is_read_without_what_cannot_run)
{
    struct job_log log;

    read_tiny(&log);

    ck_assert_uint_eq(log.count, 5);
    ck_assert_uint_eq(log.n_dropped, 2); /* no run time; too wide */
    ck_assert_int_eq(log.jobs[4].id, 7);
    ck_assert_uint_eq(log.jobs[4].procs, 3); /* from the other column */
    ck_assert_int_eq(log.jobs[4].limit_s, 20);
    job_log_fini(&log);
}
END_TEST

START_TEST(a_job_runs_to_its_limit_at_the_most)
{
    struct job_log log;

    read_tiny(&log);

    ck_assert_int_eq(find_job(&log, 1)->run_s, 100);
    ck_assert_int_eq(find_job(&log, 2)->run_s, 250);
    job_log_fini(&log);
}
END_TEST

START_TEST(a_compressed_log_reads_the_same)
{
    CLEANUP(scratch_freep) char *scratch = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/tiny.swf.gz", scratch);
    CLEANUP_FREE char *plain = tiny_path();
    CLEANUP_FREE char *command = xasprintf("gzip -c '%s' >'%s'", plain, path);
    struct job_log log, packed;
    struct error err = {0};

    ck_assert_int_eq(system(command), 0);
    read_tiny(&log);

    ck_assert_msg(job_log_read(&packed, path, 4, &err) == 0, "%s", err.text);

    ck_assert_uint_eq(packed.count, log.count);
    for (size_t i = 0; i < log.count; i++) {
        ck_assert_int_eq(packed.jobs[i].id, log.jobs[i].id);
        ck_assert_int_eq(packed.jobs[i].run_s, log.jobs[i].run_s);
        ck_assert_uint_eq(packed.jobs[i].procs, log.jobs[i].procs);
    }
    job_log_fini(&log);
    job_log_fini(&packed);
}
END_TEST

static void
write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_file_that_is_no_log_is_refused_with_its_line)
{
    CLEANUP(scratch_freep) char *scratch = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/bad.swf", scratch);
    struct job_log log;
    struct error err = {0};

    write_text(path, "; a comment\n\n1 0 -1 ten 4\n");

    ck_assert_int_eq(job_log_read(&log, path, 4, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "bad.swf:3: "));
    ck_assert_int_eq(job_log_read(&log, "/nowhere.swf", 4, &err), -ENOENT);
    write_text(path, "; nothing else\n");
    ck_assert_int_eq(job_log_read(&log, path, 4, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "no job"));
}
END_TEST

START_TEST(a_wide_job_has_all_its_nodes_or_none)
{
    struct job_log log;

    read_tiny(&log);

    replay(&log, 4, 1);

    assert_possible(&log, 4);
    ck_assert_int_eq(find_job(&log, 1)->start_s, 0);
    ck_assert_int_eq(find_job(&log, 2)->start_s, 10);
    ck_assert_int_eq(find_job(&log, 3)->start_s, 260);
    ck_assert_int_eq(find_job(&log, 4)->start_s, 30);
    ck_assert_int_eq(find_job(&log, 7)->start_s, 320);
    job_log_fini(&log);
}
END_TEST

START_TEST(jobs_share_a_node_of_several_cores)
{
    struct job_log log;

    read_tiny(&log);

    replay(&log, 1, 4);

    assert_possible(&log, 4);
    ck_assert_int_eq(find_job(&log, 2)->start_s, 10);
    ck_assert_int_eq(find_job(&log, 4)->start_s, 30);
    job_log_fini(&log);
}
END_TEST

START_TEST(a_replay_can_be_repeated)
{
    struct job_log log;
    int64_t starts[5];

    read_tiny(&log);
    replay(&log, 2, 2);
    for (size_t i = 0; i < log.count; i++) {
        starts[i] = log.jobs[i].start_s;
        log.jobs[i].start_s = -1;
    }

    replay(&log, 2, 2);

    for (size_t i = 0; i < log.count; i++)
        ck_assert_int_eq(log.jobs[i].start_s, starts[i]);
    job_log_fini(&log);
}
END_TEST

START_TEST(a_job_wider_than_a_group_can_be_is_refused)
{
    struct log_job wide = {
        .id = 12,
        .run_s = 1,
        .limit_s = 1,
        .procs = 513,
        .start_s = -1,
    };
    struct job_log log = {.jobs = &wide, .count = 1};
    struct log_replay_figures figures;
    struct error err = {0};

    int r = log_replay_run(&log,
                           &(struct log_replay_settings){
                               .nodes = 1000,
                               .cores_per_node = 1,
                           },
                           &figures, &err);

    ck_assert_int_eq(r, -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "job 12 needs 513 nodes"));
}
END_TEST

/* 60 jobs of many sizes, all submitted at once, that use up their limits. */
static void
make_fixed(struct job_log *log, unsigned widest)
{
    struct random_source random = {.state = 7};

    for (unsigned i = 0; i < 60; i++) {
        int64_t run_s = 10 + (int64_t)random_below(&random, 600);

        job_log_add(log, &(struct log_job){
                             .id = i + 1,
                             .run_s = run_s,
                             .limit_s = run_s,
                             .user = (int64_t)random_below(&random, 4),
                             .procs = 1 + (unsigned)random_below(&random, widest),
                             .start_s = -1,
                         });
    }
    job_log_sort(log);
}

/* Nobody ends early and nobody comes: START is exact, and does not move. */
START_TEST(jobs_start_when_they_were_told)
{
    static const struct {
        unsigned nodes, cores;
    } machines[] = {{1, 16}, {4, 8}, {2, 12}};

    for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
        struct job_log log = {0};
        struct log_replay_figures figures;
        struct error err = {0};
        int r;

        make_fixed(&log, 8);
        r = log_replay_run(&log,
                           &(struct log_replay_settings){
                               .nodes = machines[i].nodes,
                               .cores_per_node = machines[i].cores,
                               .seed = i,
                               .predicts = true,
                               .looks = 1,
                           },
                           &figures, &err);
        ck_assert_msg(r == 0, "%s", err.text);
        ck_assert_uint_gt(figures.n_asked, 30);
        ck_assert_uint_eq(figures.n_told, figures.n_asked);
        /* When a job has waited too long may depend on the moment of a look. */
        ck_assert_uint_ge(figures.n_exact * 100, figures.n_told * 95);
        job_log_fini(&log);
    }
}
END_TEST

START_TEST(a_start_does_not_move_while_nothing_happens)
{
    struct job_log log = {0};
    struct log_replay_figures figures;
    struct error err = {0};
    int r;

    make_fixed(&log, 8);
    r = log_replay_run(&log,
                       &(struct log_replay_settings){
                           .nodes = 2,
                           .cores_per_node = 8,
                           .seed = 1,
                           .predicts = true,
                           .looks = 3,
                       },
                       &figures, &err);
    ck_assert_msg(r == 0, "%s", err.text);
    ck_assert_uint_gt(figures.n_looked, 100);
    ck_assert_uint_eq(figures.n_moved, 0);
    job_log_fini(&log);
}
END_TEST

START_TEST(a_schedule_is_scored_as_in_the_literature)
{
    struct log_job jobs[] = {
        {.submit_s = 0, .start_s = 0, .run_s = 100, .procs = 2},
        {.submit_s = 0, .start_s = 100, .run_s = 50, .procs = 2},  /* 3 */
        {.submit_s = 100, .start_s = 120, .run_s = 1, .procs = 1}, /* 2.1 */
        {.submit_s = 140, .start_s = 140, .run_s = 1, .procs = 1}, /* 1 */
    };
    struct job_log log = {.jobs = jobs, .count = 4};

    struct schedule_score s = schedule_score(&log, 4);

    ck_assert_double_eq_tol(s.mean_wait_s, 30, 1e-9);
    ck_assert_double_eq_tol(s.mean_slowdown, 7.1 / 4, 1e-9);
    ck_assert_int_eq(s.p95_wait_s, 100);
    ck_assert_int_eq(s.longest_wait_s, 100);
    ck_assert_int_eq(s.makespan_s, 150);
    ck_assert_double_eq_tol(s.utilization, 302.0 / 600, 1e-9);
}
END_TEST

SUITE("log_replay", a_log_is_read_without_what_cannot_run, a_job_runs_to_its_limit_at_the_most,
      a_compressed_log_reads_the_same, a_file_that_is_no_log_is_refused_with_its_line,
      a_wide_job_has_all_its_nodes_or_none, jobs_share_a_node_of_several_cores,
      a_replay_can_be_repeated, a_job_wider_than_a_group_can_be_is_refused,
      jobs_start_when_they_were_told, a_start_does_not_move_while_nothing_happens,
      a_schedule_is_scored_as_in_the_literature)
