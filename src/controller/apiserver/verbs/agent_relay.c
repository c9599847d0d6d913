/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody connects to a node, so an agent asks for work: it holds a stream open, receives on it
 * what somebody wants to read, and sends the output piece by piece as requests of its own. A
 * piece is acknowledged when the reader has taken it. So a slow reader slows the agent down
 * instead of filling the controller, which has at most one piece of each.
 */
#include "controller/apiserver/verbs/agent_relay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/http/channel.h"
#include "controller/apiserver/objects/log_options.h"
#include "controller/apiserver/objects/task_log.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/history/history.h"
#include "controller/history/history_question.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/digest.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_request.h"
#include "lib/json/json.h"
#include "lib/loop/timer.h"

#define READERS_MAX 256   /* of one node; limits.perUser applies first */
#define FIRST_MS    30000 /* for an agent's first answer */
#define ID_SIZE     33

struct agent_relay {
    struct apiserver *server;
    struct map *agents;  /* by node */
    struct map *readers; /* by id */
};

/* The stream on which an agent receives requests. */
struct relay_agent {
    struct agent_relay *agent_relay;
    struct request *q;
    struct channel *channel;
    struct list readers;
    unsigned n_readers;
};

/* A reader that waits for history or the agent, or that receives output. */
struct relay_reader {
    struct list link;          /* of its agent */
    struct relay_agent *agent; /* NULL while history is asked for the node */
    struct task_log log;       /* of a task whose pod is gone */
    struct history_question question;
    struct json *words; /* the request to the agent */
    char id[ID_SIZE];
    struct request *q;
    struct http_request *http; /* NULL after the answer */
    struct auth_grant *grant;  /* NULL after it moved into `channel` */
    struct channel *channel;   /* NULL before the first piece */
    struct request *piece;     /* the agent's POST, not acknowledged yet */
    struct timer *timer;
};

static void
acknowledge(struct relay_reader *reader)
{
    struct request *piece = reader->piece;

    reader->piece = NULL;
    if (piece == NULL)
        return;
    reply_success(&piece->reply, 200);
    request_finish(piece);
}

static void
send_to_agent(struct relay_agent *agent, const struct json *words)
{
    CLEANUP(frame_unrefp) struct frame *frame = frame_new();
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print(words, &text);
    strbuf_add_char(&text, '\n');
    frame_add_bytes(frame, text.text, text.length);
    channel_send(agent->channel, frame);
}

/* Tells the agent to stop, because the reader has closed. */
static void
stop_agent(struct relay_reader *reader)
{
    struct arena *arena = reader->q->arena;
    struct json *words = json_object(arena);

    json_set_string(arena, words, "id", reader->id);
    json_set_string(arena, words, "type", "stop");
    send_to_agent(reader->agent, words);
}

static void
reader_free(struct relay_reader *reader)
{
    if (reader->agent != NULL) {
        map_remove(reader->agent->agent_relay->readers, reader->id);
        list_remove(&reader->link);
        reader->agent->n_readers--;
    }
    user_limits_end_stream(reader->q, USER_LOG_READER);
    timer_free(reader->timer);
    acknowledge(reader);
    channel_free(reader->channel);
    if (reader->grant != NULL)
        auth_grant_free(reader->grant);
    request_free(reader->q);
    free(reader);
}

static void
add_seal(const char *name, const char *value, const struct error *err, void *arg)
{
    (void)err;
    if (name != NULL)
        http_request_add_header(arg, name, value);
}

/* A client that may stream has a session, so auth_grant_seal calls add_seal
 * before it returns.
 */
static void
answer_reader(struct relay_reader *reader, int code, const struct strbuf *text)
{
    static const char type[] = "application/json";
    struct digest digest;

    if (reader->grant != NULL) {
        digest_of(text->text, text->length, &digest);
        auth_grant_seal(reader->grant, code, type, &digest, add_seal, reader->http);
    }
    http_request_reply(reader->http, code, type, text->text, text->length);
    reader->http = NULL;
}

