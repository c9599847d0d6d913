/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/sbatch_options.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ksub/node_request.h"
#include "cli/ksub/sbatch_settle.h"
#include "lib/api/value/job_mail.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

/* Parses a command line in one string, with one space between words. */
static int
parse(const char *text, struct submission *s, struct error *err)
{
    static char words[256];
    char *argv[32] = {words};
    char *rest = words;
    int argc = 0, operands = 0;
    int r;

    snprintf(words, sizeof(words), "sbatch %s", text);
    while (rest != NULL && argc < 31)
        argv[argc++] = strsep(&rest, " ");
    *s = (struct submission){0};
    r = option_parse(sbatch_options(), argc, argv, s, &operands, err);
    ck_assert(r < 0 || operands == argc);
    return r < 0 ? r : sbatch_settle(s, err);
}

START_TEST(an_option_that_means_the_same_on_one_node_is_taken)
{
    static const struct {
        const char *line;
        int64_t tasks, cpus_per_task, gpus, memory;
    } cases[] = {
        {"-n 4 -c 2", 4, 2, 0, 0},
        {"-N 1-4 --ntasks-per-node=8", 8, 0, 0, 0},
        {"-n 4 --ntasks-per-node=8", 4, 0, 0, 0},
        {"--gres=gpu:a100:2", 0, 0, 2, 0},
        {"--gres=none", 0, 0, 0, 0},
        {"--gres=gpu:2 --gres=gpu:0", 0, 0, 0, 0},
        {"--gres=gres:gpu:1,gpu:2,shard:0", 0, 0, 3, 0},
        {"-G 2 -G 0", 0, 0, 0, 0},
        {"-G a100", 0, 0, 1, 0},
        {"--gpus 4 --gpus-per-node 2", 0, 0, 2, 0},
        {"--mincpus 4 -c 2", 0, 2, 0, 0},
        {"--gpus-per-node=a100:2", 0, 0, 2, 0},
        {"-n 3 --gpus-per-task=2", 3, 0, 6, 0},
        {"-G 6 --gpus-per-task=2", 3, 0, 6, 0},
        {"--gpus-per-task=a100:2", 1, 0, 2, 0},
        {"-G 2 --ntasks-per-gpu=3", 6, 0, 2, 0},
        {"-n 5 --ntasks-per-gpu=3", 5, 0, 2, 0},
        {"-G 2 --cpus-per-gpu=8", 0, 16, 2, 0},
        {"-G 2 -n 3 --cpus-per-gpu=8", 3, 6, 2, 0},
        {"-G 2 --mem-per-gpu=1G", 0, 0, 2, INT64_C(2) << 30},
        {"-N 4 --per-node -n 8 -c 3 --mem 1G", 2, 3, 0, INT64_C(1) << 30},
        {"-N 4-4 --per-node -n 8 --ntasks-per-node 4", 2, 0, 0, 0},
        {"-N 4 --per-node --ntasks-per-node 4", 4, 0, 0, 0},
        {"-N 4 --per-node -G 8 --gpus-per-task 1", 2, 0, 2, 0},
        {"-N 4 --per-node --gpus-per-node 2", 0, 0, 2, 0},
        {"-N 4 --per-node --gres gpu:2", 0, 0, 2, 0},
        {"-N 4 -n 8", 2, 0, 0, 0},
        {"-N 1 --per-node -n 3", 3, 0, 0, 0},
        {"-N 4 -n 10", 3, 0, 0, 0},
        {"-n 9 --ntasks-per-node=4", 3, 0, 0, 0},
        {"-n 8 --ntasks-per-node=4 --gpus-per-task 1", 4, 0, 4, 0},
        {"-w n[1-3] -n 7 --gpus-per-node 2", 3, 0, 2, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submission s;
        struct error err = {0};

        ck_assert_msg(parse(cases[i].line, &s, &err) == 0, "%s: %s", cases[i].line, err.text);
        ck_assert_int_eq(s.tasks, cases[i].tasks);
        ck_assert_int_eq(s.cpus_per_task, cases[i].cpus_per_task);
        ck_assert_int_eq(s.gpus, cases[i].gpus);
        ck_assert_int_eq(s.memory_bytes, cases[i].memory);
    }
}
END_TEST

START_TEST(tasks_that_are_not_divided_equally_are_counted)
{
    static const struct {
        const char *line;
        int64_t nodes, total;
        const char *words;
    } cases[] = {
        {"-N 4 -n 10 -c 2", 4, 10,
         "10 tasks on 4 nodes: 2 nodes with 3, 2 with 2; 4 CPUs stay idle"},
        {"-N 2 -n 3", 2, 3, "3 tasks on 2 nodes: 1 node with 2, 1 with 1; 1 CPU stays idle"},
        {"-N 4 -n 8", 4, 0, ""},
        {"-n 9 --ntasks-per-node=4", 3, 0, ""},
        {"-n 4 --ntasks-per-node=4", 0, 0, ""},
        {"-w n[1-3],m", 4, 0, ""},
        {"-n 9", 0, 0, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
        struct submission s;
        struct error err = {0};

        ck_assert_msg(parse(cases[i].line, &s, &err) == 0, "%s: %s", cases[i].line, err.text);
        ck_assert_int_eq(s.node_count, cases[i].nodes);
        ck_assert_int_eq(s.total_tasks, cases[i].total);
        node_request_format_division(&s, &words);
        ck_assert_str_eq(words.length > 0 ? words.text : "", cases[i].words);
    }
}
END_TEST

START_TEST(cores_and_memory_are_chosen_in_their_words)
{
    static const struct {
        const char *line, *distribution, *memory;
        int64_t threads;
    } cases[] = {
        {"-m block:cyclic", "cyclic", NULL, 0},
        {"-m cyclic:block", "pack", NULL, 0},
        {"-m *:fcyclic:block,Pack", "cyclic", NULL, 0},
        {"-m block", "pack", NULL, 0},
        {"-m BLOCK:Cyclic,NoPack", "cyclic", NULL, 0},
        {"-m NoPack", NULL, NULL, 0},
        {"-m plane=4", NULL, NULL, 0},
        {"--mem-bind=q,local", NULL, "bind", 0},
        {"--mem-bind=v,prefer,local", NULL, "preferred", 0},
        {"--mem-bind=sort,map_mem:0,1", NULL, NULL, 0},
        {"--mem-bind=verbose,local", NULL, "bind", 0},
        {"--mem-bind=prefer", NULL, "preferred", 0},
        {"--mem-bind=none", NULL, NULL, 0},
        {"--hint=nomultithread", NULL, NULL, 1},
        {"--hint=compute_bound", NULL, NULL, 1},
        {"--hint=nomultithread --hint=multithread", NULL, NULL, 0},
        {"--ntasks-per-core=1", NULL, NULL, 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submission s;

        ck_assert_int_eq(parse(cases[i].line, &s, NULL), 0);
        ck_assert_pstr_eq(s.distribution, cases[i].distribution);
        ck_assert_pstr_eq(s.memory_policy, cases[i].memory);
        ck_assert_int_eq(s.threads_per_core, cases[i].threads);
    }
}
END_TEST

/* At most so many tasks of a socket are at most the cores of these. */
START_TEST(tasks_of_a_socket_are_cores_of_it)
{
    static const struct {
        const char *line;
        int64_t cores;
    } cases[] = {
        {"-n 4 --ntasks-per-socket=2", 2},
        {"-n 4 -c 3 --ntasks-per-socket=2", 6},
        {"-n 4 -c 3 --threads-per-core=2 --ntasks-per-socket=1", 2},
        {"-n 4 -B 1:1", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submission s;

        ck_assert_int_eq(parse(cases[i].line, &s, NULL), 0);
        ck_assert_int_eq(s.cores_per_socket, cases[i].cores);
    }
}
END_TEST

START_TEST(nodes_are_also_a_range_or_a_file)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/nodes", directory);
    CLEANUP_FREE char *line = xasprintf("-F %s", path);
    struct submission s;

    ck_assert_int_eq(parse("-N 2-4 -n 6", &s, NULL), 0);
    ck_assert_int_eq(s.node_count, 2);
    ck_assert_int_eq(s.tasks, 3);
    ck_assert_uint_eq(s.slurm.n_notes, 1);
    ck_assert_int_eq(file_write_atomic(path, 0600, "n1\nn[3-4],n6\n", 13, NULL), 0);
    ck_assert_int_eq(parse(line, &s, NULL), 0);
    ck_assert_str_eq(s.nodes, "n1,n[3-4],n6");
    ck_assert_int_eq(s.node_count, 4);
}
END_TEST

START_TEST(an_option_that_cannot_be_obeyed_is_refused_with_what_to_do)
{
    static const struct {
        const char *line, *words;
    } cases[] = {
        {"-N 4-2", "--nodes: '4-2' is not a number"},
        {"-B 2:8", "--extra-node-info: '2:8': jobs cannot ask for a shape of nodes"},
        {"--sockets-per-node=2", "jobs cannot ask for a shape of nodes"},
        {"--gpu-bind=near", "'near' is not one of closest, none, single:N"},
        {"-F /nonexistent/nodes", "/nonexistent/nodes"},
        {"-F /dev/null", "names no node"},
        {"-N 4 --per-node -a 1-3", "--array is not for a job of 4 nodes"},
        {"-N 4 --per-node -w n1", "--nodelist names 1 node"},
        {"-N 4 --per-node --cron @daily", "--cron is not for"},
        {"-N 4 --per-node -n 3", "--ntasks 3 is less than one task"},
        {"-N 4 --per-node -G 6", "--gpus 6 is for all nodes"},
        {"-N 4 --per-node -n 16 --ntasks-per-node 2", "--ntasks 16 on 4 nodes is more than"},
        {"-N 1 -n 9 --ntasks-per-node=4", "on one node is more than"},
        {"-n 3 -G 4 --gpus-per-task=2", "does not match 3 tasks and 4"},
        {"-G 1 --gpus-per-task=2", "does not match"},
        {"-n 7 -G 2 --ntasks-per-gpu=3", "does not match"},
        {"--ntasks-per-gpu=3", "does not match"},
        {"--cpus-per-gpu=3", "--gpus N"},
        {"-G 1 -c 2 --cpus-per-gpu=3", "not both"},
        {"-G 1 --mem 1G --mem-per-gpu=1G", "only one of"},
        {"-G 1024 --mem-per-gpu=1048576T", "more memory than any node can have"},
        {"--exclusive=user", "--exclusive: 'user'"},
        {"-m arbitrary", "--distribution: 'arbitrary'"},
        {"-m plane=0", "--distribution: 'plane=0'"},
        {"--mem-bind=mine", "--mem-bind: 'mine'"},
        {"--mem-bind=local,mine", "--mem-bind: 'local,mine'"},
        {"--ntasks-per-gpu=1 --ntasks-per-node=1 -G 1", "exclude each other"},
        {"--gpus 3 --gpus-per-node 2", "no multiple"},
        {"--time-min=x", "--time-min: 'x' is not a time"},
        {"--hint=fast", "--hint: 'fast' is not one of"},
        {"--nice=low", "--nice: 'low' is not a number"},
        {"--nice=3000000000", "'3000000000' is not a number from -2147483645 to 2147483645"},
        {"--cpu-freq=fast", "--cpu-freq: 'fast'"},
        {"--gpu-freq=high,fast", "--gpu-freq: 'high,fast'"},
        {"--acctg-freq=task", "--acctg-freq: 'task'"},
        {"--profile=mine", "--profile: 'mine'"},
        {"--propagate=STACK,x", "--propagate: 'STACK,x'"},
        {"--get-user-env=5X", "--get-user-env: '5X'"},
        {"--gres-flags=x", "--gres-flags: 'x'"},
        {"--kill-on-invalid-dep=maybe", "is not yes or no"},
        {"--wait-all-nodes=2", "is not 0 or 1"},
        {"--delay-boot=x", "--delay-boot: 'x'"},
        {"--ntasks-per-core=0", "a number from 1 on"},
        {"--container-image=x", "apptainer"},
        {"--mem=0x", "is not an amount of memory"},
        {"--ntasks-per-node=0", "--ntasks-per-node: '0'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submission s;
        struct error err = {0};

        ck_assert_msg(parse(cases[i].line, &s, &err) < 0, "%s", cases[i].line);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s: %s", cases[i].line, err.text);
    }
}
END_TEST

START_TEST(cpus_of_a_node_are_not_always_tasks_times_cpus)
{
    static const struct {
        const char *line;
        int64_t cpus;
    } cases[] = {
        {"-n 4 -c 2", 8},
        {"-n 4 --mincpus 6", 6},
        {"-n 8 --mincpus 6", 8},
        {"-O -n 20", 1},
        {"--overcommit -N 2 -n 8 -c 2", 2},
        {"-O -n 20 --mincpus 3", 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submission s;
        struct error err = {0};

        ck_assert_msg(parse(cases[i].line, &s, &err) == 0, "%s: %s", cases[i].line, err.text);
        ck_assert_int_eq(submission_cpus(&s), cases[i].cpus);
    }
}
END_TEST

START_TEST(names_of_files_are_read_as_slurm_reads_them)
{
    static const struct {
        const char *given, *kept;
    } cases[] = {
        {"%x-%5j", "%x-%5j"}, {"NONE", "/dev/null"}, {"a%q%%", "a%%q%%"},
        {"a%", "a%%"},        {"a\\%j", "a%%j"},     {"%3t%J", "%3t%J"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_FREE char *line = xasprintf("-o %s", cases[i].given);
        struct submission s;

        ck_assert_int_eq(parse(line, &s, NULL), 0);
        ck_assert_str_eq(s.output, cases[i].kept);
    }
}
END_TEST

/* The beginning of a name means what it means in Slurm 22.05, whose options these are. */
START_TEST(abbreviations_are_those_of_slurm)
{
    static const struct {
        const char *line, *words; /* NULL: taken */
    } cases[] = {
        {"--arr=1-4", NULL},
        {"--arr 1-4", NULL},
        {"--part=x", NULL},
        {"--ntasks-per-n=2", NULL},
        {"--hol", NULL},
        {"--ex=n1", "several"},
        {"--tim=5", "several"},
        {"--arra", "needs a value"},
        {"--hol=1", "takes no value"},
        {"--hetjob", "unknown option"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submission s;
        struct error err = {0};
        const int r = parse(cases[i].line, &s, &err);

        ck_assert_msg((r < 0) == (cases[i].words != NULL), "%s: %s", cases[i].line, err.text);
        if (r < 0)
            ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "%s", err.text);
    }
}
END_TEST

START_TEST(amounts_of_memory_exclude_one_another)
{
    struct submission s;

    ck_assert_int_eq(parse("--mem=4G --mem=1G", &s, NULL), 0);
    ck_assert_int_eq(sbatch_settle_source(&s, NULL), 0);
    ck_assert_int_eq(parse("--mem=4G --mem-per-cpu=1G", &s, NULL), 0);
    ck_assert_int_lt(sbatch_settle_source(&s, NULL), 0);
    ck_assert_int_eq(sbatch_settle_source(&s, NULL), 0);
}
END_TEST

START_TEST(no_memory_means_all_of_the_node)
{
    static const struct {
        const char *line;
        bool exclusive;
        int64_t memory;
    } cases[] = {
        {"--mem=0", true, 0},          {"--mem 0G", true, 0},
        {"--mem=4G --mem=0", true, 0}, {"--mem=0 --mem=4G", false, INT64_C(4) << 30},
        {"--mem-per-cpu=0", true, 0},  {"-G 1 --mem-per-gpu=0", true, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submission s;

        ck_assert_int_eq(parse(cases[i].line, &s, NULL), 0);
        ck_assert_msg(s.exclusive == cases[i].exclusive, "%s", cases[i].line);
        ck_assert_int_eq(s.memory_bytes, cases[i].memory);
    }
}
END_TEST

START_TEST(a_harmless_option_is_noted_once)
{
    struct submission s;

    ck_assert_int_eq(parse("--mail-type=END --mail-user=a --mail-type=FAIL "
                           "--nice --nice=5 -q low -s -k --comment=x",
                           &s, NULL),
                     0);
    ck_assert_uint_eq(s.slurm.n_notes, 2);
    ck_assert_int_eq(s.slurm.nice, 5);
    ck_assert_str_eq(s.slurm.qos, "low");
    ck_assert_str_eq(s.comment, "x");
    ck_assert_str_eq(s.slurm.notes[0], "oversubscribe");
    ck_assert_str_eq(s.mail_user, "a");
    ck_assert_uint_eq(s.mail_events, JOB_MAIL_END | JOB_MAIL_FAIL);
    /* Placeholders of public scripts */
    ck_assert_int_eq(parse("--mail-type=END,ARRAY_TASKS --mail-user=<you>", &s, NULL), 0);
    ck_assert_uint_eq(s.slurm.n_notes, 2);
    ck_assert_str_eq(s.mail_user, "");
}
END_TEST

/* All noted options together exceed the room for notes, which must do no harm.
 */
START_TEST(every_option_has_one_row_in_the_order_of_names)
{
    const struct option_table *t = sbatch_options();
    struct submission s = {0};
    unsigned n_notes = 0;

    ck_assert_uint_gt(t->n_options, ARRAY_SIZE(s.slurm.notes));
    for (size_t i = 0; i < t->n_options; i++) {
        const struct option_spec *o = &t->options[i];

        ck_assert_ptr_nonnull(o->help);
        if (i > 0)
            ck_assert_msg(strcmp(t->options[i - 1].name, o->name) < 0, "--%s", o->name);
        for (size_t j = 0; j < i && o->letter != 0; j++)
            ck_assert_int_ne(t->options[j].letter, o->letter);
        if (strstr(o->help, "without effect") == NULL || strncmp(o->help, "accepted", 8) != 0)
            continue;
        n_notes++;
        ck_assert_int_eq(option_set(o, NULL, &s, NULL), 0);
    }
    ck_assert_uint_le(s.slurm.n_notes, ARRAY_SIZE(s.slurm.notes));
    ck_assert_uint_le(s.slurm.n_notes, n_notes);
}
END_TEST

SUITE("sbatch_options", tasks_that_are_not_divided_equally_are_counted,
      an_option_that_means_the_same_on_one_node_is_taken,
      cores_and_memory_are_chosen_in_their_words, tasks_of_a_socket_are_cores_of_it,
      nodes_are_also_a_range_or_a_file, an_option_that_cannot_be_obeyed_is_refused_with_what_to_do,
      no_memory_means_all_of_the_node, cpus_of_a_node_are_not_always_tasks_times_cpus,
      names_of_files_are_read_as_slurm_reads_them, abbreviations_are_those_of_slurm,
      amounts_of_memory_exclude_one_another, a_harmless_option_is_noted_once,
      every_option_has_one_row_in_the_order_of_names)
