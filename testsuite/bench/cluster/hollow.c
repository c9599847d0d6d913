/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-hollow - thousands of nodes in one process, over the real protocol
 *
 * Each node has its own connections, session and watch, enrols, renews its
 * Lease and reports its pods, all with the agent's code. Only the process is
 * missing: a pod "runs" for --run-ms and succeeds. The annotation run-ms of a
 * pod sets another time, and a pod with the annotation fail-modulo N fails with
 * exit code 3 if it is the last of each N elements of its array.
 *
 * With --trace, the program appends one line for each event of a pod:
 *     KIND MICROSECONDS JOB-ID INDEX UID NODE EXIT-CODE BOUND
 * KIND is b (a pod of a gang was seen, and is prepared at once), s (started), e (ended), d (its deletion was seen), f (it was to be suspended), g (the object is
 * gone); BOUND is the second in which the pod got its node. testsuite/chaos compares what was asked and answered with this trace.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/hardware/hardware.h"
#include "agent/hardware/machine.h"
#include "agent/node/heartbeat.h"
#include "agent/node/node_status.h"
#include "agent/node/registration.h"
#include "agent/pods/status_patch.h"
#include "agent/shepherd/files/exit_record.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/auth/auth_client.h"
#include "lib/auth/credential_backend.h"
#include "lib/auth/node_secret.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"
#include "lib/client/remote.h"
#include "lib/http/http_client.h"
#include "lib/http/http_login.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "lib/loop/sigwatch.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

/* The real agent does not see shorter jobs before they are over. */
#define SEEN_RUNNING_MS  10
#define AGAIN_MS         1000
#define MARK_MS          200
/* Nodes start in groups, because the start of each needs credentials. */
#define STARTING_AT_ONCE 64u

struct options {
    const char *controller;
    const char *cluster;
    const char *munge_socket;
    const char *state_dir;
    const char *topology;
    const char *prefix;
    const char *trace;
    int64_t nodes;
    int64_t run_ms;
    int64_t heartbeat_s;
};

struct pool;

struct hollow {
    struct pool *pool;
    char *name;
    char *secret_path;
    struct node_facts facts;
    struct http_login *login;
    struct http_client *http;
    struct client *client;
    enum registration_mode mode;
    struct registration *registration;
    struct heartbeat *heartbeat;
    struct informer *pods;
    char *mark; /* of the cluster, as cluster_identity.h keeps it; or NULL */
    struct timer *mark_timer;
    bool is_asking_mark;
};

struct pool {
    struct options options;
    struct loop *loop;
    struct workers *workers;
    struct credential_backend *credential_backend;
    struct machine *machine;
    struct topology *topology;
    struct hollow *nodes;
    FILE *trace;
    unsigned n_started;
    unsigned n_ready;
    uint64_t n_done;
};

/* ---- A pod ---- */

struct running {
    struct hollow *node;
    const struct object *pod;
    struct timer *timer;
    int64_t started_at_us;
    int64_t ended_at_us;
    int64_t run_ms;
    int exit_code;
    bool ended;
};

static const char *
annotation(const struct object *pod, const char *name)
{
    const char *value = string_map_find(&pod->meta->annotations, name);

    return value != NULL ? value : "-";
}

static void
trace(const struct hollow *node, char kind, const struct object *pod, int exit_code)
{
    const struct pod_condition *bound = pod_find_condition(pod_of(pod), "PodScheduled");
    FILE *file = node->pool->trace;

    if (file == NULL)
        return;
    fprintf(file, "%c %" PRId64 " %s %s %s %s %d %" PRId64 "\n", kind, clock_real_us(&clock_system),
            annotation(pod, ANNOTATION_JOB_ID), annotation(pod, ANNOTATION_INDEX), pod->meta->uid,
            node->name, exit_code, bound != NULL ? bound->last_transition_at_us / 1000000 : 0);
    fflush(file);
}