/* Answers with the request's reply; no output was sent before. */
static void
refuse_reader(struct relay_reader *reader)
{
    struct reply *reply = &reader->q->reply;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print(reply->tree, &text);
    http_request_on_close(reader->http, NULL, NULL);
    answer_reader(reader, reply->code, &text);
}

/* Answers with a failure and this message. */
static void
fail_reader(struct relay_reader *reader, int code, const char *message)
{
    if (reader->http == NULL)
        return;
    reply_fail(&reader->q->reply, &(struct reply_failure){
                                      .code = code,
                                      .reason = code == 404   ? "NotFound"
                                                : code == 504 ? "Timeout"
                                                : code == 403 ? "Forbidden"
                                                : code == 400 ? "BadRequest"
                                                : code == 429 ? "TooManyRequests"
                                                              : "InternalError",
                                      .message = message,
                                  });
    refuse_reader(reader);
}

static void
reader_gone(struct http_request *http, void *arg)
{
    struct relay_reader *reader = arg;

    stop_agent(reader);
    /* HTTP needs an answer for every request, although the client has gone. */
    http_request_reply(http, 499, NULL, NULL, 0);
    reader->http = NULL;
    reader_free(reader);
}

static void
reader_closed(void *context)
{
    struct relay_reader *reader = context;

    stop_agent(reader);
    reader_free(reader);
}

static void
reader_drained(void *context)
{
    acknowledge(context);
}

static void
reader_late(void *arg)
{
    struct relay_reader *reader = arg;

    fail_reader(reader, 504,
                arena_printf(reader->q->arena,
                             "the agent of the node did not answer within %d "
                             "seconds",
                             FIRST_MS / 1000));
    stop_agent(reader);
    reader_free(reader);
}

static void
agent_free(struct relay_agent *agent)
{
    struct map *agents = agent->agent_relay->agents;

    if (map_find(agents, agent->q->route.name) == agent)
        map_remove(agents, agent->q->route.name);
    while (!list_is_empty(&agent->readers)) {
        struct relay_reader *reader = container_of(agent->readers.next, struct relay_reader, link);

        fail_reader(reader, 500, "the agent of the node went away");
        channel_cut(reader->channel);
        reader->channel = NULL;
        reader_free(reader);
    }
    channel_free(agent->channel);
    request_free(agent->q);
    free(agent);
}

static void
agent_closed(void *context)
{
    agent_free(context);
}

struct agent_relay *
agent_relay_new(struct apiserver *server)
{
    struct agent_relay *agent_relay = xnew(struct agent_relay);

    agent_relay->server = server;
    agent_relay->agents = map_new();
    agent_relay->readers = map_new();
    return agent_relay;
}

void
agent_relay_free(struct agent_relay *agent_relay)
{
    size_t at;
    void *agent;

    if (agent_relay == NULL)
        return;
    for (at = 0; map_next(agent_relay->agents, &at, NULL, &agent); at = 0)
        agent_free(agent);
    map_free(agent_relay->agents);
    map_free(agent_relay->readers);
    free(agent_relay);
}

static void
start_agent(struct request *q, struct http_request *http, struct auth_grant *grant)
{
    struct agent_relay *agent_relay = q->server->agent_relay;
    struct relay_agent *agent = map_find(agent_relay->agents, q->route.name);
    struct channel_callbacks callbacks = {.closed = agent_closed};

    if (agent != NULL) /* the agent has restarted */
        agent_free(agent);
    agent = xnew(struct relay_agent);
    agent->agent_relay = agent_relay;
    agent->q = q;
    list_init(&agent->readers);
    callbacks.context = agent;
    agent->channel = channel_open(q->server->dispatch, http, grant, "application/json", &callbacks);
    map_put(agent_relay->agents, q->route.name, agent);
}

