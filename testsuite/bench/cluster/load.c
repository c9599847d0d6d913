/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-load - submits jobs as fast as the controller accepts them, and prints
 * the rate and the times until they were bound and done
 *
 * One job per request over a number of kept connections, each with a script and
 * an environment of a given size. Prints one "NAME VALUE UNIT" per line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/auth/auth_client.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "lib/client/remote.h"
#include "lib/http/http_client.h"
#include "lib/http/http_login.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

struct options {
    const char *controller;
    const char *cluster;
    const char *munge_socket;
    int64_t service_uid;
    int64_t jobs;
    int64_t connections;
    int64_t per_second;
    int64_t cpus;
    int64_t script_bytes;
    int64_t environment_bytes;
    int64_t wait_s;
    bool hold;
    bool shared_script;
    bool run_true;
};

/* One job; it is in `by_job` once its name is known. */
struct submission {
    int64_t sent_us, acked_us, bound_us, running_us, done_us;
};

struct load {
    struct options options;
    struct loop *loop;
    struct client *client;
    struct client *watcher;
    struct informer *pods;
    struct map *by_job; /* name to struct submission */
    struct submission *submissions;
    char *script;
    char *environment; /* base64 */
    int64_t n_sent, n_acked, n_failed, n_bound, n_done;
    int64_t began_us, all_acked_us, all_bound_us, all_done_us;
    struct timer *limit;
    struct timer *start;
    struct timer *pace;
};

static int64_t
now_us(void)
{
    return clock_monotonic_us(&clock_system);
}

/* ---- The jobs ---- */

static char *
make_script(int64_t bytes)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_add_text(&s, "#!/bin/sh\nexit 0\n");
    while ((int64_t)s.length < bytes)
        strbuf_add_text(&s, "# a line of a script as people write them\n");
    return strbuf_take(&s);
}

static char *
make_environment(int64_t bytes)
{
    struct strbuf plain = STRBUF_INIT, text = STRBUF_INIT;

    for (int i = 0; (int64_t)plain.length < bytes; i++) {
        strbuf_printf(&plain, "VARIABLE_%d=/some/path/of/module/%d", i, i);
        strbuf_add_char(&plain, '\0');
    }
    base64_encode(&text, plain.text, plain.length);
    strbuf_fini(&plain);
    return strbuf_take(&text);
}

/* The job that ksub sends for one task: its program, its CPUs, its owner. */
#define TEMPLATE                                                                             \
    "{\"spec\":{\"restartPolicy\":\"Never\",\"tolerations\":[{\"key\":"                      \
    "\"kiln.hpc/virtual\",\"operator\":\"Exists\"}],\"containers\":[{%s"                     \
    "\"name\":\"main\",\"image\":\"host\",\"workingDir\":\"/tmp\","                          \
    "\"resources\":{\"requests\":{\"cpu\":\"%" PRId64                                        \
    "\",\"memory\":\"64Mi\"},\"limits\":{\"cpu\":\"%" PRId64 "\",\"memory\":\"64Mi\"}}}],%s" \
    "\"execution\":{\"stdoutPath\":\"/dev/null\"}}}"
#define EXCLUSIVE "\"placement\":{\"cpuPolicy\":\"exclusive\"},"

static void
add_contents(const struct load *l, struct arena *arena, struct json *spec, int64_t number)
{
    json_set_string(arena, json_make_object(arena, spec, "script"), "text",
                    l->options.shared_script
                        ? l->script
                        : arena_printf(arena, "%s# %" PRId64 "\n", l->script, number));
    json_set_string(arena, json_make_object(arena, spec, "environment"), "data", l->environment);
}

static struct json *
make_job(const struct load *l, struct arena *arena, int64_t number)
{
    struct json *body = json_object(arena);
    struct json *spec = json_make_object(arena, body, "spec");
    const char *template =
        arena_printf(arena, TEMPLATE, l->options.run_true ? "\"command\":[\"/bin/true\"]," : "",
                     l->options.cpus, l->options.cpus, l->options.run_true ? EXCLUSIVE : "");

    json_set_string(arena, body, "apiVersion", "batch/v1");
    json_set_string(arena, body, "kind", "Job");
    json_set_string(arena, json_make_object(arena, body, "metadata"), "generateName", "job-");
    json_set_int(arena, spec, "backoffLimit", 0);
    if (l->options.hold)
        json_set_bool(arena, spec, "suspend", true);
    json_set(arena, spec, "template", json_parse(arena, template, strlen(template), NULL, NULL));
    if (!l->options.run_true)
        add_contents(l, arena, spec, number);
    return body;
}

/* ---- Submitting ---- */

static void submit(struct load *l);

struct sending {
    struct load *load;
    struct submission *submission;
};

