/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/steps/step_socket.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "lib/loop/timer.h"
#include "lib/step/step_channel.h"
#include "lib/step/step_frames.h"
#include "testsuite/lib/suite.h"

#define USER_MOST 256    /* of step_socket.c */
#define SUBUIDS   100000 /* from here on nobody has pods here */

struct world {
    struct loop *loop;
    struct step_socket *door;
    char dir[32], path[64];
    unsigned n_asked;
    struct strbuf text, grant, places; /* of the last one */
    enum step_frame_type type;
    struct step_peer peer;
};

static void
asked(struct step_channel *connection, const struct step_asked *a, void *context)
{
    struct world *w = context;

    w->n_asked++;
    strbuf_truncate(&w->text, 0);
    strbuf_add(&w->text, a->text, a->length);
    strbuf_add(&w->grant, a->grant, a->grant_length);
    strbuf_add(&w->places, a->places, a->places_length);
    w->type = a->type;
    w->peer = a->peer;
    step_socket_answer(connection, STEP_FRAME_WAIT, "taken");
    step_socket_close(connection);
}

static bool
has_pod(uid_t user, UNUSED void *context)
{
    return user < SUBUIDS;
}

static void
open_door(struct world *w)
{
    struct error err = {0};

    ck_assert_int_eq(
        step_socket_open(
            &(struct step_socket_settings){
                .loop = w->loop, .path = w->path, .asked = asked, .has_pod = has_pod, .context = w},
            &w->door, &err),
        0);
}

static struct world *
world_new(void)
{
    struct world *w = xnew(struct world);

    w->loop = loop_new();
    strcpy(w->dir, "/tmp/kiln-socket.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(w->dir));
    snprintf(w->path, sizeof(w->path), "%s/steps", w->dir);
    strbuf_init(&w->text);
    strbuf_init(&w->grant);
    strbuf_init(&w->places);
    open_door(w);
    return w;
}

static void
world_free(struct world *w)
{
    step_socket_free(w->door);
    loop_free(w->loop);
    unlink(w->path);
    rmdir(w->dir);
    strbuf_fini(&w->text);
    strbuf_fini(&w->grant);
    strbuf_fini(&w->places);
    free(w);
}

static void
stop(void *loop)
{
    loop_stop(loop);
}

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
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof(at.sun_path), "%s", w->path);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

static void
add(struct strbuf *out, enum step_frame_type type, const char *text)
{
    step_frame_add(out, &(struct step_frame){
                            .type = type,
                            .task = STEP_ALL_TASKS,
                            .payload = text,
                            .length = strlen(text),
                        });
}

/* Runs the loop until the answer is here, and ends the connection. */
static enum step_frame_type
answer_of(struct world *w, int fd, char *words, size_t size)
{
    struct step_reader in = {0};
    struct step_frame f;
    ssize_t n = -1;

    while (step_reader_next(&in, &f) == 0) {
        size_t room;
        char *at = step_reader_space(&in, &room);

        turn(w);
        n = recv(fd, at, room, MSG_DONTWAIT);
        ck_assert_int_ne(n, 0);
        if (n > 0)
            step_reader_add(&in, (size_t)n);
    }
    snprintf(words, size, "%.*s", (int)f.length, f.payload);
    close(fd);
    step_reader_fini(&in);
    return f.type;
}

static void
send_all(int fd, struct strbuf *out)
{
    ck_assert_int_eq(send(fd, out->text, out->length, MSG_NOSIGNAL), (ssize_t)out->length);
    strbuf_fini(out);
    strbuf_init(out);
}

START_TEST(a_request_arrives_whole_and_with_its_user)
{
    struct world *w = world_new();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    int fd = dial(w);
    char words[64];

    add(&out, STEP_FRAME_HELLO, "{\"tasks\":3}");
    for (size_t i = 0; i < out.length; i++) {
        ck_assert_uint_eq(w->n_asked, 0);
        ck_assert_int_eq(send(fd, out.text + i, 1, 0), 1);
        turn(w);
    }
    ck_assert_int_eq(answer_of(w, fd, words, sizeof(words)), STEP_FRAME_WAIT);
    ck_assert_str_eq(words, "taken");
    ck_assert_uint_eq(w->n_asked, 1);
    ck_assert_str_eq(w->text.text, "{\"tasks\":3}");
    ck_assert_int_eq(w->type, STEP_FRAME_HELLO);
    ck_assert_int_eq(w->peer.uid, getuid());
    ck_assert_int_eq(w->peer.pid, getpid());
    ck_assert_ptr_null(w->peer.pod);
    world_free(w);
}
END_TEST

