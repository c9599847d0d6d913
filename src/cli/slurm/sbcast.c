/* SPDX-License-Identifier: Apache-2.0 */
/* sbcast - copies a file to the nodes of a job
 *
 * In a job of one node it is this process that copies. For several nodes, and for another job, it runs a step with one
 * task on each, which is this program with --receive: its input is the file, and its output is a
 * line with the node and an error number.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/kctl/client/job_steps.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/krun/krun.h"
#include "cli/slurm/bcast_file.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"

#define RECEIVE "--receive"

/* Of the lines of all nodes: a name and a number each. */
#define ANSWERS_MOST (1u << 20)

struct sbcast_options {
    struct slurm_common_options common;
    const char *job, *size, *timeout, *fanout;
    bool force, preserve, is_verbose;
};

#define PLACE(member)      .offset = offsetof(struct sbcast_options, member)
#define FLAG(member)       .type = OPTION_FLAG, PLACE(member)
#define TEXT(what, member) .argument = (what), .type = OPTION_TEXT, PLACE(member)

/* clang-format off */
static const struct option_spec rows[] = {
    {.name = "fanout", .letter = 'F', .help = "no effect: each node has a connection of its own",
     TEXT("N", fanout)},
    {.name = "force", .letter = 'f', .help = "replace the file if it exists", FLAG(force)},
    {.name = "jobid", .letter = 'j', .help = "copy to the nodes of this running job of yours (default: the job around)",
     TEXT("JOB", job)},
    {.name = "preserve", .letter = 'p', .help = "keep the times and the mode of the file",
     FLAG(preserve)},
    {.name = "size", .letter = 's', .help = "no effect: pieces are of the connection's size",
     TEXT("SIZE", size)},
    {.name = "timeout", .letter = 't', .help = "end if the file is not on all nodes so soon",
     TEXT("SECONDS", timeout)},
    {.name = "verbose", .letter = 'v', .help = "say what is copied where", FLAG(is_verbose)},
    SLURM_COMMON_OPTIONS,
};
/* clang-format on */

static const struct option_table table = {
    .name = "sbcast",
    .usage = "[OPTION]... SOURCE DEST",
    .summary = "Copy a file to the nodes of the job.",
    OPTION_ROWS(rows),
};

/* Slurm's exit status if nothing was sent. */
#define NOT_SENT 255

struct sbcast {
    struct slurm_client *client;
    struct sbcast_options o;
    const char *source;
    struct bcast_file file;
    int from;
    bool is_elsewhere; /* the job is not the one around */
    const char *job;
    const char *list; /* of the job's nodes; or NULL */
    const char **nodes;
    size_t n_nodes;
};

static int
report(const struct sbcast *s, const char *node, int error)
{
    slurm_client_error(s->client, "REQUEST_FILE_BCAST(%s): %s", node,
                       error == ENODATA ? "The file has changed meanwhile" : strerror(error));
    return error;
}

/* ---- A node's part of the step ---- */

/* --receive SIZE MODE REPLACES KEEPS-TIMES ATIME MTIME PATH */
static int
receive(struct slurm_client *client, int argc, char **argv)
{
    const char *node = getenv("KILN_NODE_NAME");
    struct bcast_file file;

    if (argc != 9) {
        slurm_client_error(client, RECEIVE " is only for sbcast itself");
        return 1;
    }
    file = (struct bcast_file){
        .size = strtoll(argv[2], NULL, 10),
        .mode = (mode_t)strtoul(argv[3], NULL, 8),
        .replaces = argv[4][0] == '1',
        .keeps_times = argv[5][0] == '1',
        .atime_s = strtoll(argv[6], NULL, 10),
        .mtime_s = strtoll(argv[7], NULL, 10),
        .path = argv[8],
    };
    printf("%s %d\n", node != NULL ? node : "localhost",
           -bcast_file_receive(&file, STDIN_FILENO, client->arena));
    return 0;
}

/* ---- The step ---- */

/* Variables are srun's options, and these are for the user's own steps. */
static void
drop_variables(struct arena *arena)
{
    size_t count = 0;
    const char **names;

    while (environ[count] != NULL)
        count++;
    names = arena_new_array(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = arena_strndup(arena, environ[i], strcspn(environ[i], "="));
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i], "SLURM_", strlen("SLURM_")) == 0
            || strncmp(names[i], "SRUN_", strlen("SRUN_")) == 0)
            unsetenv(names[i]);
}

