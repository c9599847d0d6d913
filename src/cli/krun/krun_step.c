/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that krun does at a certain time is a deadline in one table, so that one place
 * computes when to wake up, and a signal, an end or a limit only arms or clears one. Ends that
 * come together share a line, as they do with srun: a thousand tasks that are killed would
 * otherwise be a thousand lines.
 */
#include "cli/krun/krun_step.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/krun/krun_ends.h"
#include "cli/krun/krun_files.h"
#include "cli/krun/krun_link.h"
#include "cli/krun/krun_nodes.h"
#include "cli/krun/krun_output.h"
#include "cli/krun/krun_settings.h"
#include "cli/krun/krun_stream.h"
#include "cli/krun/krun_terminal.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "lib/step/step_request.h"

#define GATHER_MS    50    /* ends that come within this time share a line */
#define INTERRUPT_MS 1000  /* between two Ctrl-C */
#define GRACE_MS     30000 /* from SIGTERM to SIGKILL */

/* ---- Nodes that are lost ---- */

/* With cgroup v2 the kernel ends kiln-step together with the tasks when their job has no
 * memory left; the agent is not in the job, and knows it.
 */

struct lost_nodes {
    struct krun_nodes *nodes;
    const char *pod_uid;
    int64_t step;
    const struct krun_link *links; /* to the nodes of the step, in the order of its layout */
    unsigned n_links;
};

/* The agent ends what is left of the step first. */
#define TRIES    30
#define AGAIN_US 100000

/* True: the words of the agent. An agent of the release before refuses the question. */
static bool
ask_once(const struct lost_nodes *lost, const char *node, struct strbuf *words, bool *ret_again)
{
    CLEANUP_STRBUF struct strbuf question = STRBUF_INIT;
    struct krun_link l;
    struct step_frame f;

    *ret_again = false;
    if (krun_nodes_dial_again(lost->nodes, node, &l, NULL) < 0)
        return false;
    strbuf_printf(&question, "%s %" PRId64, lost->pod_uid, lost->step);
    krun_link_add(&l, STEP_FRAME_WHY, question.text, question.length);
    if (krun_link_wait(&l, &f, NULL) == 0) {
        *ret_again = f.type == STEP_FRAME_WAIT;
        if (f.type == STEP_FRAME_END)
            strbuf_add(words, f.payload, f.length);
    }
    krun_link_close(&l);
    return words->length > 0;
}

static bool
ask(const struct lost_nodes *lost, const char *node, struct strbuf *words)
{
    bool again = true;

    for (int i = 0; again && i < TRIES; i++) {
        if (i > 0)
            usleep(AGAIN_US);
        if (ask_once(lost, node, words, &again))
            return true;
    }
    return false;
}

/* Adds the ends of the tasks that the kernel has killed. False: there is no such node. */
static bool
explain_lost_nodes(const struct lost_nodes *lost, struct krun_ends *ends)
{
    bool is_explained = false;

    for (unsigned i = 0; i < lost->n_links; i++) {
        CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
        const struct krun_link *l = &lost->links[i];

        if (!l->is_lost || l->has_ended || !ask(lost, l->node, &words))
            continue;
        krun_ends_add_node(ends, i,
                           &(struct step_exit){
                               .signal = SIGKILL,
                               .message = words.text,
                               .message_length = words.length,
                           });
        is_explained = true;
    }
    return is_explained;
}

/* ---- The step ---- */

/* Things to do at a certain time. */
enum krun_deadline {
    DEADLINE_PRINT,    /* print the ends */
    DEADLINE_PATIENCE, /* --immediate=SECONDS */
    DEADLINE_WAIT,     /* --wait */
    DEADLINE_SIGNAL,   /* --signal */
    DEADLINE_LIMIT,    /* --time */
    DEADLINE_KILL,     /* after SIGTERM */
    DEADLINES,
};

