/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/step_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/auth/credential_backend.h"
#include "lib/auth/exec_grant.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/fake_credential_backend.h"
#include "testsuite/lib/suite.h"

#define USER_UID    1000
#define PATIENCE_MS 200

/* The port of node n1, on which the pod "pod" of user 1000 runs. */
struct world {
    struct fake_realm realm;
    struct credential_backend *user, *agent;
    struct loop *loop;
    struct workers *workers;
    struct step_port *port;
    struct step_call call;
    struct strbuf line;
    struct error error;
    int fd; /* of the connected caller; -1: none */
    uid_t uid;
    char by[16];
    struct step_keys keys;
};

static int
check(const struct step_caller *caller, UNUSED void *context, struct error *err)
{
    if (caller->uid == USER_UID && strcmp(caller->pod, "pod") == 0)
        return 0;
    return error_set(err, -EACCES, "uid %u has no pod '%s' here", (unsigned)caller->uid,
                     caller->pod);
}

static void
connected(int fd, const struct step_caller *caller, void *context)
{
    struct world *w = context;

    w->fd = fd;
    w->uid = caller->uid;
    snprintf(w->by, sizeof(w->by), "%s", caller->by != NULL ? caller->by : "");
    w->keys = caller->keys;
}

/* Of the node's secret; runs on a worker. */
static int
find_verifier(struct digest *ret_verifier, UNUSED void *context, UNUSED struct error *err)
{
    digest_of("secret", 6, ret_verifier);
    return 0;
}

static struct world *
world_new(int64_t patience_ms)
{
    struct world *w = xnew(struct world);

    fake_realm_init(&w->realm);
    w->user = fake_credential_backend_new(&w->realm, USER_UID, 100);
    w->agent = fake_credential_backend_new(&w->realm, 0, 0);
    w->loop = loop_new();
    w->workers = workers_new(2);
    w->call = (struct step_call){.cluster = "north", .node = "n1", .pod = "pod"};
    w->fd = -1;
    strbuf_init(&w->line);
    ck_assert_int_eq(step_port_open(&(struct step_port_settings){.loop = w->loop,
                                                                 .workers = w->workers,
                                                                 .credential_backend = w->agent,
                                                                 .cluster = "north",
                                                                 .node = "n1",
                                                                 .listen = "127.0.0.1:0",
                                                                 .patience_ms = patience_ms,
                                                                 .find_verifier = find_verifier,
                                                                 .check = check,
                                                                 .connected = connected,
                                                                 .context = w},
                                    &w->port, &w->error),
                     0);
    return w;
}

static void
world_free(struct world *w)
{
    step_port_close(w->port);
    workers_free(w->workers);
    loop_drain(w->loop);
    step_port_free(w->port);
    loop_free(w->loop);
    if (w->fd >= 0)
        close(w->fd);
    strbuf_fini(&w->line);
    credential_backend_free(w->user);
    credential_backend_free(w->agent);
    fake_realm_fini(&w->realm);
    free(w);
}

static void
stop(void *loop)
{
    loop_stop(loop);
}

/* Runs the port for a moment. */
static void
turn(struct world *w)
{
    struct timer *end = timer_new(w->loop, stop, w->loop);

    timer_start(end, 2);
    loop_run(w->loop);
    timer_free(end);
}

static int
dial(const struct world *w)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)step_port_number(w->port)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

