/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/hook.h"

#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

static const char *const variables[] = {"PATH=/usr/bin:/bin", "KILN_JOB_ID=7", NULL};

/* Makes a program of the site that runs these commands. */
static char *
make_hook(const struct test_pod *p, const char *name, const char *commands)
{
    char *path = xasprintf("%s/%s", p->directory, name);
    CLEANUP_FREE char *text = xasprintf("#!/bin/sh\n%s\n", commands);
    struct error err = {0};

    ck_assert_msg(file_write_atomic(path, 0700, text, strlen(text), &err) == 0, "%s", err.text);
    return path;
}

static int
run(const char *commands, int64_t limit_ms, struct error *err)
{
    struct test_pod p;
    CLEANUP_FREE char *hook = NULL;
    int r;

    test_pod_init(&p);
    hook = make_hook(&p, "hook", commands);
    r = hook_run("prolog", hook, variables, limit_ms, NULL, err);
    test_pod_fini(&p);
    return r;
}

START_TEST(one_that_ends_well_has_succeeded)
{
    struct error err = {0};

    ck_assert_int_eq(run("[ \"$KILN_JOB_ID\" = 7 ] && [ -z \"$HOME\" ] && "
                         "[ \"$(pwd)\" = / ]",
                         10000, &err),
                     0);
}
END_TEST

START_TEST(one_that_fails_has_its_last_line_told)
{
    struct error err = {0};

    ck_assert_int_eq(run("echo begun; echo 'no scratch' >&2; exit 3", 10000, &err), -EIO);

    ck_assert_ptr_nonnull(strstr(err.text, "ended with exit code 3: no scratch"));
}
END_TEST

START_TEST(one_that_takes_too_long_is_killed_with_its_children)
{
    struct error err = {0};

    ck_assert_int_eq(run("sleep 100 & sleep 100", 200, &err), -ETIMEDOUT);

    ck_assert_ptr_nonnull(strstr(err.text, "was killed"));
}
END_TEST

START_TEST(one_that_leaves_a_child_is_not_waited_for_longer)
{
    struct error err = {0};

    ck_assert_int_eq(run("sleep 3 & exit 0", 100000, &err), 0);
}
END_TEST

START_TEST(one_that_prints_much_is_read)
{
    struct error err = {0};

    ck_assert_int_eq(
        run("head -c 300000 /dev/zero | tr '\\0' x; echo; echo last; exit 1", 20000, &err), -EIO);

    ck_assert_ptr_nonnull(strstr(err.text, ": last"));
}
END_TEST

START_TEST(one_that_is_not_there_says_so)
{
    struct error err = {0};

    ck_assert_int_eq(hook_run("epilog", "/nowhere/epilog", variables, 10000, NULL, &err), -EIO);

    ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
}
END_TEST