static void
on_acked(const struct client_reply *reply, void *context)
{
    struct sending *s = context;
    struct load *l = s->load;
    struct error err = {0};

    s->submission->acked_us = now_us();
    if (reply->code == 201 && reply->object != NULL) {
        map_put(l->by_job, reply->object->meta->name, s->submission);
        l->n_acked++;
    } else {
        client_reply_error(reply, &err);
        if (l->n_failed++ == 0)
            fprintf(stderr, "kiln-load: %s\n", err.text);
    }
    free(s);
    if (l->n_acked + l->n_failed == l->options.jobs) {
        l->all_acked_us = now_us();
        if (l->options.hold || l->options.wait_s == 0)
            loop_stop(l->loop);
    } else if (l->n_sent < l->options.jobs && l->options.per_second == 0) {
        submit(l);
    }
}

static void
submit(struct load *l)
{
    struct arena *arena = arena_new(16384);
    struct sending *s = xnew(struct sending);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &job_kind,
        .namespace = "default",
        .body = make_job(l, arena, l->n_sent),
    };

    s->load = l;
    s->submission = &l->submissions[l->n_sent++];
    s->submission->sent_us = now_us();
    client_call(l->client, arena, &request, on_acked, s);
}

/* Submits the jobs that are due by now at the given rate, whether the earlier
 * ones were answered or not.
 */
static void
submit_what_is_due(void *context)
{
    struct load *l = context;
    int64_t due = (now_us() - l->began_us) * l->options.per_second / 1000000 + 1;

    while (l->n_sent < due && l->n_sent < l->options.jobs)
        submit(l);
    if (l->n_sent < l->options.jobs)
        timer_start(l->pace, 1);
}

static void
begin(void *context)
{
    struct load *l = context;

    l->began_us = now_us();
    if (l->options.per_second > 0) {
        submit_what_is_due(l);
        return;
    }
    for (int64_t i = 0; i < l->options.connections && i < l->options.jobs; i++)
        submit(l);
}

/* ---- Watching ---- */

static bool
phase_is(const struct object *pod, const char *phase)
{
    const char *its = pod_of(pod)->status.phase;

    return its != NULL && strcmp(its, phase) == 0;
}

static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct load *l = context;
    const struct owner_reference *owner;
    struct submission *s;
    int64_t now = now_us();

    (void)old_object;
    if (new_object == NULL)
        return;
    owner = meta_controller(new_object->meta);
    s = owner != NULL ? map_find(l->by_job, owner->name) : NULL;
    if (s == NULL)
        return;
    if (s->bound_us == 0 && pod_of(new_object)->spec.node_name != NULL) {
        s->bound_us = now;
        l->n_bound++;
        l->all_bound_us = now;
    }
    /* For a short job, possibly only the end is reported. */
    if (s->running_us == 0
        && (phase_is(new_object, "Running") || pod_is_finished(pod_of(new_object))))
        s->running_us = now;
    if (s->done_us == 0 && pod_is_finished(pod_of(new_object))) {
        s->done_us = now;
        l->all_done_us = now;
        if (++l->n_done == l->options.jobs)
            loop_stop(l->loop);
    }
}

static void
on_synced(void *context)
{
    struct load *l = context;

    timer_start(l->start, 0);
}

static void
on_limit(void *context)
{
    struct load *l = context;

    fprintf(stderr,
            "kiln-load: gave up waiting: %" PRId64 " bound, %" PRId64 " done of %" PRId64 "\n",
            l->n_bound, l->n_done, l->options.jobs);
    loop_stop(l->loop);
}

/* ---- Results ---- */

static int
by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Prints the p50 and p99 of the time from the submission to the member at
 * `offset`.
 */
static void
tell_latency(const struct load *l, const char *name, size_t offset)
{
    int64_t *values = xnew_array(int64_t, (size_t)l->options.jobs);
    size_t n = 0;

    for (int64_t i = 0; i < l->options.jobs; i++) {
        const struct submission *s = &l->submissions[i];
        int64_t at = *(const int64_t *)(const void *)((const char *)s + offset);

        if (at > 0)
            values[n++] = at - s->sent_us;
    }
    if (n > 0) {
        qsort(values, n, sizeof(*values), by_value);
        printf("%s_p50 %.3f ms\n", name, (double)values[n / 2] / 1000);
        printf("%s_p99 %.3f ms\n", name, (double)values[n - 1 - n / 100] / 1000);
    }
    free(values);
}

static void
tell_rate(const char *name, int64_t count, int64_t from_us, int64_t to_us)
{
    if (count > 0 && to_us > from_us)
        printf("%s %.0f /s\n", name, (double)count * 1e6 / (double)(to_us - from_us));
}

static void
tell(const struct load *l)
{
    printf("failed %" PRId64 " jobs\n", l->n_failed);
    tell_rate("submitted", l->n_acked, l->began_us, l->all_acked_us);
    tell_rate("bound", l->n_bound, l->began_us, l->all_bound_us);
    tell_rate("completed", l->n_done, l->began_us, l->all_done_us);
    tell_latency(l, "submit_to_ack", offsetof(struct submission, acked_us));
    tell_latency(l, "submit_to_bound", offsetof(struct submission, bound_us));
    tell_latency(l, "submit_to_running", offsetof(struct submission, running_us));
    tell_latency(l, "submit_to_done", offsetof(struct submission, done_us));
}

