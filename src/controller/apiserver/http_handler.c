/* SPDX-License-Identifier: Apache-2.0 */
/* The order is the point of this file: identity, route, size, rights, and only then the
 * meaning of the body. Apart from health and discovery, a client that has not proved who it is
 * gets no other answer than that, costs no parsing, and leaves at most one line in ten seconds
 * in the log. Every answer is sealed where the client can check a seal, refusals too, because
 * a client that believes a forged "404" acts on it.
 *
 * Streams leave here once they are authorized like any request. They take over the request and
 * its grant, since they live for hours and the exchange does not.
 */
#include "controller/apiserver/http_handler.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "controller/apiserver/access/audit.h"
#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/impersonation.h"
#include "controller/apiserver/access/metrics_token.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/cut_off.h"
#include "controller/apiserver/discovery/discovery.h"
#include "controller/apiserver/discovery/request_metrics.h"
#include "controller/apiserver/http/http_answer.h"
#include "controller/apiserver/request/accept.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/not_served.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/view.h"
#include "controller/apiserver/verbs/agent_relay.h"
#include "controller/apiserver/verbs/verbs.h"
#include "controller/apiserver/watch/watch.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/auth/auth_server.h"
#include "lib/auth/protocol.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_request.h"

#define REFUSALS_QUIET_US INT64_C(10000000)

/* One request over HTTP until it is answered. */
struct http_exchange {
    struct apiserver *server;
    struct http_request *http;
    struct auth_grant *grant;
    struct request *q;
    struct view view;
    struct principal *principal; /* in the request's arena */
    bool has_metrics_token;
    int64_t came_us; /* monotonic */
    bool is_proven;  /* the principal is authenticated */
};

static void
http_exchange_free(struct http_exchange *e)
{
    request_free(e->q);
    if (e->grant != NULL)
        auth_grant_free(e->grant);
    free(e);
}

static void
answer(struct http_exchange *e)
{
    audit_note(e->q, http_request_peer(e->http), http_request_path(e->http), e->is_proven);
    request_metrics_note(e->server->request_metrics, e->q,
                         clock_monotonic_us(e->server->clock) - e->came_us);
    http_answer_start(e->q, &e->view, e->http, e->grant);
    e->q = NULL;
    e->grant = NULL;
    http_exchange_free(e);
}

static void
done(struct request *q)
{
    answer(q->context);
}

/* Other paths get a 404 whatever form is accepted. */
static bool
is_below_api(const char *path)
{
    return strncmp(path, "/api", 4) == 0;
}

static enum body_format
find_format(const char *type)
{
    static const struct {
        const char *type;
        enum body_format format;
    } formats[] = {
        {"application/json", BODY_JSON},
        {"application/yaml", BODY_YAML},
        {"application/vnd.kubernetes.protobuf", BODY_PROTOBUF},
        {"application/merge-patch+json", BODY_MERGE_PATCH},
        {"application/strategic-merge-patch+json", BODY_STRATEGIC_PATCH},
        {"application/json-patch+json", BODY_JSON_PATCH},
        {"application/apply-patch+yaml", BODY_APPLY},
        {"application/octet-stream", BODY_BYTES},
    };
    size_t n;

    if (type == NULL || type[0] == '\0')
        return BODY_NONE;
    n = strcspn(type, "; ");
    for (unsigned i = 0; i < ARRAY_SIZE(formats); i++)
        if (strlen(formats[i].type) == n && strncasecmp(formats[i].type, type, n) == 0)
            return formats[i].format;
    return BODY_UNKNOWN;
}

/* Returns false when the value is invalid for a Table. */
static bool
set_include(struct http_exchange *e, const char *value)
{
    struct accept *accept = &e->view.accept;

    accept->include = INCLUDE_METADATA;
    if (value == NULL || *value == '\0' || strcmp(value, "Metadata") == 0)
        return true;
    if (strcmp(value, "Object") == 0)
        accept->include = INCLUDE_OBJECT;
    else if (strcmp(value, "None") == 0)
        accept->include = INCLUDE_NONE;
    else if (accept->form == ACCEPT_TABLE) {
        reply_bad_request(&e->q->reply,
                          "Unable to convert to Table as requested: "
                          "includeObject: Invalid value: \"%s\": must "
                          "be 'Metadata', 'Object', 'None', or empty",
                          value);
        return false;
    }
    return true;
}

/* Starts a watch or an agent's stream: it is authorized like other requests,
 * and then takes over the request and the grant.
 */
static void
start_stream(struct http_exchange *e, const struct parameter *parameters, size_t n_parameters)
{
    struct request *q = e->q;
    struct error err = {0};

    if (!options_parse(&q->options, q->arena, &q->route, parameters, n_parameters, NULL, &q->reply)
        || !authorization_check(q) || !verbs_check_read(q)) {
        answer(e);
        return;
    }
    if (e->grant != NULL && auth_grant_may_stream(e->grant, &err) < 0) {
        reply_errno(&q->reply, -EKEYREJECTED, &err);
        answer(e);
        return;
    }
    if (q->route.verb == VERB_WATCH) {
        if (!user_limits_begin_stream(q, USER_WATCH)) {
            answer(e);
            return;
        }
        watch_start(q, &e->view, e->http, e->grant);
        e->q = NULL;
        e->grant = NULL;
        http_exchange_free(e);
    } else if (!agent_relay_start(q, e->http, e->grant))
        answer(e);
    else {
        e->q = NULL;
        e->grant = NULL;
        http_exchange_free(e);
    }
}