/* Sends what it can. */
static void
say(int fd, const void *bytes, size_t length)
{
    (void)!send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The line that comes back; "" when the port only closes. */
static char *
hear_dup(struct world *w, int fd)
{
    char *line = xmalloc(STEP_LINE_MOST + 1);
    size_t length = 0;

    for (;;) {
        ssize_t n = recv(fd, line + length, STEP_LINE_MOST - length, MSG_DONTWAIT);

        if (n > 0)
            length += (size_t)n;
        else if (n == 0 || errno != EAGAIN)
            break;
        if (length > 0 && line[length - 1] == '\n') {
            length--;
            break;
        }
        turn(w);
    }
    line[length] = '\0';
    return line;
}

static void
begin(struct world *w, struct credential_backend *as)
{
    strbuf_truncate(&w->line, 0);
    ck_assert_int_eq(step_call_begin(&w->call, as, &w->line, &w->error), 0);
}

/* Sends the line of the call and returns the answer. */
static char *
call_dup(struct world *w)
{
    int fd = dial(w);
    char *answer;

    say(fd, w->line.text, w->line.length);
    answer = hear_dup(w, fd);
    close(fd);
    return answer;
}

static void
ck_refused(struct world *w, const char *words)
{
    CLEANUP_FREE char *answer = call_dup(w);

    ck_assert_msg(strncmp(answer, "kiln-step-refused ", 18) == 0 && strstr(answer, words) != NULL,
                  "'%s'", answer);
    ck_assert_int_eq(w->fd, -1);
}

START_TEST(a_caller_gets_a_connection_with_keys)
{
    struct world *w = world_new(60000);
    CLEANUP_FREE char *answer = NULL;
    struct step_keys keys;
    char byte = 0;
    int fd = dial(w);

    begin(w, w->user);
    say(fd, w->line.text, 10); /* a line may come in pieces */
    turn(w);
    say(fd, w->line.text + 10, w->line.length - 10);
    answer = hear_dup(w, fd);
    ck_assert_int_eq(step_call_finish(&w->call, w->user, answer, &keys, &w->error), 0);

    ck_assert_uint_eq(w->uid, USER_UID);
    ck_assert_str_eq(w->by, "");
    ck_assert(digest_equals(&keys.out.key, &w->keys.in.key));
    ck_assert(digest_equals(&keys.in.key, &w->keys.out.key));
    say(fd, "x", 1);
    while (recv(w->fd, &byte, 1, MSG_DONTWAIT) != 1)
        turn(w);
    ck_assert_int_eq(byte, 'x');
    ck_assert_uint_eq(step_port_count_strangers(w->port), 0);
    close(fd);
    world_free(w);
}
END_TEST

START_TEST(a_call_for_another_pod_or_of_another_user_is_refused)
{
    struct world *w = world_new(60000);
    struct credential_backend *other = fake_credential_backend_new(&w->realm, 1001, 100);
    struct credential_backend *root = fake_credential_backend_new(&w->realm, 0, 0);

    w->call.pod = "another";
    begin(w, w->user);
    ck_refused(w, "uid 1000 has no pod 'another' here");
    w->call.pod = "pod";
    begin(w, other);
    ck_refused(w, "uid 1001 has no pod 'pod' here");
    begin(w, root);
    ck_refused(w, "uid 0 has no pod 'pod' here");
    w->call.node = "n2";
    begin(w, w->user);
    ck_refused(w, "for node 'n2', this is node 'n1'");
    credential_backend_free(other);
    credential_backend_free(root);
    world_free(w);
}
END_TEST

START_TEST(a_call_is_taken_once_also_when_munged_forgets)
{
    struct world *w = world_new(60000);
    CLEANUP_FREE char *answer = NULL;

    begin(w, w->user);
    answer = call_dup(w);
    ck_assert_int_eq(strncmp(answer, "kiln-step-answer ", 17), 0);
    close(w->fd);
    w->fd = -1;
    map_clear(w->realm.read);
    ck_refused(w, "used before");
    world_free(w);
}
END_TEST

START_TEST(a_message_that_is_no_call_is_refused)
{
    struct world *w = world_new(60000);
    char much[2 * STEP_LINE_MOST];

    strbuf_add_text(&w->line, "GET / HTTP/1.1\r\n");
    ck_refused(w, "step port");
    strbuf_add_text(&w->line, "Host: n1\r\n\r\n"); /* more than a line */
    ck_refused(w, "no such call");
    memset(much, 'x', sizeof(much));
    strbuf_truncate(&w->line, 0);
    strbuf_add(&w->line, much, STEP_LINE_MOST - 1);
    ck_refused(w, "no such call");
    world_free(w);
}
END_TEST

START_TEST(a_connection_that_says_too_little_is_closed)
{
    struct world *w = world_new(PATIENCE_MS);
    CLEANUP_FREE char *first = NULL;
    CLEANUP_FREE char *second = NULL;
    int silent = dial(w), slow = dial(w);

    say(slow, "kiln-step 1 ", 12);
    first = hear_dup(w, silent);
    second = hear_dup(w, slow);
    ck_assert_str_eq(first, "");
    ck_assert_str_eq(second, "");
    ck_assert_uint_eq(step_port_count_strangers(w->port), 0);
    close(silent);
    close(slow);
    world_free(w);
}
END_TEST

START_TEST(ten_thousand_connections_without_credentials_keep_nobody_out)
{
    struct world *w = world_new(60000);
    struct rlimit limit;
    CLEANUP_FREE char *answer = NULL;
    enum { COUNT = 10000, OPEN = STEP_PORT_STRANGERS_MOST + 100 };
    static int fds[OPEN];

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < 2 * OPEN + 100)
        SKIP("too few file descriptors here");
    memset(fds, -1, sizeof(fds));
    for (unsigned i = 0; i < COUNT; i++) {
        int *fd = &fds[i % OPEN];

        if (*fd >= 0)
            close(*fd);
        *fd = dial(w);
        if (i % 3 == 0)
            say(*fd, "kiln-step 1 MUNGE:AwQ", 21);
        if (i % 50 == 0) {
            turn(w);
            ck_assert_uint_le(step_port_count_strangers(w->port), STEP_PORT_STRANGERS_MOST);
        }
    }
    begin(w, w->user);
    answer = call_dup(w);
    ck_assert_int_eq(strncmp(answer, "kiln-step-answer ", 17), 0);
    ck_assert_uint_le(step_port_count_strangers(w->port), STEP_PORT_STRANGERS_MOST);
    for (unsigned i = 0; i < OPEN; i++)
        close(fds[i]);
    world_free(w);
}
END_TEST

