/* SPDX-License-Identifier: Apache-2.0 */
/* placement_watch.c - compares the placement of a run's processes with the
 * allocation; reports changes, and records an event when it is wrong
 *
 * Nothing that goes wrong here ends a job: a user may bind his own processes worse than
 * Kiln did, a CPU may go offline, and the job goes on. But whoever reads the pod sees that what was
 * promised is not so. A look costs a read of /proc for each process, so it is
 * taken now and then, and small changes are not reported.
 */
#include "agent/pods/placement_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cgroup/cgroup.h"
#include "agent/numa/page_nodes.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/observation.h"
#include "agent/pods/pod_cgroup.h"
#include "agent/pods/pod_run.h"
#include "agent/pods/shared_pool.h"
#include "lib/api/cluster/event_reasons.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define FIRST_MS      1000
#define PERCENT_STEPS 5 /* a smaller change is not reported */

struct placement_watch {
    struct placement_watch_settings s;
    struct placement_watch_process process; /* while it runs */
    bool is_running;
    struct timer *timer;
    struct observation *seen; /* the latest that was reported */
    int64_t seen_at_us;
    bool was_restored; /* a worker was asked to set its CPUs again */
    /* Sentences about what is wrong, or NULL: where its processes run, and what the machine no
     * longer has of its allocation.
     */
    char *misplaced, *lost;
};

struct placement_check {
    struct placement_watch *watch;
    struct pod_run *run;
    struct observation_request request;
    char *cgroup;
    bool found;
    struct observation seen;
    unsigned turn; /* of the shared pool when the check began */
};

/* ---- The expected placement ---- */

static struct bitset
parse_set(const char *list)
{
    struct bitset set = {0};

    if (list != NULL)
        (void)cpuset_parse(list, &set, NULL);
    return set;
}

/* A pod that shares CPUs is compared with the shared CPUs, unless these have
 * changed during the check.
 */
static struct bitset
shared_cpus(const struct placement_watch *s, unsigned turn)
{
    unsigned now;

    if (s->s.shared_pool == NULL || s->process.cgroup == NULL
        || !shared_pool_is_settled(s->s.shared_pool, &now) || now != turn)
        return (struct bitset){0};
    return shared_pool_cpus(s->s.shared_pool);
}

static struct placement_expectation
find_expectation(const struct placement_watch *s, unsigned turn)
{
    const struct pod *pod = pod_of(pod_run_pod(s->s.run));
    const struct allocation *a = pod->status.allocation;
    struct placement_expectation expected = {0};

    if (a == NULL || s->s.agent->is_virtual)
        return expected;
    expected.cpus = a->cpus != NULL ? parse_set(a->cpus) : shared_cpus(s, turn);
    if (pod_is_memory_bound(pod))
        expected.memory_nodes = parse_set(a->memory_nodes);
    return expected;
}

/* ---- Reports ---- */

const char *
placement_watch_find_fault(const struct placement_watch *s, const char **ret_words)
{
    if (s->lost != NULL) {
        *ret_words = s->lost;
        return REASON_RESOURCES_LOST;
    }
    if (s->misplaced != NULL) {
        *ret_words = s->misplaced;
        return REASON_MISPLACED;
    }
    return NULL;
}

const struct observation *
placement_watch_seen(const struct placement_watch *s, int64_t *ret_at_us)
{
    *ret_at_us = s->seen_at_us;
    return s->seen;
}

bool
placement_watch_has_lost(const struct placement_watch *s)
{
    return s->lost != NULL;
}

bool
placement_watch_was_restored(const struct placement_watch *s)
{
    return s->was_restored;
}

static void
announce(const struct placement_watch *s, enum recorded_event_kind kind, const char *reason,
         const char *words)
{
    const struct meta *meta = pod_run_pod(s->s.run)->meta;

    if (kind == RECORD_WARNING)
        log_warning("pod '%s/%s': %s", meta->namespace, meta->name, words);
    else
        log_info("pod '%s/%s': %s", meta->namespace, meta->name, words);
    pod_run_record(s->s.run, kind, reason, words);
}

