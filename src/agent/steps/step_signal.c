/* SPDX-License-Identifier: Apache-2.0 */
/* step_signal.c - signals to a running step from outside of it, for scancel: of its owner (CALL),
 * and of operators, by the controller
 *
 * Of a job of several nodes this is the step manager, whose connection krun keeps: krun sends
 * the signal to all nodes. Else, and after a restart, the kiln-step of this node is told. It is told
 * also that the step ends: krun may be stopped. So are the other nodes, by the controller.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/steps/step_socket.h"
#include "agent/steps/steps.h"
#include "agent/steps/steps_state.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"

#define SIGNAL_MOST 64

struct signal_call {
    char *pod; /* the text, which ends there */
    int64_t id;
    int number;     /* 0: the step is to end */
    int64_t sender; /* a uid; -1: not known */
};

static int
parse_call(char *text, struct signal_call *c)
{
    char *id = strchr(text, ' '), *number, *end;
    long n;

    if (id == NULL)
        return -EINVAL;
    *id++ = '\0';
    c->pod = text;
    c->id = strtoll(id, &number, 10);
    if (number == id || *number != ' ' || c->id < 0)
        return -EINVAL;
    n = strtol(number + 1, &end, 10);
    if (end == number + 1 || *end != '\0' || n < 0 || n > SIGNAL_MOST)
        return -EINVAL;
    c->number = (int)n;
    return 0;
}

/* False: krun is stopped, and much was sent to it. */
static bool
send_to_krun(const struct agent_step *held, int number)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    step_frame_add_number(&out, STEP_FRAME_SIGNAL, STEP_STDIN, STEP_ALL_TASKS, (uint32_t)number);
    return step_channel_send(held->connection, out.text, out.length) == (ssize_t)out.length;
}

static bool
ends_step(int number)
{
    return number == 0 || number == SIGTERM || number == SIGKILL;
}

/* The type of the answer. */
static enum step_frame_type
pass_on(struct step_job *job, const struct signal_call *c, const char **ret_words)
{
    struct agent_step *held = agent_step_find(&job->held, c->id);
    struct agent_step *running = agent_step_find(&job->running, c->id);

    *ret_words = "";
    if (running != NULL && running->phase != STEP_RUNNING)
        running = NULL; /* nothing of it but what the agent is about to kill */
    if (held == NULL && running == NULL)
        return STEP_FRAME_END;
    if (held == NULL && !step_account_has_begun(running))
        return STEP_FRAME_WAIT;
    if (held != NULL && !send_to_krun(held, c->number) && c->number != 0) {
        *ret_words = "the step's krun reads nothing";
        return STEP_FRAME_REFUSE;
    }
    if (held != NULL && c->number == 0)
        step_nodes_cancel(held);
    if (running != NULL && (held == NULL || c->number == 0))
        step_end_signal(running, c->number);
    if (held != NULL && ends_step(c->number))
        held->is_cancelled = true;
    if (running != NULL && ends_step(c->number))
        running->is_cancelled = true;
    if ((c->number == 0 || c->number == SIGKILL) && c->sender >= 0)
        step_account_cancel(held != NULL ? held : running, c->sender);
    return STEP_FRAME_ACCEPT;
}

static enum step_frame_type
answer(struct steps *s, const struct step_asked *asked, const char **ret_words, struct error *err)
{
    CLEANUP_FREE char *text = xstrndup(asked->text, asked->length);
    struct signal_call c;
    const char *name;
    struct step_job *job;

    *ret_words = "this is not the request of a scancel of this release";
    if (parse_call(text, &c) < 0)
        return STEP_FRAME_REFUSE;
    c.sender = asked->peer.uid;
    name = asked->peer.pod != NULL ? asked->peer.pod : c.pod;
    *ret_words = err->text;
    if (steps_check_caller(s, name, asked->peer.uid, err) < 0)
        return STEP_FRAME_REFUSE;
    *ret_words = "";
    job = map_find(s->jobs, step_nodes_find_pod(s, name));
    return job == NULL ? STEP_FRAME_END : pass_on(job, &c, ret_words);
}

void
step_signal_take(struct steps *s, struct step_channel *connection, const struct step_asked *asked)
{
    struct error err = {0};
    const char *words;
    const enum step_frame_type type = answer(s, asked, &words, &err);

    step_socket_answer(connection, type, words);
    step_socket_close(connection);
}

void
steps_signal(const char *uid, const struct pod_signal *signal, void *context)
{
    struct steps *s = context;
    struct step_job *job = s != NULL ? map_find(s->jobs, uid) : NULL;
    const struct signal_call c = {
        .id = signal->step,
        .number = signal->number,
        .sender = signal->has_sender ? signal->sender : -1,
    };
    const char *words;

    /* The agent before this one sent it, or the step has begun since then. */
    if (job == NULL || signal->at_s < s->opened_s)
        return;
    switch (pass_on(job, &c, &words)) {
    case STEP_FRAME_ACCEPT:
    case STEP_FRAME_END:
        break;
    default:
        log_warning("step %" PRId64 " of pod %s got no signal: %s", c.id, uid,
                    words[0] != '\0' ? words : "it was just being started");
    }
}
