/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/submission_input.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ksub/manifest.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

#define MOST_WORDS 16

/* A command line that lives as long as main()'s. */
static char texts[MOST_WORDS][256];
static char *argv[MOST_WORDS + 1];
static int argc;

static void
add_word(const char *word)
{
    ck_assert_int_lt(argc, MOST_WORDS);
    snprintf(texts[argc], sizeof(texts[argc]), "%s", word);
    argv[argc] = texts[argc];
    argv[++argc] = NULL;
}

/* Submits a script with this text, with those words before its name. */
static int
take(struct submission_input *input, const char *script, const char *const *words,
     struct error *err)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/run.sh", directory);

    ck_assert_int_eq(file_write_atomic(path, 0600, script, strlen(script), NULL), 0);
    argc = 0;
    add_word("ksub");
    for (; words != NULL && *words != NULL; words++)
        add_word(*words);
    add_word(path);
    add_word("-argument");
    return submission_input_read(input, argc, argv, err);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(the_command_line_wins_over_the_script_and_that_over_the_environment)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input input;

    setenv("KSUB_NTASKS", "1", 1);
    setenv("KSUB_CPUS_PER_TASK", "1", 1);
    setenv("KSUB_MEM", "1G", 1);
    ck_assert_int_eq(take(&input, "#!/bin/sh\n#KSUB -n 2 -c 2\n", WORDS("-n", "3"), NULL), 0);

    ck_assert_int_eq(input.submission.tasks, 3);
    ck_assert_int_eq(input.submission.cpus_per_task, 2);
    ck_assert_int_eq(input.submission.memory_bytes, INT64_C(1) << 30);
}
END_TEST

START_TEST(words_behind_the_script_are_its_own)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input input;

    ck_assert_int_eq(take(&input, "#!/bin/sh\n", NULL, NULL), 0);

    ck_assert_str_eq(input.submission.arguments[0], "-argument");
    ck_assert_ptr_null(input.submission.arguments[1]);
    ck_assert_str_eq(submission_name(&input.submission), "run.sh");
}
END_TEST

START_TEST(a_flag_of_the_environment_may_say_no)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input input;

    setenv("KSUB_EXCLUSIVE", "no", 1);
    setenv("KSUB_REQUEUE", "Off", 1);
    setenv("KSUB_HOLD", "1", 1);
    setenv("KSUB_WAIT", "on", 1);
    setenv("KSUB_NO_SUCH_OPTION", "x", 1);
    ck_assert_int_eq(take(&input, "#!/bin/sh\n", NULL, NULL), 0);

    ck_assert(!input.submission.exclusive);
    ck_assert(!input.submission.requeue);
    ck_assert(input.submission.hold);
    ck_assert(input.submission.wait);
}
END_TEST

START_TEST(a_flag_of_the_environment_that_is_neither_yes_nor_no_is_refused)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input input;
    struct error err = {0};

    setenv("KSUB_HOLD", "maybe", 1);
    ck_assert_int_eq(take(&input, "#!/bin/sh\n", NULL, &err), -EINVAL);

    ck_assert_str_eq(err.text, "KSUB_HOLD: 'maybe' is neither yes nor no");
}
END_TEST

