/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/job_submit.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "lib/client/client.h"
#include "lib/client/errand.h"
#include "lib/json/json.h"

#define FIRST_PAUSE_MS 100
#define MOST_PAUSE_MS  2000
#define SAY_US         INT64_C(1000000)

/* The controller may have taken the request although no answer came. */
static bool
leaves_in_doubt(const struct errand *errand, int r)
{
    if (errand->code != 0)
        return errand->code == 502 || errand->code == 504;
    return r == -ECONNRESET || r == -EPIPE || r == -ETIMEDOUT
           || r == -ECONNABORTED;
}

/* A machine that refuses the connection is up, and its controller may be
 * restarting. ksub waits for a machine that cannot be reached only when the
 * controller may have the job already.
 */
static bool
is_worth_repeating(const struct errand *errand, int r, bool in_doubt)
{
    return leaves_in_doubt(errand, r) || errand->code == 429
           || errand->code == 503
           || (errand->code == 0 && (in_doubt || r == -ECONNREFUSED));
}

/* Warns once, after a second. */
static void
say_waiting(const struct error *err, int64_t left_ms)
{
    fprintf(stderr,
            "ksub: no answer yet, trying for %lld s more: %s\n",
            (long long)(left_ms + 500) / 1000,
            err->text);
}

static void
print_warnings(const struct errand *errand)
{
    for (char **w = errand->warnings; w != NULL && *w != NULL; w++)
        fprintf(stderr, "ksub: warning: %s\n", *w);
}

/* Makes one attempt. An answer without the job counts as none. */
static int
send_once(const struct job_submit *d,
          const char *key,
          struct errand *errand,
          struct error *err)
{
    struct arena *arena = arena_new(0);
    const struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &job_kind,
        .namespace = d->namespace,
        .body = json_dup(arena, d->job),
        .query = d->dry_run ? "fieldValidation=Strict&dryRun=All"
                            : "fieldValidation=Strict",
        .submission_key = d->dry_run ? NULL : key,
    };
    int r = errand_run(d->client, arena, &request, errand, err);

    if (errand->code == 404)
        return error_set(err,
                         r,
                         "there is no account '%s'; 'kctl get namespaces' "
                         "lists them",
                         d->namespace);
    if (r == 0 && errand->object == NULL)
        r = error_set(err, -EPROTO, "the controller's answer holds no job");
    return r;
}

static int
say_doubt(const struct job_submit *d, int r, struct error *err)
{
    if (d->dry_run)
        return r;
    return error_wrap(err,
                      r,
                      "no answer came, and the job may have been submitted "
                      "('kctl get jobs' tells once the controller is back)");
}

int
job_submit_run(const struct job_submit *d,
               const struct object **ret_job,
               struct error *err)
{
    const int64_t began = clock_monotonic_us(&clock_system);
    const int64_t until = began + d->patience_ms * 1000;
    int64_t pause_ms = FIRST_PAUSE_MS;
    char key[UUID_SIZE];
    bool in_doubt = false;
    bool is_said = false;

    random_uuid(key);
    for (;;) {
        CLEANUP_ERRAND struct errand errand = {0};
        int r = send_once(d, key, &errand, err);

        if (r == 0) {
            print_warnings(&errand);
            *ret_job = object_ref(errand.object);
            return 0;
        }
        in_doubt = in_doubt || leaves_in_doubt(&errand, r);
        if (!is_worth_repeating(&errand, r, in_doubt)
            || clock_monotonic_us(&clock_system) + pause_ms * 1000 > until)
            return in_doubt && errand.code == 0 ? say_doubt(d, r, err) : r;
        if (!is_said && clock_monotonic_us(&clock_system) > began + SAY_US) {
            is_said = true;
            say_waiting(err,
                        (until - clock_monotonic_us(&clock_system)) / 1000);
        }
        nanosleep(&(struct timespec){.tv_sec = pause_ms / 1000,
                                     .tv_nsec = pause_ms % 1000 * 1000000},
                  NULL);
        pause_ms = pause_ms * 2 < MOST_PAUSE_MS ? pause_ms * 2 : MOST_PAUSE_MS;
    }
}
