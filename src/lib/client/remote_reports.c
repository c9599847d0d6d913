/* SPDX-License-Identifier: Apache-2.0 */
/* One request is under way at a time, and what comes meanwhile goes together in the next. So
 * batches need no timer and no setting: a quiet agent sends each report at once, and the
 * busier the controller is, the more reports share a request (decision 282). If a request as a
 * whole is refused, each report is sent alone, because one bad report must not keep back the
 * others.
 */
#include "lib/client/remote_reports.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/status.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"
#include "lib/client/answer_reader.h"
#include "lib/client/api_path.h"
#include "lib/client/client.h"
#include "lib/http/http_client.h"
#include "lib/json/json.h"

#define TARGET     "/kiln/v1/podreports"
#define MOST       64u /* the server's limit */
#define MOST_BYTES (1u << 20)

struct remote_reports {
    struct http_client *http;
    struct list waiting;
    struct list alone;                /* reports sent one per request */
    struct remote_report *sent[MOST]; /* in one request; NULL: cancelled or
                                       * done */
    unsigned n_sent;
    struct http_call *call; /* the request with those in `sent` */
    bool is_busy;           /* that request is under way, or its answers are
                             * being delivered */
    bool goes_alone;        /* the server accepts one report per request */
};

struct remote_report {
    struct list place; /* in all->waiting or all->alone */
    struct remote_reports *all;
    struct remote_report **slot; /* in all->sent, or NULL */
    struct http_call *call;      /* of a report that is sent alone */
    struct strbuf target;
    struct strbuf text; /* {"namespace": ..., "name": ..., "patch": PATCH} */
    size_t patch, patch_length;
    remote_report_done_fn *done;
    void *context;
};

static void
report_free(struct remote_report *report)
{
    list_remove(&report->place);
    if (report->slot != NULL)
        *report->slot = NULL;
    if (report->call != NULL)
        http_call_cancel(report->call);
    strbuf_fini(&report->target);
    strbuf_fini(&report->text);
    free(report);
}

static void
finish(struct remote_report *report, const struct client_reply *reply)
{
    report->done(reply, report->context);
    report_free(report);
}

/* The answer is final whatever it is; a failure has a message if it is a
 * Status.
 */
static void
finish_with(struct remote_report *report, const struct http_response *answer,
            const struct error *err)
{
    CLEANUP_ANSWER_READER struct answer_reader reading = {0};
    struct client_reply reply = {.error = err};

    if (answer != NULL) {
        reply = (struct client_reply){
            .code = answer->status,
            .text = answer->body,
            .length = answer->length,
        };
        if (answer->status >= 300 && strncasecmp(answer->content_type, "application/json", 16) == 0
            && answer_reader_read(&pod_kind, answer->body, answer->length, &reading, NULL) == 0
            && reading.has_status)
            reply.status = &reading.status;
    }
    finish(report, &reply);
}

/* ---- One report per request ---- */

static void
alone_answered(const struct http_response *answer, const struct error *err, void *arg)
{
    struct remote_report *report = arg;

    report->call = NULL;
    finish_with(report, answer, err);
}

static void
send_alone(struct remote_report *report)
{
    const struct http_header accept = {"Accept", "application/json"};

    list_remove(&report->place);
    list_add_last(&report->all->alone, &report->place);
    report->call = http_client_call(report->all->http,
                                    &(struct http_client_request){
                                        .method = HTTP_PATCH,
                                        .target = report->target.text,
                                        .headers = &accept,
                                        .n_headers = 1,
                                        .content_type = "application/strategic-merge-patch+json",
                                        .body = report->text.text + report->patch,
                                        .length = report->patch_length,
                                        .done = alone_answered,
                                        .arg = report,
                                    });
}

/* ---- Several reports per request ---- */

static void send_waiting(struct remote_reports *r);

static struct remote_report *
take_sent(struct remote_reports *r, unsigned i)
{
    struct remote_report *report = r->sent[i];

    r->sent[i] = NULL;
    if (report != NULL)
        report->slot = NULL;
    return report;
}

/* False: the answer is not a list with one answer for each report. */
static bool
answer_each(struct remote_reports *r, const struct http_response *answer)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct json *list =
        json_get(json_parse(arena, answer->body, answer->length, NULL, NULL), "reports");

    if (!json_is(list, JSON_ARRAY) || json_count(list) != r->n_sent)
        return false;
    for (unsigned i = 0; i < r->n_sent; i++) {
        const struct json *one = json_at(list, i);
        struct remote_report *report = take_sent(r, i);
        const struct status status = {
            .status = "Failure",
            .message = json_get_text(one, "message"),
            .reason = json_get_text(one, "reason"),
            .code = json_get_int(one, "code", 0),
        };

        if (report != NULL)
            finish(report, &(struct client_reply){
                               .code = (int)status.code,
                               .status = status.code >= 300 ? &status : NULL,
                               .text = "",
                           });
    }
    return true;
}