static _Noreturn void
run_step(const struct sbcast *s, int out)
{
    struct arena *arena = s->client->arena;
    const char *nodes = arena_printf(arena, "%zu", s->n_nodes);
    char self[4096] = "";
    const char *argv[] = {
        "sbcast",
        "--overlap",
        "--quiet",
        "--job-name=sbcast",
        "--cpu-bind=none",
        "--export=ALL",
        "--ntasks-per-node=1",
        "--cpus-per-task=1",
        "--chdir=/", /* here may be no folder there */
        "-N",
        nodes,
        "-n",
        nodes,
        self,
        "sbcast",
        RECEIVE,
        arena_printf(arena, "%" PRId64, s->file.size),
        arena_printf(arena, "%o", (unsigned)s->file.mode),
        s->file.replaces ? "1" : "0",
        s->file.keeps_times ? "1" : "0",
        arena_printf(arena, "%" PRId64, s->file.atime_s),
        arena_printf(arena, "%" PRId64, s->file.mtime_s),
        s->file.path,
        NULL,
    };
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (length <= 0 || dup2(s->from, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        exit(1);
    self[length] = '\0';
    drop_variables(arena);
    exit(krun_run("sbcast", ARRAY_SIZE(argv) - 1, (char **)(uintptr_t)argv));
}

/* The nodes that answered, and their errors: the highest is the exit status. */
static int
judge(const struct sbcast *s, char *answers)
{
    bool *has_answered = arena_new_array(s->client->arena, bool, s->n_nodes + 1);
    char *rest = NULL;
    int status = 0;

    memset(has_answered, 0, s->n_nodes * sizeof(*has_answered));
    for (char *line = strtok_r(answers, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *blank = strchr(line, ' ');
        int error = blank != NULL ? atoi(blank + 1) : 0;

        if (blank == NULL)
            continue;
        *blank = '\0';
        for (size_t i = 0; i < s->n_nodes; i++)
            has_answered[i] = has_answered[i] || strcmp(s->nodes[i], line) == 0;
        if (error > 0 && error < 256)
            status = report(s, line, error) > status ? error : status;
    }
    for (size_t i = 0; i < s->n_nodes; i++)
        if (!has_answered[i]) {
            slurm_client_error(s->client, "REQUEST_FILE_BCAST(%s): the node did not answer",
                               s->nodes[i]);
            status = status == 0 ? 1 : status;
        }
    return status;
}

static int
send_to_all(const struct sbcast *s)
{
    CLEANUP_STRBUF struct strbuf answers = STRBUF_INIT;
    int pipe_fds[2], status = 0;
    pid_t child;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        slurm_client_error(s->client, "pipe: %s", strerror(errno));
        return NOT_SENT;
    }
    (void)fflush(NULL);
    child = fork();
    if (child == 0)
        run_step(s, pipe_fds[1]);
    close(pipe_fds[1]);
    if (child > 0)
        (void)fd_read_all(pipe_fds[0], ANSWERS_MOST, &answers);
    close(pipe_fds[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        slurm_client_error(s->client, "fork: %s", strerror(errno));
        return NOT_SENT;
    }
    /* krun has said why there was no step. */
    if (answers.length == 0 && status != 0)
        return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1;
    return judge(s, answers.length > 0 ? answers.text : (char[]){""});
}

/* ---- The command ---- */

/* Of the job, also of one that has no variables of Slurm. */
static const char *
find_variable(const char *name, const char *other)
{
    return getenv(name) != NULL ? getenv(name) : getenv(other);
}

static void
describe(const struct sbcast *s, const struct stat *st)
{
    char text[64];

    fprintf(stderr, "sbcast: -----------------------------\n");
    fprintf(stderr, "sbcast: force      = %s\n", s->o.force ? "true" : "false");
    fprintf(stderr, "sbcast: preserve   = %s\n", s->o.preserve ? "true" : "false");
    fprintf(stderr, "sbcast: timeout    = %s\n", s->o.timeout != NULL ? s->o.timeout : "0");
    fprintf(stderr, "sbcast: source     = %s\n", s->source);
    fprintf(stderr, "sbcast: dest       = %s\n", s->file.path);
    fprintf(stderr, "sbcast: -----------------------------\n");
    fprintf(stderr, "sbcast: modes    = %o\n", (unsigned)st->st_mode);
    fprintf(stderr, "sbcast: uid      = %u\n", (unsigned)st->st_uid);
    fprintf(stderr, "sbcast: gid      = %u\n", (unsigned)st->st_gid);
    fprintf(stderr, "sbcast: atime    = %s", ctime_r(&st->st_atim.tv_sec, text));
    fprintf(stderr, "sbcast: mtime    = %s", ctime_r(&st->st_mtim.tv_sec, text));
    fprintf(stderr, "sbcast: ctime    = %s", ctime_r(&st->st_ctim.tv_sec, text));
    fprintf(stderr, "sbcast: size     = %" PRId64 "\n", (int64_t)st->st_size);
    fprintf(stderr, "sbcast: jobid      = %s\n", s->job);
    fprintf(stderr, "sbcast: node_list  = %s\n", s->list != NULL ? s->list : "localhost");
}

static int64_t
seconds_of(const struct sbcast *s, const char *text)
{
    char *end;
    const long seconds = text != NULL ? strtol(text, &end, 10) : 0;

    if (text == NULL || (*end == '\0' && end != text && seconds >= 0 && seconds < INT32_MAX))
        return seconds;
    slurm_client_error(s->client, "--timeout: '%s' is no number of seconds", text);
    return -1;
}

static void
give_up(UNUSED int signo)
{
    static const char words[] = "sbcast: error: the file is not on all nodes after the time of "
                                "--timeout: Socket timed out on send/recv operation\n";

    (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
    (void)raise(SIGTERM); /* ends the step, too */
}

/* False: there is no file to send. */
static bool
open_source(struct sbcast *s, struct stat *st)
{
    s->from = open(s->source, O_RDONLY | O_CLOEXEC);
    if (s->from < 0 || fstat(s->from, st) < 0)
        slurm_client_error(s->client, "Can't open `%s`: %s", s->source, strerror(errno));
    else if (!S_ISREG(st->st_mode))
        slurm_client_error(s->client, "File `%s` is not a regular file", s->source);
    else
        return true;
    return false;
}

/* Makes the environment that of the job. */
static int
enter_job(const struct sbcast *s, struct error *err)
{
    struct kctl *kctl = &s->client->kctl;
    char *name = arena_strdup(s->client->arena, s->o.job);
    struct target_object job;
    struct job_entry entry;
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    kctl->takes_tasks = strchr(name, '_') != NULL;
    r = resource_parse_one(kctl, &job_kind, 1, &name, s->client->arena, &job, err);
    kctl->takes_tasks = false;
    return r < 0 ? r : job_steps_enter(kctl, &job, false, s->client->arena, &entry, err);
}

/* The job and its nodes. */
static bool
find_job(struct sbcast *s)
{
    struct error err = {0};

    s->job = find_variable("SLURM_JOB_ID", "KILN_JOB_ID");
    if (s->job == NULL && s->o.job == NULL) {
        slurm_client_error(s->client,
                           "Need a job id to run this command.  Run from within a Slurm job");
        return false;
    }
    s->is_elsewhere = s->o.job != NULL && (s->job == NULL || strcmp(s->o.job, s->job) != 0);
    if (s->is_elsewhere && enter_job(s, &err) < 0) {
        slurm_client_error(s->client, "Job %s: %s", s->o.job, err.text);
        return false;
    }
    if (s->is_elsewhere) {
        s->job = s->o.job;
        s->list = getenv("KILN_JOB_NODELIST");
    } else {
        s->list = find_variable("SLURM_JOB_NODELIST", "KILN_JOB_NODELIST");
    }
    if (s->list != NULL
        && hostlist_expand(s->client->arena, s->list, &s->nodes, &s->n_nodes, &err) == 0)
        return true;
    s->n_nodes = 1;
    if (s->is_elsewhere)
        slurm_client_error(s->client, "Job %s: its nodes are not known", s->o.job);
    return !s->is_elsewhere;
}

static const char *
name_copy(const struct sbcast *s, const char *dest)
{
    struct arena *arena = s->client->arena;
    const size_t length = strlen(dest);
    char here[4096];

    if (length > 0 && dest[length - 1] == '/')
        dest = arena_printf(arena, "%s%s", dest, basename(arena_strdup(arena, s->source)));
    if (dest[0] != '/' && getcwd(here, sizeof(here)) != NULL)
        dest = arena_printf(arena, "%s/%s", here, dest);
    return dest;
}

static int
sbcast_run(struct slurm_client *client, int argc, char **argv)
{
    struct sbcast s = {.client = client, .from = -1};
    struct stat st;
    int64_t timeout_s;
    int at, r;

    if (argc > 1 && strcmp(argv[1], RECEIVE) == 0)
        return receive(client, argc, argv);
    at = slurm_client_options(client, &table, argc, argv, &s.o);
    if (argc - at != 2) {
        fprintf(stderr,
                "Need two file names, have %d names\n"
                "Try \"sbcast --help\" for more information\n",
                argc - at);
        return 1;
    }
    timeout_s = seconds_of(&s, s.o.timeout);
    if (timeout_s < 0 || !find_job(&s))
        return 1;
    s.source = argv[at];
    if (!open_source(&s, &st))
        return NOT_SENT;
    s.file = bcast_file_of(&st, name_copy(&s, argv[at + 1]), s.o.preserve, s.o.force);
    if (s.o.is_verbose)
        describe(&s, &st);
    if (timeout_s > 0) {
        (void)signal(SIGALRM, give_up);
        alarm((unsigned)timeout_s);
    }
    if (s.n_nodes > 1 || s.is_elsewhere)
        return send_to_all(&s);
    r = bcast_file_receive(&s.file, s.from, client->arena);
    return r < 0 ? report(&s, s.n_nodes == 1 && s.nodes != NULL ? s.nodes[0] : "localhost", -r) : 0;
}

const struct slurm_command sbcast_slurm_command = {
    .name = "sbcast",
    .summary = "copy a file to the nodes of a job",
    .run = sbcast_run,
};