START_TEST(a_grant_and_places_come_before_the_request)
{
    struct world *w = world_new();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    int fd = dial(w);
    char words[64];

    add(&out, STEP_FRAME_PLACES, "places");
    add(&out, STEP_FRAME_GRANT, "grant");
    add(&out, STEP_FRAME_ASK, "pod");
    send_all(fd, &out);
    ck_assert_int_eq(answer_of(w, fd, words, sizeof(words)), STEP_FRAME_WAIT);
    ck_assert_int_eq(w->type, STEP_FRAME_ASK);
    ck_assert_str_eq(w->text.text, "pod");
    ck_assert_str_eq(w->grant.text, "grant");
    ck_assert_str_eq(w->places.text, "places");
    world_free(w);
}
END_TEST

static void
expect_refusal(struct world *w, struct strbuf *out, const char *expected)
{
    int fd = dial(w);
    char words[128];

    send_all(fd, out);
    ck_assert_int_eq(answer_of(w, fd, words, sizeof(words)), STEP_FRAME_REFUSE);
    ck_assert_ptr_nonnull(strstr(words, expected));
    ck_assert_uint_eq(w->n_asked, 0);
}

START_TEST(a_message_that_is_no_request_is_refused)
{
    struct world *w = world_new();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    strbuf_add_text(&out, "GET / HTTP/1.1\r\nHost: n1\r\n\r\n");
    expect_refusal(w, &out, "not the request");
    add(&out, STEP_FRAME_START, "");
    expect_refusal(w, &out, "not the request");
    add(&out, STEP_FRAME_GRANT, "one");
    add(&out, STEP_FRAME_GRANT, "two");
    expect_refusal(w, &out, "not the request");
    add(&out, STEP_FRAME_HELLO, "{}"); /* krun is silent until it is answered */
    add(&out, STEP_FRAME_HELLO, "{}");
    expect_refusal(w, &out, "not the request");
    world_free(w);
}
END_TEST

/* As root, who has a grant for a pod of uid 1000, on another node. */
static enum step_frame_type
ask_by_grant(struct world *w, enum step_frame_type type, char *words, size_t size)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct step_caller caller = {.uid = 1000, .pod = (char[]){"pod"}, .by = (char[]){"root"}};
    struct step_channel own;
    struct step_reader in = {0};
    struct step_frame f;
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    step_channel_init(&own, fds[0], &caller.keys);
    step_socket_take(w->door, fds[1], &caller);
    add(&out, type, "pod");
    ck_assert_int_eq(step_channel_send(&own, out.text, out.length), (ssize_t)out.length);
    (void)step_channel_flush(&own);
    while (step_reader_next(&in, &f) == 0) {
        size_t room;
        char *at = step_reader_space(&in, &room);
        ssize_t n;

        turn(w);
        n = step_channel_receive(&own, at, room);
        ck_assert_int_ne(n, 0);
        if (n > 0)
            step_reader_add(&in, (size_t)n);
    }
    snprintf(words, size, "%.*s", (int)f.length, f.payload);
    type = f.type;
    step_reader_fini(&in);
    step_channel_fini(&own);
    close(fds[0]);
    return type;
}

START_TEST(a_grant_of_the_controller_is_for_programs_alone)
{
    static const enum step_frame_type others[] = {STEP_FRAME_HOLD, STEP_FRAME_AWAIT,
                                                  STEP_FRAME_CALL, STEP_FRAME_ENTER};
    struct world *w = world_new();
    char words[128];

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ck_assert_int_eq(ask_by_grant(w, others[i], words, sizeof(words)), STEP_FRAME_REFUSE);
        ck_assert_uint_eq(w->n_asked, 0);
    }
    ck_assert_int_eq(ask_by_grant(w, STEP_FRAME_ASK, words, sizeof(words)), STEP_FRAME_WAIT);
    ck_assert_int_eq(ask_by_grant(w, STEP_FRAME_HELLO, words, sizeof(words)), STEP_FRAME_WAIT);
    ck_assert_uint_eq(w->n_asked, 2);
    ck_assert_int_eq(w->peer.uid, 1000);
    world_free(w);
}
END_TEST

START_TEST(a_user_has_only_so_many_connections_without_a_request)
{
    struct world *w = world_new();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    int fds[USER_MOST];
    char words[128];

    for (unsigned i = 0; i < USER_MOST; i++)
        fds[i] = dial(w);
    turn(w);
    ck_assert_int_eq(answer_of(w, dial(w), words, sizeof(words)), STEP_FRAME_REFUSE);
    ck_assert_ptr_nonnull(strstr(words, "too many connections"));
    for (unsigned i = 0; i < USER_MOST; i++) {
        add(&out, STEP_FRAME_HELLO, "{}");
        send_all(fds[i], &out);
    }
    while (w->n_asked < USER_MOST)
        turn(w);
    for (unsigned i = 0; i < USER_MOST; i++)
        close(fds[i]);
    add(&out, STEP_FRAME_HELLO, "{}");
    fds[0] = dial(w);
    send_all(fds[0], &out);
    ck_assert_int_eq(answer_of(w, fds[0], words, sizeof(words)), STEP_FRAME_WAIT);
    world_free(w);
}
END_TEST

