/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/remote.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/status.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/client/sync_call.h"
#include "lib/http/http_client.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "lib/http/http_stream.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

/* A server on a Unix socket, on the same loop, that gives every request the
 * same answer and stores the request.
 */
static struct {
    char *directory;
    struct loop *loop;
    struct http_server *server;
    struct http_client *http;
    struct client *client;

    int status;
    const char *body;
    const char *warning;
    bool streams;

    struct strbuf asked; /* "POST /target type body" */
    char key[64];
} site;

static void
serve(struct http_request *request, void *arg)
{
    size_t length = 0;
    const char *body = http_request_body(request, &length);
    const char *type = http_request_header(request, "Content-Type");
    const char *key = http_request_header(request, "Idempotency-Key");

    (void)arg;
    strbuf_truncate(&site.asked, 0);
    strbuf_printf(&site.asked, "%s %s %s %.*s", http_method_name(http_request_method(request)),
                  http_request_target(request), type != NULL ? type : "-", (int)length, body);
    snprintf(site.key, sizeof(site.key), "%s", key != NULL ? key : "");
    if (site.warning != NULL)
        http_request_add_header(request, "Warning", site.warning);
    if (site.streams) {
        struct http_stream *stream = http_request_stream(request, site.status, "application/json");

        /* in pieces that do not end at line ends */
        for (const char *p = site.body; *p != '\0'; p += strnlen(p, 7))
            http_stream_send_text(stream, p, strnlen(p, 7));
        http_stream_end(stream);
        return;
    }
    http_request_reply(request, site.status, "application/json", site.body, strlen(site.body));
}

static void
start(int status, const char *body)
{
    CLEANUP_FREE char *path = NULL;
    CLEANUP_FREE char *url = NULL;

    memset(&site, 0, sizeof(site));
    strbuf_init(&site.asked);
    site.directory = scratch_new();
    site.status = status;
    site.body = body;
    site.loop = loop_new();
    site.server = http_server_new(site.loop, NULL, serve, NULL);
    path = xasprintf("%s/socket", site.directory);
    url = xasprintf("http+unix://%s", path);
    ck_assert_int_eq(http_server_listen_unix(site.server, path, 0600, NULL), 0);
    ck_assert_int_eq(http_client_new(site.loop, url, NULL, &site.http, NULL), 0);
    site.client = remote_client_new(site.loop, site.http);
}

static void
stop(void)
{
    client_free(site.client);
    http_client_free(site.http);
    http_server_free(site.server);
    loop_free(site.loop);
    strbuf_fini(&site.asked);
    scratch_freep(&site.directory);
}

#define POD_TEXT                                                      \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":" \
    "\"a\",\"namespace\":\"ns\",\"resourceVersion\":\"7\"}}"

START_TEST(an_object_comes_back_as_its_kind)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    const struct client_request request = {
        .verb = CLIENT_GET, .kind = &pod_kind, .namespace = "ns", .name = "a"};

    start(200, POD_TEXT);
    ck_assert_int_eq(sync_call_run(site.client, NULL, &request, &sync_call, NULL), 0);

    ck_assert_str_eq(site.asked.text, "GET /api/v1/namespaces/ns/pods/a - ");
    ck_assert_int_eq(sync_call.code, 200);
    ck_assert_str_eq(sync_call.object->meta->name, "a");
    ck_assert_str_eq(sync_call.text, POD_TEXT);
    stop();
}
END_TEST

START_TEST(a_create_carries_its_body_and_its_key)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    const struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &job_kind,
        .namespace = "ns",
        .body = body,
        .submission_key = "k-1",
    };

    json_set_string(arena, body, "kind", "Job");
    start(201, "{\"kind\":\"Status\",\"status\":\"Success\"}");
    ck_assert_int_eq(sync_call_run(site.client, arena, &request, &sync_call, NULL), 0);

    ck_assert_str_eq(site.asked.text, "POST /apis/batch/v1/namespaces/ns/jobs "
                                      "application/json {\"kind\":\"Job\"}");
    ck_assert_str_eq(site.key, "k-1");
    ck_assert_ptr_null(sync_call.object);
    stop();
}
END_TEST