/* Beside #KSUB lines they are ignored, unless an option requests them. */
START_TEST(directives_of_slurm_are_counted_or_read)
{
    static const char both[] = "#!/bin/sh\n#SBATCH -n 4 -c 2\n#SBATCH -t 5\n#KSUB -n 6\n";
    static const char theirs[] = "#!/bin/sh\n#SBATCH -n 4 -c 2\n";
    static const struct {
        const char *script, *option;
        int64_t tasks, cpus_per_task;
        bool is_read;
    } cases[] = {
        {both, NULL, 6, 0, false},          {both, "--sbatch", 6, 2, true},
        {both, "--no-sbatch", 6, 0, false}, {theirs, NULL, 4, 2, true},
        {theirs, "--sbatch", 4, 2, true},   {theirs, "--no-sbatch", 0, 0, false},
        {"#!/bin/sh\n", NULL, 0, 0, false}, {"#!/bin/sh\n", "--sbatch", 0, 0, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_SUBMISSION_INPUT struct submission_input input;

        ck_assert_int_eq(take(&input, cases[i].script, WORDS(cases[i].option), NULL), 0);
        ck_assert_msg(input.reads_foreign == cases[i].is_read, "case %zu", i);
        ck_assert(input.submission.is_slurms == cases[i].is_read);
        ck_assert_int_eq(input.submission.tasks, cases[i].tasks);
        ck_assert_int_eq(input.submission.cpus_per_task, cases[i].cpus_per_task);
    }
}
END_TEST

START_TEST(all_problems_of_a_script_are_told_at_once)
{
    static const char script[] = "#!/bin/sh\n#SBATCH -a 9-1 -L x --no-kill -c 2\n"
                                 "#SBATCH -J 'x\n#SBATCH -N 4-2\n#KSUB --numa hard --memm 3\n";
    static const char *const lines[] = {
        "run.sh:2: #SBATCH: --array: the range '9-1' ends before",
        "run.sh:2: #SBATCH: --licenses: ",
        "run.sh:3: #SBATCH: a quote",
        "run.sh:4: #SBATCH: --nodes: '4-2' is not a number of nodes",
        "run.sh:5: #KSUB: --numa: ",
        "run.sh:5: #KSUB: unknown option '--memm' (did you mean '--mem'?)",
    };
    CLEANUP_SUBMISSION_INPUT struct submission_input input;
    struct error err = {0};
    const char *at;

    setenv("PATH", "/nonexistent", 1);
    ck_assert_int_eq(take(&input, script, WORDS("--sbatch"), &err), -EINVAL);

    ck_assert_ptr_nonnull(strstr(err.text, lines[0]));
    at = input.problems.text;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        at = strstr(at, lines[i]);
        ck_assert_msg(at != NULL, "%s: %s", lines[i], input.problems.text);
    }
    ck_assert_uint_eq(input.submission.slurm.n_notes, 1);
    ck_assert_int_eq(input.submission.cpus_per_task, 2);
}
END_TEST

/* The command line may say what the script does not. */
START_TEST(the_command_line_decides_about_several_nodes)
{
    static const char script[] = "#!/bin/sh\n#SBATCH -N 4\n";
    CLEANUP_SUBMISSION_INPUT struct submission_input each, one, none;

    ck_assert_int_eq(take(&each, script, WORDS("--per-node"), NULL), 0);
    ck_assert_int_eq(each.submission.node_count, 4);
    ck_assert_int_eq(take(&one, script, WORDS("-N1"), NULL), 0);
    ck_assert_int_eq(one.submission.node_count, 1);
    ck_assert_int_eq(take(&none, script, WORDS("-n4"), NULL), 0);
    ck_assert_int_eq(none.submission.node_count, 4);
    ck_assert(!none.submission.per_node);
}
END_TEST

/* With an alias, sbatch is ksub --sbatch. */
START_TEST(the_command_line_takes_sbatchs_options_with_it)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input input;

    ck_assert_int_eq(
        take(&input, "#!/bin/sh\n#SBATCH --ntasks-per-node=8\n",
             WORDS("--sbatch", "--ntasks-per-node=4", "--qos=low", "-b", "now", "-o", "%x.%A"),
             NULL),
        0);

    ck_assert_int_eq(input.submission.tasks, 4);
    ck_assert_str_eq(input.submission.slurm.qos, "low");
    ck_assert_str_eq(input.submission.output, "%x.%A");
}
END_TEST

