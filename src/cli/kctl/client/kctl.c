/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs work on trees, since they handle objects of any kind, and block, since they do one
 * thing after the other. A mistake is answered with the nearest name that exists; the names
 * are asked for only then, and if that fails, the message is just shorter.
 */
#include "cli/kctl/client/kctl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/connect/call_retry.h"
#include "cli/connect/connection.h"
#include "cli/connect/inquiry.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/spelling.h"
#include "lib/client/sync_call.h"
#include "lib/json/json.h"

/* With a 429 the server says when it accepts requests of this user again. kctl
 * retries this many times before it reports the refusal, as client-go does, and
 * never waits longer than this before a retry.
 */
#define MAX_REPEATS  10
#define MAX_REPEAT_S 10

/* A mistyped name is compared with at most this many existing ones. */
#define MAX_CANDIDATES 1000

void
kctl_fini(struct kctl *kctl)
{
    connection_close(kctl->connection);
    kctl->connection = NULL;
}

const char *
kctl_namespace(const struct kctl *kctl)
{
    return kctl->namespace != NULL ? kctl->namespace : "default";
}

static const char *
program_of(const struct kctl *kctl)
{
    return kctl->program != NULL ? kctl->program : "kctl";
}

int
kctl_open(struct kctl *kctl, struct error *err)
{
    int r;

    if (kctl->connection != NULL)
        return 0;
    r = connection_open(kctl->server, kctl->as_user, CONNECTION_OFTEN, &kctl->connection, err);
    if (r == 0 && !kctl->no_wait) {
        connection_wait_for_server(kctl->connection, program_of(kctl));
        connection_retry(kctl->connection)->patience_us = kctl->patience_us;
        connection_retry(kctl->connection)->takeover_us = kctl->takeover_us;
    }
    return r;
}

void
kctl_stop_waiting(struct kctl *kctl)
{
    connection_retry(kctl->connection)->program = NULL;
}

struct client *
kctl_client(struct kctl *kctl)
{
    return connection_client(kctl->connection);
}

const char *
kctl_label(const struct target_object *object, struct arena *arena)
{
    return arena_printf(arena, "%s/%s", object->kind->singular, object->name);
}

/* The server chose the name, which differs from others only in a number. */
static bool
is_numbered(const char *name)
{
    return strncmp(name, "job-", 4) == 0 && name[4] != '\0'
           && name[4 + strspn(name + 4, "0123456789")] == '\0';
}

const char *
kctl_job_words(const struct target_object *job, struct arena *arena)
{
    return is_numbered(job->name) ? arena_printf(arena, "job %s", job->name + 4)
                                  : arena_printf(arena, "job \"%s\"", job->name);
}

/* ---- Calls ---- */

static void
print_warnings(const struct kctl *kctl, const struct sync_call *sync_call)
{
    for (char **w = sync_call->warnings; w != NULL && *w != NULL; w++)
        fprintf(stderr, "%s: warning: %s\n", program_of(kctl), *w);
}

/* Whether the server refused the request only because of this user's rate
 * limit. An eviction that is refused for now is retried by the caller instead.
 */
static bool
is_throttled(const struct client_request *request, const struct sync_call *sync_call)
{
    return sync_call->code == 429 && sync_call->retry_after_s > 0
           && sync_call->retry_after_s <= MAX_REPEAT_S
           && (request->subresource == NULL || strcmp(request->subresource, "eviction") != 0);
}

/* After a start the controller issues no job ids before its nodes have reported.
 * It would keep the request until then; so it refuses after two seconds, and
 * says why.
 */
#define WAIT_QUERY "kiln.hpc/startupWait=2"

static bool
is_of_new_job(const struct kctl *kctl, const struct client_request *request)
{
    return !kctl->no_wait && request->verb == CLIENT_CREATE && request->kind == &job_kind
           && request->subresource == NULL;
}

/* Nothing was created. */
static bool
is_put_off(const struct kctl *kctl, const struct client_request *request,
           const struct sync_call *sync_call)
{
    return is_of_new_job(kctl, request) && sync_call->code == 503 && sync_call->retry_after_s > 0
           && call_retry_of_answer(sync_call->code, sync_call->reason) == 0;
}

/* Waits for a controller that is away. */
static int
call_once(struct kctl *kctl, const struct client_request *request, struct sync_call *ret_call,
          struct error *err)
{
    struct call_retry *retry = connection_retry(kctl->connection);
    const bool is_read = request->verb == CLIENT_GET || request->verb == CLIENT_LIST;
    struct error failure = {0};
    int r;

