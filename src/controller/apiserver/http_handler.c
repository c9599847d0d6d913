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

#include "controller/apiserver/access/account_names.h"
#include "controller/apiserver/access/audit.h"
#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/impersonation.h"
#include "controller/apiserver/access/metrics_token.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/access/scheduling_pause.h"
#include "controller/apiserver/access/token_endpoint.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/conformance.h"
#include "controller/apiserver/controllers.h"
#include "controller/apiserver/cut_off.h"
#include "controller/apiserver/discovery/discovery.h"
#include "controller/apiserver/discovery/request_metrics.h"
#include "controller/apiserver/discovery/resource_metrics.h"
#include "controller/apiserver/http/http_answer.h"
#include "controller/apiserver/pipeline.h"
#include "controller/apiserver/pod_reports.h"
#include "controller/apiserver/request/accept.h"
#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/not_served.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/request/view.h"
#include "controller/apiserver/summary/summary.h"
#include "controller/apiserver/verbs/agent_relay.h"
#include "controller/apiserver/verbs/job_action.h"
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
http_exchange_free(struct http_exchange *v)
{
    request_free(v->q);
    if (v->grant != NULL)
        auth_grant_free(v->grant);
    free(v);
}

static void
answer(struct http_exchange *v)
{
    audit_note(v->q, http_request_peer(v->http), http_request_path(v->http), v->is_proven);
    request_metrics_note(v->server->request_metrics, v->q,
                         clock_monotonic_us(v->server->clock) - v->came_us);
    http_answer_start(v->q, &v->view, v->http, v->grant);
    v->q = NULL;
    v->grant = NULL;
    http_exchange_free(v);
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
set_include(struct http_exchange *v, const char *value)
{
    struct accept *accept = &v->view.accept;

    accept->include = INCLUDE_METADATA;
    if (value == NULL || *value == '\0' || strcmp(value, "Metadata") == 0)
        return true;
    if (strcmp(value, "Object") == 0)
        accept->include = INCLUDE_OBJECT;
    else if (strcmp(value, "None") == 0)
        accept->include = INCLUDE_NONE;
    else if (accept->form == ACCEPT_TABLE) {
        reply_bad_request(&v->q->reply,
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
start_stream(struct http_exchange *v, const struct parameter *parameters, size_t n_parameters)
{
    struct request *q = v->q;
    struct error err = {0};

    if (!options_parse(&q->options, q->arena, &q->route, parameters, n_parameters, NULL, &q->reply)
        || !authorization_check(q)) {
        answer(v);
        return;
    }
    if (v->grant != NULL && auth_grant_may_stream(v->grant, &err) < 0) {
        reply_errno(&q->reply, -EKEYREJECTED, &err);
        answer(v);
        return;
    }
    if (q->route.verb == VERB_WATCH) {
        if (!user_limits_begin_stream(q, USER_WATCH)) {
            answer(v);
            return;
        }
        watch_start(q, &v->view, v->http, v->grant);
        v->q = NULL;
        v->grant = NULL;
        http_exchange_free(v);
    } else if (!agent_relay_start(q, v->http, v->grant))
        answer(v);
    else {
        v->q = NULL;
        v->grant = NULL;
        http_exchange_free(v);
    }
}

static bool
check_size(struct http_exchange *v)
{
    /* A Job's body includes its script. check_rest in body.c measures the rest
     * after parsing.
     */
    bool brings_content =
        v->q->route.verb == VERB_CREATE && kind_hooks_of_route(v->q)->brings_content;

    if (v->q->length <= BODY_LIMIT || brings_content)
        return true;
    body_refuse_size(v->q);
    return false;
}

/* The client's name: "kubectl" for "kubectl/v1.32 (linux/amd64)". */
static const char *
agent_of(struct http_exchange *v)
{
    const char *header = http_request_header(v->http, "User-Agent");
    size_t length = header != NULL ? strcspn(header, "/") : 0;

    if (length == 0)
        return NULL;
    return arena_strndup(v->q->arena, header, length > MANAGER_MAX ? MANAGER_MAX : length);
}

static void
serve_api(struct http_exchange *v)
{
    struct request *q = v->q;
    size_t n_parameters;
    const struct parameter *parameters = options_copy_parameters(q->arena, v->http, &n_parameters);
    enum route_result result =
        request_find_route(q, http_request_method(v->http), http_request_path(v->http),
                           options_wants_watch(parameters, n_parameters));

    if (not_served_yet(http_request_path(v->http))) {
        not_served_reply_later(&q->reply, http_request_header(v->http, "Upgrade") != NULL);
        answer(v);
        return;
    }
    if (result != ROUTE_FOUND) {
        not_served_reply(&q->reply, result);
        answer(v);
        return;
    }
    q->route.namespace = kind_hooks_resolve_name(q, &namespace_kind, q->route.namespace);
    q->route.name = kind_hooks_resolve_name(q, q->route.kind, q->route.name);
    v->view.kind = q->route.kind;
    q->submission_key = http_request_header(v->http, "Idempotency-Key");
    v->view.accept.is_pretty = parameter_find(parameters, n_parameters, "pretty") != NULL;
    if (!set_include(v, parameter_find(parameters, n_parameters, "includeObject"))
        || !check_size(v))
        answer(v);
    else if (q->route.verb == VERB_WATCH || q->route.subresource == SUBRESOURCE_LOG
             || (q->route.subresource == SUBRESOURCE_REQUESTS && q->route.verb == VERB_GET))
        start_stream(v, parameters, n_parameters);
    else
        verbs_start(q, parameters, n_parameters);
}

static void
serve(struct http_exchange *v)
{
    struct request *q = v->q;
    struct discovery_question asked = {
        .path = http_request_path(v->http),
        .accept = http_request_header(v->http, "Accept"),
        .if_none_match = http_request_header(v->http, "If-None-Match"),
    };

    q->principal = v->principal;
    q->done = done;
    q->context = v;
    q->method = http_request_method(v->http);
    q->agent = agent_of(v);
    v->view.principal = v->principal;
    v->view.store = v->server->store;
    q->format = find_format(http_request_header(v->http, "Content-Type"));
    q->text = http_request_body(v->http, &q->length);
    q->is_verbose = http_request_query(v->http, "verbose") != NULL;
    if (cut_off_refuse(q, v->http)) {
        answer(v);
        return;
    }
    if (metrics_token_is_asked(asked.path) && !v->has_metrics_token && !metrics_token_allows(q)) {
        answer(v);
        return;
    }
    for (path_fn *const *path = v->server->profile->paths; *path != NULL; path++)
        if ((*path)(q, v->http))
            return;
    if (discovery_serve(q, &asked))
        answer(v);
    else if (!is_below_api(asked.path)) {
        not_served_reply(&q->reply, ROUTE_NO_PATH);
        answer(v);
    } else if (!accept_parse(asked.accept, &v->view.accept, &q->reply))
        answer(v);
    else
        serve_api(v);
}

/* Logs a refusal, such as a wrong key, a wrong clock or a munged that does not
 * run. At most one in ten seconds, because a refused client repeats its
 * requests.
 */
static void
log_refusal(const struct http_exchange *v, const struct error *err)
{
    struct apiserver *server = v->server;
    int64_t now_us = clock_monotonic_us(server->clock);

    if (err == NULL || now_us < server->refusals_quiet_until_us) {
        server->refusals_unsaid++;
        return;
    }
    log_warning("refusing a request from %s: %s (%u more since the last such "
                "message)",
                http_request_peer(v->http)->address, err->text, server->refusals_unsaid);
    server->refusals_unsaid = 0;
    server->refusals_quiet_until_us = now_us + REFUSALS_QUIET_US;
}

static void
refuse_identity(struct http_exchange *v, int code, const struct error *err)
{
    struct error words = {.code = code};

    log_refusal(v, err);

    /* Upstream's message when no other is known. */
    snprintf(words.text, sizeof(words.text), "%s", err != NULL ? err->text : "Unauthorized");
    reply_errno(&v->q->reply, code, &words);
    answer(v);
}

static void
impersonated(bool is_granted, void *arg)
{
    struct http_exchange *v = arg;

    if (is_granted)
        serve(v);
    else
        answer(v);
}

/* Serves a program that reads metrics and has only its token. */
static void
serve_metrics(struct http_exchange *v)
{
    if (!metrics_token_check(v->server, http_request_header(v->http, "Authorization"),
                             http_request_method(v->http))) {
        refuse_identity(v, -EKEYREJECTED,
                        &(struct error){.text = "the metrics token is not valid, or no "
                                                "longer valid"});
        return;
    }
    v->has_metrics_token = true;
    v->principal->type = PRINCIPAL_USER;
    v->principal->name = "a reader of metrics";
    serve(v);
}

static void
checked(struct auth_grant *grant TAKES, const struct error *err, void *arg)
{
    struct http_exchange *v = arg;

    if (grant == NULL) {
        refuse_identity(v, err->code, err);
        return;
    }
    v->grant = grant;
    v->is_proven = true;
    principal_of_identity(auth_grant_identity(grant), v->server->policy, v->principal);
    v->q->principal = v->principal;
    if (!user_limits_take_connection(v->q, v->http) || !user_limits_take_request(v->q))
        answer(v);
    else if (impersonation_is_asked(v->http))
        impersonation_start(v->q, v->http, v->principal, impersonated, v);
    else
        serve(v);
}

static void
set_question(const struct http_exchange *v, struct strbuf *sealed,
             struct auth_request *ret_question)
{
    const struct http_peer *peer = http_request_peer(v->http);
    const char *name, *value;
    const void *at = NULL;

    while (http_request_header_next(v->http, &at, &name, &value))
        protocol_add_sealed(sealed, name, value);

    memset(ret_question, 0, sizeof(*ret_question));
    ret_question->authorization = http_request_header(v->http, "Authorization");
    ret_question->method = http_method_name(http_request_method(v->http));
    ret_question->target = http_request_target(v->http);
    ret_question->content_type = http_request_header(v->http, "Content-Type");
    ret_question->body = http_request_body(v->http, &ret_question->length);
    ret_question->sealed = sealed->text;
    ret_question->session = http_request_connection_data(v->http);
    ret_question->is_secure = peer->is_secure;
    ret_question->is_local = peer->is_local;
    ret_question->uid = peer->uid;
    ret_question->gid = peer->gid;
}

static void
opened(struct auth_session *session TAKES, const char *credential, const struct error *err,
       void *arg)
{
    struct http_exchange *v = arg;

    if (session == NULL) {
        refuse_identity(v, err->code, err);
        return;
    }
    principal_of_identity(auth_session_identity(session), v->server->policy, v->principal);
    v->q->principal = v->principal;
    if (!user_limits_take_connection(v->q, v->http) || !user_limits_take_request(v->q)) {
        auth_session_free(session);
        answer(v);
        return;
    }
    http_request_set_connection_data(v->http, session, auth_session_free);
    http_request_add_header(v->http, PROTOCOL_CREDENTIAL_HEADER, credential);
    reply_success(&v->q->reply, 200);
    answer(v);
}

/* Serves a client of a profile that has one identity, by token or local socket. */
static void
serve_everybody(struct http_exchange *v)
{
    const char *token = http_request_header(v->http, "Authorization");

    if (!http_request_peer(v->http)->is_local
        && (token == NULL || strcmp(token, v->server->profile->token) != 0)) {
        refuse_identity(v, -EKEYREJECTED, NULL);
        return;
    }
    *v->principal = *v->server->profile->everybody;
    serve(v);
}

void
http_handler_serve(struct http_request *http, void *arg)
{
    struct apiserver *server = arg;
    struct http_exchange *v = xnew(struct http_exchange);
    struct auth_request question;
    CLEANUP_STRBUF struct strbuf sealed = STRBUF_INIT;
    const char *path = http_request_path(http);

    v->server = server;
    v->http = http;
    v->q = request_new(server, arena_new(0));
    v->came_us = clock_monotonic_us(server->clock);
    v->principal = arena_alloc(v->q->arena, sizeof(*v->principal));
    /* Authentication must succeed before the request is routed. A client that
     * fails gets an answer whose seal it can check.
     */
    if (discovery_is_public(path)
        && (server->profile->everybody != NULL
            || http_request_header(http, "Authorization") == NULL)) {
        v->principal->type = PRINCIPAL_USER;
        v->principal->name = "anybody";
        serve(v);
        return;
    }
    if (server->profile->everybody != NULL) {
        serve_everybody(v);
        return;
    }
    set_question(v, &sealed, &question);
    if (metrics_token_is_asked(path) && metrics_token_is_given(question.authorization)) {
        serve_metrics(v);
        return;
    }
    if (strcmp(path, PROTOCOL_SESSION_TARGET) == 0 && http_request_method(http) == HTTP_POST)
        auth_server_open(server->auth, &question, opened, v);
    else
        auth_server_check(server->auth, &question, checked, v);
}
