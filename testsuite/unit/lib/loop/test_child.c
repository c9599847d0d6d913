/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/loop/fdwatch.h"
#include "lib/loop/loop.h"
#include "lib/loop/sigwatch.h"
#include "testsuite/lib/suite.h"

struct ward {
    struct loop *loop;
    struct child *child;
    struct child_exit end;
};

static void
on_exit_(const struct child_exit *end, void *arg)
{
    struct ward *w = arg;

    w->end = *end;
    child_free(w->child);
    w->child = NULL;
    loop_stop(w->loop);
}

static int
spawn(struct ward *w, const char *script, struct error *err)
{
    char shell[] = "sh", option[] = "-c", text[128];
    char *argv[] = {shell, option, text, NULL};
    struct child_plan plan = {
        .path = "/bin/sh",
        .argv = argv,
        .directory = "/",
        .fds = {-1, -1, -1},
    };

    strncpy(text, script, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    return child_spawn(w->loop, &plan, on_exit_, w, &w->child, err);
}

START_TEST(the_exit_code_of_a_child_is_told)
{
    struct ward w = {.loop = loop_new()};

    ck_assert_int_eq(spawn(&w, "test $(pwd) = / && exit 7", NULL), 0);
    loop_run(w.loop);

    ck_assert(w.end.is_known);
    ck_assert(WIFEXITED(w.end.status));
    ck_assert_int_eq(WEXITSTATUS(w.end.status), 7);
    loop_free(w.loop);
}
END_TEST

START_TEST(a_killed_child_says_by_what)
{
    struct ward w = {.loop = loop_new()};

    ck_assert_int_eq(spawn(&w, "sleep 60", NULL), 0);
    ck_assert_int_eq(child_kill(w.child, SIGTERM), 0);
    loop_run(w.loop);

    ck_assert(WIFSIGNALED(w.end.status));
    ck_assert_int_eq(WTERMSIG(w.end.status), SIGTERM);
    loop_free(w.loop);
}
END_TEST

START_TEST(a_child_starts_with_default_signals_whatever_we_block)
{
    struct ward w = {.loop = loop_new()};
    sigset_t term;

    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);

    ck_assert_int_eq(spawn(&w, "kill -TERM $$; exit 0", NULL), 0);
    loop_run(w.loop);

    ck_assert(WIFSIGNALED(w.end.status));
    loop_free(w.loop);
}
END_TEST

START_TEST(the_end_of_a_child_that_another_has_reaped_is_told_without_a_status)
{
    struct ward w = {.loop = loop_new()};
    pid_t pid;

    ck_assert_int_eq(spawn(&w, "exit 3", NULL), 0);
    pid = waitpid(-1, NULL, 0);
    ck_assert_int_gt(pid, 0);
    loop_run(w.loop);

    ck_assert(!w.end.is_known);
    ck_assert_int_eq(w.end.pid, pid);
    loop_free(w.loop);
}
END_TEST

START_TEST(a_program_that_is_not_there_is_named)
{
    struct ward w = {.loop = loop_new()};
    char name[] = "x";
    char *argv[] = {name, NULL};
    struct child_plan plan = {
        .path = "/nowhere/x",
        .argv = argv,
        .fds = {-1, -1, -1},
    };
    struct error err = {0};
    int r = child_spawn(w.loop, &plan, on_exit_, &w, &w.child, &err);

    ck_assert_int_eq(r, -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/x"));
    loop_free(w.loop);
}
END_TEST

static void
on_signal(int number, void *arg)
{
    struct ward *w = arg;

    w->end.status = number;
    loop_stop(w->loop);
}

START_TEST(a_signal_becomes_a_callback)
{
    struct ward w = {.loop = loop_new()};
    struct sigwatch *s = sigwatch_new(w.loop, SIGHUP, on_signal, &w);

    kill(getpid(), SIGHUP);
    loop_run(w.loop);

    ck_assert_int_eq(w.end.status, SIGHUP);
    sigwatch_free(s);
    loop_free(w.loop);
}
END_TEST

struct pipe_reader {
    struct loop *loop;
    struct fdwatch *watch;
    unsigned ready;
};

static void
on_readable(int fd, unsigned ready, void *arg)
{
    struct pipe_reader *p = arg;

    (void)fd;
    p->ready |= ready;
    fdwatch_free(p->watch);
    loop_stop(p->loop);
}

START_TEST(a_descriptor_is_watched_for_what_is_wanted_and_no_more)
{
    struct pipe_reader p = {.loop = loop_new()};
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    p.watch = fdwatch_new(p.loop, fds[0], 0, on_readable, &p);
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    loop_stop(p.loop);
    loop_run(p.loop);
    ck_assert_uint_eq(p.ready, 0);

    fdwatch_want(p.watch, FDWATCH_READ);
    loop_run(p.loop);

    ck_assert_uint_eq(p.ready, FDWATCH_READ);
    close(fds[0]);
    close(fds[1]);
    loop_free(p.loop);
}
END_TEST

SUITE("child", the_exit_code_of_a_child_is_told, a_killed_child_says_by_what,
      a_child_starts_with_default_signals_whatever_we_block,
      the_end_of_a_child_that_another_has_reaped_is_told_without_a_status,
      a_program_that_is_not_there_is_named, a_signal_becomes_a_callback,
      a_descriptor_is_watched_for_what_is_wanted_and_no_more)
