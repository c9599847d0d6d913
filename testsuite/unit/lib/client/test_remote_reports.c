/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/remote_reports.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/status.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/client/remote.h"
#include "lib/http/http_client.h"
#include "lib/http/http_request.h"
#include "lib/http/http_server.h"
#include "lib/json/json.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

/* A server on the same loop that answers reports of pods named "bad" with 409,
 * and stores the requests: "[a b]" for several, "<a>" for one.
 */
static struct {
    char *directory;
    struct loop *loop;
    struct http_server *server;
    struct http_client *http;
    struct client *client;
    int together;      /* status of a request with several */
    const char *words; /* body of that answer instead, or NULL */
    struct strbuf asked;
    struct strbuf told; /* "a200 bad409 " */
    unsigned n_awaited;
} site;

struct sent {
    const char *name;
    struct client_call *call;
    struct sent *cancels, *repeats; /* when it is answered */
};

static void
add_answer(struct strbuf *out, const char *name)
{
    strbuf_add_text(out, strcmp(name, "bad") == 0
                             ? "{\"code\":409,\"reason\":\"Conflict\",\"message\":"
                               "\"no\"},"
                             : "{\"code\":200},");
}

static void
serve_several(struct http_request *request)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;
    size_t length = 0;
    const char *body = http_request_body(request, &length);
    const struct json *list = json_get(json_parse(arena, body, length, NULL, NULL), "reports");

    ck_assert_str_eq(http_request_target(request), "/kiln/v1/podreports");
    ck_assert(json_is(list, JSON_ARRAY));
    strbuf_add_char(&site.asked, '[');
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *one = json_at(list, i);
        const char *name = json_get_text(one, "name");

        ck_assert_str_eq(json_get_text(one, "namespace"), "ns");
        ck_assert_str_eq(json_path_text(one, "patch.status.phase"), "Running");
        strbuf_printf(&site.asked, i > 0 ? " %s" : "%s", name);
        add_answer(&answer, name);
    }
    strbuf_add_char(&site.asked, ']');
    {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        if (site.words != NULL)
            strbuf_add_text(&text, site.words);
        else
            strbuf_printf(&text, "{\"reports\":[%.*s]}", (int)answer.length - 1, answer.text);
        http_request_reply(request, site.together, "application/json", text.text, text.length);
    }
}

static void
serve(struct http_request *request, void *arg)
{
    const char *name;
    bool is_bad;

    (void)arg;
    if (http_request_method(request) == HTTP_POST) {
        serve_several(request);
        return;
    }
    ck_assert_str_eq(http_request_header(request, "Content-Type"),
                     "application/strategic-merge-patch+json");
    name = http_request_target(request) + strlen("/api/v1/namespaces/ns/pods/");
    is_bad = strncmp(name, "bad/", 4) == 0;
    strbuf_printf(&site.asked, "<%.*s>", (int)strcspn(name, "/"), name);
    http_request_reply(request, is_bad ? 409 : 200, "application/json", "{}", 2);
}

static void
start(int together)
{
    CLEANUP_FREE char *path = NULL;
    CLEANUP_FREE char *url = NULL;

    memset(&site, 0, sizeof(site));
    strbuf_init(&site.asked);
    strbuf_init(&site.told);
    site.together = together;
    site.directory = scratch_new();
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
    strbuf_fini(&site.told);
    scratch_freep(&site.directory);
}

static void on_told(const struct client_reply *reply, void *context);

static void
report(struct sent *sent)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    const struct client_request request = {
        .verb = CLIENT_STRATEGIC_PATCH,
        .kind = &pod_kind,
        .namespace = "ns",
        .name = sent->name,
        .subresource = "status",
        .body = body,
        .raw = true,
        .is_report = true,
    };

    json_set_string(arena, json_make_object(arena, body, "status"), "phase", "Running");
    site.n_awaited++;
    sent->call = client_call(site.client, arena, &request, on_told, sent);
}

static void
on_told(const struct client_reply *reply, void *context)
{
    struct sent *sent = context;

    strbuf_printf(&site.told, "%s%d", sent->name, reply->code);
    if (reply->status != NULL)
        strbuf_printf(&site.told, "(%s)", reply->status->message);
    strbuf_add_char(&site.told, ' ');
    if (sent->cancels != NULL) {
        client_cancel(sent->cancels->call);
        site.n_awaited--;
    }
    if (sent->repeats != NULL)
        report(sent->repeats);
    if (--site.n_awaited == 0)
        loop_stop(site.loop);
}

