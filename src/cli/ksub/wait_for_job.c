/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/wait_for_job.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/connect/outage_notice.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "lib/loop/loop.h"
#include "lib/loop/sigwatch.h"

struct job_end_wait {
    const char *program;
    struct loop *loop;
    const struct object *first; /* as it was submitted */
    const struct object *ended; /* or NULL */
    struct informer *informer;
    bool has_ended;
    bool is_gone;
    int signal; /* that ended the wait; or 0 */
};

static bool
is_ours(const struct job_end_wait *w, const struct object *object)
{
    return object->meta->uid == NULL || w->first->meta->uid == NULL
           || strcmp(object->meta->uid, w->first->meta->uid) == 0;
}

static void
finish(struct job_end_wait *w)
{
    w->has_ended = true;
    loop_stop(w->loop);
}

static void
job_changed(const struct object *old_object, const struct object *new_object, void *context)
{
    struct job_end_wait *w = context;
    const struct object *object = new_object != NULL ? new_object : old_object;

    if (w->has_ended || !is_ours(w, object))
        return;
    if (job_is_finished(job_of(object))) {
        w->ended = object_ref(object);
        finish(w);
    } else if (new_object == NULL) {
        w->is_gone = true;
        finish(w);
    }
}

/* The job may have been deleted before the first list. */
static void
job_listed(void *context)
{
    struct job_end_wait *w = context;
    const struct meta *meta = w->first->meta;

    if (!w->has_ended && informer_find(w->informer, meta->namespace, meta->name) == NULL) {
        w->is_gone = true;
        finish(w);
    }
}

static void
interrupted(int signal_number, void *context)
{
    struct job_end_wait *w = context;

    w->signal = signal_number;
    loop_stop(w->loop);
}

/* A shell has background commands ignore SIGINT, and they still have to. NULL:
 * the signal is ignored.
 */
static struct sigwatch *
watch_signal(int signal_number, struct job_end_wait *w)
{
    struct sigaction action;

    if (sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
        return NULL;
    return sigwatch_new(w->loop, signal_number, interrupted, w);
}

/* The shell sees that the signal has ended ksub, so that Ctrl-C ends a loop of a
 * script, too.
 */
static void
end_by_signal(const struct job_end_wait *w)
{
    const int64_t id = job_of(w->first)->status.id;
    sigset_t set;

    fprintf(stderr,
            "%s: job %" PRId64 " goes on; 'kctl cancel %" PRId64 "' cancels it, 'kctl jobs' shows "
            "it\n",
            w->program, id, id);
    sigemptyset(&set);
    sigaddset(&set, w->signal);
    signal(w->signal, SIG_DFL);
    raise(w->signal);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int
wait_for_job(const char *program, struct client *client, const struct object *job,
             const struct object **ret_ended, struct error *err)
{
    CLEANUP_FREE char *selector = xasprintf("metadata.name=%s", job->meta->name);
    struct job_end_wait w = {.program = program, .loop = client->loop, .first = job};
    struct sigwatch *interrupts, *terminations;
    struct outage_notice *outage;
    const struct informer_settings settings = {
        .client = client,
        .kind = &job_kind,
        .namespace = job->meta->namespace,
        .field_selector = selector,
        .changed = job_changed,
        .synced = job_listed,
        .context = &w,
    };

    interrupts = watch_signal(SIGINT, &w);
    terminations = watch_signal(SIGTERM, &w);
    w.informer = informer_new(&settings);
    outage = outage_notice_new(client->loop, w.informer, program);
    loop_run(client->loop);
    outage_notice_free(outage);
    informer_free(w.informer);
    sigwatch_free(interrupts);
    sigwatch_free(terminations);
    if (w.signal != 0)
        end_by_signal(&w);
    if (w.is_gone)
        return error_set(err, -ECANCELED, "job %" PRId64 " was deleted", job_of(job)->status.id);
    *ret_ended = w.ended;
    return 0;
}
