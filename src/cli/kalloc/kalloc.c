/* SPDX-License-Identifier: Apache-2.0 */
/* An allocation lives exactly as long as its command. Both may end first, and each end is
 * followed by the other's: the command's end completes the job, and the job's end (a limit, a
 * preemption, a cancel) sends the command a signal. The controller is asked which of them was
 * first, because the end of a step and that of its job arrive in any order.
 */
#include "cli/kalloc/kalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/connect/connection.h"
#include "cli/kalloc/kalloc_command.h"
#include "cli/kalloc/kalloc_guard.h"
#include "cli/kalloc/kalloc_options.h"
#include "cli/kalloc/srun_words.h"
#include "cli/kctl/client/job_steps.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/listing.h"
#include "cli/krun/krun_options.h"
#include "cli/ksub/job_submit.h"
#include "cli/ksub/manifest.h"
#include "cli/ksub/node_request.h"
#include "cli/print/sanitize_text.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "lib/json/json.h"
#include "lib/loop/child.h"
#include "lib/loop/loop.h"
#include "lib/loop/sigwatch.h"
#include "lib/loop/timer.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

#define WAITING_STATES                                                \
    (JOB_STATE_BIT(JOB_STATE_PENDING) | JOB_STATE_BIT(JOB_STATE_HELD) \
     | JOB_STATE_BIT(JOB_STATE_REQUEUED))
#define TELL_MS       700 /* a job that starts at once is not said to wait */
#define ENTER_TRIES   150 /* while its program starts */
#define ENTER_WAIT_US 200000
#define LOST_MS       20000 /* until the end of a job whose step was lost is known */
#define SIGNALLED_MS  1500  /* of one whose step was ended by a signal, perhaps with it */

/* ---- The job of an allocation ---- */

#define PATIENCE_MS 30000

/* In place of the script. An allocation is not started again: nobody would know. */
static void
set_program(struct json *job, bool is_detached, struct arena *arena)
{
    struct json *spec = json_get(job, "spec");
    struct json *main = json_at(json_get_path(spec, "template.spec.containers"), 0);
    struct json *command = json_array(arena), *args = json_array(arena);

    json_remove(spec, "script");
    json_set_bool(arena, spec, "requeue", false);
    json_append(arena, command, json_string(arena, POD_PAUSE_COMMAND));
    json_append(arena, args, json_string(arena, is_detached ? "--hold=detached" : "--hold"));
    json_set(arena, main, "command", command);
    json_set(arena, main, "args", args);
}

/* Creates it exactly once. The caller unrefs it. */
static int
submit(const char *name, struct kalloc_options *o, struct client *client, struct arena *arena,
       const struct object **ret_job, struct error *err)
{
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    struct submission *s = &o->s;
    const struct json *manifest;
    struct json *job;
    int r = 0;

    strbuf_add_text(&script, "#!/bin/sh\n"); /* replaced below */
    manifest = manifest_make(s, &script, arena, err);
    if (manifest == NULL)
        return err->code;
    if (node_request_may_spread(&o->asked))
        r = node_request_spread(&(struct node_spread){.program = o->is_slurms ? NULL : name,
                                                      .asked = &o->asked,
                                                      .script = &script,
                                                      .client = client,
                                                      .patience_ms = s->no_wait ? 0 : PATIENCE_MS,
                                                      .arena = arena},
                                s, &manifest, err);
    if (r < 0)
        return r;
    job = json_dup(arena, manifest);
    set_program(job, o->is_detached, arena);
    return job_submit_run(&(struct job_submit){.program = name,
                                               .client = client,
                                               .namespace = manifest_namespace(s),
                                               .job = job,
                                               .patience_ms = s->no_wait ? 0 : PATIENCE_MS},
                          ret_job, err);
}

/* ---- Why it waits ---- */

#define PATIENCE_US INT64_C(3000000)

/* "" if that is not known. The text is the arena's and has no control characters. */
static const char *
find_reason(const char *program, const char *server, const struct object *job, struct arena *arena)
{
    struct kctl kctl = {.server = server, .program = program, .patience_us = PATIENCE_US};
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = job->meta->namespace,
        .name = job->meta->name,
        .accept = listing_accept(&(struct listing_style){0}),
    };
    const struct json *columns, *cells;
    struct json *table = NULL;
    struct error err = {0};
    const char *words = "";

    /* The cell of the server's table, so that kalloc and 'kctl jobs' say the same. */
    if (kctl_call(&kctl, &request, arena, &table, &err) == 0) {
        columns = json_get(table, "columnDefinitions");
        cells = json_get(json_at(json_get(table, "rows"), 0), "cells");
        for (uint32_t i = 0; i < json_count(columns); i++) {
            const char *name = json_get_text(json_at(columns, i), "name");

            if (name != NULL && strcmp(name, "Reason") == 0
                && json_text(json_at(cells, i)) != NULL) {
                CLEANUP_FREE char *clean = sanitize_text_dup(json_text(json_at(cells, i)));

                words = arena_strdup(arena, clean);
            }
        }
    }
    kctl_fini(&kctl);
    return words;
}