/* The run time and exit code that the annotations of the pod ask for. */
static void
read_annotations(struct running *r)
{
    const char *run_ms = annotation(r->pod, "run-ms");
    int64_t modulo = strtoll(annotation(r->pod, "fail-modulo"), NULL, 10);
    int64_t index = strtoll(annotation(r->pod, ANNOTATION_INDEX), NULL, 10);

    r->run_ms = run_ms[0] != '-' ? strtoll(run_ms, NULL, 10) : r->node->pool->options.run_ms;
    r->exit_code = modulo > 0 && index % modulo == modulo - 1 ? 3 : 0;
}

static void
patch_status(struct running *r, struct arena *arena TAKES, struct json *body, client_done_fn *done)
{
    struct client_request request = {
        .verb = CLIENT_STRATEGIC_PATCH,
        .kind = &pod_kind,
        .namespace = r->pod->meta->namespace,
        .name = r->pod->meta->name,
        .subresource = "status",
        .body = body,
        .raw = true,
        .is_report = true,
    };

    client_call(r->node->client, arena, &request, done, r);
}

static void
free_running(struct running *r)
{
    timer_free(r->timer);
    object_unref(r->pod);
    free(r);
}

/* An agent reports an end until the controller has it. A connection is lost when the
 * controller closes it for being idle while a report is on its way.
 */
static bool
may_succeed_later(int code)
{
    return code < 400 || code >= 500 || code == 429;
}

static void
on_ended(const struct client_reply *reply, void *context)
{
    struct running *r = context;
    struct error err = {0};

    if (reply->code != 200 && reply->code != 404) {
        client_reply_error(reply, &err);
        fprintf(stderr, "%s: %s\n", r->pod->meta->name, err.text);
        if (may_succeed_later(reply->code)) {
            timer_start(r->timer, AGAIN_MS);
            return;
        }
    } else {
        r->node->pool->n_done++;
    }
    free_running(r);
}

static void
end(void *context)
{
    struct running *r = context;
    struct arena *arena = arena_new(0);
    int64_t now = clock_real_us(&clock_system);
    struct exit_record exit_record = {
        .started_at_us = r->started_at_us,
        .exit_code = r->exit_code,
    };
    struct status_patch_end report = {.exit_record = &exit_record, .now_us = now};

    if (!r->ended) {
        r->ended = true;
        r->ended_at_us = now;
        trace(r->node, 'e', r->pod, r->exit_code);
    }
    exit_record.ended_at_us = r->ended_at_us;
    patch_status(r, arena, status_patch_make_end(arena, r->pod, &report), on_ended);
}

static void
on_running(const struct client_reply *reply, void *context)
{
    struct running *r = context;

    (void)reply;
    timer_start(r->timer, r->run_ms);
}

static void
run(struct hollow *node, const struct object *pod)
{
    struct running *r = xnew(struct running);
    struct status_patch_running report;
    struct arena *arena;

    r->node = node;
    r->pod = object_ref(pod);
    r->timer = timer_new(node->pool->loop, end, r);
    r->started_at_us = clock_real_us(&clock_system);
    read_annotations(r);
    trace(node, 's', pod, 0);
    if (r->run_ms < SEEN_RUNNING_MS) {
        timer_start(r->timer, r->run_ms);
        return;
    }
    arena = arena_new(0);
    report = (struct status_patch_running){
        .boot_id = node->pool->machine->boot_id,
        .started_at_us = r->started_at_us,
    };
    patch_status(r, arena, status_patch_make_running(arena, pod, &report), on_running);
}

static void
on_prepared(const struct client_reply *reply, void *context)
{
    struct running *r = context;

    if (reply->code != 200 && may_succeed_later(reply->code))
        timer_start(r->timer, AGAIN_MS);
    else
        free_running(r);
}

static void
send_prepared(void *context)
{
    struct running *r = context;
    struct arena *arena = arena_new(0);

    patch_status(r, arena, status_patch_make_prepared(arena, r->pod, clock_real_us(&clock_system)),
                 on_prepared);
}