START_TEST(in_a_dry_run_the_output_may_be_a_format)
{
    static const struct {
        const char *script;
        const char *words[5];
        bool is_json;
        const char *output;
    } cases[] = {
        {"#!/bin/sh\n", {"--dry-run", "-o", "json"}, true, NULL},
        {"#!/bin/sh\n#KSUB -o a.out\n", {"--dry-run", "-o", "yaml"}, false, "a.out"},
        {"#!/bin/sh\n#SBATCH -o a.out\n", {"--dry-run", "-o", "json"}, true, "a.out"},
        {"#!/bin/sh\n#KSUB -o json\n", {"--dry-run"}, false, "json"},
        {"#!/bin/sh\n#KSUB -o a\n", {"--dry-run", "-o", "b", "-o", "json"}, true, "b"},
        {"#!/bin/sh\n#KSUB -o a\n", {"--dry-run", "-o", "json", "-o", "b"}, true, "b"},
        {"#!/bin/sh\n#KSUB -o a.out\n", {"-o", "json"}, false, "json"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_SUBMISSION_INPUT struct submission_input input;
        const char *const *w = cases[i].words;

        ck_assert_int_eq(take(&input, cases[i].script, WORDS(w[0], w[1], w[2], w[3], w[4]), NULL),
                         0);
        ck_assert_msg(input.submission.json == cases[i].is_json, "case %zu", i);
        ck_assert_pstr_eq(input.submission.output, cases[i].output);
    }
}
END_TEST

START_TEST(a_hash_within_a_word_begins_a_comment_only_in_slurms_lines)
{
    CLEANUP_SUBMISSION_INPUT struct submission_input theirs, ours;

    ck_assert_int_eq(
        take(&theirs, "#!/bin/sh\n#SBATCH --time=5#min\n#SBATCH -J 'a#b'\n", NULL, NULL), 0);
    ck_assert_int_eq(theirs.submission.time_limit_s, 300);
    ck_assert_str_eq(theirs.submission.job_name, "a#b");
    ck_assert_int_eq(take(&ours, "#!/bin/sh\n#KSUB -J a#b -t 5 #min\n", NULL, NULL), 0);
    ck_assert_int_eq(ours.submission.time_limit_s, 300);
    ck_assert_str_eq(ours.submission.job_name, "a#b");
}
END_TEST

/* A job that gets 1 CPU in silence is the harm. */
START_TEST(directives_for_another_scheduler_are_reported_or_refused)
{
    static const char pbs[] = "#!/bin/sh\n#PBS -N a\n#PBS -l nodes=1:ppn=8\n";
    static const char *const refusal = "run.sh:3: #PBS lines are for PBS and are not read, so the "
                                       "job would not get what they ask for (-l nodes=1:ppn=8): ";
    static const struct {
        const char *script, *option;
        const char *words; /* of the error; NULL: it is submitted */
        const char *hint;  /* NULL: none */
    } cases[] = {
        {pbs, "--strict", refusal, NULL},
        {pbs, NULL, NULL,
         "run.sh:3: 2 #PBS lines for PBS are not read: the job has the defaults, not what is asked "
         "for there (-l nodes=1:ppn=8)\n"},
        {"#!/bin/sh\n# OAR -l core=4\n", "--sbatch", NULL,
         "run.sh:2: 1 # OAR line for OAR is not read: the job has the defaults"},
        {pbs, "--ignore-directives", NULL, NULL},
        {"#!/bin/sh\n#$ -cwd\n", "--strict", NULL,
         "run.sh:2: 1 #$ line for Grid Engine is not read\n"},
        {pbs, "-c8", NULL, "run.sh:2: 2 #PBS lines for PBS are not read\n"},
        {"#!/bin/sh\n#$ -cwd\n", NULL, NULL, "run.sh:2: 1 #$ line for Grid Engine is not read\n"},
        {"#!/bin/sh\n#PBS -l a\n#KSUB -t 5\n", NULL, NULL, NULL},
        {"#!/bin/sh\n#PBS -l a\n#SBATCH -t 5\n", NULL, NULL, NULL},
        {"#!/bin/sh\n#PBS -l a\n#SBATCH -t 5\n", "--no-sbatch", NULL, "run.sh:2: 1 #PBS line"},
        {"#!/bin/sh\necho\n#PBS -l a\n", NULL, NULL, NULL},
        {"#!/bin/sh\n# KSUB -c 4\n", NULL, NULL, "run.sh:2: '# KSUB' begins a comment"},
        {"#!/bin/sh\necho\n#SBATCH -c 4\n", NULL, NULL, "run.sh:3: #SBATCH is not read here"},
        {"#!/bin/sh\n#KSUB -c 2\necho\n#SBATCH -c 4\n", NULL, NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_SUBMISSION_INPUT struct submission_input input;
        struct error err = {0};
        int r = take(&input, cases[i].script, WORDS(cases[i].option), &err);
        const char *hint;

        ck_assert_msg(r == (cases[i].words != NULL ? -EINVAL : 0), "case %zu: %s", i, err.text);
        if (cases[i].words != NULL)
            ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "case %zu: %s", i, err.text);
        hint = input.hints.length > 0 ? strstr(input.hints.text, "run.sh") : NULL;
        ck_assert_msg((hint != NULL) == (cases[i].hint != NULL), "case %zu: %s", i, hint);
        if (hint != NULL)
            ck_assert_msg(strncmp(hint, cases[i].hint, strlen(cases[i].hint)) == 0, "case %zu: %s",
                          i, hint);
    }
}
END_TEST

START_TEST(a_mistake_is_refused_with_its_place)
{
    static const struct {
        const char *script;
        const char *words;
    } cases[] = {
        {"echo\n", "run.sh: this does not look like a batch script"},
        {"#!/bin/sh\n\n#KSUB -t 5x\n", "run.sh:3: #KSUB: --time: '5x'"},
        {"#!/bin/sh\n#KSUB -J 'x\n", "run.sh:2: #KSUB: a quote"},
        {"#!/bin/sh\n#KSUB --memm=3\n", "did you mean '--mem'?"},
        {"#!/bin/sh\n#KSUB 5\n", "'5' is not an option"},
        {"#!/bin/sh\n#KSUB --help\n", "for the command line"},
        {"#!/bin/sh\n#KSUB --wrap=x\n", "--wrap is only for the command line"},
        {"#!/bin/sh\n#KSUB -o a%t\n", "unknown pattern"},
        {"#!/bin/sh\n#KSUB -N 2-8 --per-node\n", "'2-8': the number of nodes of a job is fixed"},
        {"#!/bin/sh\n#KSUB -N 513 --per-node\n", "at most 512 nodes"},
        {"#!/bin/sh\n#KSUB -N 99999999999999999999 --per-node\n", "at most 512 nodes"},
        {"#!/bin/sh\n#KSUB -N 4-2\n", "not a number of nodes"},
        {"#!/bin/sh\n#KSUB -N x\n", "not a number of nodes"},
        {"#!/bin/sh\n#KSUB -w n[1-\n", "run.sh:2: #KSUB: --nodelist: "},
        {"#!/bin/sh\n#KSUB -w n[1-2] -N 3\n", "--nodelist names 2 nodes, but --nodes 3"},
        {"#!/bin/sh\n#KSUB -w n1 -N 2\n", "--nodelist names 1 node, but --nodes 2"},
        {"#!/bin/sh\n#KSUB -w n[1-513]\n", "names 513 nodes, but a job has at most 512"},
        {"#!/bin/sh\n#KSUB -N 4 -n 3\n", "--ntasks 3 is less than one task for each"},
        {"#!/bin/sh\n#KSUB -N 4 -G 6\n", "--gpus 6 is for all nodes, and cannot be divided"},
        {"#!/bin/sh\n#KSUB -N 2 -n 9 --ntasks-per-node 4\n", "is more than --ntasks-per-node 4"},
        {"#!/bin/sh\n#KSUB -N 1 -n 9 --ntasks-per-node 4\n", "on one node is more than"},
        {"#!/bin/sh\n#KSUB -n 9 --ntasks-per-node 4 -a 1-2\n", "--array is not for a job of 3"},
        {"#!/bin/sh\n#KSUB -n 5000 --ntasks-per-node 4\n", "needs 1250 nodes, but a job has at"},
        {"#!/bin/sh\n#KSUB -p a,,/\n", "run.sh:2: #KSUB: --partition: "},
        {"#!/bin/sh\n#KSUB -a 1-10%x\n", "run at once after the percent sign"},
        {"#!/bin/sh\n#KSUB -a 1-\n", "'1-' is neither a task id"},
        {"#!/bin/sh\n#KSUB -d afterok:x\n", "not a job id"},
        {"#!/bin/sh\n#KSUB --gres=fpga:1\n", "only gpu"},
        {"#!/bin/sh\n#KSUB -n 0\n", "--ntasks"},
        {"#!/bin/sh\n#KSUB -c -1\n", "--cpus-per-task"},
        {"#!/bin/sh\n#KSUB -n 1e999\n", "--ntasks"},
        {"#!/bin/sh\n#KSUB --mem 0x\n", "--mem"},
        {"#!/bin/sh\n#KSUB --numa hard\n", "none, best-effort"},
        {"#!/bin/sh\n#KSUB --signal FOO@10\n", "is not a signal"},
        {"#!/bin/sh\n#KSUB --signal USR1@x\n", "is not a signal"},
        {"#!/bin/sh\n#KSUB --signal 0\n", "is not a signal"},
        {"#!/bin/sh\n#KSUB --open-mode rw\n", "neither append nor"},
        {"#!/bin/sh\n#KSUB --begin later\n", "is not a time (such as"},
        {"#!/bin/sh\n#KSUB --export A,=b\n", "--export: '=b' has no name"},
        {"#!/bin/sh\n#KSUB --cron '0 0 * * 8'\n",
         "the weekday '8' is not in 0-7 (0 and 7 are Sunday)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_SUBMISSION_INPUT struct submission_input input;
        struct error err = {0};

        ck_assert_msg(take(&input, cases[i].script, NULL, &err) < 0, "case %zu was taken", i);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL, "case %zu: %s", i, err.text);
    }
}
END_TEST

/* Lines that people write, as often as the options of public scripts (Debian's sbatch takes all
 * of them). What we do not take has a reason here.
 */
START_TEST(lines_of_scripts_for_slurm_are_taken)
{
    static const struct {
        const char *line, *words;
    } refused[] = {
        {"--nodes=1k", "at most 512 nodes"},
        {"EPYC@home", "not a partition name"},
        {"gpu:a100:1,gpu:v100:1", "are of one model"},
        {"--exclusive=user", "use a partition that does so"},
        {"--exclusive=mcs", "use a partition that does so"},
    };
    const char *top = getenv("top_srcdir");
    CLEANUP_FREE char *path =
        xasprintf("%s/testsuite/data/sbatch/directives.txt", top != NULL ? top : ".");
    CLEANUP_STRBUF struct strbuf lines = STRBUF_INIT;
    unsigned n_taken = 0, n_refused = 0;
    char *rest, *line;

    ck_assert_int_eq(file_read(path, 1 << 20, &lines, NULL), 0);
    rest = lines.text;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        CLEANUP_FREE char *script = xasprintf("#!/bin/sh\n%s\ntrue\n", line);
        CLEANUP_SUBMISSION_INPUT struct submission_input input;
        struct error err = {0};
        size_t i = 0;

        if (take(&input, script, NULL, &err) == 0
            && manifest_make(&input.submission, &input.script, input.arena, &err) != NULL) {
            n_taken++;
            continue;
        }
        while (i < ARRAY_SIZE(refused) && strstr(line, refused[i].line) == NULL)
            i++;
        ck_assert_msg(i < ARRAY_SIZE(refused) && strstr(err.text, refused[i].words) != NULL,
                      "%s: %s", line, err.text);
        n_refused++;
    }
    ck_assert_uint_eq(n_taken, 295);
    ck_assert_uint_eq(n_refused, ARRAY_SIZE(refused));
}
END_TEST