/* ---- The command ---- */

struct kalloc {
    const char *name;
    struct kalloc_options o;
    struct arena *arena;
    struct connection *connection;
    struct loop *loop;
    struct informer *informer;
    struct kalloc_guard guard;
    const struct object *job; /* as it was created */
    int64_t id;
    const struct object *ended; /* or NULL */
    bool is_gone, runs, is_late, is_noticed, has_waited;
    bool is_requeued;      /* after it ran */
    const char *directory; /* of the job */
    const struct srun_words *srun;
    int signal; /* that ended the wait; or 0 */
    struct timer *notice, *patience;
    struct child *child;
    pid_t pid;
    bool has_ended; /* the command */
    int status;
    int lost; /* of a step: a byte tells that it was lost with its job (KRUN_LOST) */
    bool is_lost, is_told;
};

/* ---- Words ---- */

static void PRINTF(2, 3) inform(const struct kalloc *k, const char *format, ...)
{
    va_list args;

    if (k->o.s.quiet)
        return;
    fprintf(stderr, "%s: ", k->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static int PRINTF(2, 3) fail(const struct kalloc *k, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: error: ", k->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return 1;
}

static void
print_waiting(struct kalloc *k)
{
    const char *why;

    k->has_waited = true;
    if (!k->o.is_slurms) {
        why = k->o.s.quiet ? "" : find_reason(k->name, k->o.s.server, k->job, k->arena);
        inform(k, "job %" PRId64 " waits for its start%s%s; Ctrl-C cancels it", k->id,
               why[0] != '\0' ? ": " : "", why);
        return;
    }
    if (!k->o.is_srun)
        inform(k, "Pending job allocation %" PRId64, k->id);
    inform(k, "job %" PRId64 " queued and waiting for resources", k->id);
}

static void
print_granted(const struct kalloc *k)
{
    const char *nodes = getenv("KILN_JOB_NODELIST");

    if (k->o.is_srun && k->has_waited)
        inform(k, "job %" PRId64 " has been allocated resources", k->id);
    else if (k->o.is_srun)
        ;
    else if (k->o.is_slurms)
        inform(k, "Granted job allocation %" PRId64, k->id);
    else
        inform(k, "job %" PRId64 " runs%s%s", k->id, nodes != NULL ? " on " : "",
               nodes != NULL ? nodes : "");
    if (k->o.rings_bell && !k->o.s.quiet)
        fputc('\a', stderr);
}

/* The job has ended before the command. */
static void
print_revoked(struct kalloc *k)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    k->is_told = true;
    if (k->is_requeued) {
        fprintf(stderr,
                "%s: job %" PRId64 " was requeued, and is cancelled: an allocation is not started "
                "again\n",
                k->name, k->id);
        return;
    }
    if (k->ended != NULL)
        job_reason_describe_end(job_of(k->ended), &words);
    else
        strbuf_add_text(&words, "deleted");
    if (!k->o.is_slurms)
        fprintf(stderr, "%s: job %" PRId64 " has ended: %s\n", k->name, k->id, words.text);
    else if (k->ended != NULL && job_find_state(job_of(k->ended)) == JOB_STATE_TIMED_OUT)
        fprintf(stderr,
                "%s: Job %" PRId64 " has exceeded its time limit and its allocation has been "
                "revoked.\n",
                k->name, k->id);
    else
        fprintf(stderr,
                "%s: Job allocation %" PRId64 " has been revoked.\n"
                "%s: job %" PRId64 " has ended: %s\n",
                k->name, k->id, k->name, k->id, words.text);
}

/* ---- The job ---- */

/* The command has lost its job. */
static bool
is_revoked(const struct kalloc *k)
{
    return k->ended != NULL || k->is_gone || k->is_requeued;
}

static void
on_change(const struct object *before, const struct object *after, void *context)
{
    struct kalloc *k = context;
    const struct object *object = after != NULL ? after : before;

    if (is_revoked(k) || strcmp(object->meta->uid, k->job->meta->uid) != 0)
        return;
    if (job_is_finished(job_of(object)))
        k->ended = object_ref(object);
    else if (after == NULL)
        k->is_gone = true;
    else if (k->pid > 0)
        k->is_requeued = (JOB_STATE_BIT(job_find_state(job_of(object))) & WAITING_STATES) != 0;
    else if (job_find_state(job_of(object)) == JOB_STATE_RUNNING)
        k->runs = true;
    else
        return;
    loop_stop(k->loop);
}

/* It may have been deleted before the first list. */
static void
on_listed(void *context)
{
    struct kalloc *k = context;

    if (informer_find(k->informer, k->job->meta->namespace, k->job->meta->name) != NULL
        || k->ended != NULL)
        return;
    k->is_gone = true;
    loop_stop(k->loop);
}

static void
on_notice(void *context)
{
    struct kalloc *k = context;

    k->is_noticed = true;
    loop_stop(k->loop);
}

static void
on_late(void *context)
{
    struct kalloc *k = context;

    k->is_late = true;
    loop_stop(k->loop);
}

static void
on_interrupt(int signal_number, void *context)
{
    struct kalloc *k = context;

    k->signal = signal_number;
    loop_stop(k->loop);
}

static int
give_up(struct kalloc *k)
{
    kalloc_guard_cancel(&k->guard);
    if (k->is_late)
        return fail(k, k->o.is_slurms
                           ? "Unable to allocate resources: Requested nodes are busy"
                           : "the job has not started within the time of --immediate, and "
                             "was cancelled");
    if (k->o.is_slurms)
        inform(k, "Job allocation %" PRId64 " has been revoked.", k->id);
    else
        inform(k, "job %" PRId64 " was cancelled", k->id);
    return 128 + k->signal;
}

/* Until it runs: 0, or the exit status. */
static int
wait_for_start(struct kalloc *k)
{
    struct sigwatch *watches[] = {sigwatch_new(k->loop, SIGINT, on_interrupt, k),
                                  sigwatch_new(k->loop, SIGTERM, on_interrupt, k),
                                  sigwatch_new(k->loop, SIGHUP, on_interrupt, k)};

    k->notice = timer_new(k->loop, on_notice, k);
    timer_start(k->notice, TELL_MS);
    k->patience = timer_new(k->loop, on_late, k);
    if (k->o.has_patience)
        timer_start(k->patience, k->o.patience_s * 1000);
    while (!k->runs && k->ended == NULL && !k->is_gone && k->signal == 0 && !k->is_late) {
        loop_run(k->loop);
        if (k->is_noticed && !k->has_waited && !k->runs && k->ended == NULL && !k->is_gone)
            print_waiting(k);
    }
    timer_free(k->notice);
    timer_free(k->patience);
    for (size_t i = 0; i < ARRAY_SIZE(watches); i++)
        sigwatch_free(watches[i]);
    if (!k->runs && k->ended == NULL && !k->is_gone)
        return give_up(k);
    kalloc_command_unblock_signals();
    if (k->ended == NULL && !k->is_gone)
        return 0;
    kalloc_guard_leave(&k->guard);
    print_revoked(k);
    return 1;
}

/* ---- The command ---- */

/* The calls have a connection of their own: this one's loop has the watch of the job. */
static int
enter(struct kalloc *k, struct error *err)
{
    struct kctl kctl = {.server = k->o.s.server, .program = k->name};
    const struct target_object target = {
        .kind = &job_kind,
        .namespace = k->job->meta->namespace,
        .name = k->job->meta->name,
    };
    struct job_entry entry = {0};
    int r = -EAGAIN;

    for (int i = 0; i < ENTER_TRIES && r == -EAGAIN; i++) {
        if (i > 0)
            usleep(ENTER_WAIT_US);
        r = job_steps_enter(&kctl, &target, false, k->arena, &entry, err);
    }
    k->directory = entry.directory;
    kctl_fini(&kctl);
    return r;
}

static bool
runs_step(const struct kalloc *k)
{
    return k->srun != NULL || k->o.is_interactive;
}

static void
become_command(const struct kalloc *k, char **command, int lost)
{
    char **words = command;

    if (runs_step(k))
        words = k->srun != NULL ? k->srun->step
                                : kalloc_command_remote(k->arena, k->directory, command);
    kalloc_command_become(k->name, words, runs_step(k), lost, k->o.s.directory);
}

static void
on_end(const struct child_exit *end, void *context)
{
    struct kalloc *k = context;

    k->has_ended = true;
    k->status = WIFSIGNALED(end->status) ? 128 + WTERMSIG(end->status) : WEXITSTATUS(end->status);
    loop_stop(k->loop);
}

static void
pass_on(int signal_number, void *context)
{
    const struct kalloc *k = context;

    (void)kill(k->pid, signal_number);
}

/* salloc's status after a signal that usually is its user's is 0. */
static int
final_status(const struct kalloc *k)
{
    static const int usual[] = {SIGHUP, SIGINT, SIGQUIT, SIGKILL};

    for (size_t i = 0; k->o.is_slurms && !k->o.is_srun && i < ARRAY_SIZE(usual); i++)
        if (k->status == 128 + usual[i])
            return 0;
    return k->status;
}

/* A shell on a terminal takes the terminal, and is to give it back. */
static void
take_terminal(void)
{
    (void)signal(SIGTTOU, SIG_IGN);
    if (isatty(STDIN_FILENO))
        (void)tcsetpgrp(STDIN_FILENO, getpgrp());
}

/* The step has ended before the job, and perhaps with it: its end is told a moment later. The end of
 * a job whose node is cut off is told later than that.
 */
static void
wait_for_reason(struct kalloc *k)
{
    const int status = k->status;
    struct timer *patience;
    const char *why;
    char byte;

    k->is_lost = read(k->lost, &byte, 1) == 1;
    if (!runs_step(k) || (!k->is_lost && status != 128 + SIGTERM && status != 128 + SIGKILL))
        return;
    patience = timer_new(k->loop, on_late, k);
    k->is_late = false;
    timer_start(patience, k->is_lost ? LOST_MS : SIGNALLED_MS);
    while (!is_revoked(k) && !k->is_late)
        loop_run(k->loop);
    timer_free(patience);
    if (is_revoked(k) || !k->is_lost)
        return;
    why = find_reason(k->name, k->o.s.server, k->job, k->arena);
    fail(k, "the connection to job %" PRId64 " was lost%s%s; the job is cancelled", k->id,
         why[0] != '\0' ? ": " : ", because its node is cut off", why);
}

static int
run_command(struct kalloc *k, char **command)
{
    struct sigwatch *watches[2];
    struct error err = {0};
    int lost[2];

    if (pipe2(lost, O_CLOEXEC) < 0)
        return fail(k, "pipe: %s", strerror(errno));
    k->pid = fork();
    if (k->pid < 0)
        return fail(k, "fork: %s", strerror(errno));
    if (k->pid == 0) {
        close(lost[0]);
        become_command(k, command, lost[1]);
    }
    close(lost[1]);
    k->lost = lost[0];
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGQUIT, SIG_IGN);
    watches[0] = sigwatch_new(k->loop, SIGTERM, pass_on, k);
    watches[1] = sigwatch_new(k->loop, SIGHUP, pass_on, k);
    if (child_watch(k->loop, k->pid, on_end, k, &k->child, &err) < 0)
        return fail(k, "%s", err.text);
    while (!k->has_ended) {
        const bool was_running = !is_revoked(k);

        loop_run(k->loop);
        if (!was_running || !is_revoked(k))
            continue;
        if (k->has_ended)
            break;
        print_revoked(k);
        (void)kill(k->pid, k->o.kill_signal > 0   ? k->o.kill_signal
                           : isatty(STDIN_FILENO) ? SIGHUP
                                                  : SIGTERM);
    }
    child_free(k->child);
    wait_for_reason(k);
    if (is_revoked(k) && !k->is_told)
        print_revoked(k);
    close(k->lost);
    for (size_t i = 0; i < ARRAY_SIZE(watches); i++)
        sigwatch_free(watches[i]);
    take_terminal();
    if (is_revoked(k)) {
        if (k->ended == NULL && k->is_requeued)
            kalloc_guard_cancel(&k->guard);
        else
            kalloc_guard_leave(&k->guard);
        return final_status(k);
    }
    if (k->is_lost) {
        kalloc_guard_cancel(&k->guard);
        return final_status(k);
    }
    if (k->o.is_slurms && !k->o.is_srun)
        inform(k, "Relinquishing job allocation %" PRId64, k->id);
    kalloc_guard_release(&k->guard, k->status);
    if (!k->o.is_slurms)
        inform(k, "job %" PRId64 " is over", k->id);
    return final_status(k);
}