START_TEST(each_kind_of_patch_has_its_content_type)
{
    static const struct {
        enum client_verb verb;
        const char *type;
    } cases[] = {
        {CLIENT_MERGE_PATCH, "application/merge-patch+json"},
        {CLIENT_STRATEGIC_PATCH, "application/strategic-merge-patch+json"},
        {CLIENT_JSON_PATCH, "application/json-patch+json"},
        {CLIENT_APPLY, "application/apply-patch+yaml"},
    };

    start(200, POD_TEXT);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
        struct arena *arena = arena_new(0);
        const struct client_request request = {
            .verb = cases[i].verb,
            .kind = &pod_kind,
            .namespace = "ns",
            .name = "a",
            .body = json_object(arena),
        };

        ck_assert_int_eq(sync_call_run(site.client, arena, &request, &sync_call, NULL), 0);
        ck_assert(strncmp(site.asked.text, "PATCH ", 6) == 0);
        ck_assert_ptr_nonnull(strstr(site.asked.text, cases[i].type));
    }
    stop();
}
END_TEST

START_TEST(a_refusal_has_the_words_and_the_reason_of_the_server)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    struct error err = {0};
    const struct client_request request = {.verb = CLIENT_GET, .kind = &node_kind, .name = "n7"};

    start(404, "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"nodes "
               "\\\"n7\\\" not found\",\"reason\":\"NotFound\",\"code\":404}");
    ck_assert_int_eq(sync_call_run(site.client, NULL, &request, &sync_call, &err), -ENOENT);

    ck_assert_str_eq(err.text, "nodes \"n7\" not found");
    ck_assert_str_eq(sync_call.reason, "NotFound");
    stop();
}
END_TEST

START_TEST(an_answer_that_is_no_json_is_an_error_and_not_a_crash)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    struct error err = {0};
    const struct client_request request = {.verb = CLIENT_GET, .kind = &node_kind, .name = "n7"};

    start(200, "{\"kind\":");
    ck_assert_int_lt(sync_call_run(site.client, NULL, &request, &sync_call, &err), 0);

    ck_assert_int_eq(sync_call.code, 0);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot be read"));
    stop();
}
END_TEST

START_TEST(warnings_come_along_without_their_quotes)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    const struct client_request request = {
        .verb = CLIENT_GET, .kind = &pod_kind, .namespace = "ns", .name = "a"};

    start(200, POD_TEXT);
    site.warning = "299 - \"unknown field \\\"x\\\"\"";
    ck_assert_int_eq(sync_call_run(site.client, NULL, &request, &sync_call, NULL), 0);

    ck_assert_str_eq(sync_call.warnings[0], "unknown field \"x\"");
    ck_assert_ptr_null(sync_call.warnings[1]);
    stop();
}
END_TEST

START_TEST(a_server_that_is_not_there_is_said_to_be_so)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    struct error err = {0};
    const struct client_request request = {.verb = CLIENT_LIST, .kind = &pod_kind};

    start(200, POD_TEXT);
    http_server_free(site.server);
    site.server = NULL;
    ck_assert_int_lt(sync_call_run(site.client, NULL, &request, &sync_call, &err), 0);

    ck_assert_int_eq(sync_call.code, 0);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot reach"));
    stop();
}
END_TEST

struct asker {
    struct client_call *other; /* cancelled by the first answer */
    unsigned n_back;
    int code;
};

static void
on_back(const struct client_reply *reply, void *context)
{
    struct asker *asker = context;

    asker->n_back++;
    asker->code = reply->error->code;
    client_cancel(asker->other);
    asker->other = NULL;
}

START_TEST(calls_that_are_abandoned_come_back_without_an_answer)
{
    struct asker asker = {0};
    const struct client_request request = {.verb = CLIENT_LIST, .kind = &pod_kind};

    start(200, POD_TEXT);
    client_call(site.client, NULL, &request, on_back, &asker);
    asker.other = client_call(site.client, NULL, &request, on_back, &asker);
    client_abandon(site.client);

    ck_assert_uint_eq(asker.n_back, 1);
    ck_assert_int_eq(asker.code, -ECANCELED);
    stop();
}
END_TEST

static void
gather(const void *bytes, size_t length, void *context)
{
    strbuf_add(context, bytes, length);
}