START_TEST(a_report_while_one_is_under_way_goes_with_the_next)
{
    struct sent a = {.name = "a"}, b = {.name = "bad"}, c = {.name = "c"};

    start(200);
    report(&a);
    report(&b);
    report(&c);
    loop_run(site.loop);

    ck_assert_str_eq(site.asked.text, "[a][bad c]");
    ck_assert_str_eq(site.told.text, "a200 bad409(no) c200 ");
    stop();
}
END_TEST

START_TEST(one_that_is_told_may_cancel_another_and_say_more)
{
    struct sent last = {.name = "last"}, d = {.name = "d"}, c = {.name = "c", .repeats = &last},
                b = {.name = "b", .cancels = &d}, a = {.name = "a"};
    struct sent waiting = {.name = "w"};

    start(200);
    report(&a);
    report(&waiting);
    ck_assert(!client_call_waits(a.call));
    ck_assert(client_call_waits(waiting.call));
    client_cancel(waiting.call);
    site.n_awaited--;
    report(&b);
    report(&c);
    report(&d);
    loop_run(site.loop);

    ck_assert_str_eq(site.asked.text, "[a][b c d][last]");
    ck_assert_str_eq(site.told.text, "a200 b200 c200 last200 ");
    stop();
}
END_TEST

START_TEST(no_more_go_together_than_the_server_takes)
{
    struct sent all[70] = {0};

    start(200);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        all[i].name = i == 0 ? "a" : "b";
        report(&all[i]);
    }
    loop_run(site.loop);

    ck_assert_int_eq(strncmp(site.asked.text, "[a][b b ", 8), 0);
    ck_assert_str_eq(strrchr(site.asked.text, '['), "[b b b b b]");
    stop();
}
END_TEST

START_TEST(a_server_of_before_gets_each_alone_from_then_on)
{
    struct sent a = {.name = "a"}, b = {.name = "bad"}, c = {.name = "c"};

    start(404);
    report(&a);
    loop_run(site.loop);
    report(&b);
    loop_run(site.loop);
    report(&c);
    loop_run(site.loop);

    ck_assert_str_eq(site.asked.text, "[a]<a><bad><c>");
    ck_assert_str_eq(site.told.text, "a200 bad409 c200 ");
    stop();
}
END_TEST

START_TEST(one_that_makes_a_request_unreadable_keeps_no_other_back)
{
    struct sent a = {.name = "a"}, b = {.name = "bad"}, c = {.name = "c"};

    start(400);
    report(&a);
    report(&b);
    loop_run(site.loop);
    site.together = 200;
    report(&c);
    loop_run(site.loop);

    ck_assert_ptr_nonnull(strstr(site.asked.text, "<a>"));
    ck_assert_ptr_nonnull(strstr(site.asked.text, "<bad>"));
    ck_assert_ptr_nonnull(strstr(site.asked.text, "[c]"));
    ck_assert_ptr_nonnull(strstr(site.told.text, "a200 "));
    ck_assert_ptr_nonnull(strstr(site.told.text, "bad409 "));
    stop();
}
END_TEST

START_TEST(a_failure_of_the_server_is_that_of_each)
{
    struct sent a = {.name = "a"}, b = {.name = "b"};

    start(503);
    site.words = "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":503,"
                 "\"message\":\"later\"}";
    report(&a);
    report(&b);
    loop_run(site.loop);
    ck_assert_str_eq(site.told.text, "a503(later) b503(later) ");

    /* Likewise an answer that cannot be read. */
    site.together = 200;
    strbuf_truncate(&site.told, 0);
    report(&a);
    loop_run(site.loop);
    ck_assert_str_eq(site.told.text, "a0 ");
    stop();
}
END_TEST

START_TEST(reports_end_with_their_client)
{
    struct sent a = {.name = "a"}, b = {.name = "b"}, c = {.name = "c"};

    start(200);
    report(&a);
    report(&b);
    client_abandon(site.client);
    ck_assert_str_eq(site.told.text, "a0 b0 ");
    report(&c);
    stop();
}
END_TEST

SUITE("remote_reports", a_report_while_one_is_under_way_goes_with_the_next,
      one_that_is_told_may_cancel_another_and_say_more, no_more_go_together_than_the_server_takes,
      a_server_of_before_gets_each_alone_from_then_on,
      one_that_makes_a_request_unreadable_keeps_no_other_back,
      a_failure_of_the_server_is_that_of_each, reports_end_with_their_client)
