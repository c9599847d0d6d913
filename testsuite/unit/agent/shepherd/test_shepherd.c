/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the program from outside: an order goes in, an exit record comes out.
 */
#include <check.h>
#include <sys/file.h>

#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/hierarchy.h"
#include "agent/shepherd/fence.h"
#include "testsuite/lib/cgroups.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

START_TEST(exit_codes_and_signals_are_recorded)
{
    static const struct {
        const char *commands;
        int code, signal;
    } cases[] = {
        {"exit 0", 0, 0},
        {"exit 3", 3, 0},
        {"exit 255", 255, 0},
        {"kill -TERM $$", 143, SIGTERM},
        {"kill -KILL $$", 137, SIGKILL},
        {"kill -SEGV $$", 139, SIGSEGV},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct test_pod p;
        struct exit_record *e;

        test_pod_init(&p);
        test_pod_shell(&p, cases[i].commands);

        e = test_pod_run(&p);

        ck_assert_ptr_null(e->failed_step);
        ck_assert_str_eq(e->pod_uid, "uid-1");
        ck_assert_int_eq(e->exit_code, cases[i].code);
        ck_assert_int_eq(e->signal, cases[i].signal);
        ck_assert_int_gt(e->started_at_us, 0);
        ck_assert_int_ge(e->ended_at_us, e->started_at_us);
        ck_assert(!e->has_left_behind);
        exit_record_free(e);
        test_pod_fini(&p);
    }
}
END_TEST