/* It runs when the others of its gang are prepared as well. */
static void
prepare(struct hollow *node, const struct object *pod)
{
    struct running *r = xnew(struct running);

    r->node = node;
    r->pod = object_ref(pod);
    r->timer = timer_new(node->pool->loop, send_prepared, r);
    trace(node, 'b', pod, 0);
    send_prepared(r);
}

struct confirmation {
    struct hollow *node;
    const struct object *pod;
    struct timer *timer;
};

static void
on_confirmed(const struct client_reply *reply, void *context)
{
    struct confirmation *c = context;

    if (reply->code != 200 && may_succeed_later(reply->code)) {
        timer_start(c->timer, AGAIN_MS);
        return;
    }
    timer_free(c->timer);
    object_unref(c->pod);
    free(c);
}

static void
send_confirmation(void *context)
{
    struct confirmation *c = context;
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct client_request request = {
        .verb = CLIENT_DELETE,
        .kind = &pod_kind,
        .namespace = c->pod->meta->namespace,
        .name = c->pod->meta->name,
        .body = body,
    };

    json_set_string(arena, body, "kind", "DeleteOptions");
    json_set_string(arena, body, "apiVersion", "v1");
    json_set_int(arena, body, "gracePeriodSeconds", 0);
    json_set_string(arena, json_make_object(arena, body, "preconditions"), "uid",
                    c->pod->meta->uid);
    client_call(c->node->client, arena, &request, on_confirmed, c);
}

static void
confirm_deletion(struct hollow *node, const struct object *pod)
{
    struct confirmation *c = xnew(struct confirmation);

    c->node = node;
    c->pod = object_ref(pod);
    c->timer = timer_new(node->pool->loop, send_confirmation, c);
    send_confirmation(c);
}

static void
on_pod(const struct object *old_object, const struct object *new_object, void *context)
{
    struct hollow *node = context;

    if (new_object == NULL) {
        trace(node, 'g', old_object, 0);
        return;
    }
    if (new_object->meta->deleted_at_us != 0
        && (old_object == NULL || old_object->meta->deleted_at_us == 0)) {
        trace(node, 'd', new_object, 0);
        confirm_deletion(node, new_object);
    } else if (pod_is_finished(pod_of(new_object))) {
        return;
    } else if (old_object == NULL) {
        if (pod_awaits_start(pod_of(new_object)))
            prepare(node, new_object);
        else
            run(node, new_object);
    } else if (pod_awaits_start(pod_of(old_object)) && !pod_awaits_start(pod_of(new_object))) {
        run(node, new_object);
    } else if (annotation(old_object, ANNOTATION_FREEZE)[0] == '-'
               && annotation(new_object, ANNOTATION_FREEZE)[0] != '-') {
        trace(node, 'f', new_object, 0);
    }
}

/* ---- A node ---- */

static void start_more(struct pool *p);
static void connect_node(struct hollow *node);

/* Reports the mark when the connection was lost, as an agent does, since a
 * controller that has started waits for it.
 */
static void
on_mark(const struct client_reply *reply, void *context)
{
    struct hollow *node = context;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *mark;

    node->is_asking_mark = false;
    if (reply->code != 200 && reply->code != 201) {
        timer_start(node->mark_timer, MARK_MS);
        return;
    }
    mark = json_get_text(json_parse(arena, reply->text, reply->length, NULL, NULL), "mark");
    free(node->mark);
    node->mark = mark != NULL ? xstrdup(mark) : NULL;
}

static void
send_mark(void *context)
{
    struct hollow *node = context;
    struct arena *arena = arena_new(0);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &node_kind,
        .name = node->name,
        .subresource = "mark",
        .raw = true,
        .body = json_object(arena),
    };

    if (node->is_asking_mark) {
        arena_free(arena);
        return;
    }
    node->is_asking_mark = true;
    if (node->mark != NULL)
        json_set_string(arena, request.body, "mark", arena_strdup(arena, node->mark));
    client_call(node->client, arena, &request, on_mark, node);
}