START_TEST(hooks_run_around_the_job_as_the_agents_user)
{
    struct test_pod p;
    CLEANUP_FREE char *prolog = NULL;
    CLEANUP_FREE char *epilog = NULL;
    CLEANUP_FREE char *told = NULL;
    CLEANUP_FREE char *expected = NULL;
    CLEANUP_FREE char *output = NULL;
    const char *hook_variables[] = {"PATH=/usr/bin:/bin", NULL, NULL};
    struct exit_record *e;

    test_pod_init(&p);
    output = xasprintf("OUT=%s", p.out);
    hook_variables[1] = output;
    prolog = make_hook(&p, "prolog", "echo $KILN_HOOK $(id -u) >>$OUT");
    epilog = make_hook(&p, "epilog", "echo $KILN_HOOK $(id -u) $KILN_JOB_EXIT_CODE >>$OUT");
    p.order.prolog = prolog;
    p.order.epilog = epilog;
    p.order.append = true;
    p.order.hook_environment = (struct order_list){hook_variables, 2};
    test_pod_shell(&p, "echo job; exit 5");
    {
        CLEANUP_FD int fd = open(p.out, O_WRONLY | O_CREAT, 0666);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fchmod(fd, 0666), 0);
    }

    e = test_pod_run(&p);

    ck_assert_int_eq(e->exit_code, 5);
    ck_assert_ptr_null(e->epilog_failure);
    told = test_pod_read(p.out);
    expected = xasprintf("prolog %u\njob\nepilog %u 5\n", geteuid(), geteuid());
    ck_assert_str_eq(told, expected);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_job_whose_prolog_fails_does_not_run_and_its_epilog_does)
{
    struct test_pod p;
    CLEANUP_FREE char *prolog = NULL;
    CLEANUP_FREE char *epilog = NULL;
    struct exit_record *e;

    test_pod_init(&p);
    prolog = make_hook(&p, "prolog", "echo 'no licence'; exit 9");
    epilog = make_hook(&p, "epilog", "exit 4");
    p.order.prolog = prolog;
    p.order.epilog = epilog;
    test_pod_shell(&p, "echo ran");

    e = test_pod_run(&p);

    ck_assert_str_eq(e->failed_step, "prolog");
    ck_assert_ptr_nonnull(strstr(e->message, "no licence"));
    ck_assert_ptr_nonnull(strstr(e->epilog_failure, "exit code 4"));
    ck_assert_int_ne(access(p.out, F_OK), 0);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_job_that_is_told_to_end_during_its_prolog_does_not_run)
{
    static const struct {
        const char *commands;
        int signals[2];
    } cases[] = {
        {"echo x >>note; exec sleep 100", {SIGTERM}},
        {"trap '' TERM; echo x >>note; sleep 100 & wait; sleep 100", {SIGTERM, SIGKILL}},
        {"trap 'exit 0' TERM; echo x >>note; sleep 100 & wait", {SIGTERM}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct test_pod p;
        struct exit_record *e;
        int last = cases[i].signals[1] != 0 ? SIGKILL : SIGTERM;

        test_pod_init(&p);
        CLEANUP_FREE char *note = xasprintf("%s/note", p.directory);
        CLEANUP_FREE char *commands = xasprintf("cd %s; %s", p.directory, cases[i].commands);
        CLEANUP_FREE char *prolog = make_hook(&p, "prolog", commands);
        CLEANUP_FREE char *epilog = make_hook(&p, "epilog", "[ $KILN_JOB_SIGNAL != 0 ] || exit 8");

        p.order.prolog = prolog;
        p.order.epilog = epilog;
        p.order.hook_timeout_ms = 300000;
        test_pod_shell(&p, "echo ran");
        test_pod_start(&p);
        test_pod_wait_for(note);

        for (size_t k = 0; k < 2 && cases[i].signals[k] != 0; k++)
            ck_assert_int_eq(launch_signal(p.pidfd, LAUNCH_ALL, cases[i].signals[k], NULL), 0);
        ck_assert_int_eq(test_pod_wait(&p), 0);

        e = test_pod_ending(&p);
        ck_assert_str_eq(e->failed_step, EXIT_RECORD_CALLED_OFF);
        ck_assert_int_eq(e->signal, last);
        ck_assert_int_eq(e->started_at_us, 0);
        ck_assert_ptr_null(e->epilog_failure);
        ck_assert_int_ne(access(p.out, F_OK), 0);
        exit_record_free(e);
        test_pod_fini(&p);
    }
}
END_TEST

static bool
has_gone(const char *pid)
{
    return kill((pid_t)atol(pid), 0) < 0 && errno == ESRCH;
}

START_TEST(processes_that_hooks_leave_behind_are_ended)
{
    struct test_pod p;
    CLEANUP_FREE char *note = NULL;
    CLEANUP_FREE char *prolog = NULL;
    CLEANUP_FREE char *commands = NULL;
    CLEANUP_FREE char *pid = NULL;

    test_pod_init(&p);
    note = xasprintf("%s/note", p.directory);
    commands = xasprintf("/bin/sleep 100 >/dev/null 2>&1 & echo $! >%s; exit 1", note);
    prolog = make_hook(&p, "prolog", commands);
    p.order.prolog = prolog;
    test_pod_shell(&p, "exit 0");

    exit_record_free(test_pod_run(&p));

    pid = test_pod_read(note);
    for (int i = 0; i < 1000 && !has_gone(pid); i++)
        test_pod_pause(10);
    ck_assert(has_gone(pid));
    test_pod_fini(&p);
}
END_TEST

SUITE("hook", one_that_ends_well_has_succeeded, one_that_fails_has_its_last_line_told,
      one_that_takes_too_long_is_killed_with_its_children,
      one_that_leaves_a_child_is_not_waited_for_longer, one_that_prints_much_is_read,
      one_that_is_not_there_says_so, hooks_run_around_the_job_as_the_agents_user,
      a_job_whose_prolog_fails_does_not_run_and_its_epilog_does,
      a_job_that_is_told_to_end_during_its_prolog_does_not_run,
      processes_that_hooks_leave_behind_are_ended)
