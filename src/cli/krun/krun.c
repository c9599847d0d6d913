/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/krun/krun_link.h"
#include "cli/krun/krun_mpi.h"
#include "cli/krun/krun_options.h"
#include "cli/krun/krun_request.h"
#include "cli/krun/krun_settings.h"
#include "cli/krun/krun_step.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/program/option.h"
#include "lib/program/program.h"
#include "lib/program/sibling.h"

/* `usage`: the status of a wrong command line, where it is krun's own. */
static int
refuse(const char *name, int usage, const struct error *err)
{
    const char *status = getenv("SLURM_EXIT_ERROR");

    fprintf(stderr, "%s: error: %s\n", name, err->text);
    if (status != NULL && atoi(status) > 0)
        return atoi(status) & 0xFF;
    return strcmp(name, "srun") == 0 ? 1 : usage;
}

static int
print_help(const char *name)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct option_table table = krun_options;

    table.name = name;
    option_format_help(&table, &text);
    fwrite(text.text, 1, text.length, stdout);
    return (int)program_end(name, 0, NULL);
}

static int
print_version(const char *name)
{
    if (strcmp(name, "srun") == 0)
        printf("slurm 22.05.8 (kiln %s)\n", version_text());
    else
        printf("%s %s\n", name, version_text());
    return (int)program_end(name, 0, NULL);
}

/* Once, and not as an error: the job may have asked for the same. */
static void
print_notes(const struct krun_settings *s)
{
    if (s->n_notes == 0 || s->is_quiet)
        return;
    fprintf(stderr, "%s: only a job can ask for this, so it has no effect here: ", s->program);
    for (unsigned i = 0; i < s->n_notes; i++)
        fprintf(stderr, "%s--%s", i > 0 ? ", " : "", s->notes[i]);
    fputc('\n', stderr);
}

/* --prolog and --epilog. A program that fails is only told. */
static void
run_beside(const struct krun_settings *s, const char *option, const char *program)
{
    char *arguments[] = {(char *)(uintptr_t)program, NULL};
    int status = 0;
    pid_t pid;
    int r;

    if (program == NULL || strcasecmp(program, "none") == 0)
        return;
    r = posix_spawnp(&pid, program, NULL, NULL, arguments, environ);
    if (r != 0) {
        fprintf(stderr, "%s: error: --%s=%s: %s\n", s->program, option, program, strerror(r));
        return;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0)
        fprintf(stderr, "%s: error: --%s=%s: %s %d\n", s->program, option, program,
                WIFSIGNALED(status) ? "ended by signal" : "exit status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* ---- --jobid ---- */

/* Tells this program, started again, that its variables are those of the job. */
#define ENTERED "KRUN_JOB"
/* Tells kctl in whose name it speaks. */
#define CALLER  "KRUN_NAME"

static bool
is_own_job(const char *job)
{
    const char *own = getenv("KILN_JOB_ID"), *entered = getenv(ENTERED);

    return (own != NULL && strcmp(own, job) == 0) || (entered != NULL && strcmp(entered, job) == 0);
}

/* krun needs no controller in its job, and so has no client: kctl finds the job, and starts
 * this program again with its variables.
 */
static int
enter_job(const struct krun_settings *s, struct arena *arena, int argc, char **argv,
          struct error *err)
{
    const char *own = sibling_own_path(arena);
    const char **words = arena_new_array(arena, const char *, 8 + (size_t)argc);
    const char *slash = own != NULL ? strrchr(own, '/') : NULL;
    size_t n = 0;
    int r;

    if (s->job[0] == '-' || s->job[0] == '\0')
        return error_set(err, -EINVAL, "--jobid: '%s' is no job", s->job);
    words[n++] = "kctl";
    words[n++] = "exec";
    words[n++] = "--here";
    words[n++] = s->job;
    words[n++] = "--";
    words[n++] = own != NULL ? own : s->program;
    if (slash != NULL && strcmp(slash, "/kiln-slurm") == 0)
        words[n++] = s->program;
    for (int i = 1; i < argc; i++)
        words[n++] = argv[i];
    words[n] = NULL;
    setenv(ENTERED, s->job, true);
    setenv(CALLER, s->program, true);
    fflush(NULL);
    r = sibling_become("kctl", words);
    return error_set(err, r, "kctl, which finds other jobs, cannot be run: %s", strerror(-r));
}

/* Outside of a job, srun asks for one and runs its step there (cli/kalloc). kalloc judges options of
 * jobs, too.
 */
static bool
needs_job(const char *name, const struct krun_settings *s, int r)
{
    return strcmp(name, "srun") == 0 && getenv("KILN_POD_UID") == NULL
           && getenv("KILN_STEP_SOCKET") == NULL && s->job == NULL
           && (r < 0 || (r == 0 && !s->shows_version && !s->lists_mpi));
}

static int
become_kalloc(char **argv, struct error *err)
{
    int r;

    argv[0] = (char[]){"srun"};
    fflush(NULL);
    r = sibling_become("kalloc", (const char *const *)(uintptr_t)argv);
    return error_set(err, r, "kalloc, which starts jobs, cannot be run: %s", strerror(-r));
}

static int
take_lost(void)
{
    const char *text = getenv(KRUN_LOST);
    const int fd = text != NULL ? atoi(text) : -1;
    struct stat status;

    unsetenv(KRUN_LOST);
    if (fd <= STDERR_FILENO || fstat(fd, &status) < 0 || !S_ISFIFO(status.st_mode))
        return -1;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

int
krun_run(const char *name, int argc, char **argv)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *submit_line = program_join_words(argc, argv);
    struct krun_settings s = {
        .program = name,
        .gpus = KRUN_UNSET,
        .kills_on_bad_exit = KRUN_UNSET,
        .wait_s = KRUN_UNSET,
        .patience_s = KRUN_UNSET,
        .lost = take_lost(),
    };
    struct error err = {0};
    int operands = argc, status, r;

    program_open_descriptors();
    s.submit_line = submit_line;
    r = krun_options_read(&s, argc, argv, &operands, &err);
    if (needs_job(name, &s, r)) {
        (void)become_kalloc(argv, &err);
        return refuse(name, EXIT_STATUS_FAILED, &err);
    }
    if (r == OPTION_HELP)
        return print_help(name);
    if (r == 0 && s.shows_version)
        return print_version(name);
    if (r == 0 && s.lists_mpi) {
        krun_mpi_print(name);
        return (int)program_end(name, 0, NULL);
    }
    if (r < 0)
        return refuse(name, EXIT_STATUS_USAGE, &err);
    if (s.job != NULL && !is_own_job(s.job)) {
        (void)enter_job(&s, arena, argc, argv, &err);
        return refuse(name, EXIT_STATUS_FAILED, &err);
    }
    unsetenv(ENTERED);
    unsetenv(CALLER);
    r = krun_request_make(arena, &s, argc - operands, argv + operands, &err);
    if (r < 0)
        return refuse(name, r == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED, &err);
    print_notes(&s);
    if (!s.is_quiet)
        krun_link_announce_waits(name);
    run_beside(&s, "prolog", s.prolog);
    status = krun_step_run(&s);
    run_beside(&s, "epilog", s.epilog);
    return status;
}
