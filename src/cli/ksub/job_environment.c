/* SPDX-License-Identifier: Apache-2.0 */
/* ksub often runs inside a job, and the variables that the agent set for that one would lie in
 * the next. They are left out, unless the user has changed them: a value that differs from the
 * one that was given is the user's own.
 */
#include "cli/ksub/job_environment.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/ksub/submission.h"
#include "lib/api/node/gpu_vendor.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define MOST_OF_FILE (1u << 20)

static const char *
find_entry(char *const *environment, const char *name, size_t length)
{
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment;
    return NULL;
}

static bool
has_value(char *const *environment, const char *name, const char *other)
{
    const char *a = find_entry(environment, name, strlen(name));
    const char *b = find_entry(environment, other, strlen(other));

    return a != NULL && b != NULL && strcmp(strchr(a, '='), strchr(b, '=')) == 0;
}

static bool
is_one_of(const char *entry, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strncmp(entry, *names, strlen(*names)) == 0 && entry[strlen(*names)] == '=')
            return true;
    return false;
}

/* Variables without a prefix of ours, which the agent has set for the outer job
 * from what that job was given. If the values differ, its user has set them.
 */
static bool
is_made_for_another_job(const char *entry, char *const *environment)
{
    static const char *const count[] = {"OMP_NUM_THREADS", NULL};
    static const char *const places[] = {"OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", NULL};

    return (is_one_of(entry, count)
            && has_value(environment, "OMP_NUM_THREADS", "KILN_CPUS_PER_TASK"))
           || (is_one_of(entry, places) && has_value(environment, "GOMP_CPU_AFFINITY", "KILN_CPUS"))
           || (gpu_vendor_is_variable(entry)
               && find_entry(environment, "KILN_JOB_ID", strlen("KILN_JOB_ID")) != NULL);
}

/* An agent or Slurm set these variables for the outer job, when ksub runs
 * inside one.
 */
static bool
is_of_another_job(const char *entry, char *const *environment)
{
    static const char *const ours[] = {"KILN_SERVER", "KILN_CONFIG", NULL};

    if (is_made_for_another_job(entry, environment))
        return true;
    if (strncmp(entry, "SLURM_", 6) == 0 || strncmp(entry, "SLURMD_", 7) == 0)
        return true;
    return strncmp(entry, "KILN_", 5) == 0 && !is_one_of(entry, ours);
}

static void
add_entry(struct strbuf *out, const char *entry)
{
    strbuf_add(out, entry, strlen(entry) + 1);
}

/* Copies the next item of the list, without quotes, to `item`; false at the
 * end.
 */
static bool
next_item(const char **list, struct strbuf *item)
{
    const char *p = *list;
    char quote = '\0';

    strbuf_truncate(item, 0);
    while (*p == ',')
        p++;
    if (*p == '\0')
        return false;
    for (; *p != '\0' && (quote != '\0' || *p != ','); p++) {
        if (*p == quote)
            quote = '\0';
        else if (quote == '\0' && (*p == '"' || *p == '\''))
            quote = *p;
        else
            strbuf_add_char(item, *p);
    }
    *list = p;
    return true;
}

/* A shell cannot make an entry such as "=x" or "x", but a program can. No
 * program can read it, either.
 */
static bool
has_name(const char *entry)
{
    return entry[0] != '=' && strchr(entry, '=') != NULL;
}

int
job_environment_read(const char *file, struct arena *arena, char ***ret_entries, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const bool is_fd = file[0] != '\0' && file[strspn(file, "0123456789")] == '\0';
    size_t n = 0, count = 0;
    char *copy;
    int r = is_fd ? fd_read_all(atoi(file), MOST_OF_FILE, &text)
                  : file_read(file, MOST_OF_FILE, &text, err);

    if (r < 0)
        return error_wrap(err, r, "--export-file %s", file);
    copy = arena_new_array(arena, char, text.length + 1);
    if (text.length > 0)
        memcpy(copy, text.text, text.length);
    for (size_t i = 0; i <= text.length; i++)
        count += copy[i] == '\0';
    *ret_entries = arena_new_array(arena, char *, count + 1);
    for (char *entry = copy; entry < copy + text.length; entry += strlen(entry) + 1)
        if (has_name(entry))
            (*ret_entries)[n++] = entry;
    return 0;
}

