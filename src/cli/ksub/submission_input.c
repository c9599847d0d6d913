/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/submission_input.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/ksub/job_script.h"
#include "cli/ksub/ksub_options.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

#define OURS     "#KSUB"
#define FOREIGN  "#SBATCH"
#define VARIABLE "KSUB_"

void
submission_input_fini(struct submission_input *input)
{
    strbuf_fini(&input->script);
    arena_free(input->arena);
    memset(input, 0, sizeof(*input));
}

const char *
submission_input_script_name(const struct submission *s)
{
    if (s->wrapped != NULL)
        return "--wrap";
    return s->script_path != NULL ? s->script_path : "standard input";
}

/* ---- The script ---- */

static int
wrap_command(struct submission_input *input, struct error *err)
{
    const struct submission *s = &input->submission;

    if (s->script_path != NULL)
        return error_set(err,
                         -EINVAL,
                         "a script ('%s') cannot go with --wrap",
                         s->script_path);
    if (s->wrapped[strspn(s->wrapped, " \t\n")] == '\0')
        return error_set(err, -EINVAL, "--wrap: the command is empty");
    strbuf_printf(&input->script,
                  "#!/bin/sh\n# Made by ksub --wrap.\n\n%s\n",
                  s->wrapped);
    return 0;
}

static int
read_standard_input(struct submission_input *input, struct error *err)
{
    int r;

    if (isatty(STDIN_FILENO))
        return error_set(err,
                         -EINVAL,
                         "no script: name one, give it on the standard "
                         "input, or use --wrap 'COMMAND'");
    r = fd_read_all(STDIN_FILENO, JOB_SCRIPT_MAX + 1, &input->script);
    if (r < 0 && r != -EFBIG)
        return error_wrap(err, r, "reading the standard input");
    return 0; /* one that is too large is refused by the check */
}

static int
read_script(struct submission_input *input, struct error *err)
{
    const struct submission *s = &input->submission;
    int r;

    if (s->wrapped != NULL)
        return wrap_command(input, err);
    if (s->script_path == NULL)
        r = read_standard_input(input, err);
    else
        r = file_read(s->script_path, JOB_SCRIPT_MAX + 1, &input->script, err);
    if (r < 0)
        return r;
    r = job_script_check(input->script.text, input->script.length, err);
    return r < 0 ? error_wrap(err, r, "%s", submission_input_script_name(s))
                 : 0;
}

/* Applies options from a script or the environment, as an argv. */
static int
apply_words(struct submission_input *input,
            char **words,
            size_t count,
            struct error *err)
{
    char **argv = arena_new_array(input->arena, char *, count + 2);
    const char *wrapped = input->submission.wrapped;
    int operands = 0;
    int r;

    argv[0] = arena_strdup(input->arena, ksub_options.name);
    memcpy(argv + 1, words, count * sizeof(*words));
    r = option_parse(&ksub_options,
                     (int)count + 1,
                     argv,
                     &input->submission,
                     &operands,
                     err);
    if (r < 0)
        return r;
    if (r == OPTION_HELP || r == OPTION_VERSION)
        return error_set(err,
                         -EINVAL,
                         "--help and --version are for the command line");
    if (operands < (int)count + 1)
        return error_set(err, -EINVAL, "'%s' is not an option", argv[operands]);
    if (input->submission.wrapped != wrapped)
        return error_set(err, -EINVAL, "--wrap is for the command line");
    return 0;
}

static int
apply_directives(struct submission_input *input,
                 const char *prefix,
                 struct error *err)
{
    struct job_script_reader reader;
    char **words = NULL;
    size_t count = 0;
    int r;

    job_script_read(&reader, prefix, input->script.text, input->script.length);
    while ((r = job_script_next(&reader, input->arena, &words, &count, err))
           > 0) {
        r = apply_words(input, words, count, err);
        if (r < 0)
            break;
    }
    if (r < 0)
        return error_wrap(err,
                          r,
                          "%s:%u: %s",
                          submission_input_script_name(&input->submission),
                          reader.line,
                          prefix);
    return 0;
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

/* KSUB_MEM_PER_CPU is --mem-per-cpu. */
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

static bool
is_negative(const char *value)
{
    static const char *const words[] = {"", "0", "no", "false"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(value, words[i]) == 0)
            return true;
    return false;
}

static int
apply_variable(struct submission_input *input,
               const char *entry,
               struct error *err)
{
    const char *name = entry + sizeof(VARIABLE) - 1;
    const char *equals = strchr(name, '=');
    const struct option_spec *option;
    char *word;
    int r;

    if (equals == NULL)
        return 0;
    option = option_of_variable(name, (size_t)(equals - name));
    if (option == NULL || strcmp(option->name, "wrap") == 0)
        return 0;
    if (option->argument != NULL)
        word = arena_printf(input->arena, "--%s=%s", option->name, equals + 1);
    else if (!is_negative(equals + 1))
        word = arena_printf(input->arena, "--%s", option->name);
    else
        return 0;
    r = apply_words(input, &word, 1, err);
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

/* The command line is read twice: first to find the script, and again after
 * the script's directives, which it overrides.
 */
static int
read_options(struct submission_input *input,
             int argc,
             char **argv,
             struct error *err)
{
    struct submission *s = &input->submission;
    const bool reads_foreign = s->sbatch;
    int operands = 0;
    int r;

    s->sbatch = false;
    r = apply_environment(input, err);
    if (r < 0)
        return r;
    s->sbatch = s->sbatch || reads_foreign;
    if (s->sbatch)
        r = apply_directives(input, FOREIGN, err);
    else
        input->n_foreign = count_directives(input, FOREIGN);
    if (r == 0)
        r = apply_directives(input, OURS, err);
    if (r == 0)
        r = option_parse(&ksub_options, argc, argv, s, &operands, err);
    return r;
}

/* In a dry run -o names the format to print, as for kctl. */
static void
take_format(struct submission *s)
{
    if (!s->dry_run || s->output == NULL)
        return;
    s->json = strcmp(s->output, "json") == 0;
    if (s->json || strcmp(s->output, "yaml") == 0)
        s->output = NULL;
}

int
submission_input_read(struct submission_input *input,
                      int argc,
                      char **argv,
                      struct error *err)
{
    struct submission given = {0};
    struct submission *s = &input->submission;
    int operands;
    int r;

    memset(input, 0, sizeof(*input));
    strbuf_init(&input->script);
    input->arena = arena_new(0);
    operands = program_begin(&ksub_options, argc, argv, &given);
    s->wrapped = given.wrapped;
    s->sbatch = given.sbatch;
    if (operands < argc) {
        if (strcmp(argv[operands], "-") != 0)
            s->script_path = argv[operands];
        s->arguments = argv + operands + 1;
    }
    r = read_script(input, err);
    if (r == 0)
        r = read_options(input, argc, argv, err);
    if (r == 0)
        take_format(s);
    return r;
}