static void
on_interrupted(void *context)
{
    struct hollow *node = context;

    timer_start(node->mark_timer, MARK_MS);
}

static void
on_ready(void *context)
{
    struct hollow *node = context;
    char selector[300];
    struct informer_settings settings = {
        .client = node->client,
        .kind = &pod_kind,
        .field_selector = selector,
        .changed = on_pod,
        .interrupted = on_interrupted,
        .context = node,
    };

    snprintf(selector, sizeof(selector), "spec.nodeName=%s", node->name);
    heartbeat_start(node->heartbeat);
    node->pods = informer_new(&settings);
    send_mark(node);
    if (++node->pool->n_ready == node->pool->options.nodes) {
        printf("%u nodes ready\n", node->pool->n_ready);
        fflush(stdout);
    }
    start_more(node->pool);
}

static void
disconnect(struct hollow *node)
{
    informer_free(node->pods);
    timer_free(node->mark_timer);
    node->is_asking_mark = false;
    heartbeat_free(node->heartbeat);
    registration_free(node->registration);
    if (node->client != NULL)
        client_free(node->client);
    http_client_free(node->http);
    http_login_free(node->login);
}

static void
connect_again(void *context)
{
    struct hollow *node = context;

    disconnect(node);
    connect_node(node);
}

static void
on_anew(enum registration_mode mode, void *context)
{
    struct hollow *node = context;

    node->mode = mode;
    loop_defer(node->pool->loop, connect_again, node);
}

static void
on_lease_lost(void *context)
{
    struct hollow *node = context;

    registration_update(node->registration);
}

static void
connect_node(struct hollow *node)
{
    struct pool *p = node->pool;
    struct node_secret secret;
    struct auth_client_settings auth = {
        .credential_backend = p->credential_backend,
        .cluster = p->options.cluster,
        .service_uid = geteuid(),
        .node_name = node->name,
    };
    struct http_client_settings http = {.connections = 2};
    struct error err = {0};
    struct registration_settings registration = {
        .loop = p->loop,
        .clock = &clock_system,
        .facts = &node->facts,
        .secret_path = node->secret_path,
        .mode = node->mode,
        .reconnect = on_anew,
        .ready = on_ready,
        .context = node,
    };

    if (node->mode == REGISTRATION_PROVEN
        && registration_read_secret(node->secret_path, &secret, &err) == 0)
        auth.secret = &secret;
    node->pods = NULL;
    node->mark_timer = timer_new(p->loop, send_mark, node);
    node->login = http_login_new(p->loop, p->workers, &auth, HTTP_LOGIN_SESSION);
    http.login = node->login;
    if (http_client_new(p->loop, p->options.controller, &http, &node->http, &err) < 0) {
        fprintf(stderr, "kiln-hollow: %s\n", err.text);
        exit(EXIT_FAILURE);
    }
    node->client = remote_client_new(p->loop, node->http);
    registration.client = node->client;
    node->registration = registration_new(&registration);
    node->heartbeat = heartbeat_new(&(struct heartbeat_settings){
        .loop = p->loop,
        .client = node->client,
        .clock = &clock_system,
        .node = node->name,
        .every_ms = p->options.heartbeat_s * 1000,
        .lost = on_lease_lost,
        .context = node,
    });
    registration_start(node->registration);
}

static void
start_node(struct pool *p, unsigned i)
{
    struct hollow *node = &p->nodes[i];

    node->pool = p;
    node->name = xasprintf("%s%u", p->options.prefix, i);
    node->secret_path = xasprintf("%s/%s.secret", p->options.state_dir, node->name);
    node->facts = (struct node_facts){
        .name = node->name,
        .machine = p->machine,
        .topology = p->topology,
        .max_pods = 4096,
    };
    connect_node(node);
}

static void
start_more(struct pool *p)
{
    while (p->n_started < p->options.nodes && p->n_started < p->n_ready + STARTING_AT_ONCE)
        start_node(p, p->n_started++);
}

