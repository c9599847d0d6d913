/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

static const struct step_keys krun_keys = {{.key.bytes = "from krun"}, {.key.bytes = "to krun"}};
static const struct step_keys agent_keys = {{.key.bytes = "to krun"}, {.key.bytes = "from krun"}};

struct world {
    int fds[2];
    struct step_channel krun, agent;
};

static struct world *
world_new(bool is_sealed)
{
    struct world *w = xnew(struct world);

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->fds), 0);
    step_channel_init(&w->krun, w->fds[0], is_sealed ? &krun_keys : NULL);
    step_channel_init(&w->agent, w->fds[1], is_sealed ? &agent_keys : NULL);
    return w;
}

static void
world_free(struct world *w)
{
    step_channel_fini(&w->krun);
    step_channel_fini(&w->agent);
    close(w->fds[0]);
    close(w->fds[1]);
    free(w);
}

/* Sends all of a text from krun to the agent, in pieces that differ, and compares. */
static void
ck_passes(struct world *w, const char *text, size_t length)
{
    CLEANUP_FREE char *back = xmalloc(length);
    size_t sent = 0, received = 0;

    while (received < length) {
        ssize_t n = sent < length ? step_channel_send(&w->krun, text + sent, length - sent) : 0;

        ck_assert(n >= 0 || n == -EAGAIN);
        sent += n > 0 ? (size_t)n : 0;
        n = step_channel_flush(&w->krun);
        ck_assert(n == 0 || n == -EAGAIN);
        n = step_channel_receive(&w->agent, back + received, (received % 7919) + 1);
        ck_assert(n > 0 || n == -EAGAIN);
        received += n > 0 && (size_t)n <= length - received ? (size_t)n : 0;
    }
    ck_assert_mem_eq(back, text, length);
    ck_assert_uint_eq(sent, length);
    ck_assert(step_channel_is_flushed(&w->krun));
    ck_assert(!step_channel_has_bytes(&w->agent));
}

static void
ck_all_passes(bool is_sealed)
{
    struct world *w = world_new(is_sealed);
    size_t length = 1u << 20;
    CLEANUP_FREE char *text = xmalloc(length + 8192);

    for (size_t i = 0; i < length; i++)
        text[i] = (char)(i * 31 + (i >> 8));
    ck_passes(w, text, length - 8192);
    ck_assert_int_eq(step_channel_receive(&w->agent, text, 1), -EAGAIN);
    ck_assert_int_eq(step_channel_receive(&w->krun, text, 1), -EAGAIN);
    shutdown(w->fds[0], SHUT_WR);
    ck_assert_int_eq(step_channel_receive(&w->agent, text, 1), 0);
    world_free(w);
}

START_TEST(a_plain_channel_passes_bytes_on)
{
    ck_all_passes(false);
}
END_TEST

START_TEST(a_sealed_channel_passes_bytes_on)
{
    ck_all_passes(true);
}
END_TEST

START_TEST(the_wire_of_a_sealed_channel_shows_nothing)
{
    struct world *w = world_new(true);
    char seen[256];
    ssize_t n;

    ck_assert_int_eq(step_channel_send(&w->krun, "password", 8), 8);
    n = recv(w->fds[1], seen, sizeof(seen), MSG_DONTWAIT);
    ck_assert_int_gt(n, 8);
    ck_assert_ptr_null(memmem(seen, (size_t)n, "password", 8));
    world_free(w);
}
END_TEST

START_TEST(a_sender_is_told_when_the_socket_is_full)
{
    struct world *w = world_new(true);
    static char text[65536];
    ssize_t n;
    size_t sent = 0;

    while ((n = step_channel_send(&w->krun, text, sizeof(text))) > 0) {
        sent += (size_t)n;
        ck_assert_uint_lt(sent, 100u << 20);
    }
    ck_assert_int_eq(n, -EAGAIN);
    ck_assert(!step_channel_is_flushed(&w->krun));
    while (sent > 0) {
        n = step_channel_receive(&w->agent, text, sizeof(text));
        ck_assert(n > 0 || n == -EAGAIN);
        sent -= n > 0 ? (size_t)n : 0;
        (void)step_channel_flush(&w->krun);
    }
    ck_assert(step_channel_is_flushed(&w->krun));
    world_free(w);
}
END_TEST

START_TEST(a_wire_that_somebody_changes_ends_the_connection)
{
    struct world *w = world_new(true);
    char byte;

    ck_assert_int_eq(send(w->fds[0], "\0\0\0\1x0123456789abcdef", 21, 0), 21);
    ck_assert_int_eq(step_channel_receive(&w->agent, &byte, 1), -EKEYREJECTED);
    world_free(w);
}
END_TEST

START_TEST(an_end_inside_a_record_is_no_end)
{
    struct world *w = world_new(true);
    char byte;

    ck_assert_int_eq(send(w->fds[0], "\0\0\0\1x", 5, 0), 5);
    shutdown(w->fds[0], SHUT_WR);
    ck_assert_int_eq(step_channel_receive(&w->agent, &byte, 1), -ECONNRESET);
    world_free(w);
}
END_TEST

START_TEST(another_process_goes_on_with_a_connection)
{
    struct world *w = world_new(true);
    struct step_keys keys;
    char text[4];

    ck_assert_int_eq(step_channel_send(&w->krun, "one", 3), 3);
    ck_assert_int_eq(step_channel_receive(&w->agent, text, sizeof(text)), 3);
    step_channel_rest(&w->agent);
    ck_assert_int_eq(step_channel_send(&w->agent, "ok", 2), 2);
    step_channel_keys(&w->agent, &keys);
    step_channel_fini(&w->agent);
    step_channel_init(&w->agent, w->fds[1], &keys);
    ck_assert_int_eq(step_channel_send(&w->krun, "two", 3), 3);
    ck_assert_int_eq(step_channel_receive(&w->agent, text, sizeof(text)), 3);
    ck_assert_mem_eq(text, "two", 3);
    ck_assert_int_eq(step_channel_send(&w->agent, "yes", 3), 3);
    ck_assert_int_eq(step_channel_receive(&w->krun, text, 2), 2);
    ck_assert_int_eq(step_channel_receive(&w->krun, text, sizeof(text)), 3);
    ck_assert_mem_eq(text, "yes", 3);
    world_free(w);
}
END_TEST

SUITE("step_channel", a_plain_channel_passes_bytes_on, a_sealed_channel_passes_bytes_on,
      the_wire_of_a_sealed_channel_shows_nothing, a_sender_is_told_when_the_socket_is_full,
      a_wire_that_somebody_changes_ends_the_connection, an_end_inside_a_record_is_no_end,
      another_process_goes_on_with_a_connection)
