/* SPDX-License-Identifier: Apache-2.0 */
/* shared_pool.c - keeps the pods without CPUs of their own off the CPUs of the others
 *
 * The set changes with each pod that comes or goes, and each cgroup costs a write that may take
 * milliseconds, so a worker does one change after the other, and skips those that were overtaken.
 * A check of the placement must not call a pod misplaced because it read the set of a
 * moment ago: turns say which set was meant.
 */
#include "agent/pods/shared_pool.h"

#include <stdlib.h>

#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/pod_run.h"
#include "lib/api/node/allocation.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

struct shared_pool {
    const struct agent_context *agent;
    shared_pool_visit_fn *visit;
    void *context;
    struct timer *timer;
    unsigned turn;
    bool is_busy, is_freed;
    bool is_stale; /* a change since the last update began */
};

/* One update, on a worker: the texts of cgroup_format of the cgroups that share
 * the CPUs.
 */
struct pool_update {
    struct shared_pool *shared_pool;
    char *cpus;
    char **cgroups;
    size_t n, capacity;
    struct error err;
};

static const struct allocation *
allocation_of(const struct pod_run *run)
{
    return pod_of(pod_run_pod(run))->status.allocation;
}

static void
remove_list(struct bitset *cpus, const char *list)
{
    struct bitset own;

    if (list != NULL && cpuset_parse(list, &own, NULL) == 0)
        bitset_and_not(cpus, &own);
}

static void
remove_held_cpus(const struct pod_run *run, void *arg)
{
    const struct allocation *a = allocation_of(run);

    if (a == NULL || a->cpus == NULL || !pod_run_holds_cores(run))
        return;
    remove_list(arg, a->cpus);
    remove_list(arg, a->withheld);
}

struct bitset
shared_pool_cpus(const struct shared_pool *c)
{
    struct bitset cpus = c->agent->topology->pus;

    bitset_and_not(&cpus, &c->agent->topology->isolated);
    c->visit(remove_held_cpus, &cpus, c->context);
    return bitset_is_empty(&cpus) ? c->agent->topology->pus : cpus;
}

static void
add_sharer(const struct pod_run *run, void *arg)
{
    struct pool_update *t = arg;
    const struct allocation *a = allocation_of(run);
    CLEANUP_STRBUF struct strbuf cgroup = STRBUF_INIT;

    if (a == NULL || a->cpus != NULL || !pod_run_holds_cores(run)
        || !pod_run_format_cgroup(run, &cgroup))
        return;
    xgrow(t->cgroups, t->n, t->capacity);
    t->cgroups[t->n++] = strbuf_take(&cgroup);
}

/* A cgroup that was removed meanwhile is no error. */
static void
update_work(void *arg)
{
    struct pool_update *t = arg;

    for (size_t i = 0; i < t->n; i++) {
        CLEANUP(cgroup_freep) struct cgroup *c = NULL;
        struct error err = {0};

        if (cgroup_parse(t->cgroups[i], &c, &err) == 0
            && cgroup_set_cpus(c, t->cpus, NULL, &err) < 0 && cgroup_is_empty(c) == 0)
            t->err = err;
    }
}

static void
update_done(void *arg)
{
    struct pool_update *t = arg;
    struct shared_pool *c = t->shared_pool;

    if (t->err.text[0] != '\0')
        log_warning("keeping pods off CPUs that belong to others: %s", t->err.text);
    c->is_busy = false;
    if (c->is_freed)
        free(c);
    else if (c->is_stale)
        timer_start(c->timer, 0);
    for (size_t i = 0; i < t->n; i++)
        free(t->cgroups[i]);
    free(t->cgroups);
    free(t->cpus);
    free(t);
}

static void
start_update(void *context)
{
    struct shared_pool *c = context;
    struct bitset cpus;
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    struct pool_update *t;

    if (c->is_busy)
        return;
    c->is_stale = false;
    t = xnew(struct pool_update);
    c->visit(add_sharer, t, c->context);
    if (t->n == 0) {
        free(t);
        return;
    }
    cpus = shared_pool_cpus(c);
    cpuset_format(&cpus, &list);
    t->shared_pool = c;
    t->cpus = strbuf_take(&list);
    c->is_busy = true;
    workers_submit(c->agent->workers, c->agent->loop, update_work, update_done, t);
}

void
shared_pool_update(struct shared_pool *c)
{
    const struct agent_context *agent = c->agent;

    if (agent->cgroups == NULL || agent->is_virtual || !cgroot_ability(agent->cgroups)->cpuset)
        return;
    c->turn++;
    c->is_stale = true;
    if (!c->is_busy)
        timer_start(c->timer, 0);
}

bool
shared_pool_is_settled(const struct shared_pool *c, unsigned *ret_turn)
{
    *ret_turn = c->turn;
    return !c->is_busy && !c->is_stale;
}

struct shared_pool *
shared_pool_new(const struct agent_context *agent, shared_pool_visit_fn *visit, void *context)
{
    struct shared_pool *c = xnew(struct shared_pool);

    c->agent = agent;
    c->visit = visit;
    c->context = context;
    c->timer = timer_new(agent->loop, start_update, c);
    return c;
}

void
shared_pool_free(struct shared_pool *c)
{
    if (c == NULL)
        return;
    timer_free(c->timer);
    c->is_freed = true;
    if (!c->is_busy)
        free(c);
}