static const char *
find_option(const struct request *q, const char *name)
{
    const char *value = parameter_find(q->options.parameters, q->options.n_parameters, name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static struct relay_agent *
find_agent(struct request *q, const char *node)
{
    struct relay_agent *agent = map_find(q->server->agent_relay->agents, node);

    if (store_find(q->server->store, STORE_PUBLISHED, &node_kind, NULL, node) == NULL)
        reply_not_found(&q->reply, &pod_kind, node);
    else if (agent == NULL)
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 503,
                                  .reason = "ServiceUnavailable",
                                  .message = arena_printf(q->arena,
                                                          "the output is on node '%s', whose "
                                                          "agent is not connected",
                                                          node),
                                  .retry_after_s = 1,
                              });
    else if (agent->n_readers >= READERS_MAX) {
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 429,
                                  .reason = "TooManyRequests",
                                  .message = "too many clients read output from that "
                                             "node; try again",
                                  .retry_after_s = 1,
                              });
        return NULL;
    }
    return q->reply.form == REPLY_NONE ? agent : NULL;
}

static struct relay_reader *
reader_new(struct request *q, struct http_request *http, struct auth_grant *grant,
           struct json *words)
{
    struct relay_reader *reader = xnew(struct relay_reader);

    reader->q = q;
    reader->http = http;
    reader->grant = grant;
    reader->words = words;
    reader->timer = timer_new(q->server->loop, reader_late, reader);
    return reader;
}

static void
ask_agent(struct relay_reader *reader, struct relay_agent *agent)
{
    unsigned char bytes[(ID_SIZE - 1) / 2];

    random_bytes(bytes, sizeof(bytes));
    for (unsigned i = 0; i < sizeof(bytes); i++)
        snprintf(reader->id + 2 * i, 3, "%02x", bytes[i]);
    reader->agent = agent;
    list_add_last(&agent->readers, &reader->link);
    agent->n_readers++;
    map_put(agent->agent_relay->readers, reader->id, reader);
    timer_start(reader->timer, FIRST_MS);
    http_request_on_close(reader->http, reader_gone, reader);
    json_set_string(reader->q->arena, reader->words, "id", reader->id);
    send_to_agent(agent, reader->words);
}

/* ---- A task whose pod is gone ---- */

/* The reader is freed in take_history, when history has answered. */
static void
asker_gone(struct http_request *http, void *arg)
{
    struct relay_reader *reader = arg;

    http_request_reply(http, 499, NULL, NULL, 0);
    reader->http = NULL;
}

static void
take_history(const char *text, size_t length, const struct error *err, void *context)
{
    struct relay_reader *reader = context;
    struct request *q = reader->q;
    struct relay_agent *agent = NULL;
    const char *node;

    if (reader->http == NULL) {
        reader_free(reader);
        return;
    }
    if (q->server->agent_relay == NULL)
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 503,
                                  .reason = "ServiceUnavailable",
                                  .message = "the controller is stopping; try again",
                                  .retry_after_s = 1,
                              });
    else if (err != NULL)
        reply_fail(&q->reply, &(struct reply_failure){
                                  .code = 503,
                                  .reason = "ServiceUnavailable",
                                  .message = arena_printf(q->arena,
                                                          "cannot find out from history "
                                                          "on which node the task ran: %s",
                                                          err->text),
                                  .retry_after_s = 1,
                              });
    else if (task_log_take(q, &reader->log, json_parse(q->arena, text, length, NULL, NULL),
                           reader->words, &node))
        agent = find_agent(q, node);
    if (agent != NULL) {
        ask_agent(reader, agent);
        return;
    }
    refuse_reader(reader);
    reader_free(reader);
}