struct krun_step {
    const struct krun_settings *settings;
    struct krun_stream *stream;
    struct krun_ends *ends;
    struct krun_output *outputs[STEP_STREAMS];
    int64_t deadlines[DEADLINES]; /* 0: none */
    char id[64];                  /* "17.0" */
    int64_t number;               /* the 0 of it */
    bool has_waited, is_terminating, is_explained, has_killed;
    int64_t interrupted_ms;
    int status; /* of krun, if there is no step */
    int files[STEP_STREAMS];
};

static int64_t
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void __attribute__((format(printf, 2, 3)))
inform(const struct krun_step *k, const char *format, ...)
{
    va_list args;

    if (k->settings->is_quiet)
        return;
    krun_terminal_begin_words();
    fprintf(stderr, "%s: ", k->settings->program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    krun_terminal_end_words();
}

static void __attribute__((format(printf, 2, 3)))
complain(const struct krun_step *k, const char *format, ...)
{
    va_list args;

    krun_terminal_begin_words();
    fprintf(stderr, "%s: error: ", k->settings->program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    krun_terminal_end_words();
}

/* Scripts tell by this variable what was the program's status and what srun's. */
static int
status_of_error(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    long n = text != NULL ? strtol(text, &end, 10) : 0;

    return text != NULL && end != text && *end == '\0' && n > 0 && n < 256 ? (int)n : 1;
}

/* --- time ------------------------------------------------------------------
 */

static void on_late(void *context);

static void
arm(struct krun_step *k)
{
    int64_t first = 0;

    for (int i = 0; i < DEADLINES; i++)
        if (k->deadlines[i] != 0 && (first == 0 || k->deadlines[i] < first))
            first = k->deadlines[i];
    if (first != 0) {
        const int64_t left = first - now_ms();

        krun_stream_call_at(k->stream, left > 0 ? left : 0, on_late);
    }
}

static void
set_deadline(struct krun_step *k, enum krun_deadline which, int64_t after_ms)
{
    k->deadlines[which] = now_ms() + after_ms;
    arm(k);
}

/* --- ending ----------------------------------------------------------------
 */

static void
describe(const struct krun_step *k)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_FREE char *begin = xasprintf("%s: StepId=%s ", k->settings->program, k->id);

    if (k->ends == NULL || k->settings->is_quiet)
        return;
    krun_ends_describe(k->ends, begin, &text);
    krun_terminal_begin_words();
    fputs(text.text != NULL ? text.text : "", stderr);
    krun_terminal_end_words();
}

/* False: the tasks do not run yet. */
static bool
send_signal(struct krun_step *k, int signal_number)
{
    return krun_stream_send(k->stream, STEP_FRAME_SIGNAL, (uint32_t)signal_number);
}

/* Asks the tasks to end, and kills them if they have not after a while. */
static void
terminate(struct krun_step *k)
{
    if (k->is_terminating)
        return;
    k->is_terminating = true;
    send_signal(k, SIGCONT);
    if (k->settings->request.has_terminal)
        send_signal(k, SIGHUP); /* shells that talk to people ignore the next one */
    send_signal(k, SIGTERM);
    set_deadline(k, DEADLINE_KILL, GRACE_MS);
}

static void
kill_tasks(struct krun_step *k)
{
    k->is_terminating = true;
    send_signal(k, SIGKILL);
}

/* In the words of slurmstepd. */
static void
print_cancelled(const struct krun_step *k, const char *reason)
{
    time_t now = time(NULL);
    struct tm local;
    char at[32] = "";

    if (localtime_r(&now, &local) != NULL)
        strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%S", &local);
    complain(k, "*** STEP %s CANCELLED AT %s%s ***", k->id, at, reason);
}

static void
reach(struct krun_step *k, enum krun_deadline which)
{
    const struct krun_settings *s = k->settings;

    switch (which) {
    case DEADLINE_PRINT:
        krun_ends_print(k->ends);
        break;
    case DEADLINE_PATIENCE:
        complain(k, "Unable to create step for job %s: Requested nodes are busy",
                 s->request.job_id != NULL ? s->request.job_id : "");
        k->status = status_of_error("SLURM_EXIT_IMMEDIATE");
        krun_stream_stop(k->stream);
        break;
    case DEADLINE_WAIT:
        inform(k, "First task exited %" PRId64 "s ago", s->wait_s);
        describe(k);
        inform(k, "Terminating StepId=%s", k->id);
        kill_tasks(k);
        break;
    case DEADLINE_SIGNAL:
        send_signal(k, (int)s->signal);
        break;
    case DEADLINE_LIMIT:
        print_cancelled(k, " DUE TO TIME LIMIT");
        terminate(k);
        break;
    case DEADLINE_KILL:
        kill_tasks(k);
        break;
    case DEADLINES:
        break;
    }
}

static void
on_late(void *context)
{
    struct krun_step *k = context;
    const int64_t now = now_ms();

    for (int i = 0; i < DEADLINES; i++)
        if (k->deadlines[i] != 0 && k->deadlines[i] <= now) {
            k->deadlines[i] = 0;
            reach(k, (enum krun_deadline)i);
        }
    arm(k);
}

/* --- before the tasks run --------------------------------------------------
 */

static void
on_waiting(const char *words, void *context)
{
    struct krun_step *k = context;
    const struct krun_settings *s = k->settings;

    if (!k->has_waited)
        inform(k, "Job %s step creation temporarily disabled, retrying (%s)",
               s->request.job_id != NULL ? s->request.job_id : "", words);
    k->has_waited = true;
    if (s->patience_s > 0 && k->deadlines[DEADLINE_PATIENCE] == 0)
        set_deadline(k, DEADLINE_PATIENCE, s->patience_s * 1000);
}

static void
on_refused(const char *words, void *context)
{
    struct krun_step *k = context;
    const char *job = k->settings->request.job_id;

    complain(k, "Unable to create step for job %s: %s", job != NULL ? job : "", words);
    k->status =
        status_of_error(k->settings->patience_s == 0 ? "SLURM_EXIT_IMMEDIATE" : "SLURM_EXIT_ERROR");
}

static void
print_layout(const struct krun_step *k, const struct step_grant *grant)
{
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT, tasks = STRBUF_INIT;

    step_layout_format_nodes(&grant->layout, &nodes);
    step_layout_format_tasks(&grant->layout, &tasks);
    inform(k, "launching StepId=%s on host %s, %u tasks: %s on each node, CPUs of a task: %u",
           k->id, nodes.text, grant->layout.n_tasks, tasks.text, grant->layout.cpus_per_task);
}

static void take_terminal(struct krun_step *k);

static void
on_accepted(const struct step_grant *grant, void *context)
{
    struct krun_step *k = context;
    const struct krun_settings *s = k->settings;
    const char *job = s->request.job_id;
    struct error err = {0};

    snprintf(k->id, sizeof(k->id), "%.40s.%" PRId64, job != NULL ? job : "0", grant->step_id);
    k->number = grant->step_id;
    k->deadlines[DEADLINE_PATIENCE] = 0;
    if (k->has_waited)
        inform(k, "Step created for job %s", job != NULL ? job : "");
    if (s->verbosity > 0)
        print_layout(k, grant);
    k->ends = krun_ends_new(&grant->layout, s->program);
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++)
        k->outputs[i] = krun_output_new(grant->layout.n_tasks, s->labels, s->is_unbuffered);
    if (krun_files_open(s, grant->step_id, k->files, &err) < 0) {
        complain(k, "%s", err.text);
        k->status = status_of_error("SLURM_EXIT_ERROR");
        krun_stream_stop(k->stream);
    }
    if (s->request.has_terminal)
        take_terminal(k);
    if (s->time_limit_s > 0) {
        set_deadline(k, DEADLINE_LIMIT, s->time_limit_s * 1000);
        if (s->signal != 0 && s->signal_before_s < s->time_limit_s)
            set_deadline(k, DEADLINE_SIGNAL, (s->time_limit_s - s->signal_before_s) * 1000);
    }
}