/* ---- The program ---- */

#define TEXT(long_name, field, arg, words)                                      \
    {                                                                           \
        .name = long_name, .argument = arg, .help = words, .type = OPTION_TEXT, \
        .offset = offsetof(struct options, field),                              \
    }
#define NUMBER(long_name, field, low, high, words)                                         \
    {                                                                                      \
        .name = long_name, .argument = "N", .help = words, .type = OPTION_INT, .min = low, \
        .max = high, .offset = offsetof(struct options, field),                            \
    }

static const struct option_spec option_specs[] = {
    TEXT("controller", controller, "URL", "the API"),
    TEXT("cluster", cluster, "NAME", "the cluster's name (kiln)"),
    TEXT("munge-socket", munge_socket, "PATH", "munged's socket"),
    NUMBER("service-uid", service_uid, 0, UINT32_MAX, "the controller's"),
    NUMBER("jobs", jobs, 1, 10000000, "how many (1000)"),
    NUMBER("connections", connections, 1, 1024, "at once (64)"),
    NUMBER("per-second", per_second, 0, 100000, "0: as many as it takes (0)"),
    NUMBER("cpus", cpus, 1, 1000000, "of each job (1)"),
    NUMBER("script-bytes", script_bytes, 0, 4 << 20, "of each (2048)"),
    NUMBER("environment-bytes", environment_bytes, 0, 1 << 20, "(4096)"),
    NUMBER("wait", wait_s, 0, 86400, "seconds for all to end; 0: do not (0)"),
    {.name = "hold",
     .help = "submit held jobs, which stay waiting",
     .type = OPTION_FLAG,
     .offset = offsetof(struct options, hold)},
    {.name = "true",
     .help = "run /bin/true on CPUs of its own, without script and "
             "environment",
     .type = OPTION_FLAG,
     .offset = offsetof(struct options, run_true)},
    {.name = "shared-script",
     .help = "all jobs have the same script",
     .type = OPTION_FLAG,
     .offset = offsetof(struct options, shared_script)},
};

static const struct option_table option_table = {
    .name = "kiln-load",
    .usage = "--controller URL [OPTION]...",
    .summary = "Submits jobs as fast as the controller takes them.",
    OPTION_ROWS(option_specs),
};

static struct client *
open_client(struct load *l, struct workers *workers, unsigned connections)
{
    struct auth_client_settings auth = {
        .credential_backend = credential_backend_new_munge(l->options.munge_socket),
        .cluster = l->options.cluster,
        .service_uid = (uid_t)l->options.service_uid,
    };
    struct http_client_settings settings = {.connections = connections};
    struct http_client *http;
    struct error err = {0};

    if (strncmp(l->options.controller, "http+unix:", 10) != 0)
        settings.login = http_login_new(l->loop, workers, &auth, HTTP_LOGIN_SESSION);
    if (http_client_new(l->loop, l->options.controller, &settings, &http, &err) < 0)
        exit(program_end("kiln-load", err.code, &err));
    return remote_client_new(l->loop, http);
}

int
main(int argc, char **argv)
{
    struct load l = {
        .options =
            {
                .cluster = "kiln",
                .service_uid = geteuid(),
                .jobs = 1000,
                .cpus = 1,
                .connections = 64,
                .script_bytes = 2048,
                .environment_bytes = 4096,
            },
    };
    struct workers *workers;

    program_begin(&option_table, argc, argv, &l.options);
    if (l.options.controller == NULL)
        program_refuse(&option_table, "--controller is needed");
    log_set_level(LOG_LEVEL_WARNING);
    l.loop = loop_new();
    workers = workers_new(2);
    l.by_job = map_new();
    l.submissions = xnew_array(struct submission, (size_t)l.options.jobs);
    l.script = make_script(l.options.script_bytes);
    l.environment = make_environment(l.options.environment_bytes);
    l.client = open_client(&l, workers, (unsigned)l.options.connections);
    l.start = timer_new(l.loop, begin, &l);
    l.pace = timer_new(l.loop, submit_what_is_due, &l);
    l.limit = timer_new(l.loop, on_limit, &l);
    if (l.options.wait_s > 0 && !l.options.hold) {
        l.watcher = open_client(&l, workers, 2);
        l.pods = informer_new(&(struct informer_settings){
            .client = l.watcher,
            .kind = &pod_kind,
            .changed = on_pod,
            .synced = on_synced,
            .context = &l,
        });
        timer_start(l.limit, l.options.wait_s * 1000);
    } else {
        timer_start(l.start, 0);
    }
    loop_run(l.loop);
    tell(&l);
    /* The end of the process closes what is open. */
    return program_end("kiln-load", l.n_failed == 0 ? 0 : -EIO, NULL);
}