/* From another node, so that it may be of any user. */
static int
call_as(struct world *w, uid_t uid)
{
    const struct step_caller caller = {.uid = uid};
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    step_socket_take(w->door, fds[0], &caller);
    return fds[1];
}

/* Also one that was refused. */
static bool
was_ended(int fd)
{
    char bytes[512];
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        ;
    return n == 0;
}

START_TEST(users_who_fill_the_socket_together_give_way_to_others_and_to_root)
{
    struct rlimit files;
    struct world *w;
    int fds[USER_MOST], others[3], own;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = 4 * USER_MOST;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    w = world_new(); /* with room for as many of all users */
    for (unsigned i = 0; i < USER_MOST; i++)
        fds[i] = call_as(w, i < USER_MOST / 2 + 1 ? 1001 : 1002);
    own = call_as(w, 1001);
    ck_assert(was_ended(own)); /* who has the most is refused */
    close(own);
    ck_assert(!was_ended(fds[0]));
    others[0] = call_as(w, 1003);
    ck_assert(!was_ended(others[0]));
    ck_assert(was_ended(fds[0])); /* the oldest of the user with the most */
    ck_assert(!was_ended(fds[1]));
    ck_assert(!was_ended(fds[USER_MOST - 1]));
    others[1] = call_as(w, 0);
    others[2] = call_as(w, 0);
    ck_assert(!was_ended(others[1]) && !was_ended(others[2]));
    ck_assert(was_ended(fds[1]));
    ck_assert(was_ended(fds[USER_MOST / 2 + 1]) || was_ended(fds[2]));
    for (unsigned i = 0; i < 2 * USER_MOST; i++)
        close(call_as(w, 2000 + i)); /* many users with one each do not end root's */
    ck_assert(!was_ended(others[1]) && !was_ended(others[2]));
    for (unsigned i = 0; i < USER_MOST; i++)
        close(fds[i]);
    for (unsigned i = 0; i < 3; i++)
        close(others[i]);
    turn(w);
    world_free(w);
}
END_TEST

START_TEST(uids_without_pods_are_counted_as_one_user)
{
    enum { OF_USER = 10 };
    struct rlimit files;
    struct world *w;
    int fds[USER_MOST], others[2];

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = 4 * USER_MOST;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    w = world_new(); /* with room for as many of all users */
    for (unsigned i = 0; i < USER_MOST; i++)
        fds[i] = call_as(w, i < OF_USER ? 1001 : SUBUIDS + i);
    others[0] = call_as(w, 1002);
    ck_assert(!was_ended(others[0]));
    ck_assert(!was_ended(fds[0]));
    ck_assert(was_ended(fds[OF_USER])); /* the oldest of all without pods */
    ck_assert(!was_ended(fds[OF_USER + 1]));
    others[1] = call_as(w, SUBUIDS + USER_MOST);
    ck_assert(was_ended(others[1]));
    for (unsigned i = 0; i < OF_USER; i++)
        ck_assert(!was_ended(fds[i]));
    for (unsigned i = 0; i < USER_MOST; i++)
        close(fds[i]);
    for (unsigned i = 0; i < 2; i++)
        close(others[i]);
    turn(w);
    world_free(w);
}
END_TEST

START_TEST(a_connection_that_ends_inside_its_request_is_forgotten)
{
    struct world *w = world_new();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    add(&out, STEP_FRAME_HELLO, "{\"tasks\":3}");
    for (unsigned i = 0; i < 2 * USER_MOST; i++) {
        int fd = dial(w);

        ck_assert_int_eq(send(fd, out.text, out.length - 1, 0), (ssize_t)out.length - 1);
        close(fd);
        turn(w);
    }
    ck_assert_uint_eq(w->n_asked, 0);
    world_free(w);
}
END_TEST

START_TEST(the_socket_of_an_earlier_agent_is_replaced)
{
    struct world *w = world_new();
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    char words[64];
    int fd;

    step_socket_free(w->door); /* its file stays */
    open_door(w);
    add(&out, STEP_FRAME_HELLO, "{}");
    fd = dial(w);
    send_all(fd, &out);
    ck_assert_int_eq(answer_of(w, fd, words, sizeof(words)), STEP_FRAME_WAIT);
    world_free(w);
}
END_TEST

SUITE("step_socket", a_request_arrives_whole_and_with_its_user,
      a_grant_and_places_come_before_the_request, a_message_that_is_no_request_is_refused,
      a_grant_of_the_controller_is_for_programs_alone,
      a_user_has_only_so_many_connections_without_a_request,
      users_who_fill_the_socket_together_give_way_to_others_and_to_root,
      uids_without_pods_are_counted_as_one_user,
      a_connection_that_ends_inside_its_request_is_forgotten,
      the_socket_of_an_earlier_agent_is_replaced)