/* --- while they run --------------------------------------------------------
 */

static void
on_output(uint32_t task, enum step_stream stream, const char *bytes, size_t length,
          struct strbuf *out, void *context)
{
    struct krun_step *k = context;

    if (k->outputs[stream] != NULL)
        krun_output_add(k->outputs[stream], task, bytes, length, out);
}

static void
on_ended(uint32_t task, const struct step_exit *end, void *context)
{
    struct krun_step *k = context;
    const struct krun_settings *s = k->settings;
    const bool has_failed = end->exit_code != 0 || end->signal != 0;

    if (k->ends == NULL)
        return;
    krun_ends_add(k->ends, task, end);
    if (k->deadlines[DEADLINE_PRINT] == 0)
        set_deadline(k, DEADLINE_PRINT, GATHER_MS);
    if (has_failed && s->kills_on_bad_exit > 0 && !k->is_terminating) {
        krun_ends_print(k->ends);
        inform(k, "Terminating StepId=%s", k->id);
        terminate(k);
    }
    if (krun_ends_count(k->ends) == 1 && s->wait_s > 0)
        set_deadline(k, DEADLINE_WAIT, s->wait_s * 1000);
}

static void
interrupt(struct krun_step *k)
{
    const struct krun_settings *s = k->settings;
    const int64_t now = now_ms();
    const bool is_second = k->interrupted_ms != 0 && now - k->interrupted_ms < INTERRUPT_MS;

    if (k->ends == NULL) {
        /* The step waits, or is about to start. */
        k->status = 128 + SIGINT;
        krun_stream_stop(k->stream);
        return;
    }
    if (!s->ends_at_first_interrupt && !s->quits_at_interrupt && !is_second) {
        k->interrupted_ms = now;
        inform(k, "interrupt (one more within 1 sec to abort)");
        describe(k);
        return;
    }
    inform(k, "sending Ctrl-C to StepId=%s", k->id);
    send_signal(k, SIGINT);
    if (is_second || s->quits_at_interrupt) {
        if (k->is_terminating)
            kill_tasks(k);
        terminate(k);
    }
    k->interrupted_ms = now;
}