/* Sets one of the two sentences; returns whether it has changed. */
static bool
set_sentence(char **place, const struct strbuf *words)
{
    bool same =
        words->length == 0 ? *place == NULL : *place != NULL && strcmp(*place, words->text) == 0;

    if (same)
        return false;
    free(*place);
    *place = words->length > 0 ? xstrdup(words->text) : NULL;
    return true;
}

static bool
update_misplaced(struct placement_watch *s, const struct observation *seen, unsigned turn)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const struct placement_expectation expected = find_expectation(s, turn);
    bool was_wrong = s->misplaced != NULL;

    (void)observation_check(seen, &expected, &words);
    if (!set_sentence(&s->misplaced, &words))
        return false;
    if (s->misplaced != NULL)
        announce(s, RECORD_WARNING, EVENT_MISPLACED, s->misplaced);
    else if (was_wrong)
        announce(s, RECORD_NORMAL, EVENT_PLACED, "is back on its own CPUs and memory");
    return true;
}

static bool
has_changed(const struct placement_watch *s, const struct observation *seen)
{
    int was, is = observation_percent(seen);

    if (s->seen == NULL || !bitset_equals(&s->seen->cpus, &seen->cpus)
        || !bitset_equals(&s->seen->memory_nodes, &seen->memory_nodes))
        return true;
    was = observation_percent(s->seen);
    return was != is
           && (was < 0 || is < 0 || was == 100 || is == 100 || abs(was - is) >= PERCENT_STEPS);
}

static void
take_observation(struct placement_watch *s, const struct observation *seen, unsigned turn)
{
    bool news = has_changed(s, seen);

    if (update_misplaced(s, seen, turn))
        news = true;
    if (!news)
        return;
    free(s->seen);
    s->seen = xnew(struct observation);
    *s->seen = *seen;
    s->seen_at_us = clock_real_us(s->s.agent->clock);
    s->s.changed(s->s.run);
}

/* ---- Checks ---- */

static void
observe_work(void *arg)
{
    struct placement_check *o = arg;

    o->found = observation_take(&o->request, &o->seen);
}

static void
observe_done(void *arg)
{
    struct placement_check *o = arg;
    struct placement_watch *s = o->watch;

    if (pod_run_end_work(o->run)) {
        if (s->is_running)
            timer_start(s->timer, s->s.agent->observe_ms);
        if (s->is_running && o->found)
            take_observation(s, &o->seen, o->turn);
        pod_run_check_over(o->run);
    }
    free(o->cgroup);
    free(o);
}

static void
observe(void *watch)
{
    struct placement_watch *s = watch;
    const struct allocation *a = pod_of(pod_run_pod(s->s.run))->status.allocation;
    CLEANUP_STRBUF struct strbuf cgroup = STRBUF_INIT;
    struct placement_check *o;

    if (!s->is_running)
        return;
    o = xnew(struct placement_check);
    o->watch = s;
    o->run = s->s.run;
    /* While a change of the shared pool is under way, the check may still see
     * the former CPUs, so it counts for the turn before.
     */
    if (s->s.shared_pool != NULL && !shared_pool_is_settled(s->s.shared_pool, &o->turn))
        o->turn--;
    if (s->process.cgroup != NULL) {
        cgroup_format(s->process.cgroup, &cgroup);
        o->cgroup = strbuf_take(&cgroup);
    }
    o->request = (struct observation_request){
        .proc = "/proc",
        .cgroup = o->cgroup,
        .main = s->process.pid,
        .main_start = s->process.start,
        .memory_nodes = parse_set(a != NULL ? a->memory_nodes : NULL),
    };
    pod_run_begin_work(s->s.run);
    workers_submit(s->s.agent->workers, s->s.agent->loop, observe_work, observe_done, o);
}

struct placement_watch *
placement_watch_new(const struct placement_watch_settings *settings)
{
    struct placement_watch *s = xnew(struct placement_watch);

    s->s = *settings;
    s->timer = timer_new(settings->agent->loop, observe, s);
    return s;
}

void
placement_watch_free(struct placement_watch *s)
{
    if (s == NULL)
        return;
    timer_free(s->timer);
    free(s->seen);
    free(s->misplaced);
    free(s->lost);
    free(s);
}

