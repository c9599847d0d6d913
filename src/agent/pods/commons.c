/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/commons.h"

#include <stdlib.h>

#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/ground.h"
#include "agent/pods/stay.h"
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

struct commons {
    const struct ground *ground;
    commons_visit_fn *visit;
    void *context;
    struct timer *timer;
    unsigned turn;
    bool is_busy, is_freed;
    bool is_stale; /* something happened since the last count */
};

/* On a worker: the cgroups that share the CPUs, as cgroup_format has them. */
struct telling_all {
    struct commons *commons;
    char *cpus;
    char **cgroups;
    size_t n, capacity;
    struct error err;
};

static const struct allocation *
allocation_of(const struct stay *stay)
{
    return pod_of(stay_pod(stay))->status.allocation;
}

static void
remove_list(struct bitset *cpus, const char *list)
{
    struct bitset own;

    if (list != NULL && cpuset_parse(list, &own, NULL) == 0)
        bitset_and_not(cpus, &own);
}

static void
leave_out(const struct stay *stay, void *arg)
{
    const struct allocation *a = allocation_of(stay);

    if (a == NULL || a->cpus == NULL || !stay_holds_cores(stay))
        return;
    remove_list(arg, a->cpus);
    remove_list(arg, a->withheld);
}

struct bitset
commons_cpus(const struct commons *c)
{
    struct bitset cpus = c->ground->topology->pus;

    bitset_and_not(&cpus, &c->ground->topology->isolated);
    c->visit(leave_out, &cpus, c->context);
    return bitset_is_empty(&cpus) ? c->ground->topology->pus : cpus;
}

static void
add_sharer(const struct stay *stay, void *arg)
{
    struct telling_all *t = arg;
    const struct allocation *a = allocation_of(stay);
    CLEANUP_STRBUF struct strbuf cgroup = STRBUF_INIT;

    if (a == NULL || a->cpus != NULL || !stay_holds_cores(stay)
        || !stay_format_cgroup(stay, &cgroup))
        return;
    xgrow(t->cgroups, t->n, t->capacity);
    t->cgroups[t->n++] = strbuf_take(&cgroup);
}

/* A cgroup that has gone meanwhile is no trouble. */
static void
tell_work(void *arg)
{
    struct telling_all *t = arg;

    for (size_t i = 0; i < t->n; i++) {
        CLEANUP(cgroup_freep) struct cgroup *c = NULL;
        struct error err = {0};

        if (cgroup_parse(t->cgroups[i], &c, &err) == 0
            && cgroup_set_cpus(c, t->cpus, NULL, &err) < 0
            && cgroup_is_empty(c) == 0)
            t->err = err;
    }
}

static void
tell_done(void *arg)
{
    struct telling_all *t = arg;
    struct commons *c = t->commons;

    if (t->err.text[0] != '\0')
        log_warning("keeping pods off the CPUs of others: %s", t->err.text);
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
count(void *context)
{
    struct commons *c = context;
    struct bitset cpus;
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    struct telling_all *t;

    if (c->is_busy)
        return;
    c->is_stale = false;
    t = xnew(struct telling_all);
    c->visit(add_sharer, t, c->context);
    if (t->n == 0) {
        free(t);
        return;
    }
    cpus = commons_cpus(c);
    cpuset_format(&cpus, &list);
    t->commons = c;
    t->cpus = strbuf_take(&list);
    c->is_busy = true;
    workers_submit(c->ground->workers,
                   c->ground->loop,
                   tell_work,
                   tell_done,
                   t);
}

void
commons_recount(struct commons *c)
{
    const struct ground *g = c->ground;

    if (g->cgroups == NULL || g->is_virtual
        || !cgroot_ability(g->cgroups)->cpuset)
        return;
    c->turn++;
    c->is_stale = true;
    if (!c->is_busy)
        timer_start(c->timer, 0);
}

bool
commons_is_settled(const struct commons *c, unsigned *ret_turn)
{
    *ret_turn = c->turn;
    return !c->is_busy && !c->is_stale;
}

struct commons *
commons_new(const struct ground *ground, commons_visit_fn *visit, void *context)
{
    struct commons *c = xnew(struct commons);

    c->ground = ground;
    c->visit = visit;
    c->context = context;
    c->timer = timer_new(ground->loop, count, c);
    return c;
}

void
commons_free(struct commons *c)
{
    if (c == NULL)
        return;
    timer_free(c->timer);
    c->is_freed = true;
    if (!c->is_busy)
        free(c);
}