static bool
ask_for_gone(struct request *q, struct http_request *http, struct auth_grant *grant,
             const struct task_log *log)
{
    struct json *words = json_object(q->arena);
    struct error err = {.text = "there is none"};
    struct relay_reader *reader;

    if (!log_options_add(q, words) || !user_limits_begin_stream(q, USER_LOG_READER))
        return false;
    reader = reader_new(q, http, grant, words);
    reader->log = *log;
    reader->log.job = NULL;
    task_log_ask(log, &reader->question);
    http_request_on_close(http, asker_gone, reader);
    if (q->server->history == NULL
        || history_ask(q->server->history, &reader->question, take_history, reader, &err) < 0)
        take_history(NULL, 0, &err, reader);
    return true;
}

static bool
ask_for_log(struct request *q, struct http_request *http, struct auth_grant *grant)
{
    struct json *words = json_object(q->arena);
    const struct pod *pod = log_options_read(q, words);
    struct relay_agent *agent;

    if (pod == NULL)
        return false;
    if (pod->spec.node_name == NULL || pod->spec.node_name[0] == '\0') {
        q->reply.code = 204; /* the pod has no output yet */
        return false;
    }
    agent = find_agent(q, pod->spec.node_name);
    if (agent == NULL || !user_limits_begin_stream(q, USER_LOG_READER))
        return false;
    ask_agent(reader_new(q, http, grant, words), agent);
    return true;
}

/* If the task's pod still exists, the rights on the pod decide. */
static bool
ask_for_task(struct request *q, struct http_request *http, struct auth_grant *grant)
{
    struct task_log log;
    const char *pod;

    if (!task_log_read(q, &log))
        return false;
    pod = task_log_find_pod(q, &log);
    if (pod == NULL)
        return ask_for_gone(q, http, grant, &log);
    q->route.kind = &pod_kind;
    q->route.name = pod;
    return authorization_check(q) && ask_for_log(q, http, grant);
}

bool
agent_relay_start(struct request *q, struct http_request *http, struct auth_grant *grant)
{
    if (q->route.subresource == SUBRESOURCE_LOG && kind_hooks_of_route(q)->has_task_logs)
        return ask_for_task(q, http, grant);
    if (q->route.subresource == SUBRESOURCE_LOG)
        return ask_for_log(q, http, grant);
    start_agent(q, http, grant);
    return true;
}

static void
refuse_piece(struct request *q)
{
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 404,
                              .reason = "NotFound",
                              .message = "the reader of this output has gone",
                          });
    request_finish(q);
}

static void
pass_on(struct relay_reader *reader, const struct request *q)
{
    struct channel_callbacks callbacks = {
        .closed = reader_closed,
        .drained = reader_drained,
        .context = reader,
    };
    struct frame *frame;

    if (reader->channel == NULL) {
        timer_stop(reader->timer);
        http_request_on_close(reader->http, NULL, NULL);
        reader->channel = channel_open(q->server->dispatch, reader->http, reader->grant,
                                       "text/plain; charset=utf-8", &callbacks);
        reader->http = NULL;
        reader->grant = NULL;
    }
    if (q->length == 0)
        return;
    frame = frame_new();
    frame_add_bytes(frame, q->text, q->length);
    channel_send(reader->channel, frame);
    frame_unref(frame);
}

void
agent_relay_take_piece(struct request *q)
{
    struct relay_reader *reader =
        q->route.extra != NULL ? map_find(q->server->agent_relay->readers, q->route.extra) : NULL;
    const char *status = find_option(q, "status");
    const char *message = find_option(q, "message");

    if (reader == NULL || strcmp(reader->agent->q->route.name, q->route.name) != 0) {
        refuse_piece(q);
        return;
    }
    acknowledge(reader); /* the agent did not wait for the previous one */
    reader->piece = q;
    if (status != NULL && reader->channel == NULL) {
        fail_reader(reader, atoi(status) >= 400 && atoi(status) < 600 ? atoi(status) : 500,
                    message != NULL ? message : "the agent failed");
        reader_free(reader);
        return;
    }
    pass_on(reader, q);
    if (find_option(q, "end") != NULL)
        reader_free(reader);
    else if (q->length == 0)
        acknowledge(reader);
}
