/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect/outage_notice.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/client/informer.h"
#include "lib/loop/timer.h"

#define LOOK_MS 250
#define SAY_MS  3000 /* a restart of the controller is shorter, and not worth a line */

struct outage_notice {
    const struct informer *informer;
    const char *program;
    struct timer *timer;
    int away_ms;
    bool is_said;
};

static void
check_connection(void *arg)
{
    struct outage_notice *o = arg;

    if (!informer_is_disconnected(o->informer)) {
        if (o->is_said)
            fprintf(stderr, "%s: the controller answers again\n", o->program);
        o->is_said = false;
        o->away_ms = 0;
        return;
    }
    o->away_ms += LOOK_MS;
    if (o->is_said || o->away_ms < SAY_MS)
        return;
    o->is_said = true;
    fprintf(stderr, "%s: the controller does not answer; waiting until it does\n", o->program);
}

struct outage_notice *
outage_notice_new(struct loop *loop, const struct informer *informer, const char *program)
{
    struct outage_notice *o = xnew(struct outage_notice);

    o->informer = informer;
    o->program = program;
    o->timer = timer_new(loop, check_connection, o);
    timer_repeat(o->timer, LOOK_MS);
    return o;
}

void
outage_notice_free(struct outage_notice *o)
{
    if (o == NULL)
        return;
    timer_free(o->timer);
    free(o);
}