/* It may come before the tasks run. Each node tells of SIGKILL, which is passed on to all once. */
static int
on_called(const struct step_frame *f, void *context)
{
    struct krun_step *k = context;
    uint32_t number;

    if (step_frame_number(f, &number) < 0)
        return -EBADMSG;
    if (number == SIGKILL) {
        k->has_killed = k->has_killed || send_signal(k, SIGKILL);
    } else if (number != 0) {
        send_signal(k, (int)number);
    } else if (k->ends == NULL) {
        k->status = 128 + SIGTERM;
        krun_stream_stop(k->stream);
    } else if (!k->is_terminating) {
        print_cancelled(k, "");
        terminate(k);
    }
    return 0;
}

/* Its size may have changed, and while krun was stopped its settings, too. */
static void
take_terminal(struct krun_step *k)
{
    struct error err = {0};
    uint16_t rows, columns;

    if (k->ends == NULL)
        return;
    if (krun_terminal_enter(&err) < 0)
        complain(k, "%s", err.text);
    if (krun_terminal_size(&rows, &columns))
        krun_stream_send(k->stream, STEP_FRAME_SIZE, STEP_SIZE(rows, columns));
}

static void
on_signalled(int signal_number, void *context)
{
    struct krun_step *k = context;
    const struct krun_settings *s = k->settings;

    switch (signal_number) {
    case SIGINT:
        interrupt(k);
        break;
    case SIGTERM:
    case SIGQUIT:
    case SIGHUP:
        if (k->ends == NULL) {
            k->status = 128 + signal_number;
            krun_stream_stop(k->stream);
            break;
        }
        inform(k, "forcing job termination");
        if (s->request.has_terminal) {
            /* Without a connection, kiln-step hangs up, which all that is in the terminal
             * hears.
             */
            k->status = 128 + signal_number;
            krun_stream_stop(k->stream);
            break;
        }
        if (k->is_terminating)
            kill_tasks(k);
        terminate(k);
        break;
    case SIGTSTP:
        krun_terminal_stop();
        break;
    case SIGCONT:
    case SIGWINCH:
        take_terminal(k);
        break;
    default:
        send_signal(k, signal_number);
    }
}

/* --- the step --------------------------------------------------------------
 */