START_TEST(a_stream_is_handed_on_as_it_comes)
{
    CLEANUP_SYNC_CALL struct sync_call sync_call = {0};
    CLEANUP_STRBUF struct strbuf log = STRBUF_INIT;
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &pod_kind,
        .namespace = "ns",
        .name = "a",
        .subresource = "log",
        .raw = true,
        .data = gather,
        .data_context = &log,
    };

    start(200, "line one\nline two\nline three\n");
    site.streams = true;
    ck_assert_int_eq(sync_call_run(site.client, NULL, &request, &sync_call, NULL), 0);

    ck_assert_str_eq(log.text, site.body);
    stop();
}
END_TEST

/* Watches */

static struct strbuf seen = STRBUF_INIT;
static struct client_watch *watch;

static void
see(const struct client_event *event, void *context)
{
    static const char letters[] = "+~-b!";

    (void)context;
    strbuf_printf(&seen, "%c", letters[event->type]);
    if (event->object != NULL)
        strbuf_printf(&seen, "%s", event->object->meta->name);
    if (event->text != NULL)
        strbuf_printf(&seen, "(%zu)", event->length);
    if (event->type == CLIENT_BOOKMARK)
        strbuf_printf(&seen, "%s", event->resource_version);
    if (event->status != NULL)
        strbuf_printf(&seen, "%d", (int)event->status->code);
    if (event->type == CLIENT_ERROR) {
        client_stop(watch);
        loop_stop(site.loop);
    }
}

static void
watch_pods(const char *accept)
{
    const struct client_watch_request request = {
        .kind = &pod_kind, .resource_version = "5", .accept = accept};

    site.streams = site.status == 200;
    strbuf_truncate(&seen, 0);
    watch = client_watch(site.client, &request, see, NULL);
    loop_run(site.loop);
}

START_TEST(a_watch_is_events_until_its_end)
{
    start(200, "{\"type\":\"ADDED\",\"object\":" POD_TEXT "}\n"
               "{\"type\":\"MODIFIED\",\"object\":" POD_TEXT "}\n\n"
               "{\"type\":\"NEWER\",\"object\":" POD_TEXT "}\n"
               "{\"type\":\"DELETED\",\"object\":" POD_TEXT "}\n"
               "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{"
               "\"resourceVersion\":\"70\"}}}\n"
               "{\"type\":\"ADDED\",\"object\":");
    watch_pods(NULL);

    ck_assert_str_eq(seen.text, "+a~a-ab70!");
    stop();
}
END_TEST

START_TEST(an_error_event_ends_the_watch_with_its_status)
{
    start(200, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":"
               "\"Failure\",\"code\":410}}\n"
               "{\"type\":\"ADDED\",\"object\":" POD_TEXT "}\n");
    watch_pods(NULL);

    ck_assert_str_eq(seen.text, "!410");
    stop();
}
END_TEST

START_TEST(a_watch_that_is_refused_ends_with_the_status)
{
    start(403, "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403,"
               "\"message\":\"no\"}");
    watch_pods(NULL);

    ck_assert_str_eq(seen.text, "!403");
    stop();
}
END_TEST

START_TEST(a_line_that_cannot_be_read_ends_the_watch)
{
    start(200, "{\"type\":\"ADDED\",\"obj\n{\"type\":\"ADDED\"}\n");
    watch_pods(NULL);

    ck_assert_str_eq(seen.text, "!");
    stop();
}
END_TEST

START_TEST(another_representation_comes_as_text)
{
    static const char line[] = "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Table\",\"rows\":[]}}";
    CLEANUP_FREE char *body = xasprintf("%s\n", line);
    CLEANUP_FREE char *expected = xasprintf("+(%zu)!", strlen(line));

    start(200, body);
    watch_pods("application/json;as=Table");

    ck_assert_str_eq(seen.text, expected);
    stop();
}
END_TEST

SUITE("remote", an_object_comes_back_as_its_kind, a_create_carries_its_body_and_its_key,
      each_kind_of_patch_has_its_content_type, a_refusal_has_the_words_and_the_reason_of_the_server,
      an_answer_that_is_no_json_is_an_error_and_not_a_crash,
      warnings_come_along_without_their_quotes, a_server_that_is_not_there_is_said_to_be_so,
      calls_that_are_abandoned_come_back_without_an_answer, a_stream_is_handed_on_as_it_comes,
      a_watch_is_events_until_its_end, an_error_event_ends_the_watch_with_its_status,
      a_watch_that_is_refused_ends_with_the_status, a_line_that_cannot_be_read_ends_the_watch,
      another_representation_comes_as_text)