/* Time limit in whole minutes, tasks, CPUs of a task and memory: what Slurm says about the job. */
static void
format_meaning(const struct submission *s, const char *keys, struct strbuf *out)
{
    const int64_t nodes = s->node_count > 1 ? s->node_count : 1;
    const int64_t all = s->total_tasks > 0 ? s->total_tasks : s->tasks * nodes;
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"time=", (s->time_limit_s + 59) / 60 * 60},
        {"tasks=", all > 0 ? all : nodes},
        {"cpus=", s->cpus_per_task > 0 ? s->cpus_per_task : 1},
        {"mem=", (s->memory_bytes + (1 << 20) - 1) >> 20},
        {"mem-per-cpu=", (s->memory_per_cpu_bytes + (1 << 20) - 1) >> 20},
    };

    for (const char *at = keys; *at != '\0';) {
        const size_t length = strcspn(at, "=") + 1;

        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
            if (strlen(numbers[i].key) == length && strncmp(numbers[i].key, at, length) == 0)
                strbuf_printf(out, "%s%s%lld", out->length > 0 ? " " : "", numbers[i].key,
                              (long long)numbers[i].value);
        if (strncmp(at, "name=", 5) == 0 || strncmp(at, "comment=", 8) == 0) {
            strbuf_printf(out, "%s%.*s%s", out->length > 0 ? " " : "", (int)length, at,
                          at[0] == 'n' ? s->job_name : s->comment);
            return; /* it may have blanks */
        }
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
}

