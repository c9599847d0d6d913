/* SPDX-License-Identifier: Apache-2.0 */
/* The command line wins over the script and the script over the environment, but the script is
 * named by the command line: so that is read twice, once to find the script and once over its
 * directives. Mistakes of a script are collected, for a person mends all of them in one go.
 */
#include "cli/ksub/submission_input.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/ksub/job_script.h"
#include "cli/ksub/ksub_options.h"
#include "cli/ksub/sbatch_options.h"
#include "cli/ksub/sbatch_settle.h"
#include "cli/ksub/script_hints.h"
#include "cli/ksub/submission_set.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

#define OURS     "#KSUB"
#define FOREIGN  "#SBATCH"
#define VARIABLE "KSUB_"

#define NO_HETJOBS                                                                               \
    "%s: heterogeneous jobs are not available, for each node of a job has the same; submit the " \
    "parts as jobs of their own, with --dependency"

void
submission_input_fini(struct submission_input *input)
{
    strbuf_fini(&input->script);
    strbuf_fini(&input->problems);
    strbuf_fini(&input->hints);
    arena_free(input->arena);
    memset(input, 0, sizeof(*input));
}

/* ---- The script ---- */

static int
wrap_command(struct submission_input *input, struct error *err)
{
    const struct submission *s = &input->submission;

    if (s->script_path != NULL)
        return error_set(err, -EINVAL, "a script ('%s') cannot go with --wrap", s->script_path);
    if (s->wrapped[strspn(s->wrapped, " \t\n")] == '\0')
        return error_set(err, -EINVAL, "--wrap: the command is empty");
    strbuf_printf(&input->script, "#!/bin/sh\n# Made by %s --wrap.\n\n%s\n", input->program,
                  s->wrapped);
    return 0;
}

static int
read_standard_input(struct submission_input *input, struct error *err)
{
    int r;

    if (isatty(STDIN_FILENO))
        return error_set(err, -EINVAL,
                         "no script: name one, pipe one to the standard "
                         "input, or use --wrap 'COMMAND'");
    r = fd_read_all(STDIN_FILENO, JOB_SCRIPT_MAX + 1, &input->script);
    return r < 0 && r != -EFBIG ? error_wrap(err, r, "reading the standard input") : r;
}

/* NULL: nobody knows where it is. */
static const char *
find_script_file(const char *path, struct arena *arena)
{
    char directory[PATH_MAX];

    if (path == NULL || path[0] == '/')
        return path;
    return getcwd(directory, sizeof(directory)) != NULL
               ? arena_printf(arena, "%s/%s", directory, path)
               : NULL;
}

static int
read_script(struct submission_input *input, struct error *err)
{
    struct submission *s = &input->submission;
    int r;

    if (s->wrapped != NULL)
        return wrap_command(input, err);
    s->script_file = find_script_file(s->script_path, input->arena);
    if (s->script_path == NULL)
        r = read_standard_input(input, err);
    else
        r = file_read(s->script_path, JOB_SCRIPT_MAX + 1, &input->script, err);
    if (r == -ENOENT && s->script_path != NULL)
        return error_set(err, r,
                         "reading '%s': %s; a command that is no script is submitted with --wrap",
                         s->script_path, strerror(ENOENT));
    if (r < 0 && r != -EFBIG)
        return r;
    r = r == -EFBIG ? job_script_refuse_large(err)
                    : job_script_check(input->script.text, input->script.length, err);
    return r < 0 ? error_wrap(err, r, "%s", submission_script(s)) : 0;
}

/* Applies options from a script or the environment, as an argv. After an error
 * *ret_used is the number of words that were read.
 */
