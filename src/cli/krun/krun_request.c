/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/krun/krun_environment.h"
#include "cli/krun/krun_mpi.h"
#include "cli/krun/krun_settings.h"
#include "cli/krun/krun_terminal.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_output_name.h"
#include "lib/step/step_programs.h"

static int64_t
read_number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long long n;

    if (text == NULL)
        return 0;
    n = strtoll(text, &end, 10);
    return end != text && n > 0 && n <= STEP_TASKS_MOST ? n : 0;
}

/* --- numbers ---------------------------------------------------------------
 */

/* Numbers that were not given are the job's. A number of tasks for each node, without a
 * number of tasks, means that many on each node.
 */
static void
complete_numbers(struct krun_settings *s)
{
    struct step_request *q = &s->request;

    q->job_tasks = read_number("KILN_NTASKS");
    q->job_cpus_per_task = read_number("KILN_CPUS_PER_TASK");
    if (q->min_nodes == 0)
        q->min_nodes = q->max_nodes = read_number("KILN_NNODES");
    if (q->min_nodes == 0)
        q->min_nodes = q->max_nodes = 1;
    if (s->has_tasks_per_node && !s->has_tasks)
        q->tasks = q->tasks_per_node * q->min_nodes;
    else if (q->tasks == 0)
        q->tasks = q->job_tasks > 0 ? q->job_tasks : q->min_nodes;
    if (!s->has_tasks_per_node && q->tasks_per_node * q->min_nodes != q->tasks)
        q->tasks_per_node = 0;
    if (q->min_nodes > q->tasks) {
        if (s->has_nodes && !s->is_quiet)
            fprintf(stderr,
                    "%s: Warning: can't run %" PRId64 " processes on %" PRId64
                    " nodes, setting nnodes to %" PRId64 "\n",
                    s->program, q->tasks, q->min_nodes, q->tasks);
        q->min_nodes = q->tasks;
    }
    if (s->takes_whole_nodes) {
        q->job_tasks = q->tasks;
        q->job_cpus_per_task = 0;
        q->is_exact = false;
    }
}

static int
divide_gpus(struct krun_settings *s, struct error *err)
{
    struct step_request *q = &s->request;

    if (s->gpus <= 0)
        return 0;
    if (s->gpus % q->min_nodes != 0)
        return error_set(err, -EINVAL,
                         "--gpus=%" PRId64 " cannot be divided equally among %" PRId64
                         " nodes; use --gpus-per-node",
                         s->gpus, q->min_nodes);
    q->gpus_per_node = s->gpus / q->min_nodes;
    return 0;
}

/* --- the command -----------------------------------------------------------
 */

static int
read_programs(struct arena *arena, struct krun_settings *s, const char *file, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct step_programs *programs;
    int r = file_read(file, STEP_PROGRAMS_BYTES_MOST, &text, err);

    if (r < 0)
        return r;
    if (memchr(text.text, '\0', text.length) != NULL)
        return error_set(err, -EINVAL, "'%s' is no text", file);
    s->request.programs = arena_strndup(arena, text.text != NULL ? text.text : "", text.length);
    r = step_programs_parse(arena, s->request.programs, (unsigned)s->request.tasks, &programs, err);
    return r < 0 ? error_wrap(err, r, "%s", file) : 0;
}

static int
add_command(struct arena *arena, struct krun_settings *s, int argc, char **argv, struct error *err)
{
    struct step_request *q = &s->request;
    const char *slash;

    if (argc == 0)
        return error_set(err, -EINVAL,
                         strcmp(s->program, "srun") == 0
                             ? "No command given to execute."
                             : "which command? For example: krun -n 2 hostname");
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], ":") == 0)
            return error_set(err, -EOPNOTSUPP,
                             "':' separates steps of a job with several kinds of nodes, which a "
                             "job cannot have; start several steps with '&' instead");
    slash = strrchr(argv[0], '/');
    if (q->name == NULL)
        q->name = slash != NULL ? slash + 1 : argv[0];
    if (s->has_several_programs) {
        int r = read_programs(arena, s, argv[0], err);

        if (r < 0)
            return r;
        argc--;
        argv++;
    }
    q->arguments.items = arena_new_array(arena, const char *, argc + 1);
    for (int i = 0; i < argc; i++)
        q->arguments.items[i] = argv[i];
    q->arguments.count = (unsigned)argc;
    return 0;
}

