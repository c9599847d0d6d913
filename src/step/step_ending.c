/* SPDX-License-Identifier: Apache-2.0 */
/* step_ending.c - the end of all tasks because of one
 *
 * The first reason stands, for all later ends follow from it: when a rank is gone, its peers fail
 * too, each in its own way, and the person wants to know the one that was first. A task that was
 * killed for another one therefore has the other's exit code.
 */
#include "step/step_ending.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/step/step_frames.h"
#include "step/step_link.h"

#define BEGIN "Killed, because "

struct step_ending {
    struct step_link *link; /* NULL: there are no other nodes */
    void (*kill)(void *context);
    void *context;
    bool has_begun;
    bool is_of_other_node; /* krun has passed it on */
    uint32_t code;
    char words[512];
};

struct step_ending *
step_ending_new(struct step_link *link, void (*kill)(void *context), void *context)
{
    struct step_ending *e = xnew(struct step_ending);

    e->link = link;
    e->kill = kill;
    e->context = context;
    return e;
}

static void
begin(struct step_ending *e, uint32_t because, uint32_t code, const char *reason)
{
    e->has_begun = true;
    e->code = code != 0 ? code & 0xFF : 1;
    if (because == STEP_ALL_TASKS)
        snprintf(e->words, sizeof(e->words), BEGIN "%s", reason);
    else
        snprintf(e->words, sizeof(e->words), BEGIN "task %u %s", because, reason);
    if (e->link != NULL && !e->is_of_other_node)
        step_frame_add_number(step_link_out(e->link), STEP_FRAME_ABORT, STEP_STDIN, because,
                              e->code);
    e->kill(e->context);
}

void
step_ending_begin(struct step_ending *e, uint32_t because, uint32_t code, const char *reason)
{
    if (!e->has_begun)
        begin(e, because, code, reason);
}

bool
step_ending_has_begun(const struct step_ending *e)
{
    return e->has_begun;
}

bool
step_ending_is_of_other_node(const struct step_ending *e)
{
    return e->is_of_other_node;
}

const char *
step_ending_reason(const struct step_ending *e)
{
    return e->words + strlen(BEGIN);
}

int
step_ending_receive(struct step_ending *e, const struct step_frame *f)
{
    uint32_t code;

    if (step_frame_number(f, &code) < 0)
        return -EBADMSG;
    if (e->has_begun)
        return 0;
    e->is_of_other_node = true;
    begin(e, f->task, code,
          f->task == STEP_ALL_TASKS ? "the step has failed on another node"
                                    : "has ended, and the others with it");
    return 0;
}

void
step_ending_set_exit(const struct step_ending *e, struct step_exit *end)
{
    if (!e->has_begun || end->signal != SIGKILL)
        return;
    *end = (struct step_exit){
        .exit_code = e->code,
        .message = e->words,
        .message_length = strlen(e->words),
    };
}