int
job_environment_check(const char *list, struct error *err)
{
    CLEANUP_STRBUF struct strbuf item = STRBUF_INIT;

    while (next_item(&list, &item))
        if (item.length > 0 && item.text[0] == '=')
            return error_set(err, -EINVAL, "'%.60s' has no name before its '='", item.text);
    return 0;
}

static bool
says_all(const char *list)
{
    CLEANUP_STRBUF struct strbuf item = STRBUF_INIT;

    while (next_item(&list, &item))
        if (strcasecmp(item.text, "ALL") == 0)
            return true;
    return false;
}

static bool
is_none(const char *list)
{
    return strcasecmp(list, "NONE") == 0 || strcasecmp(list, "NIL") == 0;
}

/* Whether the list sets a value for the variable of that entry. */
static bool
replaces(const char *list, const char *entry)
{
    CLEANUP_STRBUF struct strbuf item = STRBUF_INIT;
    const size_t length = strcspn(entry, "=") + 1;

    while (next_item(&list, &item))
        if (strncmp(item.text, entry, length) == 0)
            return true;
    return false;
}

static void
add_all(struct strbuf *out, const char *list, char *const *environment)
{
    for (char *const *e = environment; *e != NULL; e++)
        if (has_name(*e) && !is_of_another_job(*e, environment) && !replaces(list, *e))
            add_entry(out, *e);
}

static void
add_list(struct strbuf *out, const char *list, char *const *environment)
{
    CLEANUP_STRBUF struct strbuf item = STRBUF_INIT;

    while (next_item(&list, &item)) {
        const char *found;

        if (strchr(item.text, '=') != NULL) {
            add_entry(out, item.text);
            continue;
        }
        found = find_entry(environment, item.text, item.length);
        if (found != NULL)
            add_entry(out, found);
    }
}

static void PRINTF(2, 3) add_variable(struct strbuf *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    strbuf_vprintf(out, format, args);
    va_end(args);
    strbuf_add_char(out, '\0');
}

/* "plane=4" is "plane", and the size is in a variable of its own. */
static void
add_distribution(struct strbuf *out, const char *distribution)
{
    const bool is_plane = strncasecmp(distribution, "plane=", 6) == 0;

    add_variable(out, "%s=%s", "SLURM_DISTRIBUTION", is_plane ? "plane" : distribution);
    if (is_plane)
        add_variable(out, "%s=%s", "SLURM_DIST_PLANESIZE", distribution + 6);
}

/* "energy,task" is "Energy,Task", and "low-high" is "Low-High", as Slurm writes them. */
static void
add_capitalized(struct strbuf *out, const char *name, const char *value)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (const char *p = value; *p != '\0'; p++)
        strbuf_add_char(&text, (char)(p == value || strchr(",-:", p[-1]) != NULL
                                          ? toupper((unsigned char)*p)
                                          : tolower((unsigned char)*p)));
    add_variable(out, "%s=%s", name, text.text);
}

/* Programs in the job may read values that are about tasks, or have no effect. */
static void
add_word(struct strbuf *out, const struct submission_word *word)
{
    static const struct {
        const char *option, *variable;
        bool is_capitalized;
    } variables[] = {
        {"acctg-freq", "SLURM_ACCTG_FREQ", false},
        {"cpu-freq", "SLURM_CPU_FREQ_REQ", true},
        {"gpu-bind", "SLURM_GPU_BIND", false},
        {"gpu-freq", "SLURM_GPU_FREQ", false},
        {"hint", "SLURM_HINT", false},
        {"mem-bind", "SLURM_MEM_BIND", false},
        {"profile", "SLURM_PROFILE", true},
    };

    if (strcmp(word->option, "distribution") == 0)
        add_distribution(out, word->value);
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        if (strcmp(word->option, variables[i].option) == 0) {
            if (variables[i].is_capitalized)
                add_capitalized(out, variables[i].variable, word->value);
            else
                add_variable(out, "%s=%s", variables[i].variable, word->value);
        }
}