    for (;;) {
        failure = (struct error){0};
        call_retry_begin(retry, kctl_client(kctl)->loop);
        r = sync_call_run(kctl_client(kctl), NULL, request, ret_call, &failure);
        if (!call_retry_end(
                retry,
                ret_call->code == 0 ? r : call_retry_of_answer(ret_call->code, ret_call->reason),
                is_read, &failure))
            break;
        sync_call_fini(ret_call);
    }
    if (r < 0 && err != NULL)
        *err = failure;
    return r;
}

/* The client keeps no part of the body, so the body can be sent again. */
static int
call_patiently(struct kctl *kctl, const struct client_request *request, struct sync_call *sync_call,
               struct error *err)
{
    CLEANUP_FREE char *query = NULL;
    struct client_request asked = *request;

    if (is_of_new_job(kctl, request)) {
        query = xasprintf("%s%s" WAIT_QUERY, request->query != NULL ? request->query : "",
                          request->query != NULL ? "&" : "");
        asked.query = query;
    }
    for (int repeats = 0;;) {
        struct error refusal = {0};
        int r = call_once(kctl, &asked, sync_call, &refusal);

        if (!is_put_off(kctl, request, sync_call)
            && (repeats++ >= MAX_REPEATS || !is_throttled(request, sync_call))) {
            if (r < 0 && err != NULL)
                *err = refusal;
            return r;
        }
        if (!kctl->has_said_waiting)
            fprintf(stderr, "%s: waiting: %s\n", program_of(kctl), refusal.text);
        kctl->has_said_waiting = true;
        nanosleep(&(struct timespec){.tv_sec = sync_call->retry_after_s}, NULL);
        sync_call_fini(sync_call);
    }
}

static int
call(struct kctl *kctl, const struct client_request *request, struct arena *arena,
     struct sync_call *sync_call, struct json **ret_answer, struct error *err)
{
    struct client_request raw = *request;
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    raw.raw = true;
    r = call_patiently(kctl, &raw, sync_call, err);
    print_warnings(kctl, sync_call);
    if (r < 0)
        return connection_advise(r, err);
    if (ret_answer == NULL)
        return 0;
    *ret_answer = NULL;
    if (sync_call->length > 0 && sync_call->text[0] == '{')
        *ret_answer = json_parse(arena, sync_call->text, sync_call->length, NULL, NULL);
    return 0;
}

static bool
is_missing_name(const struct client_request *request, const struct sync_call *sync_call)
{
    return sync_call->code == 404 && request->name != NULL && sync_call->reason != NULL
           && strcmp(sync_call->reason, "NotFound") == 0;
}

/* The names of the first objects of a collection. A failure is not reported,
 * because the names only improve a message.
 */
static size_t
list_names(struct kctl *kctl, const struct client_request *missing, struct arena *arena,
           const char **names)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    const struct client_request request = {
        .verb = CLIENT_LIST,
        .kind = missing->kind,
        .namespace = missing->namespace,
        .limit = MAX_CANDIDATES,
    };
    struct json *list = NULL;
    const struct json *items;
    size_t n = 0;

    if (call(kctl, &request, arena, &sync_call, &list, NULL) < 0)
        return 0;
    items = json_get(list, "items");
    for (uint32_t i = 0; i < json_count(items) && n < MAX_CANDIDATES; i++) {
        const char *name = json_path_text(json_at(items, i), "metadata.name");

        if (name != NULL)
            names[n++] = name;
    }
    return n;
}

/* Whether a CronJob has the name that was given for a Job. */
static bool
is_recurring(struct kctl *kctl, const struct client_request *request, struct arena *arena)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    struct json *found = NULL;
    const struct client_request cron_job = {
        .verb = CLIENT_GET,
        .kind = &cron_job_kind,
        .namespace = request->namespace,
        .name = request->name,
    };

    return call(kctl, &cron_job, arena, &sync_call, &found, NULL) == 0;
}

