/* SPDX-License-Identifier: Apache-2.0 */
/* A node that starts and ends hundreds of pods a second would send as many requests, each with
 * a wait for the disk. Together they share one parse, one session and one commit, and remain
 * what they are: each report passes every rule by itself, and one that is refused leaves the
 * others alone.
 */
#include "controller/apiserver/pod_reports.h"

#include <string.h>

#include "controller/apiserver/access/audit.h"
#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/access/user_limits.h"
#include "controller/apiserver/request/body.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/apiserver/verbs/verbs.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/http/http_request.h"
#include "lib/json/json.h"

#define PATH        "/kiln/v1/podreports"
#define MOST_VALUES 100000u

struct pod_reports {
    struct request *q;
    struct http_peer from;
    struct json *answers;
    unsigned left; /* not on the disk yet; plus one while they are started */
};

struct pod_report {
    struct pod_reports *all;
    struct json *answer; /* its element of `answers` */
};

static void
finish_one(struct pod_reports *all)
{
    struct request *q = all->q;
    struct json *tree;

    if (--all->left > 0)
        return;
    tree = json_object(q->arena);
    json_set(q->arena, tree, "reports", all->answers);
    reply_tree(&q->reply, 200, tree);
    request_finish(q);
}

static void
copy_text(struct arena *arena, struct json *to, const struct json *from, const char *name)
{
    const char *text = json_get_text(from, name);

    if (text != NULL)
        json_set_string(arena, to, name, arena_strdup(arena, text));
}

static void
patched(struct request *patch)
{
    struct pod_report *one = patch->context;
    struct pod_reports *all = one->all;
    struct arena *arena = all->q->arena;
    const struct reply *r = &patch->reply;

    json_set_int(arena, one->answer, "code", r->code);
    if (r->code >= 300) {
        copy_text(arena, one->answer, r->tree, "reason");
        copy_text(arena, one->answer, r->tree, "message");
    }
    audit_note(patch, &all->from, "", true);
    request_free(patch);
    finish_one(all);
}

static void
start_patch(struct pod_reports *all, const struct json *report)
{
    struct request *q = all->q;
    struct request *patch = request_new(q->server, arena_new(0));
    struct pod_report *one = arena_alloc(q->arena, sizeof(*one));

    one->all = all;
    one->answer = json_object(q->arena);
    json_append(q->arena, all->answers, one->answer);
    patch->principal = q->principal;
    patch->agent = q->agent;
    patch->method = HTTP_PATCH;
    patch->format = BODY_STRATEGIC_PATCH;
    patch->body = json_get(report, "patch");
    patch->route = (struct route){
        .verb = VERB_PATCH,
        .kind = &pod_kind,
        .subresource = SUBRESOURCE_STATUS,
        .namespace = json_get_text(report, "namespace"),
        .name = json_get_text(report, "name"),
    };
    patch->done = patched;
    patch->context = one;
    all->left++;
    if (patch->route.namespace == NULL || patch->route.name == NULL
        || !json_is(patch->body, JSON_OBJECT))
        reply_bad_request(&patch->reply, "a report must have a namespace, a name and a patch");
    else if (body_parse(patch) && authorization_check(patch)) {
        verb_patch(patch);
        return;
    }
    request_finish(patch);
}

/* Returns NULL when the reply is made. */
static const struct json *
read_body(struct request *q)
{
    struct error err = {0};
    const struct json *body, *reports;

    if (q->length > BODY_LIMIT) {
        body_refuse_size(q);
        return NULL;
    }
    body = json_parse_bounded(q->arena, q->text, q->length, MOST_VALUES, NULL, &err);
    reports = json_get(body, "reports");
    if (json_is(reports, JSON_ARRAY) && json_count(reports) > 0
        && json_count(reports) <= POD_REPORTS_MOST)
        return reports;
    reply_bad_request(&q->reply,
                      "%s%sthe body must contain 1 to %u reports of pods in "
                      "JSON",
                      err.text, err.text[0] != '\0' ? "; " : "", POD_REPORTS_MOST);
    return NULL;
}

static void
start(struct request *q, const struct http_peer *from)
{
    const struct json *reports = read_body(q);
    struct pod_reports *all;

    if (reports == NULL) {
        request_finish(q);
        return;
    }
    user_limits_charge_requests(q, json_count(reports) - 1);
    all = arena_alloc(q->arena, sizeof(*all));
    *all = (struct pod_reports){
        .q = q,
        .from = *from,
        .answers = json_array(q->arena),
        .left = 1,
    };
    for (uint32_t i = 0; i < json_count(reports); i++)
        start_patch(all, json_at(reports, i));
    finish_one(all);
}

bool
pod_reports_serve(struct request *q, const char *path, const struct http_peer *from)
{
    if (strcmp(path, PATH) != 0)
        return false;
    /* Each refused report has its own line in the audit log. */
    q->route.kind = &pod_kind;
    q->route.verb = VERB_PATCH;
    q->route.subresource = SUBRESOURCE_STATUS;
    if (q->method == HTTP_POST) {
        start(q, from);
        return true;
    }
    reply_fail(&q->reply, &(struct reply_failure){
                              .code = 405,
                              .reason = "MethodNotAllowed",
                              .message = "send reports of pods with POST",
                          });
    request_finish(q);
    return true;
}
