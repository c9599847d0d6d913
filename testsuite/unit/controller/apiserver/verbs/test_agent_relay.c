/* SPDX-License-Identifier: Apache-2.0 */
/* Output on its way from an agent to a reader: both ends may be late, come twice, or be gone. */
#include "controller/apiserver/verbs/agent_relay.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/apiserver/house.h"

#define REQUESTS "/api/v1/nodes/n1/requests"

static const struct principal agent_n2 = {
    .type = PRINCIPAL_AGENT, .name = "root", .groups = no_groups, .n_groups = 1, .node = "n2"};

/* One who reads the output of a pod. */
struct reader {
    struct listener output;
    struct http_call *call;
    bool is_over;
    int status; /* 0: it has ended in the middle */
    char *text; /* of an answer that is no output */
};

/* The pod "a" on n1, whose agent is connected. */
struct relay_world {
    struct house h;
    struct listener requests; /* the lines that the agent is sent */
    struct http_call *agent;  /* NULL: it is gone */
};

static void
connect_agent(struct relay_world *w)
{
    w->requests = (struct listener){.loop = w->h.w.loop, .text = STRBUF_INIT};
    w->agent = listen_as(w->h.agent, &w->requests, REQUESTS);
}

static void
relay_world_init(struct relay_world *w)
{
    house_init(&w->h);
    ck_assert_int_eq(
        world_code(&w->h.w, &admin, HTTP_POST, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n1\"}}"),
        201);
    ck_assert_int_eq(world_code(&w->h.w, &admin, HTTP_POST, PODS, POD("a")), 201);
    bind_to_n1(&w->h, "a");
    connect_agent(w);
}

static void
relay_world_fini(struct relay_world *w)
{
    if (w->agent != NULL)
        http_call_cancel(w->agent);
    strbuf_fini(&w->requests.text);
    house_fini(&w->h);
}

static void
on_end(const struct http_response *answer, UNUSED const struct error *err, void *arg)
{
    struct reader *r = container_of((struct listener *)arg, struct reader, output);

    r->is_over = true;
    r->status = answer != NULL ? answer->status : 0;
    r->text = answer != NULL ? xstrndup(answer->body, answer->length) : NULL;
    loop_stop(r->output.loop);
}

static void
start_reader(struct relay_world *w, struct reader *r)
{
    *r = (struct reader){.output = {.loop = w->h.w.loop, .text = STRBUF_INIT}};
    r->call = http_client_call(w->h.local, &(struct http_client_request){.method = HTTP_GET,
                                                                         .target = PODS "/a/log",
                                                                         .data = heard,
                                                                         .done = on_end,
                                                                         .arg = &r->output});
}

static void
reader_fini(struct reader *r)
{
    if (!r->is_over)
        http_call_cancel(r->call);
    strbuf_fini(&r->output.text);
    free(r->text);
}

static void
wait_for_end(const struct relay_world *w, const struct reader *r)
{
    while (!r->is_over)
        loop_run(w->h.w.loop);
}

/* Reads the id of the agent's last request. */
static void
read_id(const struct relay_world *w, char id[33])
{
    const char *at = w->requests.text.text, *last = NULL;

    while ((at = strstr(at, "\"id\":\"")) != NULL)
        last = at = at + strlen("\"id\":\"");
    ck_assert_ptr_nonnull(last);
    snprintf(id, 33, "%.32s", last);
}

/* A reader whose request the agent has. The agent may connect only after it: then it tries again. */
static void
begin_reader(struct relay_world *w, struct reader *r, char id[33])
{
    const unsigned before = w->requests.lines;

    start_reader(w, r);
    while (w->requests.lines == before) {
        loop_run(w->h.w.loop);
        if (r->is_over) {
            ck_assert_int_eq(r->status, 503);
            reader_fini(r);
            start_reader(w, r);
        }
    }
    read_id(w, id);
}

/* A piece of the agent; returns the status of the answer. */
static int
send_piece(struct relay_world *w, const char *id, const char *query, const char *bytes)
{
    CLEANUP_FREE char *target = xasprintf(REQUESTS "/%s%s", id, query);
    struct exchange e = {.loop = w->h.w.loop};
    int status;

    http_client_call(w->h.agent,
                     &(struct http_client_request){.method = HTTP_POST,
                                                   .target = target,
                                                   .content_type = "application/octet-stream",
                                                   .body = bytes,
                                                   .length = strlen(bytes),
                                                   .done = answered,
                                                   .arg = &e});
    while (e.status == 0)
        loop_run(w->h.w.loop);
    status = e.status;
    exchange_fini(&e);
    return status;
}

START_TEST(output_is_passed_on_piece_by_piece_and_its_end_ends_the_answer)
{
    struct relay_world w;
    struct reader r;
    char id[33];

    relay_world_init(&w);
    begin_reader(&w, &r, id);
    ck_assert_int_eq(send_piece(&w, id, "", "one\n"), 200);
    ck_assert_int_eq(send_piece(&w, id, "", "two\n"), 200);
    ck_assert_int_eq(send_piece(&w, id, "?end=1", ""), 200);
    wait_for_end(&w, &r);
    ck_assert_int_eq(r.status, 200);
    ck_assert_str_eq(r.output.text.text, "one\ntwo\n");

    /* The end comes once more. */
    ck_assert_int_eq(send_piece(&w, id, "?end=1", ""), 404);
    reader_fini(&r);
    relay_world_fini(&w);
}
END_TEST

