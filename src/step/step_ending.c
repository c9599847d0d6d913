/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_ending.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/step/step_frames.h"
#include "step/step_state.h"

#define BEGIN "Killed, because "

void
step_ending_begin(struct step *s, uint32_t because, uint32_t code, const char *reason,
                  bool tells_others)
{
    struct step_ending *e = &s->ending;

    if (e->has_begun) /* the first reason stands: later ends follow from it */
        return;
    e->has_begun = true;
    e->code = code != 0 ? code & 0xFF : 1;
    if (because == STEP_ALL_TASKS)
        snprintf(e->words, sizeof(e->words), BEGIN "%s", reason);
    else
        snprintf(e->words, sizeof(e->words), BEGIN "task %u %s", because, reason);
    if (tells_others && s->grant.layout.n_nodes > 1)
        step_frame_add_number(&s->link.out, STEP_FRAME_ABORT, STEP_STDIN, because, e->code);
    step_tasks_signal(s, STEP_ALL_TASKS, SIGKILL);
}

const char *
step_ending_reason(const struct step *s)
{
    return s->ending.words + strlen(BEGIN);
}

int
step_ending_receive(struct step *s, const struct step_frame *f)
{
    uint32_t code;

    if (step_frame_number(f, &code) < 0)
        return -EBADMSG;
    if (!s->ending.has_begun)
        s->ending.is_of_other_node = true;
    step_ending_begin(s, f->task, code,
                      f->task == STEP_ALL_TASKS ? "the step has failed on another node"
                                                : "has ended, and the others with it",
                      false);
    return 0;
}

void
step_ending_set_exit(const struct step *s, struct step_exit *end)
{
    if (!s->ending.has_begun || end->signal != SIGKILL)
        return;
    *end = (struct step_exit){
        .exit_code = s->ending.code,
        .message = s->ending.words,
        .message_length = strlen(s->ending.words),
    };
}