static void
on_lost(struct krun_nodes *nodes, const struct krun_link *links, unsigned n_links, void *context)
{
    struct krun_step *k = context;
    const struct lost_nodes lost = {
        .nodes = nodes,
        .pod_uid = k->settings->request.pod_uid,
        .step = k->number,
        .links = links,
        .n_links = n_links,
    };

    k->is_explained = explain_lost_nodes(&lost, k->ends);
}

/* Lines that were not complete when the connection was lost. */
static void
write_rest(struct krun_step *k)
{
    for (int i = STEP_STDOUT; i <= STEP_STDERR; i++) {
        CLEANUP_STRBUF struct strbuf rest = STRBUF_INIT;

        if (k->outputs[i] != NULL)
            krun_output_flush(k->outputs[i], &rest);
        if (rest.length > 0)
            (void)fd_write_all(k->files[i], rest.text, rest.length);
    }
}

/* As the agent has told the job. */
static bool
has_several_nodes(void)
{
    const char *n = getenv("KILN_NNODES");

    return n != NULL && atoi(n) > 1;
}

static int
run(struct krun_step *k, const struct strbuf *request, struct error *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, 0};
    static const int with_terminal[] = {SIGINT,  SIGTERM, SIGQUIT, SIGHUP,   SIGUSR1, SIGUSR2,
                                        SIGALRM, SIGTSTP, SIGCONT, SIGWINCH, 0};
    const struct step_request *q = &k->settings->request;
    int r = krun_files_dup(k->settings, k->files, err);

    if (r < 0)
        return r;
    r = krun_stream_open(
        &(struct krun_stream_settings){
            .place = getenv("KILN_STEP_SOCKET"),
            .pod_uid = q->pod_uid,
            .has_several_nodes = has_several_nodes(),
            .request = request->text,
            .length = request->length,
            .waiting = on_waiting,
            .refused = on_refused,
            .accepted = on_accepted,
            .output = on_output,
            .ended = on_ended,
            .lost = on_lost,
            .signalled = on_signalled,
            .called = on_called,
            .context = k,
            .signals = q->has_terminal ? with_terminal : signals,
            .input_fd = q->streams.input != NULL
                                && q->streams.input[strspn(q->streams.input, "0123456789")] != '\0'
                            ? -1
                            : k->files[STEP_STDIN],
            .output_fds = {-1, k->files[STEP_STDOUT], k->files[STEP_STDERR]},
        },
        &k->stream, err);
    return r == 0 ? krun_stream_run(k->stream, err) : r;
}

static int
find_status(struct krun_step *k, int r, const struct error *err)
{
    if (k->ends != NULL)
        krun_ends_print(k->ends);
    write_rest(k);
    if (r == 0)
        return k->ends != NULL ? krun_ends_code(k->ends) & 0xFF : 0;
    if (r == -ECANCELED)
        return k->status;
    if (k->is_explained)
        return krun_ends_code(k->ends) & 0xFF;
    if (k->ends != NULL && r == -ECONNRESET && k->settings->lost >= 0)
        (void)fd_write_all(k->settings->lost, "x", 1);
    else if (k->ends != NULL && r == -ECONNRESET)
        complain(k,
                 "the connection to StepId=%s was lost, because the job has ended or its node is "
                 "cut off; its tasks are ended",
                 k->id);
    else
        complain(k, "%s", err->text);
    return status_of_error("SLURM_EXIT_ERROR");
}

int
krun_step_run(const struct krun_settings *settings)
{
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    struct krun_step k = {.settings = settings, .status = 1, .files = {-1, -1, -1}};
    struct error err = {0};
    int status, r;

    step_request_encode(&settings->request, &request);
    r = run(&k, &request, &err);
    krun_terminal_leave();
    status = find_status(&k, r, &err);
    krun_stream_free(k.stream);
    krun_ends_free(k.ends);
    for (int i = 0; i < STEP_STREAMS; i++) {
        krun_output_free(k.outputs[i]);
        if (k.files[i] >= 0)
            close(k.files[i]);
    }
    return status;
}
