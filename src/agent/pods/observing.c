/* SPDX-License-Identifier: Apache-2.0 */
/* observing.c - where a stay's processes are found to be, beside where they
 * were put: reported when it changes, and said aloud when it is wrong
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cgroup/cgroup.h"
#include "agent/numa/page_nodes.h"
#include "agent/pods/commons.h"
#include "agent/pods/confines.h"
#include "agent/pods/ground.h"
#include "agent/pods/observation.h"
#include "agent/pods/stay_state.h"
#include "agent/shepherd/live.h"
#include "lib/api/node/allocation.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/announcer.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define FIRST_MS      1000
#define PERCENT_STEPS 5 /* less of a change is not worth a write */

struct observing {
    struct stay *stay;
    struct observation_wish wish;
    char *cgroup;
    bool found;
    struct observation seen;
    unsigned turn; /* of the commons when the look began */
};

/* ---- What the pod should have ---- */

static struct bitset
set_of(const char *list)
{
    struct bitset set = {0};

    if (list != NULL)
        (void)cpuset_parse(list, &set, NULL);
    return set;
}

/* A pod that shares CPUs is held against what is shared, unless that has changed
 * while it was looked at.
 */
static struct bitset
shared_cpus(const struct stay *s, unsigned turn)
{
    unsigned now;

    if (s->s.commons == NULL || s->cgroup == NULL
        || !commons_is_settled(s->s.commons, &now) || now != turn)
        return (struct bitset){0};
    return commons_cpus(s->s.commons);
}

static struct observation_law
law_of(const struct stay *s, unsigned turn)
{
    const struct pod *pod = pod_of(s->pod);
    const struct allocation *a = pod->status.allocation;
    struct observation_law law = {0};

    if (a == NULL || s->s.ground->is_virtual)
        return law;
    law.cpus = a->cpus != NULL ? set_of(a->cpus) : shared_cpus(s, turn);
    if (pod_is_memory_bound(pod))
        law.memory_nodes = set_of(a->memory_nodes);
    return law;
}

/* ---- What is said ---- */

const char *
observing_broken(const struct stay *s, const char **ret_words)
{
    if (s->lost != NULL) {
        *ret_words = s->lost;
        return "ResourcesLost";
    }
    if (s->astray != NULL) {
        *ret_words = s->astray;
        return "Misplaced";
    }
    if (s->end_reason != NULL
        && (strcmp(s->end_reason, BROKEN_OVERLAP) == 0
            || strcmp(s->end_reason, BROKEN_NOT_HERE) == 0)) {
        *ret_words = s->end_message;
        return s->end_reason;
    }
    return NULL;
}

static void
say(const struct stay *s,
    enum announcement_kind kind,
    const char *reason,
    const char *words)
{
    if (kind == ANNOUNCE_WARNING)
        log_warning("pod '%s/%s': %s",
                    s->pod->meta->namespace,
                    s->pod->meta->name,
                    words);
    else
        log_info("pod '%s/%s': %s",
                 s->pod->meta->namespace,
                 s->pod->meta->name,
                 words);
    announcer_say(s->s.ground->announcer, s->pod, kind, reason, words);
}

/* Sets one of the two sentences; whether it is another than before. */
static bool
set_words(char **place, const struct strbuf *words)
{
    bool same = words->length == 0
                    ? *place == NULL
                    : *place != NULL && strcmp(*place, words->text) == 0;

    if (same)
        return false;
    free(*place);
    *place = words->length > 0 ? xstrdup(words->text) : NULL;
    return true;
}

static bool
note_astray(struct stay *s, const struct observation *seen, unsigned turn)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const struct observation_law law = law_of(s, turn);
    bool was_wrong = s->astray != NULL;

    (void)observation_judge(seen, &law, &words);
    if (!set_words(&s->astray, &words))
        return false;
    if (s->astray != NULL)
        say(s, ANNOUNCE_WARNING, "Misplaced", s->astray);
    else if (was_wrong)
        say(s, ANNOUNCE_NORMAL, "Placed", "is where it was put again");
    return true;
}

static bool
is_news(const struct stay *s, const struct observation *seen)
{
    int was, is = observation_percent(seen);

    if (s->seen == NULL || !bitset_equals(&s->seen->cpus, &seen->cpus)
        || !bitset_equals(&s->seen->memory_nodes, &seen->memory_nodes))
        return true;
    was = observation_percent(s->seen);
    return was != is
           && (was < 0 || is < 0 || was == 100 || is == 100
               || abs(was - is) >= PERCENT_STEPS);
}

static void
take_note(struct stay *s, const struct observation *seen, unsigned turn)
{
    bool news = is_news(s, seen);

    if (note_astray(s, seen, turn))
        news = true;
    if (!news)
        return;
    free(s->seen);
    s->seen = xnew(struct observation);
    *s->seen = *seen;
    s->seen_at_us = clock_real_us(s->s.ground->clock);
    if (s->wanted == TOLD_RUNNING)
        telling_again(s);
}

/* ---- Looking ---- */

static void
look(void *arg)
{
    struct observing *o = arg;

    o->found = observation_take(&o->wish, &o->seen);
}