/* The request as a whole was rejected, possibly because of one of its reports.
 * Sending each alone keeps a bad report from blocking the others.
 */
static bool
is_to_repeat_alone(const struct http_response *answer)
{
    return answer != NULL && answer->status >= 400 && answer->status < 500 && answer->status != 401
           && answer->status != 408 && answer->status != 429;
}

static void
answered(const struct http_response *answer, const struct error *err, void *arg)
{
    struct remote_reports *r = arg;
    struct error unread = {0};

    r->call = NULL;
    if (answer != NULL && (answer->status == 404 || answer->status == 405))
        r->goes_alone = true;
    if (answer != NULL && answer->status == 200 && !answer_each(r, answer)) {
        error_set(&unread, -EBADMSG, "the server's answer cannot be read");
        answer = NULL;
        err = &unread;
    }
    for (unsigned i = 0; i < r->n_sent; i++) {
        struct remote_report *report = take_sent(r, i);

        if (report == NULL)
            continue;
        if (is_to_repeat_alone(answer))
            send_alone(report);
        else
            finish_with(report, answer, err);
    }
    r->n_sent = 0;
    r->is_busy = false;
    send_waiting(r);
}

static void
take_waiting(struct remote_reports *r, struct strbuf *body)
{
    strbuf_add_text(body, "{\"reports\":[");
    list_foreach_safe(place, &r->waiting)
    {
        struct remote_report *report = container_of(place, struct remote_report, place);

        if (r->n_sent == MOST || (r->n_sent > 0 && body->length + report->text.length > MOST_BYTES))
            break;
        if (r->n_sent > 0)
            strbuf_add_char(body, ',');
        strbuf_add(body, report->text.text, report->text.length);
        list_remove(place);
        r->sent[r->n_sent] = report;
        report->slot = &r->sent[r->n_sent++];
    }
    strbuf_add_text(body, "]}");
}

static void
send_together(struct remote_reports *r)
{
    const struct http_header accept = {"Accept", "application/json"};
    CLEANUP_STRBUF struct strbuf body = STRBUF_INIT;

    take_waiting(r, &body);
    r->is_busy = true;
    r->call = http_client_call(r->http, &(struct http_client_request){
                                            .method = HTTP_POST,
                                            .target = TARGET,
                                            .headers = &accept,
                                            .n_headers = 1,
                                            .content_type = "application/json",
                                            .body = body.text,
                                            .length = body.length,
                                            .done = answered,
                                            .arg = r,
                                        });
}

static void
send_waiting(struct remote_reports *r)
{
    if (r->goes_alone) {
        list_foreach_safe(place, &r->waiting)
            send_alone(container_of(place, struct remote_report, place));
        return;
    }
    if (!r->is_busy && !list_is_empty(&r->waiting))
        send_together(r);
}

/* ---- A report ---- */

static void
add_member(struct strbuf *out, const char *name, const char *value)
{
    strbuf_printf(out, "\"%s\":", name);
    json_print_string(value, strlen(value), out);
    strbuf_add_char(out, ',');
}

struct remote_report *
remote_reports_send(struct remote_reports *r, const struct client_request *request,
                    remote_report_done_fn *done, void *context)
{
    struct remote_report *report = xnew(struct remote_report);

    report->all = r;
    report->done = done;
    report->context = context;
    strbuf_init(&report->target);
    api_path_of_request(request, &report->target);
    strbuf_init(&report->text);
    strbuf_add_char(&report->text, '{');
    add_member(&report->text, "namespace", request->namespace);
    add_member(&report->text, "name", request->name);
    strbuf_add_text(&report->text, "\"patch\":");
    report->patch = report->text.length;
    json_print(request->body, &report->text);
    report->patch_length = report->text.length - report->patch;
    strbuf_add_char(&report->text, '}');
    list_add_last(&r->waiting, &report->place);
    send_waiting(r);
    return report;
}

void
remote_report_cancel(struct remote_report *report)
{
    report_free(report);
}

bool
remote_report_waits(const struct remote_report *report)
{
    return report->slot == NULL && report->call == NULL;
}

/* ---- Life ---- */

static void
free_all(struct list *reports)
{
    list_foreach_safe(place, reports) report_free(container_of(place, struct remote_report, place));
}

void
remote_reports_free(struct remote_reports *r)
{
    if (r == NULL)
        return;
    if (r->call != NULL)
        http_call_cancel(r->call);
    for (unsigned i = 0; i < r->n_sent; i++)
        if (r->sent[i] != NULL)
            report_free(r->sent[i]);
    free_all(&r->waiting);
    free_all(&r->alone);
    free(r);
}

struct remote_reports *
remote_reports_new(struct http_client *http)
{
    struct remote_reports *r = xnew(struct remote_reports);

    r->http = http;
    list_init(&r->waiting);
    list_init(&r->alone);
    return r;
}