static int
refuse_missing(struct kctl *kctl, const struct client_request *request, struct error *err)
{
    /* To suggest another number makes no sense. */
    if (request->kind == &job_kind && is_numbered(request->name))
        return error_set(err, -ENOENT,
                         "job %s not found; 'kctl history %s' shows whether it ended and was "
                         "deleted",
                         request->name + 4, request->name + 4);

    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char **names = arena_new_array(arena, const char *, MAX_CANDIDATES);
    if (request->kind == &job_kind && is_recurring(kctl, request, arena))
        return error_set(err, -ENOENT,
                         "'%s' is a recurring job and not one of its jobs: 'kctl jobs --cron' "
                         "shows when it runs next, 'kctl jobs --all --name %s' its jobs",
                         request->name, request->name);
    const size_t n = list_names(kctl, request, arena, names);
    const char *near = spelling_nearest(request->name, names, n);

    if (near != NULL)
        return error_set(err, -ENOENT, "%s \"%s\" not found (did you mean \"%s\"?)",
                         request->kind->singular, request->name, near);
    if ((request->kind->flags & KIND_NAMESPACED) != 0 && request->namespace != NULL)
        return error_set(err, -ENOENT, "%s \"%s\" not found in namespace \"%s\"",
                         request->kind->singular, request->name, request->namespace);
    return error_set(err, -ENOENT, "%s \"%s\" not found", request->kind->singular, request->name);
}

long
kctl_utc_offset(void)
{
    const time_t now = (time_t)(clock_real_us(&clock_system) / 1000000);
    struct tm local = {0};

    localtime_r(&now, &local);
    return local.tm_gmtoff;
}

int
kctl_ask(struct kctl *kctl, const char *path, struct arena *arena, struct json **ret_answer,
         struct error *err)
{
    int r = kctl_open(kctl, err);

    return r < 0 ? r : inquiry_run(kctl->connection, HTTP_GET, path, NULL, arena, ret_answer, err);
}

int
kctl_call(struct kctl *kctl, const struct client_request *request, struct arena *arena,
          struct json **ret_answer, struct error *err)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    struct client_request local = *request;
    int r;

    if (request->accept != NULL && (request->verb == CLIENT_GET || request->verb == CLIENT_LIST))
        local.query = arena_printf(arena, "%s%skiln.hpc/utcOffset=%ld",
                                   request->query != NULL ? request->query : "",
                                   request->query != NULL ? "&" : "", kctl_utc_offset());
    r = call(kctl, &local, arena, &sync_call, ret_answer, err);
    if (r < 0 && is_missing_name(request, &sync_call))
        return refuse_missing(kctl, request, err);
    return r;
}

int
kctl_call_raw(struct kctl *kctl, const struct client_request *request, struct sync_call *ret_call,
              struct error *err)
{
    return call(kctl, request, NULL, ret_call, NULL, err);
}

int
kctl_get(struct kctl *kctl, const struct target_object *object, struct arena *arena,
         struct json **ret_object, struct error *err)
{
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = object->kind,
        .namespace = object->namespace,
        .name = object->name,
    };

    return kctl_call(kctl, &request, arena, ret_object, err);
}

int
kctl_find(struct kctl *kctl, const struct target_object *object, struct arena *arena,
          struct json **ret_object, struct error *err)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = object->kind,
        .namespace = object->namespace,
        .name = object->name,
    };
    int r = call(kctl, &request, arena, &sync_call, ret_object, err);

    if (r < 0 && is_missing_name(&request, &sync_call)) {
        *ret_object = NULL;
        return 0;
    }
    return r;
}

int
kctl_list(struct kctl *kctl, const struct target_object *collection, const char *label_selector,
          const char *field_selector, struct arena *arena, struct json **ret_items,
          struct error *err)
{
    struct client_request request = {
        .verb = CLIENT_LIST,
        .kind = collection->kind,
        .namespace = collection->namespace,
        .label_selector = label_selector,
        .field_selector = field_selector,
        .limit = KCTL_PAGE,
    };
    struct json *items = json_array(arena);

    do {
        struct json *page = NULL;
        const struct json *more;
        int r = kctl_call(kctl, &request, arena, &page, err);

        if (r < 0)
            return r;
        more = json_get(page, "items");
        for (uint32_t i = 0; i < json_count(more); i++)
            json_append(arena, items, json_at(more, i));
        request.continue_token = json_path_text(page, "metadata.continue");
    } while (request.continue_token != NULL && request.continue_token[0] != '\0');
    *ret_items = items;
    return 0;
}

int
kctl_patch(struct kctl *kctl, const struct target_object *object, struct json *patch,
           struct arena *arena, struct json **ret_object, struct error *err)
{
    const struct client_request request = {
        .verb = CLIENT_MERGE_PATCH,
        .kind = object->kind,
        .namespace = object->namespace,
        .name = object->name,
        .body = patch,
        .query = "fieldValidation=Strict",
    };

    return kctl_call(kctl, &request, arena, ret_object, err);
}