/* A resumed run is checked at once; a new one later, because a short job may be
 * over by then.
 */
void
placement_watch_begin(struct placement_watch *s, const struct placement_watch_process *process,
                      bool is_resumed)
{
    int64_t every_ms = s->s.agent->observe_ms;

    s->process = *process;
    s->is_running = true;
    if (is_resumed)
        placement_watch_recheck(s, process->cgroup);
    if (every_ms <= 0)
        return;
    timer_start(s->timer, is_resumed ? 0 : every_ms < FIRST_MS ? every_ms : FIRST_MS);
}

void
placement_watch_end(struct placement_watch *s)
{
    s->is_running = false;
    timer_stop(s->timer);
}

/* ---- Lost resources ---- */

static int
move_memory(pid_t pid, void *nodes)
{
    struct error err = {0};
    int r = page_nodes_move(pid, nodes, &err);

    if (r < 0 && r != -ESRCH)
        log_info("%s; it stays there", err.text);
    return 0;
}

/* In cgroup v1, a cpuset loses a CPU that goes offline, also for the time after
 * it is online again. Memory that was allocated meanwhile is on other NUMA
 * nodes, and v1 does not move it without memory_migrate.
 */
struct restore_call {
    char *cgroup, *cpus, *memory_nodes;
    bool moves_memory;
};

static void
restore_work(void *arg)
{
    struct restore_call *r = arg;
    CLEANUP(cgroup_freep) struct cgroup *c = NULL;
    struct bitset nodes;
    struct error err = {0};

    if (cgroup_parse(r->cgroup, &c, &err) == 0
        && cgroup_set_cpus(c, r->cpus, r->memory_nodes, &err) < 0 && cgroup_is_empty(c) == 0)
        log_warning("binding a pod to its allocation again: %s", err.text);
    nodes = parse_set(r->memory_nodes);
    if (c != NULL && r->moves_memory && !bitset_is_empty(&nodes))
        (void)cgroup_visit_processes(c, move_memory, &nodes);
    free(r->cgroup);
    free(r->cpus);
    free(r->memory_nodes);
    free(r);
}

static void
restore(struct placement_watch *s, const struct cgroup *in, const struct object *pod)
{
    const struct allocation *a = pod_of(pod)->status.allocation;
    CLEANUP_STRBUF struct strbuf cgroup = STRBUF_INIT;
    struct restore_call *r;

    if (in == NULL || s->s.agent->is_virtual || a->cpus == NULL)
        return;
    s->was_restored = true;
    cgroup_format(in, &cgroup);
    r = xnew(struct restore_call);
    r->cgroup = strbuf_take(&cgroup);
    r->cpus = xstrdup(a->cpus);
    r->memory_nodes = pod_cgroup_memory_nodes(s->s.agent->topology, pod);
    r->moves_memory = pod_is_memory_bound(pod_of(pod));
    workers_submit(s->s.agent->workers, NULL, restore_work, NULL, r);
}

void
placement_watch_recheck(struct placement_watch *s, const struct cgroup *cgroup)
{
    const struct object *pod = pod_run_pod(s->s.run);
    const struct allocation *a = pod_of(pod)->status.allocation;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    bool had_lost = s->lost != NULL;

    if (a == NULL || !pod_run_holds_cores(s->s.run))
        return;
    (void)allocation_is_within(a, s->s.agent->topology, &words);
    (void)allocation_is_backed(a, s->s.agent->topology, s->s.given, s->s.given_context, &words);
    if (words.length > 0)
        strbuf_add_text(&words, ": the node no longer has them");
    if (!set_sentence(&s->lost, &words))
        return;
    if (s->lost != NULL)
        announce(s, RECORD_WARNING, EVENT_RESOURCES_LOST, s->lost);
    else if (had_lost) {
        restore(s, cgroup, pod);
        announce(s, RECORD_NORMAL, EVENT_RESOURCES_BACK, "has everything it was given again");
    }
    s->s.changed(s->s.run);
    if (s->is_running && timer_is_running(s->timer))
        timer_start(s->timer, 0);
}