static void
on_stop(int signal_number, void *context)
{
    struct pool *p = context;

    (void)signal_number;
    loop_stop(p->loop);
}

/* ---- The program ---- */

#define TEXT(long_name, field, arg, words)                                      \
    {                                                                           \
        .name = long_name, .argument = arg, .help = words, .type = OPTION_TEXT, \
        .offset = offsetof(struct options, field),                              \
    }

static const struct option_spec option_specs[] = {
    TEXT("controller", controller, "URL", "the API, http://HOST:PORT"),
    TEXT("cluster", cluster, "NAME", "the cluster's name (kiln)"),
    TEXT("munge-socket", munge_socket, "PATH", "munged's socket"),
    TEXT("state-dir", state_dir, "DIR", "where the nodes' secrets are kept"),
    TEXT("topology", topology, "TOPOLOGY", "of every node (pack:2 numa:2 core:16 pu:1)"),
    TEXT("prefix", prefix, "TEXT", "of the nodes' names (hollow-)"),
    TEXT("trace", trace, "FILE", "append a line for each start and end of a pod"),
    {.name = "nodes",
     .argument = "N",
     .help = "how many (100)",
     .type = OPTION_INT,
     .min = 1,
     .max = 100000,
     .offset = offsetof(struct options, nodes)},
    {.name = "run-ms",
     .argument = "MS",
     .help = "how long each pod runs (0)",
     .type = OPTION_INT,
     .min = 0,
     .max = 86400000,
     .offset = offsetof(struct options, run_ms)},
    {.name = "heartbeat",
     .argument = "S",
     .help = "interval of heartbeats; a quarter of the controller's --node-grace at most (10)",
     .type = OPTION_INT,
     .min = 1,
     .max = 3600,
     .offset = offsetof(struct options, heartbeat_s)},
};

static const struct option_table option_table = {
    .name = "kiln-hollow",
    .usage = "--controller URL --state-dir DIR [OPTION]...",
    .summary = "Emulates many nodes over the real protocol, for benchmarks.",
    OPTION_ROWS(option_specs),
};

static void
raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int
main(int argc, char **argv)
{
    struct pool p = {
        .options =
            {
                .cluster = "kiln",
                .topology = "pack:2 numa:2 core:16 pu:1",
                .prefix = "hollow-",
                .nodes = 100,
            },
    };
    struct hardware_request request = {0};
    struct error err = {0};
    struct sigwatch *term, *interrupt;
    int r;

    program_begin(&option_table, argc, argv, &p.options);
    if (p.options.controller == NULL || p.options.state_dir == NULL)
        program_refuse(&option_table, "--controller and --state-dir are needed");
    if (p.options.trace != NULL && (p.trace = fopen(p.options.trace, "ae")) == NULL) {
        fprintf(stderr, "kiln-hollow: %s: %s\n", p.options.trace, strerror(errno));
        return EXIT_FAILURE;
    }
    raise_file_limit();
    log_set_level(LOG_LEVEL_WARNING);
    request.given = p.options.topology;
    r = dir_make(p.options.state_dir, 0700, &err);
    if (r == 0)
        r = machine_read("", &p.machine, &err);
    if (r == 0)
        r = hardware_discover(&request, &p.topology, &err);
    if (r < 0)
        return program_end("kiln-hollow", r, &err);
    p.loop = loop_new();
    term = sigwatch_new(p.loop, SIGTERM, on_stop, &p);
    interrupt = sigwatch_new(p.loop, SIGINT, on_stop, &p);
    p.workers = workers_new(2);
    p.credential_backend = credential_backend_new_munge(p.options.munge_socket);
    p.nodes = xnew_array(struct hollow, (size_t)p.options.nodes);
    start_more(&p);
    loop_run(p.loop);
    printf("%" PRIu64 " pods done\n", p.n_done);
    /* The end of the process frees the rest, so only the sigwatches are freed.
     */
    sigwatch_free(term);
    sigwatch_free(interrupt);
    return program_end("kiln-hollow", 0, NULL);
}
