/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kalloc/srun_words.h"

#include <errno.h>
#include <string.h>

#include "cli/krun/krun_options.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/program/option.h"

#define ROWS_MOST 256u

/* A step has them, too. */
static const char *const of_both[] = {
    "cpus-per-task",   "gpus-per-task", "job-name", "nodes",   "ntasks",
    "ntasks-per-node", "overcommit",    "quiet",    "verbose",
};

/* Options that a step could have, but it is all that the job does. */
static const char *const of_jobs[] = {
    "exclude", "exclusive", "gpus", "gpus-per-node", "gres", "immediate", "mem", "nodelist", "time",
};

struct split {
    struct arena *arena;
    bool (*is_jobs)(const char *name);
    struct srun_words *words;
    bool has_name;
};

static bool
has(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* An option that a step has no use for, or is refused, may be one of jobs. */
static bool
is_for_job(const struct split *s, const char *name)
{
    return s->is_jobs(name)
           && (has(of_both, ARRAY_SIZE(of_both), name) || has(of_jobs, ARRAY_SIZE(of_jobs), name)
               || !krun_options_has_for_steps(name));
}

static int
collect(const struct option_spec *option, const char *value, void *target, UNUSED struct error *err)
{
    struct split *s = target;
    char *word = value != NULL ? arena_printf(s->arena, "--%s=%s", option->name, value)
                               : arena_printf(s->arena, "--%s", option->name);
    const bool for_job = is_for_job(s, option->name);

    s->has_name |= strcmp(option->name, "job-name") == 0;
    if (for_job)
        s->words->job[s->words->n_job++] = word;
    if (!for_job || has(of_both, ARRAY_SIZE(of_both), option->name))
        s->words->step[s->words->n_step++] = word;
    return 0;
}

int
srun_words_split(struct arena *arena, int argc, char **argv, bool (*is_jobs)(const char *name),
                 struct srun_words *ret_words, struct error *err)
{
    struct split s = {.arena = arena, .is_jobs = is_jobs, .words = ret_words};
    struct option_spec rows[ROWS_MOST];
    struct option_table table = krun_options;
    char **words = arena_new_array(arena, char *, (size_t)argc + 1);
    int operands = argc;
    int r;

    if (krun_options.n_options > ROWS_MOST)
        return error_set(err, -E2BIG, "too many options");
    for (size_t i = 0; i < krun_options.n_options; i++) {
        rows[i] = krun_options.options[i];
        rows[i].type = OPTION_CALL;
        rows[i].offset = 0;
        rows[i].set = collect;
    }
    table.name = "srun";
    table.options = rows;
    /* -abc are several options. */
    *ret_words = (struct srun_words){.n_job = 1, .n_step = 1};
    for (int i = 0; i < argc; i++)
        operands += (int)strlen(argv[i]);
    ret_words->job = arena_new_array(arena, char *, (size_t)operands + 3);
    ret_words->step = arena_new_array(arena, char *, (size_t)operands + 3);
    ret_words->job[0] = ret_words->step[0] = arena_strdup(arena, "srun");
    for (int i = 0; i < argc; i++)
        words[i] = argv[i];
    words[argc] = NULL;
    operands = argc;
    r = option_parse(&table, argc, words, &s, &operands, err);
    if (r < 0)
        return r;
    if (operands == argc)
        return error_set(err, -EINVAL, "No command given to execute.");
    if (!s.has_name) {
        const char *slash = strrchr(words[operands], '/');

        ret_words->job[ret_words->n_job++] =
            arena_printf(arena, "--job-name=%s",
                         slash != NULL && slash[1] != '\0' ? slash + 1 : words[operands]);
    }
    ret_words->step[ret_words->n_step++] = arena_strdup(arena, "--");
    for (int i = operands; i < argc; i++)
        ret_words->step[ret_words->n_step++] = words[i];
    ret_words->job[ret_words->n_job] = ret_words->step[ret_words->n_step] = NULL;
    return 0;
}
