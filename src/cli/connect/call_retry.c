/* SPDX-License-Identifier: Apache-2.0 */
/* A restart of the controller takes seconds, and a script should not notice it. But a call
 * that may have been carried out must not be repeated: a second submission is a second job. So
 * what is repeated is a call that was refused before anybody could act on it, or that changes
 * nothing (decision 492).
 */
#include "cli/connect/call_retry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/loop/timer.h"

#define PAUSE_MS     250
#define SAY_AFTER_MS 3000

/* -ENOENT: the socket is not there, because its controller has ended. */
static bool
means_away(int r, bool is_read)
{
    switch (r) {
    case -ECONNREFUSED:
    case -EHOSTDOWN:
    case -ENOENT:
        return true;
    case -ECONNRESET:
    case -EPIPE:
    case -EHOSTUNREACH:
    case -ENETUNREACH:
    case -ETIMEDOUT:
        return is_read;
    default:
        return false;
    }
}

static void
print_notice(struct call_retry *retry, const char *why)
{
    if (retry->is_said)
        return;
    retry->is_said = true;
    /* The reason names the controller itself. */
    if (why != NULL)
        fprintf(stderr,
                "%s: %s (waiting until it answers; --no-wait: give up if it cannot be reached)\n",
                retry->program, why);
    else
        fprintf(stderr,
                "%s: the controller at '%s' does not answer; waiting until it does "
                "(--no-wait: give up if it cannot be reached)\n",
                retry->program, retry->server);
}

static void
call_is_late(void *context)
{
    print_notice(context, NULL);
}

static bool
is_patient(const struct call_retry *retry, int64_t waited_us)
{
    const bool has_heads = retry->has_heads || strchr(retry->server, ',') != NULL;

    return retry->patience_us == 0 || waited_us < retry->patience_us
           || (has_heads && waited_us < retry->takeover_us);
}

int
call_retry_of_answer(int64_t code, const char *reason)
{
    return code == 503 && reason != NULL && strcmp(reason, "NotLeading") == 0 ? -EHOSTDOWN : 0;
}

void
call_retry_begin(struct call_retry *retry, struct loop *loop)
{
    if (retry->program == NULL || retry->patience_us > 0)
        return;
    retry->timer = timer_new(loop, call_is_late, retry);
    timer_start(retry->timer, SAY_AFTER_MS);
}

bool
call_retry_end(struct call_retry *retry, int r, bool is_read, const struct error *err)
{
    const int64_t now_us = clock_monotonic_us(&clock_system);

    if (retry->program == NULL)
        return false;
    timer_free(retry->timer);
    retry->timer = NULL;
    if (!means_away(r, is_read)) {
        if (retry->is_said && r == 0)
            fprintf(stderr, "%s: the controller answers again\n", retry->program);
        retry->is_said = false;
        retry->away_us = 0;
        return false;
    }
    if (retry->away_us == 0)
        retry->away_us = now_us;
    retry->has_heads |= r == -EHOSTDOWN;
    if (!is_patient(retry, now_us - retry->away_us))
        return false;
    if (retry->patience_us == 0 && now_us - retry->away_us >= SAY_AFTER_MS * INT64_C(1000))
        print_notice(retry, err->text);
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000}, NULL);
    return true;
}