/* A line of options.txt: "=" both take it, and it means what follows " ~ "; "x" both refuse it; "+" only
 * ours, "-" only Slurm's takes it, with the reason.
 */
static void
check_line(char *line, unsigned *ret_counts)
{
    char *meaning = strstr(line, " ~ ");
    CLEANUP_STRBUF struct strbuf found = STRBUF_INIT;
    CLEANUP_SUBMISSION_INPUT struct submission_input input;
    CLEANUP_FREE char *script = NULL;
    struct error err = {0};
    bool is_taken;

    for (char *next = meaning; next != NULL && (next = strstr(next + 1, " ~ ")) != NULL;)
        meaning = next; /* "~" is also a value */
    if (meaning != NULL)
        *meaning = '\0';
    script = xasprintf("#!/bin/sh\n%s\ntrue\n", line + 2);
    is_taken = take(&input, script, NULL, &err) == 0
               && manifest_make(&input.submission, &input.script, input.arena, &err) != NULL;
    ck_assert_msg(is_taken == (line[0] == '=' || line[0] == '+'), "%s: %s", line,
                  is_taken ? "taken" : err.text);
    ck_assert_msg(is_taken || err.text[0] != '\0', "%s: refused without a word", line);
    ck_assert_msg(meaning != NULL || (line[0] != '+' && line[0] != '-'), "%s: no reason", line);
    if (line[0] == '=' && meaning != NULL) {
        format_meaning(&input.submission, meaning + 3, &found);
        ck_assert_msg(found.length > 0 && strcmp(found.text, meaning + 3) == 0, "%s: %s, not %s",
                      line, found.text, meaning + 3);
    }
    ret_counts[line[0] == '='] += 1;
}