static int
apply_words(struct submission_input *input, const struct option_table *table, char **words,
            size_t count, size_t *ret_used, struct error *err)
{
    char **argv = arena_new_array(input->arena, char *, count + 2);
    const char *wrapped = input->submission.wrapped;
    int operands = 0;
    int r;

    argv[0] = arena_strdup(input->arena, table->name);
    memcpy(argv + 1, words, count * sizeof(*words));
    r = option_parse(table, (int)count + 1, argv, &input->submission, &operands, err);
    *ret_used = r < 0 && operands > 1 ? (size_t)operands - 1 : count;
    if (r < 0)
        return r;
    if (r == OPTION_HELP || r == OPTION_VERSION)
        return error_set(err, -EINVAL, "--help and --version are only for the command line");
    if (operands < (int)count + 1 && table != &ksub_options
        && (strcmp(argv[operands], "hetjob") == 0 || strcmp(argv[operands], "packjob") == 0))
        return error_set(err, -EOPNOTSUPP, NO_HETJOBS, argv[operands]);
    if (operands < (int)count + 1)
        return error_set(err, -EINVAL, "'%s' is not an option", argv[operands]);
    if (input->submission.wrapped != wrapped)
        return error_set(err, -EINVAL, "--wrap is only for the command line");
    if (input->submission.chain || input->submission.pipeline != NULL)
        return error_set(err, -EINVAL,
                         "--chain and --pipeline are only for the command "
                         "line");
    if (input->submission.is_interactive)
        return error_set(err, -EINVAL, "--interactive is only for the command line");
    return 0;
}

static void PRINTF(4, 5) add_problem(struct submission_input *input, unsigned line,
                                     struct error *first, const char *format, ...)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    va_list args;

    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    if (input->n_problems++ == 0)
        error_set(first, -EINVAL, "%s:%u: %s", submission_script(&input->submission), line,
                  text.text);
    strbuf_printf(&input->problems, "%s:%u: %s\n", submission_script(&input->submission), line,
                  text.text);
}

/* After a problem the rest of the line is read too, so that all are reported.
 */
static void
apply_line(struct submission_input *input, const struct option_table *table,
           const struct job_script_reader *reader, char **words, size_t count, struct error *first)
{
    while (count > 0) {
        struct error err = {0};
        size_t used;

        if (apply_words(input, table, words, count, &used, &err) >= 0)
            return;
        add_problem(input, reader->line, first, "%s: %s", reader->prefix, err.text);
        words += used;
        count -= used;
    }
}

static void
apply_directives(struct submission_input *input, const struct option_table *table,
                 const char *prefix, struct error *first)
{
    struct job_script_reader reader;
    struct error err = {0};
    char **words = NULL;
    size_t count = 0;
    int r;

    job_script_read(&reader, prefix, input->script.text, input->script.length);
    while ((r = job_script_next(&reader, input->arena, &words, &count, &err)) != 0) {
        if (r < 0)
            add_problem(input, reader.line, first, "%s: %s", prefix, err.text);
        else
            apply_line(input, table, &reader, words, count, first);
    }
}

static unsigned
count_directives(struct submission_input *input, const char *prefix)
{
    struct job_script_reader reader;
    char **words;
    size_t count;
    unsigned n = 0;

    job_script_read(&reader, prefix, input->script.text, input->script.length);
    while (job_script_next(&reader, input->arena, &words, &count, NULL) != 0)
        n++;
    return n;
}

/* The option of a variable: KSUB_MEM_PER_CPU is --mem-per-cpu. */
static const struct option_spec *
option_of_variable(const char *name, size_t length)
{
    for (size_t i = 0; i < ksub_options.n_options; i++) {
        const char *option = ksub_options.options[i].name;
        size_t n = 0;

        while (n < length && option[n] != '\0'
               && name[n] == (option[n] == '-' ? '_' : toupper(option[n])))
            n++;
        if (n == length && option[n] == '\0')
            return &ksub_options.options[i];
    }
    return NULL;
}