/* ---- The program ---- */

static int
use(struct kalloc *k, char **command)
{
    struct error err = {0};
    int status = wait_for_start(k);

    if (status != 0)
        return status;
    if (k->o.is_detached) {
        kalloc_guard_leave(&k->guard);
        if (k->o.is_slurms)
            print_granted(k);
        else
            printf("%" PRId64 "\n", k->id);
        return (int)program_end(k->name, 0, NULL);
    }
    if (enter(k, &err) < 0) {
        kalloc_guard_cancel(&k->guard);
        return fail(k, "job %" PRId64 " cannot be used from here, and was cancelled: %s", k->id,
                    err.text);
    }
    kalloc_guard_hold(&k->guard, getenv("KILN_STEP_SOCKET"), getenv("KILN_POD_UID"));
    print_granted(k);
    return run_command(k, command);
}

static int
allocate(struct kalloc *k, char **command)
{
    CLEANUP_FREE char *selector = NULL;
    struct error err = {0};
    int r = connection_open(k->o.s.server, NULL, CONNECTION_OFTEN, &k->connection, &err);
    int status;

    if (r == 0)
        r = submit(k->name, &k->o, connection_client(k->connection), k->arena, &k->job, &err);
    if (r < 0) {
        (void)connection_advise(r, &err);
        kalloc_guard_leave(&k->guard);
        return k->o.is_srun     ? fail(k, "Unable to allocate resources: %s", err.text)
               : k->o.is_slurms ? fail(k, "Job submit/allocate failed: %s", err.text)
                                : fail(k, "%s", err.text);
    }
    k->id = job_of(k->job)->status.id;
    kalloc_guard_set_job(&k->guard, k->id);
    k->loop = connection_client(k->connection)->loop;
    selector = xasprintf("metadata.name=%s", k->job->meta->name);
    k->informer = informer_new(&(struct informer_settings){
        .client = connection_client(k->connection),
        .kind = &job_kind,
        .namespace = k->job->meta->namespace,
        .field_selector = selector,
        .changed = on_change,
        .synced = on_listed,
        .context = k,
    });
    status = use(k, command);
    informer_free(k->informer);
    object_unref(k->ended);
    object_unref(k->job);
    return status;
}

