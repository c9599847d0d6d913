/* SPDX-License-Identifier: Apache-2.0 */
/* unkillable.c - processes that were killed and do not end, mostly because they
 * wait for a device or a file server. Their cores stay allocated; an event
 * reports them.
 */
#include <string.h>

#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_run_state.h"
#include "agent/shepherd/files/live_record.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/loop/timer.h"

#define AGAIN_MS 500

static void
announce(struct pod_run *s, unsigned n, pid_t one)
{
    const struct meta *meta = s->pod->meta;
    CLEANUP_FREE char *path = xasprintf("/proc/%ld/comm", (long)one);
    CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;
    CLEANUP_FREE char *words = NULL;

    if (file_read(path, 64, &name, NULL) == 0)
        strbuf_truncate(&name, strcspn(name.text, "\n"));
    words = xasprintf("%u of its processes cannot be killed, among them "
                      "process %ld (%s); its cores stay reserved until they "
                      "are gone",
                      n, (long)one, name.length > 0 ? name.text : "?");
    log_warning("pod '%s/%s': %s", meta->namespace, meta->name, words);
    pod_run_record(s, RECORD_WARNING, EVENT_UNKILLABLE, words);
}

void
unkillable_note_kill(struct pod_run *s, int64_t now_us)
{
    s->killed_at_us = now_us;
    if (s->kill_state == POD_RUN_NOT_KILLED)
        pod_run_set_kill_state(s, POD_RUN_KILLED);
}

void
unkillable_note(struct pod_run *s, unsigned n, pid_t one)
{
    int64_t now = clock_monotonic_us(s->s.agent->clock);

    if (s->kill_state == POD_RUN_NOT_KILLED)
        unkillable_note_kill(s, now);
    if (s->kill_state == POD_RUN_UNKILLABLE || n == 0
        || now - s->killed_at_us < UNKILLABLE_MS * 1000)
        return;
    pod_run_set_kill_state(s, POD_RUN_UNKILLABLE);
    announce(s, n, one);
    if (s->s.holding_changed != NULL)
        s->s.holding_changed(s, s->s.context);
}

struct survivors {
    unsigned n;
    pid_t one;
};

static int
count_one(pid_t pid, void *context)
{
    struct survivors *c = context;

    c->n++;
    c->one = pid;
    return 0;
}

void
unkillable_check(struct pod_run *s)
{
    struct survivors c = {0};

    if (s->cgroup != NULL)
        (void)cgroup_visit_processes(s->cgroup, count_one, &c);
    else if (s->live != NULL && s->live->job_pid > 0)
        c = (struct survivors){1, (pid_t)s->live->job_pid};
    unkillable_note(s, c.n, c.one);
    if (c.n > 0 && s->kill_state != POD_RUN_UNKILLABLE)
        timer_start(s->deadline_timer, AGAIN_MS);
}