static int
find_directory(struct arena *arena, struct krun_settings *s, struct error *err)
{
    CLEANUP_FREE char *here = getcwd(NULL, 0);

    if (s->directory != NULL && s->directory[0] == '/')
        s->request.directory = s->directory;
    else if (here == NULL)
        return error_set(err, -errno, "the working directory is gone: %s", strerror(errno));
    else
        s->request.directory = s->directory != NULL
                                   ? arena_printf(arena, "%s/%s", here, s->directory)
                                   : arena_strdup(arena, here);
    return 0;
}

/* --- files -----------------------------------------------------------------
 */

static bool
is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int
check_task(const struct krun_settings *s, const char *text, const char *option, struct error *err)
{
    if (!is_number(text) || (strlen(text) < 8 && atoll(text) < s->request.tasks))
        return 0;
    return error_set(err, -EINVAL, "--%s=%s: there is no task %s; the step has %" PRId64 " task%s",
                     option, text, text, s->request.tasks, s->request.tasks == 1 ? "" : "s");
}

/* A file for each task or node is the business of the nodes; one file is krun's. */
static const char *
for_nodes(const char *file)
{
    if (file == NULL || strcmp(file, "all") == 0)
        return NULL;
    if (strcmp(file, "none") == 0 || is_number(file)
        || step_output_name_scope(file) != STEP_OUTPUT_ONE)
        return file;
    return NULL;
}

static int
divide_files(struct krun_settings *s, struct error *err)
{
    struct step_request *q = &s->request;
    int r = 0;

    if (s->input != NULL)
        r = check_task(s, s->input, "input", err);
    if (r == 0 && s->output != NULL)
        r = check_task(s, s->output, "output", err);
    if (r == 0 && s->error != NULL)
        r = check_task(s, s->error, "error", err);
    if (r < 0)
        return r;
    q->streams.input = for_nodes(s->input);
    q->streams.output = for_nodes(s->output);
    q->streams.error = for_nodes(s->error != NULL ? s->error : s->output);
    return 0;
}

/* In srun's words. */
static int
find_terminal(struct krun_settings *s, struct error *err)
{
    struct step_request *q = &s->request;
    const char *file = s->input != NULL    ? "--input"
                       : s->output != NULL ? "--output"
                       : s->error != NULL  ? "--error"
                                           : NULL;
    uint16_t rows, columns;

    if (!q->has_terminal)
        return 0;
    if (file != NULL)
        return error_set(err, -EINVAL, "%s incompatible with --pty option", file);
    s->is_unbuffered = true;
    if (krun_terminal_size(&rows, &columns)) {
        q->terminal_rows = rows;
        q->terminal_columns = columns;
    }
    return 0;
}

int
krun_request_make(struct arena *arena, struct krun_settings *s, int argc, char **argv,
                  struct error *err)
{
    struct step_request *q = &s->request;
    int r;

    q->pod_uid = getenv("KILN_POD_UID");
    q->job_id = getenv("KILN_JOB_ID");
    if (q->pod_uid == NULL || getenv("KILN_STEP_SOCKET") == NULL)
        return error_set(err, -ENOENT,
                         "%s runs tasks of a job, and this is none: submit a script that calls it, "
                         "with 'ksub SCRIPT' or 'sbatch SCRIPT'; start one here, with 'kalloc "
                         "krun ...'; or name a running job, with --jobid",
                         s->program);
    complete_numbers(s);
    if (s->time_limit_s <= STEP_SECONDS_MOST)
        q->time_limit_s = s->time_limit_s;
    r = divide_gpus(s, err);
    if (r == 0)
        r = add_command(arena, s, argc, argv, err);
    if (r == 0)
        r = find_directory(arena, s, err);
    if (r == 0)
        r = find_terminal(s, err);
    if (r == 0)
        r = krun_environment_set(arena, s, err);
    if (r == 0)
        r = krun_environment_set_limits(arena, s, err);
    if (r == 0)
        r = divide_files(s, err);
    krun_mpi_complete(arena, s);
    if (s->patience_s == 0)
        q->is_immediate = true;
    return r == 0 ? step_request_check(q, err) : r;
}