START_TEST(a_piece_for_a_reader_that_has_gone_is_refused_and_the_agent_is_asked_to_stop)
{
    struct relay_world w;
    struct reader r, other;
    char id[33], id_of_other[33];

    relay_world_init(&w);
    begin_reader(&w, &r, id);
    begin_reader(&w, &other, id_of_other);
    ck_assert_int_eq(send_piece(&w, id, "", "one\n"), 200);
    reader_fini(&r);
    while (strstr(w.requests.text.text, "\"type\":\"stop\"") == NULL)
        loop_run(w.h.w.loop);
    ck_assert_int_eq(send_piece(&w, id, "", "two\n"), 404);

    ck_assert_int_eq(send_piece(&w, id_of_other, "?end=1", "all\n"), 200);
    wait_for_end(&w, &other);
    ck_assert_str_eq(other.output.text.text, "all\n");
    reader_fini(&other);
    relay_world_fini(&w);
}
END_TEST

START_TEST(an_agent_of_another_node_cannot_answer)
{
    struct relay_world w;
    struct reader r;
    char id[33];
    CLEANUP_FREE char *target = NULL;

    relay_world_init(&w);
    begin_reader(&w, &r, id);
    target = xasprintf("/api/v1/nodes/n2/requests/%s?end=1", id);
    ck_assert_int_eq(world_code(&w.h.w, &agent_n2, HTTP_POST, target, "lies\n"), 404);

    ck_assert_int_eq(send_piece(&w, id, "?end=1", "truth\n"), 200);
    wait_for_end(&w, &r);
    ck_assert_str_eq(r.output.text.text, "truth\n");
    reader_fini(&r);
    relay_world_fini(&w);
}
END_TEST

START_TEST(a_failure_of_the_agent_is_the_answer_only_before_the_output)
{
    struct relay_world w;
    struct reader r;
    char id[33];

    relay_world_init(&w);
    begin_reader(&w, &r, id);
    ck_assert_int_eq(send_piece(&w, id, "?status=404&message=no%20file", ""), 200);
    wait_for_end(&w, &r);
    ck_assert_int_eq(r.status, 404);
    ck_assert_ptr_nonnull(strstr(r.text, "no file"));
    reader_fini(&r);

    begin_reader(&w, &r, id);
    ck_assert_int_eq(send_piece(&w, id, "?status=200", ""), 200); /* none is no failure */
    wait_for_end(&w, &r);
    ck_assert_int_eq(r.status, 500);
    reader_fini(&r);
    relay_world_fini(&w);
}
END_TEST

/* The former stream may be that of a machine that was cut off. */
START_TEST(an_agent_that_connects_again_ends_what_its_former_stream_began)
{
    struct relay_world w;
    struct reader waits, reads, later;
    struct listener former;
    struct http_call *call;
    char id[33], id_of_reads[33], id_of_later[33];

    relay_world_init(&w);
    begin_reader(&w, &waits, id);
    begin_reader(&w, &reads, id_of_reads);
    ck_assert_int_eq(send_piece(&w, id_of_reads, "", "begin\n"), 200);
    former = w.requests;
    call = w.agent;
    connect_agent(&w);
    wait_for_end(&w, &waits);
    ck_assert_int_eq(waits.status, 500);
    ck_assert_ptr_nonnull(strstr(waits.text, "went away"));
    wait_for_end(&w, &reads);
    ck_assert_int_eq(reads.status, 0); /* it sees that the output is not complete */
    ck_assert_int_eq(send_piece(&w, id, "", "late\n"), 404);

    begin_reader(&w, &later, id_of_later);
    ck_assert_int_eq(send_piece(&w, id_of_later, "?end=1", "new\n"), 200);
    wait_for_end(&w, &later);
    ck_assert_str_eq(later.output.text.text, "new\n");

    (void)call; /* it has ended */
    strbuf_fini(&former.text);
    reader_fini(&waits);
    reader_fini(&reads);
    reader_fini(&later);
    relay_world_fini(&w);
}
END_TEST

START_TEST(without_an_agent_the_reader_is_asked_to_come_again)
{
    struct relay_world w;
    struct reader r;
    char id[33];

    relay_world_init(&w);
    begin_reader(&w, &r, id);
    http_call_cancel(w.agent);
    w.agent = NULL;
    wait_for_end(&w, &r);
    ck_assert_int_eq(r.status, 500);
    reader_fini(&r);

    start_reader(&w, &r);
    wait_for_end(&w, &r);
    ck_assert_int_eq(r.status, 503);
    ck_assert_ptr_nonnull(strstr(r.text, "not connected"));
    reader_fini(&r);
    relay_world_fini(&w);
}
END_TEST

SUITE("agent_relay", output_is_passed_on_piece_by_piece_and_its_end_ends_the_answer,
      a_piece_for_a_reader_that_has_gone_is_refused_and_the_agent_is_asked_to_stop,
      an_agent_of_another_node_cannot_answer,
      a_failure_of_the_agent_is_the_answer_only_before_the_output,
      an_agent_that_connects_again_ends_what_its_former_stream_began,
      without_an_agent_the_reader_is_asked_to_come_again)