START_TEST(elapsed_and_cpu_time_are_measured)
{
    struct test_pod p;
    struct exit_record *e;

    test_pod_init(&p);
    test_pod_shell(&p, "sleep 0.2; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); "
                       "done");

    e = test_pod_run(&p);

    ck_assert_int_ge(e->elapsed_us, 200000);
    ck_assert_int_gt(e->cpu_user_us + e->cpu_system_us, 5000);
    ck_assert_int_gt(e->peak_memory_bytes, 100000);
    ck_assert(!e->is_memory_enforced);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

/* Jobs that cannot be started. Paths are below the work directory. */
struct failure {
    const char *name; /* of the case */
    void (*spoil)(struct test_pod *p);
    const char *step;
    int error_number, code;
    bool needs_root;
};

static char spoiled_path[128];

static const char *
below(const struct test_pod *p, const char *name)
{
    snprintf(spoiled_path, sizeof(spoiled_path), "%s/%s", p->work_dir, name);
    return spoiled_path;
}

static void
lose_work_dir(struct test_pod *p)
{
    p->order.work_dir = below(p, "missing");
}

static void
lose_output_directory(struct test_pod *p)
{
    p->order.stdout_path = below(p, "missing/out");
}

static void
close_output_directory(struct test_pod *p)
{
    ck_assert_int_eq(mkdir(below(p, "closed"), 0500), 0);
    p->order.stdout_path = below(p, "closed/out");
}

static void
make_output_a_directory(struct test_pod *p)
{
    ck_assert_int_eq(mkdir(below(p, "dir"), 0777), 0);
    p->order.stdout_path = below(p, "dir");
}

static void
close_errors(struct test_pod *p)
{
    p->order.stderr_path = "/proc/kiln-err";
}

static void
lose_input(struct test_pod *p)
{
    p->order.stdin_path = below(p, "missing");
}

static void
name_no_command(struct test_pod *p)
{
    p->arguments[0] = "kiln-no-such-command";
    p->order.arguments.count = 1;
}

static void
name_no_path(struct test_pod *p)
{
    p->arguments[0] = "/nonexistent/program";
    p->order.arguments.count = 1;
}

static void
name_nothing(struct test_pod *p)
{
    p->arguments[0] = "";
    p->order.arguments.count = 1;
}

static void
run_data(struct test_pod *p)
{
    p->arguments[0] = "/etc/passwd";
    p->order.arguments.count = 1;
}

static void
run_nonsense(struct test_pod *p)
{
    p->arguments[0] = below(p, "nonsense");
    p->order.arguments.count = 1;
    ck_assert_int_eq(file_write_atomic(spoiled_path, 0755, "\x01\x02\x03\n", 4, NULL), 0);
}

static void
use_far_cpus(struct test_pod *p)
{
    p->order.cpus = "1000-1001";
}

static void
use_far_memory(struct test_pod *p)
{
    p->order.memory_nodes = "900";
    p->order.memory_policy = "bind";
}

static void
be_nobody_known(struct test_pod *p)
{
    p->order.uid = 3999999999;
}

static void
be_in_a_foreign_group(struct test_pod *p)
{
    p->order.gid = 3;
}

static void
be_root(struct test_pod *p)
{
    p->order.uid = p->order.gid = 0;
}

static void
be_another(struct test_pod *p)
{
    p->order.uid = geteuid() + 1;
}

static void
lose_cgroup(struct test_pod *p)
{
    p->order.job_cgroup = "gone\n2 0 /sys/fs/cgroup/kiln-gone\n";
}

static void
lose_interpreter(struct test_pod *p)
{
    static const char text[] = "#!/nonexistent/interpreter\n";

    p->order.arguments.count = 0;
    test_pod_script(p, text, sizeof(text) - 1);
}

static void
cut_script_short(struct test_pod *p)
{
    p->order.arguments.count = 0;
    test_pod_script(p, "#!/bin/sh\n", 10);
    p->order.script_bytes = 100;
}

static const struct failure failures[] = {
    {"no workdir", lose_work_dir, "working directory", ENOENT, 125, false},
    {"no out dir", lose_output_directory, "standard output", ENOENT, 125, false},
    {"closed", close_output_directory, "standard output", EACCES, 125, true},
    {"dir", make_output_a_directory, "standard output", EISDIR, 125, false},
    {"errors", close_errors, "standard error", ENOENT, 125, false},
    {"no input", lose_input, "standard input", ENOENT, 125, false},
    {"no command", name_no_command, "program", ENOENT, 127, false},
    {"no program", name_no_path, "program", ENOENT, 127, false},
    {"empty", name_nothing, "program", ENOENT, 127, false},
    {"data", run_data, "program", EACCES, 126, false},
    {"nonsense", run_nonsense, "program", ENOEXEC, 126, false},
    {"cpus", use_far_cpus, "cpu affinity", EINVAL, 125, false},
    {"nodes", use_far_memory, "memory policy", EINVAL, 125, false},
    {"unknown uid", be_nobody_known, "user", ENOENT, 125, true},
    {"foreign group", be_in_a_foreign_group, "user", EPERM, 125, true},
    {"root", be_root, "user allowed", EPERM, 125, true},
    {"cgroup", lose_cgroup, "fork", ENOENT, 125, true},
    {"interpreter", lose_interpreter, "program", ENOENT, 127, false},
    {"short script", cut_script_short, "spool", ENODATA, 125, false},
};

static void
assert_fails(const struct failure *f)
{
    struct test_pod p;
    struct exit_record *e;

    test_pod_init(&p);
    test_pod_shell(&p, "touch ran");
    f->spoil(&p);

    e = test_pod_run(&p);

    ck_assert_msg(e->failed_step != NULL && strcmp(e->failed_step, f->step) == 0,
                  "%s: fails at '%s' (%s)", f->name,
                  e->failed_step == NULL ? "nothing" : e->failed_step, e->message);
    ck_assert_msg(e->error_number == f->error_number, "%s: %s", f->name, e->message);
    ck_assert_int_eq(e->exit_code, f->code);
    ck_assert_int_eq(e->started_at_us, 0);
    ck_assert_int_ne(access(below(&p, "ran"), F_OK), 0);
    exit_record_free(e);
    test_pod_fini(&p);
}

START_TEST(a_failed_start_says_at_which_step_and_why)
{
    for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
        if (!failures[i].needs_root || test_pod_is_root())
            assert_fails(&failures[i]);
}
END_TEST

START_TEST(a_symlink_to_roots_file_is_not_written_through)
{
    struct test_pod p;
    CLEANUP_FREE char *target = NULL;
    CLEANUP_FREE char *kept = NULL;
    struct exit_record *e;

    if (!test_pod_is_root())
        SKIP("only root can become another user");
    test_pod_init(&p);
    target = xasprintf("%s/roots", p.directory);
    ck_assert_int_eq(file_write_atomic(target, 0644, "root's\n", 7, NULL), 0);
    ck_assert_int_eq(symlink(target, p.out), 0);
    test_pod_shell(&p, "echo overwritten");

    e = test_pod_run(&p);

    kept = test_pod_read(target);
    ck_assert_str_eq(kept, "root's\n");
    ck_assert_str_eq(e->failed_step, "standard output");
    ck_assert_int_eq(e->error_number, EACCES);
    ck_assert_ptr_nonnull(strstr(e->message, p.out));
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_script_runs_from_its_own_file_with_its_arguments)
{
    static const char text[] = "#!/bin/sh\n"
                               "stat -c '%a %u' \"$0\"; echo \"$@\"\n";
    struct test_pod p;
    CLEANUP_FREE char *printed = NULL;
    CLEANUP_FREE char *wanted = NULL;

    test_pod_init(&p);
    test_pod_script(&p, text, sizeof(text) - 1);
    test_pod_argument(&p, "a b");
    test_pod_argument(&p, "c");
    wanted = xasprintf("500 %u\na b c\n", (unsigned)p.order.uid);

    test_pod_succeed(&p);

    printed = test_pod_read(p.out);
    ck_assert_str_eq(printed, wanted);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_script_of_four_mebibytes_runs)
{
    static const char head[] = "#!/bin/sh\necho begin\n";
    static const char tail[] = "\necho end\n";
    size_t length = ORDER_SCRIPT_BYTES;
    CLEANUP_FREE char *text = xmalloc(length);
    struct test_pod p;

    memset(text, '#', length);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + length - sizeof(tail) + 1, tail, sizeof(tail) - 1);
    test_pod_init(&p);
    test_pod_script(&p, text, length);

    test_pod_succeed(&p);

    CLEANUP_FREE char *printed = test_pod_read(p.out);
    ck_assert_str_eq(printed, "begin\nend\n");
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_megabyte_of_environment_arrives)
{
    size_t length = 1u << 17;
    struct test_pod p;
    CLEANUP_FREE char *variable = xmalloc(length);

    memset(variable, 'x', length);
    memcpy(variable, "BIG=", 4);
    variable[length - 1] = '\0';
    test_pod_init(&p);
    for (int i = 0; i < 8; i++)
        test_pod_variable(&p, variable);
    test_pod_shell(&p, "echo ${#BIG}");

    test_pod_succeed(&p);

    CLEANUP_FREE char *printed = test_pod_read(p.out);
    ck_assert_int_eq(atoi(printed), (int)length - 5);
    test_pod_fini(&p);
}
END_TEST