static void
looked(void *arg)
{
    struct observing *o = arg;
    struct stay *s = o->stay;

    if (stay_come_back(s)) {
        if (s->phase == STAY_RUNNING)
            timer_start(s->observe_timer, s->s.ground->observe_ms);
        if (s->phase == STAY_RUNNING && o->found)
            take_note(s, &o->seen, o->turn);
        stay_check_over(s);
    }
    free(o->cgroup);
    free(o);
}

void
observing_now(void *context)
{
    struct stay *s = context;
    const struct allocation *a = pod_of(s->pod)->status.allocation;
    CLEANUP_STRBUF struct strbuf cgroup = STRBUF_INIT;
    struct observing *o;

    if (s->phase != STAY_RUNNING)
        return;
    o = xnew(struct observing);
    o->stay = s;
    /* What is being changed may be seen as it was: such a look is of an
     * earlier turn.
     */
    if (s->s.commons != NULL && !commons_is_settled(s->s.commons, &o->turn))
        o->turn--;
    if (s->cgroup != NULL) {
        cgroup_format(s->cgroup, &cgroup);
        o->cgroup = strbuf_take(&cgroup);
    }
    o->wish = (struct observation_wish){
        .proc = "/proc",
        .cgroup = o->cgroup,
        .main = (pid_t)s->live->job_pid,
        .main_start = s->live->job_start,
        .memory_nodes = set_of(a != NULL ? a->memory_nodes : NULL),
    };
    s->busy++;
    workers_submit(s->s.ground->workers, s->s.ground->loop, look, looked, o);
}

/* One that was taken up is audited at once; a new one is given the time to be
 * over before anybody looks.
 */
void
observing_begin(struct stay *s)
{
    int64_t every_ms = s->s.ground->observe_ms;

    if (s->resumed)
        stay_recheck(s);
    if (every_ms <= 0)
        return;
    timer_start(s->observe_timer,
                s->resumed            ? 0
                : every_ms < FIRST_MS ? every_ms
                                      : FIRST_MS);
}

/* ---- What is not there any more ---- */

static int
move_memory(pid_t pid, void *nodes)
{
    struct error err = {0};
    int r = page_nodes_move(pid, nodes, &err);

    if (r < 0 && r != -ESRCH)
        log_info("%s; it stays where it is", err.text);
    return 0;
}

/* cgroup v1 forgets a CPU that goes offline: its cpusets do not have it when it
 * is back. Memory that was allocated meanwhile lies on other NUMA nodes, and
 * no cgroup of v1 moves it without memory_migrate.
 */
struct restoring {
    char *cgroup, *cpus, *memory_nodes;
    bool moves_memory;
};

static void
restore_work(void *arg)
{
    struct restoring *r = arg;
    CLEANUP(cgroup_freep) struct cgroup *c = NULL;
    struct bitset nodes;
    struct error err = {0};

    if (cgroup_parse(r->cgroup, &c, &err) == 0
        && cgroup_set_cpus(c, r->cpus, r->memory_nodes, &err) < 0
        && cgroup_is_empty(c) == 0)
        log_warning("giving a pod back what it had: %s", err.text);
    nodes = set_of(r->memory_nodes);
    if (c != NULL && r->moves_memory && !bitset_is_empty(&nodes))
        (void)cgroup_visit_processes(c, move_memory, &nodes);
    free(r->cgroup);
    free(r->cpus);
    free(r->memory_nodes);
    free(r);
}

static void
restore(const struct stay *s, const struct allocation *a)
{
    CLEANUP_STRBUF struct strbuf cgroup = STRBUF_INIT;
    struct restoring *r;

    if (s->cgroup == NULL || s->s.ground->is_virtual || a->cpus == NULL)
        return;
    cgroup_format(s->cgroup, &cgroup);
    r = xnew(struct restoring);
    r->cgroup = strbuf_take(&cgroup);
    r->cpus = xstrdup(a->cpus);
    r->memory_nodes = confines_memory_nodes(s->s.ground->topology, s->pod);
    r->moves_memory = pod_is_memory_bound(pod_of(s->pod));
    workers_submit(s->s.ground->workers, NULL, restore_work, NULL, r);
}

void
stay_recheck(struct stay *s)
{
    const struct allocation *a = pod_of(s->pod)->status.allocation;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    bool had_lost = s->lost != NULL;

    if (a == NULL || !stay_holds_cores(s))
        return;
    (void)allocation_is_within(a, s->s.ground->topology, &words);
    (void)allocation_is_backed(a,
                               s->s.ground->topology,
                               s->s.given,
                               s->s.context,
                               &words);
    if (words.length > 0)
        strbuf_add_text(&words, ": the node does not have them any more");
    if (!set_words(&s->lost, &words))
        return;
    if (s->lost != NULL)
        say(s, ANNOUNCE_WARNING, "ResourcesLost", s->lost);
    else if (had_lost) {
        restore(s, a);
        say(s, ANNOUNCE_NORMAL, "ResourcesBack", "has all it was given again");
    }
    if (s->wanted == TOLD_RUNNING)
        telling_again(s);
    if (s->phase == STAY_RUNNING && timer_is_running(s->observe_timer))
        timer_start(s->observe_timer, 0);
}

bool
stay_has_lost(const struct stay *s)
{
    return s->lost != NULL;
}
