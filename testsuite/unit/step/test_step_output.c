/* SPDX-License-Identifier: Apache-2.0 */
#include "step/step_state.h"

#include <check.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

/* The rest of kiln-step */

void
step_watch(struct step *s, int fd, uint32_t events, struct step_watch *w)
{
    struct epoll_event e = {.events = events | EPOLLET, .data.ptr = w};

    ck_assert_int_eq(epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e), 0);
}

void
step_link_flush(UNUSED struct step *s)
{
}

bool
step_link_has_room(UNUSED const struct step *s)
{
    return true;
}

static void
init(struct step *s, struct step_task *t)
{
    *t = (struct step_task){.outputs = {{.fd = -1}, {.fd = -1}, {.fd = -1}}, .input_fd = -1};
    *s = (struct step){.tasks = t, .n_tasks = 1, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    strbuf_init(&s->link.out);
    for (size_t i = 0; i < ARRAY_SIZE(s->ready); i++) {
        list_init(&s->ready[i]);
        s->windows[i].credit = 1 << 16;
    }
    ck_assert_int_ge(s->epoll_fd, 0);
}

static int
take_events(struct step *s)
{
    struct epoll_event events[8];
    const int n = epoll_wait(s->epoll_fd, events, 8, 0);

    for (int i = 0; i < n; i++) {
        struct step_watch *w = events[i].data.ptr;

        w->ready(s, w, events[i].events);
    }
    return n;
}

/* Another task's process has all pipes until it runs its program. */
START_TEST(an_output_ends_once_while_another_process_has_its_pipe)
{
    struct step s;
    struct step_task t;
    int fd = -1, copy;

    init(&s, &t);
    ck_assert_int_eq(step_output_open(&s, &t, STEP_STDOUT, &fd), 0);
    copy = dup(t.outputs[STEP_STDOUT].fd);
    ck_assert_int_ge(copy, 0);
    ck_assert_int_eq(write(fd, "x", 1), 1);
    ck_assert_int_eq(take_events(&s), 1);
    close(fd); /* a further event of the pipe */
    step_output_pump(&s);
    ck_assert_uint_eq(s.n_outputs, 0);
    ck_assert_int_eq(t.outputs[STEP_STDOUT].fd, -1);

    take_events(&s);
    step_output_pump(&s);
    ck_assert_uint_eq(s.n_outputs, 0);

    close(copy);
    close(s.epoll_fd);
    strbuf_fini(&s.link.out);
}
END_TEST

SUITE("step_output", an_output_ends_once_while_another_process_has_its_pipe)