/* The file has lines that Debian's Slurm 22.05 was asked about, and what it said of the jobs. */
START_TEST(lines_mean_what_they_mean_in_slurm)
{
    const char *top = getenv("top_srcdir");
    CLEANUP_FREE char *path =
        xasprintf("%s/testsuite/data/sbatch/options.txt", top != NULL ? top : ".");
    CLEANUP_STRBUF struct strbuf lines = STRBUF_INIT;
    unsigned counts[2] = {0};
    char *rest, *line;

    ck_assert_int_eq(file_read(path, 1 << 20, &lines, NULL), 0);
    rest = lines.text;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
        check_line(line, counts);
    ck_assert_uint_gt(counts[1], 500);
    ck_assert_uint_gt(counts[0], 200);
}
END_TEST

START_TEST(signals_are_read_by_name_and_by_number)
{
    static const struct {
        const char *value;
        const char *name;
        int64_t seconds;
        bool batch_only;
    } cases[] = {
        {"USR1", "USR1", 60, false},
        {"SIGUSR1@120", "USR1", 120, false},
        {"b:usr2@0", "USR2", 0, true},
        {"B:10@30", "USR1", 30, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_SUBMISSION_INPUT struct submission_input input;

        ck_assert_int_eq(take(&input, "#!/bin/sh\n", WORDS("--signal", cases[i].value), NULL), 0);
        ck_assert_str_eq(input.submission.signal.name, cases[i].name);
        ck_assert_int_eq(input.submission.signal.seconds_before, cases[i].seconds);
        ck_assert(input.submission.signal.batch_only == cases[i].batch_only);
    }
}
END_TEST

SUITE("submission_input", the_command_line_wins_over_the_script_and_that_over_the_environment,
      words_behind_the_script_are_its_own, a_flag_of_the_environment_may_say_no,
      a_flag_of_the_environment_that_is_neither_yes_nor_no_is_refused,
      a_hash_within_a_word_begins_a_comment_only_in_slurms_lines,
      directives_for_another_scheduler_are_reported_or_refused,
      directives_of_slurm_are_counted_or_read, all_problems_of_a_script_are_told_at_once,
      the_command_line_decides_about_several_nodes, the_command_line_takes_sbatchs_options_with_it,
      in_a_dry_run_the_output_may_be_a_format, a_mistake_is_refused_with_its_place,
      lines_of_scripts_for_slurm_are_taken, lines_mean_what_they_mean_in_slurm,
      signals_are_read_by_name_and_by_number)
