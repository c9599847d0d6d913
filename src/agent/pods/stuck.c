/* SPDX-License-Identifier: Apache-2.0 */
/* stuck.c - processes that were killed and do not go: they wait for a device or
 * a file server, most often. Their cores stay taken; people are told.
 */
#include <string.h>

#include "agent/cgroup/cgroup.h"
#include "agent/pods/ground.h"
#include "agent/pods/stay_state.h"
#include "agent/shepherd/live.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/announcer.h"
#include "lib/loop/timer.h"

#define AGAIN_MS 500

static void
say(struct stay *s, unsigned n, pid_t one)
{
    const struct meta *meta = s->pod->meta;
    CLEANUP_FREE char *path = xasprintf("/proc/%ld/comm", (long)one);
    CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;
    CLEANUP_FREE char *words = NULL;

    if (file_read(path, 64, &name, NULL) == 0)
        strbuf_truncate(&name, strcspn(name.text, "\n"));
    words = xasprintf("%u of its processes cannot be killed, process %ld (%s) "
                      "among them; its cores are nobody else's until they are "
                      "gone",
                      n,
                      (long)one,
                      name.length > 0 ? name.text : "?");
    log_warning("pod '%s/%s': %s", meta->namespace, meta->name, words);
    announcer_say(s->s.ground->announcer,
                  s->pod,
                  ANNOUNCE_WARNING,
                  "Unkillable",
                  words);
}

void
stuck_note(struct stay *s, unsigned n, pid_t one)
{
    int64_t now = clock_monotonic_us(s->s.ground->clock);

    if (s->killed_at_us == 0)
        s->killed_at_us = now;
    if (s->is_stuck || n == 0 || now - s->killed_at_us < STUCK_MS * 1000)
        return;
    s->is_stuck = true;
    say(s, n, one);
    if (s->s.holding_changed != NULL)
        s->s.holding_changed(s, s->s.context);
}

struct census {
    unsigned n;
    pid_t one;
};

static int
count_one(pid_t pid, void *context)
{
    struct census *c = context;

    c->n++;
    c->one = pid;
    return 0;
}

void
stuck_look(struct stay *s)
{
    struct census c = {0};

    if (s->cgroup != NULL)
        (void)cgroup_visit_processes(s->cgroup, count_one, &c);
    else if (s->live != NULL && s->live->job_pid > 0)
        c = (struct census){1, (pid_t)s->live->job_pid};
    stuck_note(s, c.n, c.one);
    if (c.n > 0 && !s->is_stuck)
        timer_start(s->deadline_timer, AGAIN_MS);
}