static bool
check_size(struct http_exchange *e)
{
    /* A Job's body includes its script. check_rest in body.c measures the rest
     * after parsing.
     */
    bool brings_content =
        e->q->route.verb == VERB_CREATE && kind_hooks_of_route(e->q)->brings_content;

    if (e->q->length <= BODY_LIMIT || brings_content)
        return true;
    body_refuse_size(e->q);
    return false;
}

/* The client's name: "kubectl" for "kubectl/v1.32 (linux/amd64)". */
static const char *
agent_of(struct http_exchange *e)
{
    const char *header = http_request_header(e->http, "User-Agent");
    size_t length = header != NULL ? strcspn(header, "/") : 0;

    if (length == 0)
        return NULL;
    return arena_strndup(e->q->arena, header, length > MANAGER_MAX ? MANAGER_MAX : length);
}

static void
serve_api(struct http_exchange *e)
{
    struct request *q = e->q;
    size_t n_parameters;
    const struct parameter *parameters = options_copy_parameters(q->arena, e->http, &n_parameters);
    enum route_result result =
        request_find_route(q, http_request_method(e->http), http_request_path(e->http),
                           options_wants_watch(parameters, n_parameters));

    if (not_served_yet(http_request_path(e->http))) {
        not_served_reply_later(&q->reply, http_request_header(e->http, "Upgrade") != NULL);
        answer(e);
        return;
    }
    if (result != ROUTE_FOUND) {
        not_served_reply(&q->reply, result);
        answer(e);
        return;
    }
    q->route.namespace = kind_hooks_resolve_name(q, &namespace_kind, q->route.namespace);
    q->route.name = kind_hooks_resolve_name(q, q->route.kind, q->route.name);
    e->view.kind = q->route.kind;
    q->submission_key = http_request_header(e->http, "Idempotency-Key");
    e->view.accept.is_pretty = parameter_find(parameters, n_parameters, "pretty") != NULL;
    if (!set_include(e, parameter_find(parameters, n_parameters, "includeObject"))
        || !check_size(e))
        answer(e);
    else if (q->route.verb == VERB_WATCH || q->route.subresource == SUBRESOURCE_LOG
             || (q->route.subresource == SUBRESOURCE_REQUESTS && q->route.verb == VERB_GET))
        start_stream(e, parameters, n_parameters);
    else
        verbs_start(q, parameters, n_parameters);
}

static void
serve(struct http_exchange *e)
{
    struct request *q = e->q;
    struct discovery_question asked = {
        .path = http_request_path(e->http),
        .accept = http_request_header(e->http, "Accept"),
        .if_none_match = http_request_header(e->http, "If-None-Match"),
    };

    q->principal = e->principal;
    q->done = done;
    q->context = e;
    q->method = http_request_method(e->http);
    q->agent = agent_of(e);
    e->view.principal = e->principal;
    e->view.store = e->server->store;
    q->format = find_format(http_request_header(e->http, "Content-Type"));
    q->text = http_request_body(e->http, &q->length);
    q->is_verbose = http_request_query(e->http, "verbose") != NULL;
    if (cut_off_refuse(q, e->http)) {
        answer(e);
        return;
    }
    if (metrics_token_is_asked(asked.path) && !e->has_metrics_token && !metrics_token_allows(q)) {
        answer(e);
        return;
    }
    for (path_fn *const *path = e->server->profile->paths; *path != NULL; path++)
        if ((*path)(q, e->http))
            return;
    if (discovery_serve(q, &asked))
        answer(e);
    else if (!is_below_api(asked.path)) {
        not_served_reply(&q->reply, ROUTE_NO_PATH);
        answer(e);
    } else if (!accept_parse(asked.accept, &e->view.accept, &q->reply))
        answer(e);
    else
        serve_api(e);
}

/* Logs a refusal, such as a wrong key, a wrong clock or a munged that does not
 * run. At most one in ten seconds, because a refused client repeats its
 * requests.
 */
static void
log_refusal(const struct http_exchange *e, const struct error *err)
{
    struct apiserver *server = e->server;
    int64_t now_us = clock_monotonic_us(server->clock);

    if (err == NULL || now_us < server->refusals_quiet_until_us) {
        server->refusals_unsaid++;
        return;
    }
    log_warning("refusing a request from %s: %s (%u more since the last such "
                "message)",
                http_request_peer(e->http)->address, err->text, server->refusals_unsaid);
    server->refusals_unsaid = 0;
    server->refusals_quiet_until_us = now_us + REFUSALS_QUIET_US;
}

static void
refuse_identity(struct http_exchange *e, int code, const struct error *err)
{
    struct error words = {.code = code};

    log_refusal(e, err);

    /* Upstream's message when no other is known. */
    snprintf(words.text, sizeof(words.text), "%s", err != NULL ? err->text : "Unauthorized");
    reply_errno(&e->q->reply, code, &words);
    answer(e);
}