static int
read_flag(const char *value, bool *ret, struct error *err)
{
    static const struct {
        const char *word;
        bool meaning;
    } words[] = {
        {"", false},  {"0", false}, {"no", false}, {"false", false}, {"off", false},
        {"n", false}, {"f", false}, {"1", true},   {"yes", true},    {"true", true},
        {"on", true}, {"y", true},  {"t", true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(value, words[i].word) == 0) {
            *ret = words[i].meaning;
            return 0;
        }
    return error_set(err, -EINVAL, "'%s' is neither yes nor no", value);
}

/* Options that say what is submitted, not how, have no variable. */
static bool
is_of_command_line(const char *name)
{
    return strcmp(name, "wrap") == 0 || strcmp(name, "chain") == 0 || strcmp(name, "pipeline") == 0
           || strcmp(name, "interactive") == 0;
}

static int
apply_variable(struct submission_input *input, const char *entry, struct error *err)
{
    const char *name = entry + sizeof(VARIABLE) - 1;
    const char *equals = strchr(name, '=');
    const struct option_spec *option;
    bool is_set = false;
    char *word;
    size_t used;
    int r;

    if (equals == NULL)
        return 0;
    option = option_of_variable(name, (size_t)(equals - name));
    if (option == NULL || is_of_command_line(option->name))
        return 0;
    if (option->argument != NULL) {
        word = arena_printf(input->arena, "--%s=%s", option->name, equals + 1);
    } else {
        r = read_flag(equals + 1, &is_set, err);
        if (r < 0)
            return error_wrap(err, r, "%.*s", (int)(equals - entry), entry);
        if (!is_set)
            return 0;
        word = arena_printf(input->arena, "--%s", option->name);
    }
    r = apply_words(input, &ksub_options, &word, 1, &used, err);
    return r < 0 ? error_wrap(err, r, "%.*s", (int)(equals - entry), entry) : 0;
}

static int
apply_environment(struct submission_input *input, struct error *err)
{
    for (char **entry = environ; *entry != NULL; entry++) {
        int r;

        if (strncmp(*entry, VARIABLE, sizeof(VARIABLE) - 1) != 0)
            continue;
        r = apply_variable(input, *entry, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* #SBATCH lines of a script that has #KSUB lines are read only with --sbatch.
 */
static bool
reads_foreign(const struct submission_input *input, unsigned n_ours)
{
    const struct submission *s = &input->submission;

    return s->sbatch || (!s->no_sbatch && n_ours == 0 && input->n_foreign > 0);
}

/* ---- Lines that are not read ---- */

static void
add_hints(struct submission_input *input, unsigned n_ours)
{
    const struct submission *s = &input->submission;
    const char *name = submission_script(s);

    script_hints_add(input->script.text, input->script.length, OURS, name, &input->hints);
    if (input->reads_foreign || (n_ours == 0 && !s->no_sbatch))
        script_hints_add(input->script.text, input->script.length, FOREIGN, name, &input->hints);
}

static bool
asks_for_cpus(const struct submission *s)
{
    return s->tasks > 0 || s->cpus_per_task > 0 || s->shared_mcpu > 0 || s->exclusive
           || s->gpus > 0;
}

/* A script with directives for another scheduler only runs with one CPU and the
 * default time limit, which its user should not learn from a slow job, or from
 * one that ends too early. The command line may ask instead.
 */
static void
judge_foreign_scheduler(struct submission_input *input, struct error *first)
{
    const struct submission *s = &input->submission;
    struct script_hints_foreign found;

    if (s->ignore_directives)
        return;
    script_hints_find_foreign(input->script.text, input->script.length, &found);
    if (found.count == 0)
        return;
    if (found.asking > 0 && !asks_for_cpus(s) && s->strict)
        add_problem(input, found.asking, first,
                    "%s lines are for %s and are not read, so the job would not get what they ask "
                    "for (%.*s): give ksub's options on the command line or in #KSUB lines, or "
                    "submit it as it is without --strict",
                    found.prefix, found.scheduler, (int)found.option_length, found.option);
    else
        script_hints_add_foreign(&found, submission_script(s), !asks_for_cpus(s), &input->hints);
}

/* The command line is read twice: first to find the script, and again after the
 * script's directives, which it overrides.
 */
static int
read_options(struct submission_input *input, const struct option_table *table, int argc,
             char **argv, struct error *err)
{
    struct submission *s = &input->submission;
    const bool sbatch = s->sbatch, no_sbatch = s->no_sbatch;
    const unsigned n_ours = count_directives(input, OURS);
    int operands = 0;
    int r;

    s->sbatch = s->no_sbatch = false;
    r = apply_environment(input, err);
    if (r < 0)
        return r;
    s->sbatch = (s->sbatch && !no_sbatch) || sbatch;
    s->no_sbatch = (s->no_sbatch && !sbatch) || no_sbatch;
    input->n_foreign = count_directives(input, FOREIGN);
    input->reads_foreign = reads_foreign(input, n_ours);
    s->is_slurms = input->reads_foreign;
    if (input->reads_foreign)
        apply_directives(input, sbatch_options(), FOREIGN, err);
    apply_directives(input, &ksub_options, OURS, err);
    if (input->n_problems > 0)
        return -EINVAL;
    s->format = NULL; /* a script that says -o json means a file */
    s->output_before = s->output;
    r = sbatch_settle_source(s, err);
    if (r == 0)
        r = option_parse(table, argc, argv, s, &operands, err);
    if (r == 0)
        r = sbatch_settle_source(s, err);
    input->asked = *s;
    if (r == 0)
        r = sbatch_settle(s, err);
    if (r == 0)
        r = submission_set_order(s, err);
    if (r < 0 || s->wrapped != NULL)
        return r;
    if (n_ours == 0 && (input->n_foreign == 0 || !input->reads_foreign))
        judge_foreign_scheduler(input, err);
    add_hints(input, n_ours);
    return input->n_problems > 0 ? -EINVAL : 0;
}

/* In a dry run -o of the command line may be the format to print, as in kctl;
 * the job's file is then the one that was given before.
 */
static void
take_format(struct submission *s)
{
    if (!s->dry_run || s->format == NULL)
        return;
    s->json = strcmp(s->format, "json") == 0;
    s->output = s->output_before;
}

/* The table must be chosen before any option is read. */
static const struct option_table *
choose_table(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--sbatch") == 0)
            return sbatch_options();
    return &ksub_options;
}

static void
init(struct submission_input *input, const char *program)
{
    memset(input, 0, sizeof(*input));
    input->program = program;
    strbuf_init(&input->script);
    strbuf_init(&input->problems);
    strbuf_init(&input->hints);
    input->arena = arena_new(0);
}

/* For several jobs the options are common to all; each job reads them again
 * with its own.
 */
static int
read_common(struct submission_input *input, const struct option_table *table, int argc, char **argv,
            struct error *err)
{
    struct submission *s = &input->submission;
    int r = apply_environment(input, err);

    if (r == 0)
        r = option_parse(table, argc, argv, s, &input->operands, err);
    if (r == 0)
        take_format(s);
    return r;
}

static int
read_one(struct submission_input *input, const struct option_table *table,
         const struct submission *given, int operands, int argc, char **argv, struct error *err)
{
    struct submission *s = &input->submission;
    int r;

    s->wrapped = given->wrapped;
    s->sbatch = given->sbatch;
    s->no_sbatch = given->no_sbatch;
    if (operands < argc && strcmp(argv[operands], ":") == 0)
        return error_set(err, -EOPNOTSUPP,
                         "':' begins another part of a heterogeneous job, but all nodes of a job "
                         "have the same amounts here; submit a job for each part (--dependency "
                         "orders them), or give every node what the largest part needs");
    if (operands < argc) {
        if (strcmp(argv[operands], "-") != 0)
            s->script_path = argv[operands];
        s->arguments = argv + operands + 1;
    }
    r = read_script(input, err);
    if (r == 0)
        r = read_options(input, table, argc, argv, err);
    if (r == 0)
        take_format(s);
    return r;
}

int
submission_input_read(struct submission_input *input, int argc, char **argv, struct error *err)
{
    const struct option_table *table = choose_table(argc, argv);
    struct submission given = {0};
    int operands;

    init(input, "ksub");
    operands = program_begin(table, argc, argv, &given);
    input->submission.is_interactive = given.is_interactive;
    if (given.is_interactive)
        return 0;
    if (given.chain || given.pipeline != NULL)
        return read_common(input, table, argc, argv, err);
    return read_one(input, table, &given, operands, argc, argv, err);
}

int
submission_input_read_stage(struct submission_input *input, int argc, char **argv,
                            struct error *err)
{
    const struct option_table *table = choose_table(argc, argv);
    struct submission given = {0};
    int operands = 0;
    int r;

    init(input, "ksub");
    r = option_parse(table, argc, argv, &given, &operands, err);
    if (r == OPTION_HELP || r == OPTION_VERSION)
        return error_set(err, -EINVAL, "--help and --version are only for the command line");
    if (r < 0)
        return r;
    return read_one(input, table, &given, operands, argc, argv, err);
}

/* ---- sbatch ---- */

/* ksub's own options that are about several jobs, or that sbatch does not need. */
static int
refuse_own(const struct submission *s, struct error *err)
{
    const char *own = s->chain              ? "chain"
                      : s->pipeline != NULL ? "pipeline"
                      : s->cron != NULL     ? "cron"
                      : s->dry_run          ? "dry-run"
                      : s->is_interactive   ? "interactive"
                      : s->no_sbatch        ? "no-sbatch"
                                            : NULL;

    return own == NULL ? 0 : error_set(err, -EINVAL, "--%s is an option of ksub", own);
}

static int
read_sbatch_options(struct submission_input *input, char **words, size_t n_words, int argc,
                    char **argv, struct error *err)
{
    struct submission *s = &input->submission;
    int operands = 0;
    size_t used;
    int r;

    input->n_foreign = count_directives(input, FOREIGN);
    input->reads_foreign = s->is_slurms = s->sbatch = true;
    apply_directives(input, sbatch_options(), FOREIGN, err);
    apply_directives(input, &ksub_options, OURS, err);
    if (input->n_problems > 0)
        return -EINVAL;
    r = sbatch_settle_source(s, err);
    if (r == 0 && n_words > 0)
        r = apply_words(input, sbatch_options(), words, n_words, &used, err);
    s->slurm.memory_options = 0; /* variables of a site, and options of the user */
    if (r == 0)
        r = option_parse(sbatch_options(), argc, argv, s, &operands, err);
    if (r == 0)
        r = sbatch_settle_source(s, err);
    input->asked = *s;
    if (r == 0)
        r = sbatch_settle(s, err);
    if (r == 0)
        r = submission_set_order(s, err);
    if (r < 0 || s->wrapped != NULL)
        return r;
    if (input->n_foreign == 0 && count_directives(input, OURS) == 0)
        judge_foreign_scheduler(input, err);
    add_hints(input, count_directives(input, OURS));
    return input->n_problems > 0 ? -EINVAL : 0;
}

int
submission_input_read_sbatch(struct submission_input *input, char **words, size_t n_words, int argc,
                             char **argv, struct error *err)
{
    struct submission *s = &input->submission;
    struct submission given = {0};
    int operands = 0;
    int r;

    init(input, "sbatch");
    input->is_misused = true;
    r = option_parse(sbatch_options(), argc, argv, &given, &operands, err);
    if (r == 0)
        r = refuse_own(&given, err);
    if (r != 0)
        return r;
    s->wrapped = given.wrapped;
    if (operands < argc) {
        if (strcmp(argv[operands], ":") == 0)
            return error_set(err, -EOPNOTSUPP, NO_HETJOBS, "':'");
        if (strcmp(argv[operands], "-") != 0)
            s->script_path = submission_find_script(argv[operands], input->arena);
        s->arguments = argv + operands + 1;
    }
    input->is_misused = false;
    r = read_script(input, err);
    if (r < 0)
        return r;
    input->is_misused = true;
    return read_sbatch_options(input, words, n_words, argc, argv, err);
}
