/* SPDX-License-Identifier: Apache-2.0 */
/* A lost answer leaves the question whether the job exists. Each submission has a random key,
 * so it may be asked again with the same one, and the controller makes one job of all of them
 * (decision 101). How long that goes on is the user's choice; when it ends without an answer,
 * the user is told that the job may exist.
 */
#include "cli/ksub/job_submit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/client/sync_call.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define FIRST_PAUSE_MS 100
#define MOST_PAUSE_MS  2000
#define PAUSE_SHARE    12 /* of the time so far */
#define SAY_US         INT64_C(1000000)

/* The controller refuses after this time, and says why; it would wait longer. */
#define WAIT_QUERY "&kiln.hpc/startupWait=2"

#define SAY_SILENT_MS 3000

/* Whether the controller may have processed the request although no answer
 * came.
 */
static bool
leaves_in_doubt(const struct sync_call *sync_call, int r)
{
    if (sync_call->code != 0)
        return sync_call->code == 502 || sync_call->code == 504;
    return r == -ECONNRESET || r == -EPIPE || r == -ETIMEDOUT || r == -ECONNABORTED;
}

/* The controller is there, and has said when to come again. */
static bool
is_put_off(const struct sync_call *sync_call)
{
    return sync_call->code == 503 && sync_call->retry_after_s > 0;
}

/* A host that refuses the connection is up, and its controller may be
 * restarting. If the host cannot be reached at all, retry only if the
 * controller may already have the job.
 */
static bool
is_worth_repeating(const struct sync_call *sync_call, int r, bool in_doubt)
{
    return leaves_in_doubt(sync_call, r) || sync_call->code == 429 || sync_call->code == 503
           || (sync_call->code == 0 && (in_doubt || r == -ECONNREFUSED));
}

/* A controller that says "too many" is asked at doubled delays. */
static int64_t
next_pause_ms(const struct sync_call *sync_call, int64_t began)
{
    int64_t waited_ms = (clock_monotonic_us(&clock_system) - began) / 1000;

    return backoff_share(waited_ms, sync_call->code == 429 ? 1 : PAUSE_SHARE, FIRST_PAUSE_MS,
                         MOST_PAUSE_MS);
}

/* Called at most once, after a second without an answer that ends the attempts.
 */
static void
print_waiting(const struct job_submit *s, const struct sync_call *sync_call,
              const struct error *err, int64_t left_ms)
{
    if (s->program == NULL)
        return;
    if (is_put_off(sync_call))
        fprintf(stderr, "%s: waiting: %s\n", s->program, err->text);
    else
        fprintf(stderr, "%s: no answer yet, trying for %lld s more: %s\n", s->program,
                (long long)(left_ms + 500) / 1000, err->text);
}

/* The part of an attempt that the next one needs. */
struct submit_attempt {
    const struct job_submit *submit;
    bool is_said;
};

/* An attempt takes long, of a controller that says nothing. */
static void
call_is_late(void *context)
{
    struct submit_attempt *a = context;

    if (!a->is_said && a->submit->program != NULL)
        fprintf(stderr, "%s: waiting: the controller does not answer\n", a->submit->program);
    a->is_said = true;
}

static void
print_warnings(const struct job_submit *s, const struct sync_call *sync_call)
{
    for (char **w = sync_call->warnings; w != NULL && *w != NULL; w++)
        if (s->warnings != NULL)
            strbuf_printf(s->warnings, "warning: %s\n", *w);
        else
            fprintf(stderr, "%s: warning: %s\n", s->program, *w);
}

/* The controller's warning that the job can never run; NULL: it gave none. */
static const char *
find_impossible(const struct sync_call *sync_call)
{
    static const char words[] = "the job can never run: ";

    for (char **w = sync_call->warnings; w != NULL && *w != NULL; w++)
        if (strncmp(*w, words, sizeof(words) - 1) == 0)
            return *w;
    return NULL;
}

/* Makes one attempt. An answer without the job counts as no answer. */
static int
send_once(struct submit_attempt *a, const char *key, struct sync_call *sync_call, struct error *err)
{
    const struct job_submit *s = a->submit;
    struct timer *late = timer_new(s->client->loop, call_is_late, a);
    struct arena *arena = arena_new(0);
    const struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &job_kind,
        .namespace = s->namespace,
        .body = json_dup(arena, s->job),
        .query = s->dry_run            ? "fieldValidation=Strict&dryRun=All"
                 : s->patience_ms == 0 ? "fieldValidation=Strict"
                                       : "fieldValidation=Strict" WAIT_QUERY,
        .submission_key = s->dry_run ? NULL : key,
    };
    int r;

    timer_start(late, SAY_SILENT_MS);
    r = sync_call_run(s->client, arena, &request, sync_call, err);
    timer_free(late);
    if (sync_call->code == 404)
        return error_set(err, r,
                         "there is no account '%s'; 'kctl get namespaces' "
                         "lists them",
                         s->namespace);
    if (r == 0 && sync_call->object == NULL)
        r = error_set(err, -EPROTO, "the controller's answer contains no job");
    return r;
}

static int
print_doubt(const struct job_submit *s, int r, struct error *err)
{
    if (s->dry_run)
        return r;
    return error_wrap(err, r,
                      "no answer came, and the job may have been submitted "
                      "(when the controller is back, 'kctl get jobs' shows "
                      "whether it was)");
}

int
job_submit_run(const struct job_submit *s, const struct object **ret_job, struct error *err)
{
    const int64_t began = clock_monotonic_us(&clock_system);
    int64_t until = began + s->patience_ms * 1000;
    char key[UUID_SIZE];
    bool in_doubt = false;
    struct submit_attempt attempt = {.submit = s};

    random_uuid(key);
    for (;;) {
        CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
        int r = send_once(&attempt, key, &sync_call, err);
        int64_t pause_ms = next_pause_ms(&sync_call, began);

        if (r == 0 && s->is_test && find_impossible(&sync_call) != NULL)
            return error_set(err, -ENODEV, "%.800s", find_impossible(&sync_call));
        if (r == 0) {
            print_warnings(s, &sync_call);
            *ret_job = object_ref(sync_call.object);
            return 0;
        }
        if (is_put_off(&sync_call))
            until = clock_monotonic_us(&clock_system) + s->patience_ms * 1000;
        in_doubt = in_doubt || leaves_in_doubt(&sync_call, r);
        if (!is_worth_repeating(&sync_call, r, in_doubt)
            || clock_monotonic_us(&clock_system) + pause_ms * 1000 > until)
            return in_doubt && sync_call.code == 0 ? print_doubt(s, r, err) : r;
        if (!attempt.is_said && clock_monotonic_us(&clock_system) > began + SAY_US) {
            attempt.is_said = true;
            print_waiting(s, &sync_call, err, (until - clock_monotonic_us(&clock_system)) / 1000);
        }
        nanosleep(
            &(struct timespec){.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000},
            NULL);
    }
}