static int
print_version(const struct kalloc *k)
{
    if (k->o.is_slurms)
        printf("slurm 22.05.8 (kiln %s)\n", version_text());
    else
        printf("%s %s\n", k->name, version_text());
    return (int)program_end(k->name, 0, NULL);
}

static int
print_help(const struct kalloc *k)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    kalloc_options_help(k->name, &text);
    fwrite(text.text, 1, text.length, stdout);
    return (int)program_end(k->name, 0, NULL);
}

/* An srun outside of a job: what is wrong with the step is said before there is a job. */
static int
read_srun(struct kalloc *k, int argc, char **argv, struct srun_words *ret_words, struct error *err)
{
    struct krun_settings settings = {.program = k->name};
    int operands;
    int r = srun_words_split(k->arena, argc, argv, kalloc_options_has, ret_words, err);

    if (r == 0)
        r = krun_options_read(&settings, ret_words->n_step, ret_words->step, &operands, err);
    if (r < 0)
        return r;
    k->srun = ret_words;
    return kalloc_options_read(k->name, ret_words->n_job, ret_words->job, &k->o, &operands, err);
}

int
kalloc_run(const char *name, int argc, char **argv)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *line = program_join_words(argc, argv);
    struct kalloc k = {.name = name, .arena = arena};
    struct srun_words words;
    struct error err = {0};
    int operands = argc, status, r;

    program_open_descriptors();
    if (strcmp(name, "srun") == 0)
        r = read_srun(&k, argc, argv, &words, &err);
    else
        r = kalloc_options_read(name, argc, argv, &k.o, &operands, &err);
    if (r == OPTION_HELP)
        return print_help(&k);
    if (r == OPTION_VERSION)
        return print_version(&k);
    if (r < 0) {
        fail(&k, "%s", err.text);
        return k.o.is_slurms || strcmp(name, "srun") == 0 ? 1 : EXIT_STATUS_USAGE;
    }
    if (k.o.is_detached && operands < argc)
        return fail(&k, "%s runs no command", k.o.is_slurms ? "--no-shell" : "--detach");
    if (kalloc_guard_start(&k.guard, &err) < 0)
        return fail(&k, "%s", err.text);
    k.o.s.submit_line = line;
    status = allocate(&k, argv + operands);
    connection_close(k.connection);
    return status;
}
