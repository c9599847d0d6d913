/* SPDX-License-Identifier: Apache-2.0 */
/* A wait may last for days, longer than any connection, so it is an informer and not a
 * request. A Job that is not in the first list may have ended and been deleted meanwhile; then
 * history knows how.
 */
#include "cli/kctl/client/job_end_wait.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect/outage_notice.h"
#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/client/kctl.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/informer.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"

#define KILLED 137 /* 128 + SIGKILL, as job_exit_code has it */

struct end_watch {
    struct loop *loop;
    struct informer *informer;
    struct arena *arena;
    struct job_end_found found;
    bool has_ended, is_gone, is_late;
};

static void
finish(struct end_watch *w, bool *what)
{
    if (w->has_ended || w->is_gone || w->is_late)
        return;
    *what = true;
    loop_stop(w->loop);
}

static void
job_changed(const struct object *old_object, const struct object *new_object, void *context)
{
    const struct object *object = new_object != NULL ? new_object : old_object;
    const struct job *job = job_of(object);
    struct end_watch *w = context;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    if (w->has_ended || w->is_gone || w->is_late)
        return;
    if (!job_is_finished(job)) {
        if (new_object == NULL)
            finish(w, &w->is_gone);
        return;
    }
    job_reason_describe_end(job, &words);
    w->found = (struct job_end_found){
        .id = job->status.id,
        .exit_code = job_exit_code(job),
        .words = arena_strdup(w->arena, words.text),
    };
    finish(w, &w->has_ended);
}

static void
job_listed(void *context)
{
    struct end_watch *w = context;

    if (informer_count(w->informer) == 0)
        finish(w, &w->is_gone);
}

static void
time_is_up(void *context)
{
    struct end_watch *w = context;

    finish(w, &w->is_late);
}

/* ---- History ---- */

int
job_end_exit_code(const struct json *row)
{
    const enum job_state state = job_state_of_name(json_get_text(row, "state"));
    const int64_t code = json_get_int(row, "exitCode", 0) & 0xff;
    const int64_t signal = json_get_int(row, "signal", 0);

    if (state == JOB_STATE_COMPLETED)
        return 0;
    if (code != 0)
        return (int)code;
    if (signal > 0)
        return (int)(128 + signal);
    return state == JOB_STATE_FAILED ? 1 : KILLED;
}

struct last_attempt {
    struct arena *arena;
    struct job_end_found found;
    bool is_there;
};

/* The last row is that of the last attempt. */
static bool
keep_row(const struct json *row, void *context)
{
    struct last_attempt *h = context;
    const char *state = json_get_text(row, "state");
    const char *node = json_get_text(row, "node");
    const int code = job_end_exit_code(row);

    h->is_there = true;
    h->found.id = json_get_int(row, "job", 0);
    h->found.exit_code = code;
    if (job_state_of_name(state) == JOB_STATE_COMPLETED)
        node = NULL; /* as job_reason_describe_end does */
    h->found.words = arena_printf(h->arena, "%s%s%s", state != NULL ? state : "has ended",
                                  node != NULL ? " on " : "", node != NULL ? node : "");
    if (code != 0)
        h->found.words = arena_printf(h->arena, "%s, exit code %d", h->found.words, code);
    return true;
}

/* The name of a Job that was given by its id is "job-7". */
static int
find_in_history(struct kctl *kctl, const struct target_object *job, struct arena *arena,
                struct job_end_found *ret_found, struct error *err)
{
    const char *dash = strrchr(job->name, '-');
    struct last_attempt h = {.arena = arena};
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    int r = dash != NULL ? history_query_add_job(&query, dash + 1, NULL) : -ENOENT;

    if (r >= 0)
        r = history_pages_visit_job(kctl, strtoll(dash + 1, NULL, 10), query.text, keep_row, &h,
                                    err);
    else
        r = 0;
    if (r < 0)
        return r;
    if (!h.is_there && dash == NULL) {
        struct json *job_now = NULL; /* for the error, which knows CronJobs */

        r = kctl_get(kctl, job, arena, &job_now, err);
        if (r < 0)
            return r;
    }
    if (!h.is_there)
        return error_set(err, -ENOENT, "%s not found", kctl_job_words(job, arena));
    *ret_found = h.found;
    return 0;
}

int
job_end_wait(struct kctl *kctl, const struct target_object *job, int64_t most_us,
             struct arena *arena, struct job_end_found *ret_found, struct error *err)
{
    CLEANUP_FREE char *selector = xasprintf("metadata.name=%s", job->name);
    struct end_watch w = {.arena = arena};
    struct informer_settings settings = {
        .kind = &job_kind,
        .namespace = job->namespace,
        .field_selector = selector,
        .changed = job_changed,
        .synced = job_listed,
        .context = &w,
    };
    struct outage_notice *outage;
    struct timer *timer;
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    settings.client = kctl_client(kctl);
    w.loop = settings.client->loop;
    w.informer = informer_new(&settings);
    timer = timer_new(w.loop, time_is_up, &w);
    outage = outage_notice_new(w.loop, w.informer, "kctl");
    if (most_us > 0)
        timer_start(timer, (most_us + 999) / 1000);
    loop_run(w.loop);
    timer_free(timer);
    outage_notice_free(outage);
    informer_free(w.informer);
    if (w.is_late)
        return error_set(err, -EAGAIN, "%s has not ended", kctl_job_words(job, arena));
    if (w.is_gone)
        return find_in_history(kctl, job, arena, ret_found, err);
    *ret_found = w.found;
    return 0;
}
