/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/timed_program.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"

static struct loop *loop;
static char *failure; /* NULL: it succeeded */
static unsigned n_done;
static int exit_status;

static void
on_done(const char *words, void *context)
{
    (void)context;
    free(failure);
    failure = words != NULL ? xstrdup(words) : NULL;
    n_done++;
    loop_stop(loop);
}

/* How a shell script ends that has this time. */
static const char *
run(const char *script, int64_t limit_ms)
{
    char name[] = "sh", option[] = "-c";
    CLEANUP_FREE char *text = xstrdup(script);
    char *const argv[] = {name, option, text, NULL};
    struct timed_program *program = NULL;
    struct error err = {0};

    loop = loop_new();
    n_done = 0;
    ck_assert_int_eq(timed_program_start(loop,
                                         &(struct timed_program_plan){
                                             .path = "/bin/sh",
                                             .argv = argv,
                                             .limit_ms = limit_ms,
                                         },
                                         on_done, NULL, &program, &err),
                     0);
    loop_run(loop);
    ck_assert_uint_eq(n_done, 1);
    exit_status = timed_program_exit_status(program);
    timed_program_free(program);
    loop_free(loop);
    return failure != NULL ? failure : "fine";
}

START_TEST(the_last_line_says_why_a_program_failed)
{
    ck_assert_str_eq(run("echo all is well", 10000), "fine");
    ck_assert_int_eq(exit_status, 0);
    ck_assert_str_eq(run("exit 3", 10000), "exit status 3");
    ck_assert_int_eq(exit_status, 3);
    ck_assert_str_eq(run("echo one; echo two >&2; echo; exit 3", 10000), "two (exit status 3)");
    ck_assert_str_eq(run("printf 'no newline'; exit 1", 10000), "no newline (exit status 1)");
    ck_assert_str_eq(run("kill -9 $$", 10000), "it was ended by signal 9");
    ck_assert_int_eq(exit_status, -1);
    ck_assert_str_eq(run("printf 'a\\033[1m\\001\\377b'; exit 1", 10000),
                     "a?[1m??b (exit status 1)");
}
END_TEST

START_TEST(much_output_is_read_and_not_kept)
{
    const char *words = run("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; "
                            "head -c 100000 /dev/zero | tr '\\0' x; exit 1",
                            60000);

    ck_assert_uint_lt(strlen(words), 250);
    ck_assert(strncmp(words, "xxxx", 4) == 0);
}
END_TEST

/* The group's other process writes its id first, and is gone afterwards. */
START_TEST(a_program_that_is_late_is_killed_with_its_group)
{
    char path[] = "/tmp/kiln-timed-XXXXXX";
    CLEANUP_FREE char *script = NULL;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    pid_t pid;

    close(mkstemp(path));
    script = xasprintf("sh -c 'echo $$ >%s; exec sleep 1000' & echo hangs; wait", path);
    ck_assert_str_eq(run(script, 2000), "hangs (it did not end within 2 s)");

    ck_assert_int_eq(file_read(path, 64, &text, NULL), 0);
    pid = (pid_t)atoi(text.text);
    ck_assert_int_gt(pid, 0);
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++) {
        CLEANUP_FREE char *stat = xasprintf("/proc/%d/stat", (int)pid);
        CLEANUP_STRBUF struct strbuf state = STRBUF_INIT;

        if (file_read(stat, 256, &state, NULL) < 0 || strstr(state.text, ") Z ") != NULL)
            break; /* nobody reaps it in some containers */
        usleep(10000);
        ck_assert_int_lt(i, 999);
    }
    unlink(path);
}
END_TEST

START_TEST(a_process_that_is_left_behind_does_not_delay_the_result)
{
    ck_assert_str_eq(run("sleep 5 & exit 2", 60000), "exit status 2");
}
END_TEST

START_TEST(a_program_that_cannot_be_started_is_an_error)
{
    char name[] = "none";
    char *const argv[] = {name, NULL};
    struct timed_program *program = NULL;
    struct error err = {0};

    loop = loop_new();
    ck_assert_int_lt(timed_program_start(loop,
                                         &(struct timed_program_plan){
                                             .path = "/nonexistent/program",
                                             .argv = argv,
                                             .limit_ms = 1000,
                                         },
                                         on_done, NULL, &program, &err),
                     0);
    ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/program"));
    loop_free(loop);
}
END_TEST

SUITE("timed_program", the_last_line_says_why_a_program_failed, much_output_is_read_and_not_kept,
      a_program_that_is_late_is_killed_with_its_group,
      a_process_that_is_left_behind_does_not_delay_the_result,
      a_program_that_cannot_be_started_is_an_error)