START_TEST(a_port_that_is_taken_is_told)
{
    struct world *w = world_new(60000);
    CLEANUP_FREE char *address = xasprintf("127.0.0.1:%u", step_port_number(w->port));
    struct step_port *second = NULL;

    ck_assert_int_eq(step_port_open(
                         &(struct step_port_settings){
                             .loop = w->loop, .cluster = "north", .node = "n1", .listen = address},
                         &second, &w->error),
                     -EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(w->error.text, "cannot listen on"));
    world_free(w);
}
END_TEST

/* Makes the line of a grant for the pod, which the controller has issued so long ago. */
static void
begin_grant(struct world *w, struct exec_call *call, uid_t uid, const char *pod, int64_t ago_ms)
{
    CLEANUP_STRBUF struct strbuf word = STRBUF_INIT;
    struct digest verifier;
    char key[DIGEST_HEX_SIZE];
    const struct exec_grant grant = {
        .cluster = "north",
        .node = "n1",
        .pod = pod,
        .by = "root",
        .key = key,
        .uid = uid,
        .issued_ms = clock_real_us(&clock_system) / 1000 - ago_ms,
    };

    digest_of("secret", 6, &verifier);
    exec_call_make_key(call->secret, key);
    ck_assert_int_eq(exec_grant_sign(&verifier, &grant, &word, &w->error), 0);
    call->grant = word.text;
    strbuf_truncate(&w->line, 0);
    exec_call_begin(call, &w->line);
}

START_TEST(a_grant_of_the_controller_is_taken_once_for_its_pod)
{
    struct world *w = world_new(60000);
    struct exec_call call = {.node = "n1"};
    CLEANUP_FREE char *answer = NULL;

    begin_grant(w, &call, USER_UID, "another", 0);
    ck_refused(w, "uid 1000 has no pod 'another' here");
    begin_grant(w, &call, 0, "pod", 0);
    ck_refused(w, "uid 0 has no pod 'pod' here");
    begin_grant(w, &call, USER_UID, "pod", 30000);
    ck_refused(w, "before this agent started");
    begin_grant(w, &call, USER_UID, "pod", 62000);
    ck_refused(w, "seconds old by the clock");
    begin_grant(w, &call, USER_UID, "pod", 0);
    answer = call_dup(w);
    ck_assert_int_eq(strncmp(answer, "kiln-exec-answer ", 17), 0);
    ck_assert_uint_eq(w->uid, USER_UID);
    ck_assert_str_eq(w->by, "root");
    close(w->fd);
    w->fd = -1;
    ck_refused(w, "used before");
    world_free(w);
}
END_TEST

SUITE("step_port", a_caller_gets_a_connection_with_keys,
      a_call_for_another_pod_or_of_another_user_is_refused,
      a_call_is_taken_once_also_when_munged_forgets, a_message_that_is_no_call_is_refused,
      a_connection_that_says_too_little_is_closed,
      ten_thousand_connections_without_credentials_keep_nobody_out,
      a_grant_of_the_controller_is_taken_once_for_its_pod, a_port_that_is_taken_is_told)
