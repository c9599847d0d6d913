/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_request.h"

#include <errno.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;
static struct error error;

static int
decode(const char *text, struct step_request *ret_request)
{
    error = (struct error){0};
    return step_request_decode(arena, text, strlen(text), ret_request, &error);
}

/* The text of the error; "" if the request is accepted. */
static const char *
refusal(const char *text)
{
    struct step_request q;

    return decode(text, &q) == 0 ? "" : error.text;
}

static const char *words[] = {"sh", "-c", "", "caf\xe9"};
static const char *variables[] = {"A=1", "EMPTY=", "B=x=y"};
static struct step_limit limits[] = {{"nofile", 1024}, {"core", 0}, {"stack", -1}};

static struct step_request
full_request(void)
{
    return (struct step_request){
        .pod_uid = "1234",
        .job_id = "17",
        .name = "ring",
        .arguments = {words, 4},
        .environment = {variables, 3},
        .directory = "/home/\xe9",
        .umask = 022,
        .limits = {limits, 3},
        .task_prolog = "/home/a/prolog",
        .streams = {.input = "none", .output = "out.%t", .error = "2", .appends = true},
        .tasks = 4,
        .cpus_per_task = 2,
        .tasks_per_node = 2,
        .min_nodes = 2,
        .max_nodes = 3,
        .memory_bytes = INT64_C(1) << 40,
        .gpus_per_task = 1,
        .job_tasks = 2,
        .is_exact = true,
        .overlaps = true,
        .nodes = "n[1-2]",
        .excluded_nodes = "n3",
        .first_node = 1,
        .distribution = "block:cyclic",
        .cpu_bind = "cores",
    };
}

START_TEST(a_request_comes_back_as_it_was)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;
    const struct step_request sent = full_request();
    struct step_request q;

    arena = arena_new(0);
    step_request_encode(&sent, &text);
    ck_assert_int_eq(decode(text.text, &q), 0);

    ck_assert_uint_eq(q.arguments.count, 4);
    ck_assert_str_eq(q.arguments.items[2], "");
    ck_assert_str_eq(q.arguments.items[3], "caf\xe9");
    ck_assert_str_eq(q.directory, "/home/\xe9");
    ck_assert_str_eq(step_request_variable(&q, "B"), "x=y");
    ck_assert_str_eq(step_request_variable(&q, "EMPTY"), "");
    ck_assert_ptr_null(step_request_variable(&q, "EMPT"));
    ck_assert_uint_eq(q.limits.count, 3);
    ck_assert_int_eq(q.limits.items[1].soft, 0);
    ck_assert_int_eq(q.limits.items[2].soft, -1);
    ck_assert_int_eq(q.memory_bytes, INT64_C(1) << 40);
    ck_assert(q.streams.appends && q.is_exact && q.overlaps);
    ck_assert(!q.overcommits && !q.is_immediate);
    step_request_encode(&q, &again);
    ck_assert_str_eq(again.text, text.text);
    ck_assert_str_eq(words[3], "caf\xe9");
    arena_free(arena);
}
END_TEST

#define MINIMAL "\"podUID\":\"1\",\"directory\":\"/\",\"arguments\":[\"true\"]"

START_TEST(the_smallest_request_asks_for_nothing_more)
{
    struct step_request q;

    arena = arena_new(0);
    ck_assert_int_eq(decode("{" MINIMAL "}", &q), 0);
    ck_assert_int_eq(q.tasks, 0);
    ck_assert_ptr_null(q.streams.output);
    ck_assert_ptr_null(q.cpu_bind);
    ck_assert(!q.has_terminal);
    ck_assert_int_eq(
        decode("{" MINIMAL ",\"terminal\":true,\"terminalRows\":24,\"terminalColumns\":80}", &q),
        0);
    ck_assert(q.has_terminal && q.terminal_rows == 24 && q.terminal_columns == 80);
    arena_free(arena);
}
END_TEST

START_TEST(bad_requests_are_refused_with_the_member)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "the request of a step"},
        {"[]", "object"},
        {"{\"directory\":\"/\",\"arguments\":[\"true\"]}", "podUID: required"},
        {"{\"podUID\":\"1\",\"directory\":\"/\"}", "arguments: a command is required"},
        {"{\"podUID\":\"1\",\"directory\":\"/\",\"arguments\":[\"\"]}", "the command is empty"},
        {"{" MINIMAL ",\"tasks\":-1}", "tasks: -1 is not from 0 to 65536"},
        {"{" MINIMAL ",\"tasks\":65537}", "tasks: 65537"},
        {"{" MINIMAL ",\"tasks\":\"2\"}", "tasks: expected an integer"},
        {"{" MINIMAL ",\"tasks\":99999999999999999999}", "tasks: expected a 64-bit integer"},
        {"{" MINIMAL ",\"minNodes\":3,\"maxNodes\":2}", "maxNodes: 2 is below minNodes, 3"},
        {"{" MINIMAL ",\"umask\":512}", "umask: 512"},
        {"{" MINIMAL ",\"environment\":[\"A\"]}", "environment: 'A' is not NAME=value"},
        {"{" MINIMAL ",\"environment\":[\"=A\"]}", "environment: '=A'"},
        {"{" MINIMAL ",\"environment\":[\"A=\\u0000\"]}", "NUL"},
        {"{" MINIMAL ",\"limits\":[{\"name\":\"core\",\"soft\":-2}]}", "limits: core: -2"},
        {"{" MINIMAL ",\"tasks\":1,\"tasks\":2}", "tasks: given twice"},
        {"{" MINIMAL ",\"screen\":true}", "screen: this node's agent is older"},
        {"{" MINIMAL ",\"terminal\":true,\"terminalRows\":65536}", "terminalRows: 65536"},
        {"{" MINIMAL ",\"terminal\":true,\"terminalColumns\":-1}", "terminalColumns: -1"},
        {"{" MINIMAL ",\"terminal\":true,\"streams\":{\"output\":\"a\"}}",
         "terminal: it has all streams"},
        {"{\"podUID\":\"1\",\"directory\":\"home\",\"arguments\":[\"a\"]}", "no absolute path"},
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text = refusal(cases[i].text);

        ck_assert_msg(strstr(text, cases[i].expected) != NULL, "%s: '%s' is not in '%s'",
                      cases[i].text, cases[i].expected, text);
    }
    arena_free(arena);
}
END_TEST

START_TEST(long_texts_are_refused_before_they_are_used)
{
    char *pattern = malloc(STEP_PATTERN_MOST + 200);
    char *large = malloc(STEP_REQUEST_BYTES_MOST + 1);
    struct step_request q;

    arena = arena_new(0);
    sprintf(pattern, "{" MINIMAL ",\"streams\":{\"output\":\"%0*d\"}}", STEP_PATTERN_MOST, 1);
    ck_assert_str_eq(refusal(pattern), "streams.output: longer than 4095 bytes");
    memset(large, ' ', STEP_REQUEST_BYTES_MOST + 1);
    ck_assert_int_eq(step_request_decode(arena, large, STEP_REQUEST_BYTES_MOST + 1, &q, NULL),
                     -E2BIG);
    free(pattern);
    free(large);
    arena_free(arena);
}
END_TEST

SUITE("step_request", a_request_comes_back_as_it_was, the_smallest_request_asks_for_nothing_more,
      bad_requests_are_refused_with_the_member, long_texts_are_refused_before_they_are_used)
