/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/checkpoint.h"

#include <signal.h>
#include <sys/wait.h>

#include "agent/shepherd/deadline.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

#define LONGEST_WAIT_MS 3600000

bool
checkpoint_begin(struct checkpoint *c, void *context, int64_t grace_us, int64_t now_us)
{
    struct error err = {0};
    pid_t pid;

    if (c->start == NULL || c->has_begun || grace_us <= 0)
        return false;
    c->has_begun = true;
    c->began_us = c->ended_us = now_us;
    c->until_us = now_us + grace_us - deadline_last_us(grace_us);
    pid = c->start(context, &err);
    if (pid < 0) {
        c->failure = xstrdup(err.text);
        return false;
    }
    c->pid = pid;
    return true;
}

bool
checkpoint_note_end(struct checkpoint *c, pid_t pid, int status, int64_t now_us)
{
    if (c->pid == 0 || pid != c->pid)
        return false;
    c->pid = 0;
    c->status = status;
    c->ended_us = now_us;
    return true;
}

/* The pid is valid until it is reaped. Before the command has made its session,
 * only the process itself can be signalled.
 */
bool
checkpoint_cut(struct checkpoint *c, int64_t now_us)
{
    if (c->pid == 0 || now_us < c->until_us)
        return false;
    if (kill(-c->pid, SIGKILL) < 0)
        kill(c->pid, SIGKILL);
    c->was_cut = true;
    checkpoint_note_end(c, c->pid, W_EXITCODE(0, SIGKILL), now_us);
    return true;
}

int
checkpoint_wait_ms(const struct checkpoint *c, int64_t now_us)
{
    int64_t ms;

    if (c->pid == 0)
        return -1;
    ms = (c->until_us - now_us) / 1000 + 1;
    if (ms < 0)
        return 0;
    return ms < LONGEST_WAIT_MS ? (int)ms : LONGEST_WAIT_MS;
}
