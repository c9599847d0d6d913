/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_output.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/strbuf.h"
#include "step/step_events.h"
#include "step/step_link.h"
#include "testsuite/lib/suite.h"

/* The rest of kiln-step */

struct step_events {
    int fd;
};

static struct step_events events;
static struct strbuf sent;
static int watched; /* the last one */

struct strbuf *
step_link_out(UNUSED struct step_link *l)
{
    return &sent;
}

void
step_link_flush(UNUSED struct step_link *l)
{
}

bool
step_link_has_room(UNUSED const struct step_link *l)
{
    return true;
}

void
step_events_add(struct step_events *e, int fd, uint32_t wanted, struct step_watch *w)
{
    struct epoll_event event = {.events = wanted | EPOLLET, .data.ptr = w};

    ck_assert_int_eq(epoll_ctl(e->fd, EPOLL_CTL_ADD, fd, &event), 0);
    watched = fd;
}

void
step_events_remove(struct step_events *e, int fd)
{
    (void)epoll_ctl(e->fd, EPOLL_CTL_DEL, fd, NULL);
}

static int
take_events(void)
{
    struct epoll_event ready[8];
    const int n = epoll_wait(events.fd, ready, 8, 0);

    for (int i = 0; i < n; i++) {
        struct step_watch *w = ready[i].data.ptr;

        w->ready(w, ready[i].events);
    }
    return n;
}

/* A program has one for its whole life, so there is no function that frees it. */
static struct step_output *o;

static void
setup(void)
{
    static const unsigned ranks[] = {7, 8};

    events.fd = epoll_create1(EPOLL_CLOEXEC);
    ck_assert_int_ge(events.fd, 0);
    strbuf_init(&sent);
    o = step_output_new(&events, NULL, ranks, 2);
}

static void
teardown(void)
{
    close(events.fd);
    strbuf_fini(&sent);
}

/* The frames that krun was sent, as "task stream length". */
static void
take_sent(char *text, size_t size)
{
    struct step_reader in = {0};
    struct step_frame f;
    size_t room, at = 0;

    text[0] = '\0';
    memcpy(step_reader_space(&in, &room), sent.text, sent.length);
    step_reader_add(&in, sent.length);
    while (step_reader_next(&in, &f) == 1)
        at += (size_t)snprintf(text + at, size - at, "%u.%u:%zu ", f.task, (unsigned)f.stream,
                               f.length);
    step_reader_fini(&in);
    strbuf_truncate(&sent, 0);
}

static void
check_sent(const char *expected)
{
    char text[256];

    take_sent(text, sizeof(text));
    ck_assert_str_eq(text, expected);
}

/* Another task's process has all pipes until it runs its program. */
START_TEST(an_output_ends_once_while_another_process_has_its_pipe)
{
    int fd = -1, copy;

    setup();
    ck_assert_int_eq(step_output_open(o, 0, STEP_STDOUT, &fd), 0);
    copy = dup(watched);
    ck_assert_int_ge(copy, 0);
    ck_assert_int_eq(write(fd, "x", 1), 1);
    ck_assert_int_eq(take_events(), 1);
    close(fd); /* a further event of the pipe */
    step_output_pump(o);
    ck_assert_uint_eq(step_output_count(o), 0);
    check_sent("7.1:1 7.1:0 ");

    take_events();
    step_output_pump(o);
    ck_assert_uint_eq(step_output_count(o), 0);
    check_sent("");

    close(copy);
    teardown();
}
END_TEST

/* Krun's window is full after this. */
static void
use_up(int fd)
{
    static const char bytes[STEP_FRAME_BYTES];

    for (size_t left = STEP_WINDOW_BYTES; left > 0;) {
        const size_t n = left < sizeof(bytes) ? left : sizeof(bytes);

        ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
        left -= n;
        take_events();
        step_output_pump(o);
    }
    strbuf_truncate(&sent, 0);
}

/* The window of the stream is used up by exactly what was written. */
START_TEST(an_end_is_found_without_credit_and_only_at_the_end)
{
    int fd = -1;

    setup();
    ck_assert_int_eq(step_output_open(o, 1, STEP_STDERR, &fd), 0);
    use_up(fd);
    ck_assert_int_eq(write(fd, "more", 4), 4);
    close(fd);
    take_events();
    step_output_pump(o);
    step_output_find_ends(o);
    ck_assert_uint_eq(step_output_count(o), 1); /* "more" waits for credit */

    ck_assert_int_eq(step_output_credit(o, STEP_STDERR, 4), 0);
    step_output_pump(o);
    check_sent("8.2:4 ");
    step_output_find_ends(o);
    ck_assert_uint_eq(step_output_count(o), 0);
    check_sent("8.2:0 ");
    teardown();
}
END_TEST

/* A task without a terminal has its descriptors for itself; somebody may have been sent one. */
START_TEST(an_output_that_others_hold_open_is_given_up_when_all_is_read)
{
    int fd = -1;

    setup();
    ck_assert_int_eq(step_output_open(o, 0, STEP_STDOUT, &fd), 0);
    ck_assert_int_eq(write(fd, "xy", 2), 2);
    take_events();
    step_output_give_up(o); /* it has more to read */
    ck_assert_uint_eq(step_output_count(o), 1);
    step_output_pump(o);
    step_output_give_up(o);
    ck_assert_uint_eq(step_output_count(o), 0);
    check_sent("7.1:2 7.1:0 ");
    close(fd);
    teardown();
}
END_TEST

SUITE("step_output", an_output_ends_once_while_another_process_has_its_pipe,
      an_end_is_found_without_credit_and_only_at_the_end,
      an_output_that_others_hold_open_is_given_up_when_all_is_read)