/* "2", or "a100:2" if the model was given. */
static void
add_gpus(struct strbuf *out, const char *name, int64_t count, const char *model)
{
    if (count > 0)
        add_variable(out, "%s=%s%s%" PRId64, name, model, model[0] != '\0' ? ":" : "", count);
}

/* Slurm has these variables only in a job that asked for the value, and some
 * programs take their presence for the presence of srun. The agent sets the
 * others (agent/pods/slurm_variables.c).
 */
static void
add_slurms(struct strbuf *out, const struct submission *s)
{
    const struct submission_sbatch *b = &s->slurm;
    const struct {
        const char *name;
        int64_t value;
    } asked[] = {
        {"SLURM_NTASKS", s->tasks},
        {"SLURM_NTASKS_PER_NODE", b->tasks_per_node},
        {"SLURM_NTASKS_PER_GPU", b->tasks_per_gpu},
        {"SLURM_CPUS_PER_GPU", b->cpus_per_gpu},
        {"SLURM_MEM_PER_GPU", b->memory_per_gpu_bytes >> 20},
        {"SLURM_THREADS_PER_CORE", s->threads_per_core},
        {"SLURM_NTASKS_PER_CORE", b->tasks_per_core},
        {"SLURM_NTASKS_PER_SOCKET", b->tasks_per_socket},
        {"SLURM_OVERCOMMIT", b->overcommits},
    };

    for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
        if (asked[i].value > 0)
            add_variable(out, "%s=%" PRId64, asked[i].name, asked[i].value);
    add_gpus(out, "SLURM_GPUS", b->gpus, s->gpu_type);
    add_gpus(out, "SLURM_GPUS_PER_NODE", b->gpus_per_node, s->gpu_type);
    add_gpus(out, "SLURM_GPUS_PER_TASK", b->gpus_per_task, s->gpu_type);
    for (unsigned i = 0; i < b->n_words; i++)
        add_word(out, &b->words[i]);
    if (s->dependency != NULL)
        add_variable(out, "%s=%s", "SLURM_JOB_DEPENDENCY", s->dependency);
    if (s->open_mode != NULL)
        add_variable(out, "%s=%c", "SLURM_OPEN_MODE", s->open_mode[0]);
}

/* Only ksub knows these values; doc/decisions.md says who sets the rest. */
static void
add_ours(struct strbuf *out, const struct submission *s)
{
    char directory[PATH_MAX];
    char host[HOST_NAME_MAX + 1] = "";

    if (getcwd(directory, sizeof(directory)) != NULL)
        add_variable(out, "KILN_SUBMIT_DIR=%s", directory);
    if (gethostname(host, sizeof(host) - 1) == 0)
        add_variable(out, "KILN_SUBMIT_HOST=%s", host);
    add_variable(out, "KILN_JOB_NUM_NODES=%" PRId64,
                 s->node_count > 1 ? s->node_count : INT64_C(1));
    add_variable(out, "KILN_NTASKS=%" PRId64, s->tasks > 0 ? s->tasks : INT64_C(1));
    if (s->cpus_per_task > 0 && s->slurm.cpus_per_gpu == 0)
        add_variable(out, "KILN_CPUS_PER_TASK=%" PRId64, s->cpus_per_task);
    if (s->memory_per_cpu_bytes > 0)
        add_variable(out, "KILN_MEM_PER_CPU_MB=%" PRId64, s->memory_per_cpu_bytes >> 20);
    add_variable(out, "KILN_JOB_ACCOUNT=%s", s->account != NULL ? s->account : "default");
    if (s->partition != NULL)
        add_variable(out, "KILN_JOB_PARTITION=%s", s->partition);
}

void
job_environment(const struct submission *s, char *const *environment, struct strbuf *out)
{
    const char *list = s->exported != NULL ? s->exported : "ALL";

    if (!is_none(list)) {
        if (says_all(list))
            add_all(out, list, environment);
        add_list(out, list, environment);
    }
    add_ours(out, s);
    if (s->is_slurms)
        add_slurms(out, s);
}