static void
impersonated(bool is_granted, void *arg)
{
    struct http_exchange *e = arg;

    if (is_granted)
        serve(e);
    else
        answer(e);
}

/* Serves a program that reads metrics and has only its token. */
static void
serve_metrics(struct http_exchange *e)
{
    if (!metrics_token_check(e->server, http_request_header(e->http, "Authorization"),
                             http_request_method(e->http))) {
        refuse_identity(e, -EKEYREJECTED,
                        &(struct error){.text = "the metrics token is not valid, or no "
                                                "longer valid"});
        return;
    }
    e->has_metrics_token = true;
    e->principal->type = PRINCIPAL_USER;
    e->principal->name = "a reader of metrics";
    serve(e);
}

static void
checked(struct auth_grant *grant TAKES, const struct error *err, void *arg)
{
    struct http_exchange *e = arg;

    if (grant == NULL) {
        refuse_identity(e, err->code, err);
        return;
    }
    e->grant = grant;
    e->is_proven = true;
    principal_of_identity(auth_grant_identity(grant), e->server->policy, e->principal);
    e->q->principal = e->principal;
    if (!user_limits_take_connection(e->q, e->http) || !user_limits_take_request(e->q))
        answer(e);
    else if (impersonation_is_asked(e->http))
        impersonation_start(e->q, e->http, e->principal, impersonated, e);
    else
        serve(e);
}

static void
set_question(const struct http_exchange *e, struct strbuf *sealed,
             struct auth_request *ret_question)
{
    const struct http_peer *peer = http_request_peer(e->http);
    const char *name, *value;
    const void *at = NULL;

    while (http_request_header_next(e->http, &at, &name, &value))
        protocol_add_sealed(sealed, name, value);

    memset(ret_question, 0, sizeof(*ret_question));
    ret_question->authorization = http_request_header(e->http, "Authorization");
    ret_question->method = http_method_name(http_request_method(e->http));
    ret_question->target = http_request_target(e->http);
    ret_question->content_type = http_request_header(e->http, "Content-Type");
    ret_question->body = http_request_body(e->http, &ret_question->length);
    ret_question->sealed = sealed->text;
    ret_question->session = http_request_connection_data(e->http);
    ret_question->is_secure = peer->is_secure;
    ret_question->is_local = peer->is_local;
    ret_question->uid = peer->uid;
    ret_question->gid = peer->gid;
}

static void
opened(struct auth_session *session TAKES, const char *credential, const struct error *err,
       void *arg)
{
    struct http_exchange *e = arg;

    if (session == NULL) {
        refuse_identity(e, err->code, err);
        return;
    }
    principal_of_identity(auth_session_identity(session), e->server->policy, e->principal);
    e->q->principal = e->principal;
    if (!user_limits_take_connection(e->q, e->http) || !user_limits_take_request(e->q)) {
        auth_session_free(session);
        answer(e);
        return;
    }
    http_request_set_connection_data(e->http, session, auth_session_free);
    http_request_add_header(e->http, PROTOCOL_CREDENTIAL_HEADER, credential);
    reply_success(&e->q->reply, 200);
    answer(e);
}

/* Serves a client of a profile that has one identity, by token or local socket. */
static void
serve_everybody(struct http_exchange *e)
{
    const char *token = http_request_header(e->http, "Authorization");

    if (!http_request_peer(e->http)->is_local
        && (token == NULL || strcmp(token, e->server->profile->token) != 0)) {
        refuse_identity(e, -EKEYREJECTED, NULL);
        return;
    }
    *e->principal = *e->server->profile->everybody;
    serve(e);
}

void
http_handler_serve(struct http_request *http, void *arg)
{
    struct apiserver *server = arg;
    struct http_exchange *e = xnew(struct http_exchange);
    struct auth_request question;
    CLEANUP_STRBUF struct strbuf sealed = STRBUF_INIT;
    const char *path = http_request_path(http);

    e->server = server;
    e->http = http;
    e->q = request_new(server, arena_new(0));
    e->came_us = clock_monotonic_us(server->clock);
    e->principal = arena_alloc(e->q->arena, sizeof(*e->principal));
    /* Authentication must succeed before the request is routed. A client that
     * fails gets an answer whose seal it can check.
     */
    if (discovery_is_public(path)
        && (server->profile->everybody != NULL
            || http_request_header(http, "Authorization") == NULL)) {
        e->principal->type = PRINCIPAL_USER;
        e->principal->name = "anybody";
        serve(e);
        return;
    }
    if (server->profile->everybody != NULL) {
        serve_everybody(e);
        return;
    }
    set_question(e, &sealed, &question);
    if (metrics_token_is_asked(path) && metrics_token_is_given(question.authorization)) {
        serve_metrics(e);
        return;
    }
    if (strcmp(path, PROTOCOL_SESSION_TARGET) == 0 && http_request_method(http) == HTTP_POST)
        auth_server_open(server->auth, &question, opened, e);
    else
        auth_server_check(server->auth, &question, checked, e);
}
