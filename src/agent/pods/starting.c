/* SPDX-License-Identifier: Apache-2.0 */
/* starting.c - from an arrived pod to its shepherd: blobs, then a worker */
#include "agent/cgroup/cgpool.h"
#include "agent/pods/blobs.h"
#include "agent/pods/commons.h"
#include "agent/pods/compose.h"
#include "agent/pods/ground.h"
#include "agent/pods/site.h"
#include "agent/pods/stay_state.h"
#include "agent/volumes/mountings.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/client/announcer.h"
#include "lib/loop/workers.h"

struct starting {
    struct stay *stay;
    const struct blob *script;
    const struct blob *environment;
    struct mount_list *mounts;
    struct site_start start;
    int result;
    struct error err;
};

void
starting_note(const struct stay *s, const char *failure)
{
    const struct ground *g = s->s.ground;

    if (g->note_start != NULL)
        g->note_start(failure, g->start_context);
}

void
starting_fail(struct stay *s, const char *words)
{
    if (s->end_reason == NULL)
        stay_set_end(s, "StartError", words);
    s->is_disruption = true;
    log_warning("pod '%s/%s' cannot be started: %s",
                s->pod->meta->namespace,
                s->pod->meta->name,
                words);
    announcer_say(s->s.ground->announcer,
                  s->pod,
                  ANNOUNCE_WARNING,
                  "StartError",
                  words);
    starting_note(s, words);
}

static void
end_starting(struct starting *st)
{
    blob_release(st->script);
    blob_release(st->environment);
    mount_list_free(st->mounts);
    object_unref(st->start.pod);
    free(st->start.shared_cpus);
    free(st->start.unpartitioned);
    free(st->start.tmp_dir);
    free(st);
}

static void
start_work(void *arg)
{
    struct starting *st = arg;

    st->result = site_start(&st->start, &st->err);
}

static void
start_done(void *arg)
{
    struct starting *st = arg;
    struct stay *s = st->stay;
    struct error err = st->err;
    int result = st->result;
    bool is_nodes_fault = st->start.is_nodes_fault;

    s->cgroup = st->start.cgroup;
    s->pidfd = st->start.pidfd;
    if (st->start.tmp_left)
        tmp_dirs_sweep_soon(s->s.ground->tmp_dirs);
    if (st->start.unpartitioned != NULL)
        log_warning("pod '%s/%s': %s",
                    s->pod->meta->namespace,
                    s->pod->meta->name,
                    st->start.unpartitioned);
    end_starting(st);
    if (!stay_come_back(s))
        return;
    if (result < 0) {
        if (is_nodes_fault)
            starting_fail(s, err.text);
        else
            stay_set_end(s, "StartError", err.text);
        stay_move(s, STAY_ENDED);
        cleaning_begin(s);
        return;
    }
    stay_move(s, STAY_LAUNCHED);
    following_begin(s);
}

static char *
list_shared(const struct stay *s)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    struct bitset cpus;

    if (s->s.commons == NULL)
        return NULL;
    cpus = commons_cpus(s->s.commons);
    cpuset_format(&cpus, &list);
    return strbuf_take(&list);
}

static void
start_on_worker(struct starting *st)
{
    struct stay *s = st->stay;
    const struct ground *g = s->s.ground;

    if (s->pod->meta->deleted_at_us != 0 || s->vanished || s->overruled) {
        end_starting(st);
        if (stay_come_back(s))
            stay_be_done_silently(s);
        return;
    }
    st->start.ground = g;
    st->start.topology = g->topology;
    st->start.shared_cpus = list_shared(s);
    st->start.pod = object_ref(s->pod);
    st->start.pidfd = -1;
    if (st->script != NULL) {
        st->start.script = blob_bytes(st->script);
        st->start.script_length = blob_length(st->script);
    }
    if (st->environment != NULL) {
        st->start.environment = blob_bytes(st->environment);
        st->start.environment_length = blob_length(st->environment);
    }
    st->start.mounts = st->mounts;
    if (g->pool != NULL)
        st->start.cgroup = cgpool_take(g->pool);
    workers_submit(g->workers, g->loop, start_work, start_done, st);
}

static void
fail_before(struct starting *st, const char *text)
{
    struct stay *s = st->stay;

    end_starting(st);
    if (stay_come_back(s)) {
        stay_set_end(s, "StartError", text);
        stay_be_done(s);
    }
}

static void
fail_to_fetch(struct starting *st, const char *what, const struct error *err)
{
    CLEANUP_FREE char *text =
        xasprintf("cannot fetch the job's %s: %s", what, err->text);

    fail_before(st, text);
}

static void
on_volumes(struct mount_list *list, const struct error *err, void *context)
{
    struct starting *st = context;

    st->mounts = list;
    if (err != NULL)
        fail_before(st, err->text);
    else
        start_on_worker(st);
}

static void
look_up_volumes(struct starting *st)
{
    struct stay *s = st->stay;

    mountings_get(s->s.mountings, s->pod, on_volumes, st);
}

static void
on_environment(const struct blob *blob, const struct error *err, void *context)
{
    struct starting *st = context;

    st->environment = blob;
    if (blob == NULL)
        fail_to_fetch(st, "environment", err);
    else
        look_up_volumes(st);
}

static void
fetch_environment(struct starting *st)
{
    struct stay *s = st->stay;
    struct compose_needs needs;

    compose_needs(s->pod, &needs);
    if (needs.environment == NULL)
        look_up_volumes(st);
    else
        blobs_get(s->s.blobs,
                  s->pod->meta->namespace,
                  needs.job,
                  "environment",
                  needs.environment,
                  on_environment,
                  st);
}

static void
on_script(const struct blob *blob, const struct error *err, void *context)
{
    struct starting *st = context;

    st->script = blob;
    if (blob == NULL)
        fail_to_fetch(st, "script", err);
    else
        fetch_environment(st);
}

void
starting_begin(struct stay *s)
{
    struct starting *st;
    struct compose_needs needs;

    stay_move(s, STAY_PREPARING);
    st = xnew(struct starting);
    st->stay = s;
    s->busy++;
    compose_needs(s->pod, &needs);
    if (needs.script == NULL)
        fetch_environment(st);
    else
        blobs_get(s->s.blobs,
                  s->pod->meta->namespace,
                  needs.job,
                  "script",
                  needs.script,
                  on_script,
                  st);
}