/* Whether the process whose pid the file holds is alive. */
static bool
is_alive(const char *path)
{
    CLEANUP_FREE char *text = test_pod_read(path);
    pid_t pid = atoi(text);

    ck_assert_int_gt(pid, 1);
    return kill(pid, 0) == 0;
}

static const char leave_daemons[] =
    "for i in 1 2 3; do setsid sh -c 'trap \"\" TERM HUP; echo $$ >> daemon; "
    "exec >/dev/null 2>&1; sleep 1000' & done; "
    "while [ ! -s daemon ]; do sleep 0.01; done; echo started";

START_TEST(daemons_do_not_outlive_the_job)
{
    struct test_pod p;
    struct exit_record *e;

    test_pod_init(&p);
    test_pod_shell(&p, leave_daemons);

    e = test_pod_run(&p);

    ck_assert_int_eq(e->exit_code, 0);
    ck_assert(!e->has_left_behind);
    ck_assert(!is_alive(below(&p, "daemon")));
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_job_that_asked_for_it_ends_when_its_node_is_cut_off)
{
    struct test_pod p;
    CLEANUP_FREE char *note = NULL;
    struct exit_record *e;

    test_pod_init(&p);
    note = xasprintf("%s/heard", p.order.run_dir);
    ck_assert_int_eq(fence_note(note, 1, NULL), 0);
    p.order.fence_after_ms = 1;
    p.order.heard_path = note;
    test_pod_shell(&p, "sleep 1000");

    e = test_pod_run(&p);

    ck_assert(e->was_fenced);
    ck_assert_int_eq(e->signal, SIGKILL);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_signal_goes_to_whom_it_is_meant_for)
{
    static const struct {
        enum launch_scope scope;
        const char *wanted;
    } cases[] = {
        {LAUNCH_MAIN, "main\n"},
        {LAUNCH_ALL, "child\nmain\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct test_pod p;
        CLEANUP_FREE char *ready = NULL;
        CLEANUP_FREE char *printed = NULL;

        test_pod_init(&p);
        ready = xstrdup(below(&p, "ready"));
        p.order.stderr_path = "/dev/null";
        test_pod_shell(&p, "trap 'sleep 0.3; echo main; exit 0' USR1; "
                           "sh -c 'trap \"echo child; exit\" USR1; echo x > ready; "
                           "while :; do sleep 0.01; done' & "
                           "while :; do sleep 0.01; done");
        test_pod_start(&p);
        test_pod_wait_for(ready);
        ck_assert_int_eq(launch_signal(p.pidfd, cases[i].scope, SIGUSR1, NULL), 0);
        ck_assert_int_eq(test_pod_wait(&p), 0);

        printed = test_pod_read(p.out);
        ck_assert_str_eq(printed, cases[i].wanted);
        test_pod_fini(&p);
    }
}
END_TEST

/* A trap shows who got it. The first process goes on until its children end. */
START_TEST(a_warning_spares_the_scripts_shell)
{
#define CHILD                                                 \
    "sh -c 'trap \"echo child; exit\" USR1; echo x > ready; " \
    "while :; do sleep 0.01; done' & "
#define PROGRAM                                                                    \
    "exec perl -e '$SIG{USR1} = sub { syswrite STDOUT, \"program\\n\"; exit 0 }; " \
    "open F, \">ready\"; print F \"x\"; close F; select undef, undef, undef, .01 while 1'"
    static const struct {
        const char *commands;
        bool main_only;
        const char *wanted;
    } cases[] = {
        {"trap 'echo shell' USR1; " CHILD "wait; echo done", false, "child\ndone\n"},
        {CHILD "wait; echo done", false, "child\ndone\n"},
        {"trap 'echo shell; exit' USR1; " CHILD "while :; do sleep 0.01; done", true, "shell\n"},
        {PROGRAM, false, "program\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases) - (access("/usr/bin/perl", X_OK) < 0); i++) {
        struct test_pod p;
        CLEANUP_FREE char *ready = NULL;
        CLEANUP_FREE char *printed = NULL;

        test_pod_init(&p);
        ready = xstrdup(below(&p, "ready"));
        p.order.stderr_path = "/dev/null";
        p.order.warn_signal = SIGUSR1;
        p.order.warn_main = cases[i].main_only;
        test_pod_shell(&p, cases[i].commands);
        test_pod_start(&p);
        test_pod_wait_for(ready);
        ck_assert_int_eq(
            launch_signal(p.pidfd, cases[i].main_only ? LAUNCH_MAIN : LAUNCH_ALL, SIGUSR1, NULL),
            0);
        ck_assert_int_eq(test_pod_wait(&p), 0);

        printed = test_pod_read(p.out);
        ck_assert_str_eq(printed, cases[i].wanted);
        test_pod_fini(&p);
    }
}
END_TEST

/* The order counts if it came before the job's own end, whatever the exit code. */
START_TEST(the_record_says_whether_an_order_ended_the_job)
{
    static const struct {
        const char *commands;
        int signal; /* 0: none */
        int code;
        bool is_late, wanted;
    } cases[] = {
        {"trap 'exit 0' TERM; echo x > ready; while :; do sleep 0.01; done", SIGTERM, 0, false,
         true},
        {"trap 'exit 3' TERM; echo x > ready; while :; do sleep 0.01; done", SIGTERM, 3, false,
         true},
        {"trap 'exit 0' USR1; echo x > ready; while :; do sleep 0.01; done", SIGUSR1, 0, false,
         true},
        {"echo x > ready; exec sleep 1000", SIGKILL, 137, false, true},
        {"trap '' TERM; echo x > ready; sleep 0.3; exit 0", 0, 0, false, false},
        /* its children outlive it, and get the signal */
        {"(trap '' TERM; sleep 0.5) & echo x > ready; exit 0", SIGTERM, 0, true, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct test_pod p;
        CLEANUP_FREE char *ready = NULL;
        struct exit_record *e;

        test_pod_init(&p);
        ready = xstrdup(below(&p, "ready"));
        p.order.stderr_path = "/dev/null";
        test_pod_shell(&p, cases[i].commands);
        test_pod_start(&p);
        test_pod_wait_for(ready);
        if (cases[i].is_late)
            test_pod_pause(50);
        if (cases[i].signal != 0 && !cases[i].is_late)
            ck_assert_int_eq(launch_signal(p.pidfd, LAUNCH_ALL, cases[i].signal, NULL), 0);
        else if (cases[i].signal != 0)
            (void)launch_signal(p.pidfd, LAUNCH_ALL, cases[i].signal, NULL);
        ck_assert_int_eq(test_pod_wait(&p), 0);

        e = test_pod_ending(&p);
        ck_assert_int_eq(e->exit_code, cases[i].code);
        ck_assert_msg(e->was_ended == cases[i].wanted, "%s", cases[i].commands);
        exit_record_free(e);
        test_pod_fini(&p);
    }
}
END_TEST

START_TEST(a_job_that_hangs_in_opening_its_output_can_be_killed)
{
    struct test_pod p;
    struct exit_record *e;

    test_pod_init(&p);
    ck_assert_int_eq(mkfifo(p.out, 0666), 0);
    ck_assert_int_eq(chmod(p.out, 0666), 0);
    test_pod_shell(&p, "echo never");
    test_pod_start(&p);
    test_pod_pause(300);

    ck_assert_int_eq(launch_signal(p.pidfd, LAUNCH_ALL, SIGKILL, NULL), 0);
    ck_assert_int_eq(test_pod_wait(&p), 0);

    e = test_pod_ending(&p);
    ck_assert_int_eq(e->signal, SIGKILL);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_signal_sent_at_once_is_not_lost_on_the_shepherd)
{
    struct test_pod p;

    test_pod_init(&p);
    test_pod_shell(&p, "exit 0");
    test_pod_start(&p);

    ck_assert_int_eq(launch_signal(p.pidfd, LAUNCH_MAIN, SIGCONT, NULL), 0);

    ck_assert_int_eq(test_pod_wait(&p), 0);
    test_pod_fini(&p);
}
END_TEST

START_TEST(signals_that_end_daemons_do_not_end_a_shepherd)
{
    static const int signals[] = {SIGINT, SIGHUP, SIGPIPE, SIGUSR1};
    struct test_pod p;
    struct exit_record *e;
    CLEANUP_FREE char *ready = NULL;

    test_pod_init(&p);
    ready = xstrdup(below(&p, "ready"));
    test_pod_shell(&p, "echo x > ready; sleep 0.5; exit 7");
    test_pod_start(&p);
    test_pod_wait_for(ready);

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        ck_assert_int_eq(kill(p.pid, signals[i]), 0);

    ck_assert_int_eq(test_pod_wait(&p), 0);
    e = test_pod_ending(&p);
    ck_assert_int_eq(e->exit_code, 7);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(the_job_and_its_record_outlive_a_launcher_killed_meanwhile)
{
    struct test_pod p;
    struct exit_record *e = NULL;
    CLEANUP_FREE char *ready = NULL;
    pid_t launcher;

    test_pod_init(&p);
    ready = xstrdup(below(&p, "ready"));
    test_pod_shell(&p, "echo x > ready; sleep 0.5; exit 9");
    launcher = fork();
    if (launcher == 0) {
        test_pod_start(&p);
        for (;;)
            pause();
    }
    test_pod_wait_for(ready);
    ck_assert_int_eq(kill(launcher, SIGKILL), 0);
    ck_assert_int_eq(waitpid(launcher, NULL, 0), launcher);

    for (int i = 0; i < 1000 && e == NULL; i++) {
        test_pod_pause(10);
        exit_record_read(p.state_dir, p.run_dir, p.order.pod_uid, &e, NULL);
    }

    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(e->exit_code, 9);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_second_shepherd_leaves_the_pod_to_the_first)
{
    struct test_pod p;
    struct exit_record *e;
    CLEANUP_FREE char *ready = NULL;
    pid_t first;
    int first_fd;

    test_pod_init(&p);
    ready = xstrdup(below(&p, "ready"));
    test_pod_shell(&p, "echo x >> ready; sleep 0.7; exit 5");
    test_pod_start(&p);
    test_pod_wait_for(ready);
    first = p.pid;
    first_fd = p.pidfd;

    test_pod_start(&p);
    ck_assert_int_eq(test_pod_wait(&p), 65);
    p.pid = first;
    p.pidfd = first_fd;
    ck_assert_int_eq(test_pod_wait(&p), 0);

    e = test_pod_ending(&p);
    ck_assert_int_eq(e->exit_code, 5);
    CLEANUP_FREE char *ran = test_pod_read(ready);
    ck_assert_str_eq(ran, "x\n");
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_finished_pod_is_never_run_again)
{
    struct test_pod p;
    CLEANUP_FREE char *ran = NULL;

    test_pod_init(&p);
    test_pod_shell(&p, "echo x >> ran");
    test_pod_succeed(&p);

    test_pod_start(&p);
    ck_assert_int_eq(test_pod_wait(&p), 65);

    ran = test_pod_read(below(&p, "ran"));
    ck_assert_str_eq(ran, "x\n");
    test_pod_fini(&p);
}
END_TEST

START_TEST(an_order_that_is_no_order_touches_nothing)
{
    struct test_pod p;

    test_pod_init(&p);
    p.order.cpus = "everywhere";
    test_pod_shell(&p, "exit 0");

    test_pod_start(&p);

    ck_assert_int_eq(test_pod_wait(&p), 64);
    ck_assert_int_eq(rmdir(p.state_dir), 0);
    ck_assert_int_eq(mkdir(p.state_dir, 0711), 0);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_record_the_disk_refuses_is_kept_in_run)
{
    struct test_pod p;
    struct exit_record *e;
    CLEANUP_FREE char *ready = NULL;

    test_pod_init(&p);
    ready = xstrdup(below(&p, "ready"));
    test_pod_shell(&p, "echo x > ready; sleep 0.3; exit 4");
    test_pod_start(&p);
    test_pod_wait_for(ready);

    ck_assert_int_eq(rmdir(p.state_dir), 0);

    ck_assert_int_eq(test_pod_wait(&p), 0);
    e = test_pod_ending(&p);
    ck_assert_int_eq(e->exit_code, 4);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(tmpdir_is_the_users_alone)
{
    struct test_pod p;
    CLEANUP_FREE char *printed = NULL;
    CLEANUP_FREE char *wanted = NULL;
    CLEANUP_FREE char *tmp = NULL;

    test_pod_init(&p);
    tmp = xasprintf("%s/tmp", p.state_dir);
    p.order.tmp_dir = tmp;
    test_pod_shell(&p, "stat -c '%a %u' $TMPDIR; touch $TMPDIR/x && echo $TMPDIR");
    wanted = xasprintf("700 %u\n%s\n", (unsigned)p.order.uid, tmp);

    test_pod_succeed(&p);

    printed = test_pod_read(p.out);
    ck_assert_str_eq(printed, wanted);
    test_pod_fini(&p);
}
END_TEST

/* Copies the program to a directory of the ordinary user. */
static char *
program_for_others(const char *directory)
{
    CLEANUP_FREE char *program = test_pod_program_dup();
    CLEANUP_FREE char *command = xasprintf("cp '%s' '%s/'", program, directory);

    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(chown(directory, TEST_POD_UID, TEST_POD_UID), 0);
    return xasprintf("%s/kiln-shepherd", directory);
}

/* The test becomes an ordinary user. */
START_TEST(rootless_it_runs_its_own_users_jobs_alone)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *program = NULL;
    struct test_pod p;
    struct exit_record *e;

    if (test_pod_is_root()) {
        program = program_for_others(directory);
        test_pod_program = program;
        ck_assert_int_eq(setgid(TEST_POD_UID), 0);
        ck_assert_int_eq(setuid(TEST_POD_UID), 0);
    }
    test_pod_init(&p);
    p.order.cpus = "0";
    test_pod_shell(&p, leave_daemons);
    e = test_pod_run(&p);

    ck_assert_ptr_null(e->failed_step);
    ck_assert_int_eq(e->exit_code, 0);
    ck_assert_str_eq(e->cpus_allowed, "0");
    ck_assert(!e->is_memory_enforced);
    ck_assert(!is_alive(below(&p, "daemon")));
    exit_record_free(e);
    test_pod_fini(&p);
    assert_fails(&(struct failure){"another", be_another, "user allowed", EPERM, 125, false});
}
END_TEST

/* A pod in cgroups, where this machine has them. */
struct fold {
    struct test_pod p;
    struct cgroot *root;
    struct cgroup *c;
    struct strbuf own, job;
};

static bool
fold_open(struct fold *f)
{
    char base[64];
    struct cgroot_settings site = {.base = base};
    struct error err = {0};

    *f = (struct fold){.own = STRBUF_INIT, .job = STRBUF_INIT};
    snprintf(base, sizeof(base), "/kiln-test-%ld", (long)getpid());
    if (!test_pod_is_root())
        return false;
    if (cgroot_open(&site, &f->root, &err) < 0 || cgroot_make(f->root, "p", &f->c, &err) < 0) {
        printf("# not shown: %s\n", err.text);
        return false;
    }
    test_pod_init(&f->p);
    return true;
}

static struct exit_record *
fold_run(struct fold *f)
{
    cgroup_format(cgroot_shepherds(f->root), &f->own);
    cgroup_format(f->c, &f->job);
    f->p.order.shepherd_cgroup = f->own.text;
    f->p.order.job_cgroup = f->job.text;
    return test_pod_run(&f->p);
}

static void
fold_close(struct fold *f)
{
    struct error err = {0};
    int r = cgroup_remove(f->c, &err);

    for (int i = 0; i < 100 && r == -EBUSY; i++) {
        test_pod_pause(20);
        r = cgroup_remove(f->c, &err);
    }
    ck_assert_msg(r == 0, "%s", err.text);
    cgroup_free(f->c);
    ck_assert_msg(cgroups_remove_base(f->root, &err) == 0, "%s", err.text);
    cgroot_close(f->root);
    strbuf_fini(&f->own);
    strbuf_fini(&f->job);
    test_pod_fini(&f->p);
}

START_TEST(in_a_cgroup_the_job_is_confined_and_the_shepherd_stays_outside)
{
    struct fold f;
    struct exit_record *e;
    CLEANUP_FREE char *printed = NULL;

    if (!fold_open(&f))
        SKIP("no cgroup may be made here");
    if (cgroot_ability(f.root)->cpuset)
        ck_assert_int_eq(cgroup_set_cpus(f.c, "0", "0", NULL), 0);
    test_pod_shell(&f.p, "grep -c /kiln-test.*/p$ /proc/self/cgroup; "
                         "grep -l /kiln-test.*/shepherds$ /proc/$PPID/cgroup");

    e = fold_run(&f);

    printed = test_pod_read(f.p.out);
    ck_assert_msg(e->failed_step == NULL, "%s", e->message);
    ck_assert_int_ge(atoi(printed), 1);
    ck_assert_ptr_nonnull(strstr(printed, "/cgroup\n"));
    if (cgroot_ability(f.root)->cpuset)
        ck_assert_str_eq(e->cpus_allowed, "0");
    ck_assert(e->is_memory_enforced == cgroot_ability(f.root)->memory);
    exit_record_free(e);
    fold_close(&f);
}
END_TEST

START_TEST(a_job_that_eats_too_much_memory_is_told_apart)
{
    struct fold f;
    struct exit_record *e;

    if (!fold_open(&f))
        SKIP("no cgroup may be made here");
    if (cgroot_ability(f.root)->memory) {
        ck_assert_int_eq(cgroup_set_memory(f.c, 32u << 20, NULL), 0);
        test_pod_shell(&f.p, "exec awk 'BEGIN { s = \"x\"; while (1) s = s s }'");

        e = fold_run(&f);

        ck_assert_int_eq(e->signal, SIGKILL);
        ck_assert(e->was_oom);
        ck_assert_int_ge(e->oom_kills, 1);
        ck_assert_int_ge(e->peak_memory_bytes, 30 << 20);
        ck_assert(e->is_memory_enforced);
        exit_record_free(e);
    }
    fold_close(&f);
}
END_TEST

/* On v1 only the child is killed, and its script continues. */
START_TEST(a_job_whose_child_eats_too_much_memory_has_failed)
{
    static const char eat[] = "awk 'BEGIN { s = \"x\"; while (1) s = s s }'";

    for (int code = 0; code <= 3; code += 3) {
        CLEANUP_FREE char *script = xasprintf("%s; exit %d", eat, code);
        struct exit_record *e;
        struct fold f;

        if (!fold_open(&f))
            SKIP("no cgroup may be made here");
        if (cgroot_ability(f.root)->memory) {
            ck_assert_int_eq(cgroup_set_memory(f.c, 32u << 20, NULL), 0);
            test_pod_shell(&f.p, script);

            e = fold_run(&f);

            ck_assert(e->was_oom);
            ck_assert_int_eq(e->exit_code, code == 0 || e->signal != 0 ? 137 : code);
            exit_record_free(e);
        }
        fold_close(&f);
    }
}
END_TEST

START_TEST(in_a_cgroup_daemons_do_not_outlive_the_job_either)
{
    struct fold f;
    struct exit_record *e;

    if (!fold_open(&f))
        SKIP("no cgroup may be made here");
    test_pod_shell(&f.p, leave_daemons);

    e = fold_run(&f);

    ck_assert(!e->has_left_behind);
    ck_assert(!is_alive(below(&f.p, "daemon")));
    ck_assert_int_eq(cgroup_is_empty(f.c), 1);
    exit_record_free(e);
    fold_close(&f);
}
END_TEST

/* ---- A job that starts with others ---- */

static void
wait_until_prepared(struct test_pod *p)
{
    for (int i = 0; i < 3000; i++) {
        CLEANUP(live_record_freep) struct live_record *live = NULL;

        if (live_record_read(p->run_dir, &live, NULL) == 0 && live->is_prepared != 0) {
            ck_assert_int_eq(live->phase, LIVE_PREPARING);
            return;
        }
        test_pod_pause(10);
    }
    ck_abort_msg("the shepherd is not prepared");
}

/* The limit counts from the start: it is shorter than the wait. */
START_TEST(a_job_that_awaits_its_start_does_not_run_before_it)
{
    struct test_pod p;
    struct exit_record *e;
    CLEANUP_FREE char *ran = NULL;

    test_pod_init(&p);
    ran = xstrdup(below(&p, "ran"));
    p.order.awaits_start = true;
    p.order.time_limit_ms = 1000;
    test_pod_shell(&p, "echo x > ran; sleep 0.3");
    test_pod_start(&p);
    wait_until_prepared(&p);
    test_pod_pause(1200);
    ck_assert_int_ne(access(ran, F_OK), 0);

    ck_assert_int_eq(launch_let_start(p.pidfd, NULL), 0);
    (void)launch_let_start(p.pidfd, NULL); /* twice is once */

    ck_assert_int_eq(test_pod_wait(&p), 0);
    e = test_pod_ending(&p);
    ck_assert_int_eq(e->exit_code, 0);
    ck_assert(!e->was_late);
    ck_assert_int_lt(e->elapsed_us, 1000000);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_start_that_comes_before_the_preparation_is_not_lost)
{
    struct test_pod p;
    struct exit_record *e;

    test_pod_init(&p);
    p.order.awaits_start = true;
    test_pod_shell(&p, "exit 3");
    test_pod_start(&p);
    ck_assert_int_eq(launch_let_start(p.pidfd, NULL), 0);

    ck_assert_int_eq(test_pod_wait(&p), 0);
    e = test_pod_ending(&p);
    ck_assert_int_eq(e->exit_code, 3);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_job_that_is_called_off_at_the_barrier_does_not_start)
{
    static const int signals[] = {SIGTERM, SIGKILL};

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct test_pod p;
        struct exit_record *e;

        test_pod_init(&p);
        p.order.awaits_start = true;
        test_pod_shell(&p, "echo x > ran");
        test_pod_start(&p);
        wait_until_prepared(&p);

        ck_assert_int_eq(launch_signal(p.pidfd, LAUNCH_ALL, signals[i], NULL), 0);
        (void)launch_let_start(p.pidfd, NULL); /* too late */

        ck_assert_int_eq(test_pod_wait(&p), 0);
        e = test_pod_ending(&p);
        ck_assert_str_eq(e->failed_step, EXIT_RECORD_CALLED_OFF);
        ck_assert_int_eq(e->started_at_us, 0);
        ck_assert_int_ne(access(below(&p, "ran"), F_OK), 0);
        exit_record_free(e);
        test_pod_fini(&p);
    }
}
END_TEST

SUITE("shepherd", exit_codes_and_signals_are_recorded, elapsed_and_cpu_time_are_measured,
      a_failed_start_says_at_which_step_and_why, a_symlink_to_roots_file_is_not_written_through,
      a_script_runs_from_its_own_file_with_its_arguments, a_script_of_four_mebibytes_runs,
      a_megabyte_of_environment_arrives, daemons_do_not_outlive_the_job,
      a_job_that_asked_for_it_ends_when_its_node_is_cut_off, a_signal_goes_to_whom_it_is_meant_for,
      a_warning_spares_the_scripts_shell, the_record_says_whether_an_order_ended_the_job,
      a_job_that_hangs_in_opening_its_output_can_be_killed,
      a_signal_sent_at_once_is_not_lost_on_the_shepherd,
      signals_that_end_daemons_do_not_end_a_shepherd,
      the_job_and_its_record_outlive_a_launcher_killed_meanwhile,
      a_second_shepherd_leaves_the_pod_to_the_first, a_finished_pod_is_never_run_again,
      an_order_that_is_no_order_touches_nothing, a_record_the_disk_refuses_is_kept_in_run,
      tmpdir_is_the_users_alone, rootless_it_runs_its_own_users_jobs_alone,
      in_a_cgroup_the_job_is_confined_and_the_shepherd_stays_outside,
      a_job_that_eats_too_much_memory_is_told_apart,
      a_job_whose_child_eats_too_much_memory_has_failed,
      in_a_cgroup_daemons_do_not_outlive_the_job_either,
      a_job_that_awaits_its_start_does_not_run_before_it,
      a_start_that_comes_before_the_preparation_is_not_lost,
      a_job_that_is_called_off_at_the_barrier_does_not_start)
