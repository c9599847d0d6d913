/* SPDX-License-Identifier: Apache-2.0 */
/* Each step of become_user.c as the job itself sees the result. */
#include "agent/shepherd/become_user.h"

#include <check.h>
#include <dirent.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "agent/shepherd/prepared_job.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

/* Runs shell commands and compares all that they print. */
static void
assert_prints(struct test_pod *p, const char *commands, const char *wanted)
{
    CLEANUP_FREE char *printed = NULL;

    test_pod_shell(p, commands);
    test_pod_succeed(p);
    printed = test_pod_read(p->out);
    ck_assert_str_eq(printed, wanted);
}

START_TEST(the_job_is_the_user_in_every_sense)
{
    struct test_pod p;

    if (!test_pod_is_root())
        SKIP("only root can become another user");
    test_pod_init(&p);

    assert_prints(&p,
                  "grep -E '^(Uid|Gid|Groups|CapInh|CapPrm|CapEff|CapAmb):' "
                  "/proc/self/status | tr -s '\\t ' ' '",
                  "Uid: 65534 65534 65534 65534\n"
                  "Gid: 65534 65534 65534 65534\n"
                  "Groups: 65534 \n"
                  "CapInh: 0000000000000000\n"
                  "CapPrm: 0000000000000000\n"
                  "CapEff: 0000000000000000\n"
                  "CapAmb: 0000000000000000\n");
    test_pod_fini(&p);
}
END_TEST

START_TEST(the_job_has_the_users_supplementary_groups)
{
    struct passwd *user = getpwnam("backup");
    CLEANUP_FREE char *wanted = NULL;
    struct test_pod p;

    if (!test_pod_is_root() || user == NULL)
        SKIP("only root can become another user");
    test_pod_init(&p);
    p.order.uid = user->pw_uid;
    p.order.gid = user->pw_gid;
    wanted = xasprintf("%u\n", user->pw_gid);

    assert_prints(&p, "id -G", wanted);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_file_that_only_root_may_read_stays_closed)
{
    struct test_pod p;

    if (!test_pod_is_root())
        SKIP("only root can become another user");
    test_pod_init(&p);

    assert_prints(&p, "cat /etc/shadow 2>/dev/null || echo closed", "closed\n");
    test_pod_fini(&p);
}
END_TEST

START_TEST(limits_umask_and_directory_are_as_ordered)
{
    struct test_pod p;
    CLEANUP_FREE char *wanted = NULL;

    test_pod_init(&p);
    p.order.umask = 027;
    p.order.limits[0] = (struct rlimit_setting){RLIMIT_NOFILE, 64, 128};
    p.order.limits[1] = (struct rlimit_setting){RLIMIT_CORE, 0, 0};
    p.order.n_limits = 2;
    wanted = xasprintf("0027\n64\n128\n0\n%s\n-rw-r-----\n", p.work_dir);

    assert_prints(&p,
                  "umask; ulimit -Sn; ulimit -Hn; ulimit -Hc; pwd; "
                  "ls -l out | cut -c1-10",
                  wanted);
    test_pod_fini(&p);
}
END_TEST

/* The kernel's ceiling limits it, or where the agent may not raise its own,
 * that.
 */
START_TEST(a_limit_that_this_node_cannot_give_is_cut_to_what_it_can)
{
    struct test_pod p;
    struct rlimit own;
    unsigned long long given;

    test_pod_init(&p);
    getrlimit(RLIMIT_NOFILE, &own);
    p.order.limits[0] = (struct rlimit_setting){RLIMIT_NOFILE, RLIM_INFINITY, RLIM_INFINITY};
    p.order.n_limits = 1;
    test_pod_shell(&p, "ulimit -Sn");

    test_pod_succeed(&p);

    CLEANUP_FREE char *printed = test_pod_read(p.out);
    given = strtoull(printed, NULL, 10);
    ck_assert_uint_ge(given, own.rlim_max);
    test_pod_fini(&p);
}
END_TEST

START_TEST(the_environment_is_the_orders_with_the_gaps_filled)
{
    struct test_pod p;
    CLEANUP_FREE char *printed = NULL;
    static const char *const wanted[] = {"EMPTY=\n",        "HOME=/elsewhere\n",
                                         "LOGNAME=",        "SHELL=",
                                         "USER=",           "PATH=/usr/local/bin:/usr/bin:/bin\n",
                                         "TWO LINES=a\nb\n"};

    setenv("LEAKED", "from the agent", 1);
    test_pod_init(&p);
    test_pod_variable(&p, "EMPTY=");
    test_pod_variable(&p, "HOME=/elsewhere");
    test_pod_variable(&p, "TWO LINES=a\nb");
    test_pod_argument(&p, "env");

    test_pod_succeed(&p);

    printed = test_pod_read(p.out);
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        ck_assert_msg(strstr(printed, wanted[i]), "no '%s'", wanted[i]);
    ck_assert_ptr_null(strstr(printed, "LEAKED"));
    test_pod_fini(&p);
}
END_TEST

START_TEST(three_descriptors_come_down_and_no_other)
{
    struct test_pod p;

    test_pod_init(&p);

    assert_prints(&p,
                  "for fd in 0 1 2 3 4 5 6 7 8 9; do "
                  "[ -e /proc/$$/fd/$fd ] && echo $fd; done; "
                  "readlink /proc/$$/fd/0",
                  "0\n1\n2\n/dev/null\n");
    test_pod_fini(&p);
}
END_TEST

START_TEST(the_job_leads_a_session_of_its_own)
{
    struct test_pod p;

    test_pod_init(&p);

    assert_prints(&p,
                  "set -- $(cat /proc/$$/stat); "
                  "[ $5 = $$ ] && [ $6 = $$ ] && echo leads",
                  "leads\n");
    test_pod_fini(&p);
}
END_TEST

static void
ignore_all_signals(void)
{
    static const struct {
        void (*handler)(int);
        unsigned long rest[7];
    } ignore = {.handler = SIG_IGN};

    for (int signo = 1; signo <= 64; signo++)
        if (signo != SIGKILL && signo != SIGSTOP && signo != SIGCHLD)
            ck_assert_int_eq(syscall(SYS_rt_sigaction, signo, &ignore, NULL, 8), 0);
}

/* Signals 32 and 33 are the C library's, but a job's parent may ignore them. */
START_TEST(no_signal_is_blocked_or_ignored)
{
    struct test_pod p;
    unsigned long long blocked, ignored;

    ignore_all_signals();
    test_pod_init(&p);
    test_pod_argument(&p, "grep");
    test_pod_argument(&p, "-E");
    test_pod_argument(&p, "^Sig(Blk|Ign):");
    test_pod_argument(&p, "/proc/self/status");

    test_pod_succeed(&p);

    CLEANUP_FREE char *printed = test_pod_read(p.out);
    ck_assert_int_eq(sscanf(printed, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    ck_assert_uint_eq(blocked, 0);
    ck_assert_uint_eq(ignored, 0);
    test_pod_fini(&p);
}
END_TEST

START_TEST(the_job_is_bound_to_its_cpus_and_memory_nodes)
{
    struct test_pod p;
    struct exit_record *e;
    CLEANUP_FREE char *printed = NULL;

    test_pod_init(&p);
    p.order.cpus = "0";
    p.order.memory_nodes = "0";
    p.order.memory_policy = "bind";
    test_pod_shell(&p, "grep Cpus_allowed_list: /proc/self/status; "
                       "head -n 1 /proc/self/numa_maps");

    e = test_pod_run(&p);

    printed = test_pod_read(p.out);
    ck_assert_ptr_nonnull(strstr(printed, "Cpus_allowed_list:\t0\n"));
    ck_assert_ptr_nonnull(strstr(printed, " bind:0 "));
    ck_assert_str_eq(e->cpus_allowed, "0");
    ck_assert_ptr_nonnull(e->memory_allowed);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

/* The policy that the kernel shows for a job's first mapping. */
static char *
policy_of(const char *policy, const char *nodes)
{
    struct test_pod p;
    char *printed;

    test_pod_init(&p);
    p.order.memory_nodes = nodes;
    p.order.memory_policy = policy;
    test_pod_shell(&p, "head -n 1 /proc/self/numa_maps | cut -d ' ' -f 2-3");
    test_pod_succeed(&p);
    printed = test_pod_read(p.out);
    test_pod_fini(&p);
    return printed;
}

/* NUMA nodes that the machine lacks are no error while it has one of them. */
START_TEST(memory_is_interleaved_or_preferred_as_ordered)
{
    CLEANUP_FREE char *interleaved = policy_of("interleave", "0-1");
    CLEANUP_FREE char *preferred = policy_of("preferred", "0");
    CLEANUP_FREE char *several = policy_of("preferred", "0-1");

    ck_assert_ptr_nonnull(strstr(interleaved, "interleave:0"));
    ck_assert_ptr_nonnull(strstr(preferred, "prefer:0"));
    /* Kernels before 5.15 lack this policy: then the nearest node is preferred.
     */
    if (strncmp(several, "local", 5) != 0)
        ck_assert_ptr_nonnull(strstr(several, "prefer (many):0"));
}
END_TEST

/* This is the last test, because the filter cannot be removed. */
START_TEST(a_kernel_that_prefers_one_node_at_most_prefers_the_nearest)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {ARRAY_SIZE(steps), steps};
    CLEANUP_FREE char *several = NULL;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
        SKIP("no filters of system calls here");

    several = policy_of("preferred", "0-1");

    ck_assert_ptr_nonnull(strstr(several, "local "));
}
END_TEST

START_TEST(the_oom_score_is_the_jobs_and_not_the_shepherds)
{
    struct test_pod p;

    if (!test_pod_is_root())
        SKIP("only root can become another user");
    test_pod_init(&p);
    p.order.oom_score_adj = 200;

    assert_prints(&p, "cat /proc/self/oom_score_adj", "200\n");
    test_pod_fini(&p);
}
END_TEST

START_TEST(output_is_truncated_or_appended_to_as_ordered)
{
    for (int append = 0; append <= 1; append++) {
        struct test_pod p;

        test_pod_init(&p);
        ck_assert_int_eq(file_write_atomic(p.out, 0666, "old text\n", 9, NULL), 0);
        p.order.append = append == 1;

        assert_prints(&p, "echo new", append ? "old text\nnew\n" : "new\n");
        test_pod_fini(&p);
    }
}
END_TEST

START_TEST(output_and_errors_in_one_file_do_not_overwrite_one_another)
{
    struct test_pod p;

    test_pod_init(&p);
    p.order.stderr_path = p.out;

    assert_prints(&p, "echo 1; echo 2 >&2; echo 3", "1\n2\n3\n");
    test_pod_fini(&p);
}
END_TEST

START_TEST(standard_input_is_read_from_its_file)
{
    struct test_pod p;
    CLEANUP_FREE char *in = NULL;

    test_pod_init(&p);
    in = xasprintf("%s/in", p.work_dir);
    ck_assert_int_eq(file_write_atomic(in, 0644, "fed\n", 4, NULL), 0);
    p.order.stdin_path = in;

    assert_prints(&p, "cat", "fed\n");
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_program_is_found_along_the_users_path)
{
    struct test_pod p;
    CLEANUP_FREE char *tool = NULL;
    CLEANUP_FREE char *path = NULL;

    test_pod_init(&p);
    tool = xasprintf("%s/tool", p.work_dir);
    path = xasprintf("PATH=/nonexistent:/etc/passwd:%s", p.work_dir);
    ck_assert_int_eq(file_write_atomic(tool, 0755, "#!/bin/sh\necho tool\n", 20, NULL), 0);
    test_pod_variable(&p, path);
    test_pod_argument(&p, "tool");

    test_pod_succeed(&p);

    CLEANUP_FREE char *printed = test_pod_read(p.out);
    ck_assert_str_eq(printed, "tool\n");
    test_pod_fini(&p);
}
END_TEST

/* Continues a process that this one traces up to its next system call. */
static struct __ptrace_syscall_info
next_call(pid_t pid)
{
    struct __ptrace_syscall_info call = {0};
    int status;

    do {
        ck_assert_int_eq(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSTOPPED(status));
        ck_assert_int_gt(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(call), &call), 0);
    } while (call.op != PTRACE_SYSCALL_INFO_ENTRY);
    return call;
}

static NORETURN void
become_nobody_traced(void)
{
    static gid_t groups[] = {TEST_POD_UID};
    static gid_t seen[2];
    static const char *nothing[] = {NULL};
    char *paths[] = {NULL};
    const struct prepared_job job = {
        .who.is_root = true,
        .oom_score_adj = "0",
        .memory_mode = -1,
        .who.uid = TEST_POD_UID,
        .who.gid = TEST_POD_UID,
        .who.groups = groups,
        .who.n_groups = 1,
        .who.groups_seen = seen,
        .work_dir = "/",
        .stdin_path = "/dev/null",
        .stdout_path = "/dev/null",
        .program_paths = paths,
        .arguments = nothing,
        .environment = nothing,
        .report_fd = -1,
        .channel_fd = -1,
    };

    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    become_user_and_run(&job);
    abort();
}

/* The process may share its shepherd's memory, which may contain the variables
 * of other users' jobs.
 */
START_TEST(nobody_may_dump_the_users_process_before_its_program_runs)
{
    struct __ptrace_syscall_info call;
    pid_t pid;

    if (!test_pod_is_root())
        SKIP("only root can become another user");
    pid = fork();
    if (pid == 0)
        become_nobody_traced();
    ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
    ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD), 0);

    do
        call = next_call(pid);
    while (call.entry.nr != SYS_setresuid);
    call = next_call(pid);

    ck_assert_int_eq((long)call.entry.nr, SYS_prctl);
    ck_assert_int_eq((long)call.entry.args[0], PR_SET_DUMPABLE);
    ck_assert_int_eq((long)call.entry.args[1], 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
END_TEST

/* Waits until there is a child. *ret_thread: the thread that forked it. */
static pid_t
find_child(pid_t parent, pid_t *ret_thread)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%ld/task", (long)parent);
    pid_t child = 0;

    while (child == 0) {
        DIR *threads = opendir(path);

        for (struct dirent *e; (e = readdir(threads)) != NULL;) {
            CLEANUP_FREE char *file = xasprintf("%s/%s/children", path, e->d_name);
            CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

            if (e->d_name[0] != '.' && file_read(file, 4096, &text, NULL) == 0 && text.length > 0) {
                child = (pid_t)atol(text.text);
                *ret_thread = (pid_t)atol(e->d_name);
            }
        }
        closedir(threads);
    }
    return child;
}

/* The job's user could stop it with SIGSTOP at the right moment. A shepherd
 * that waited for the stopped job would ignore the agent's signals and the time
 * limit.
 */
START_TEST(a_job_that_is_stopped_when_it_could_not_start_does_not_stop_its_shepherd)
{
    struct test_pod p;
    struct exit_record *e;
    int status;
    pid_t job, thread;

    if (!test_pod_is_root())
        SKIP("only root may trace another user's process");
    test_pod_init(&p);
    ck_assert_int_eq(mkfifo(p.out, 0666), 0);
    ck_assert_int_eq(chmod(p.out, 0666), 0);
    test_pod_argument(&p, "/nowhere/program");
    test_pod_start(&p);
    job = find_child(p.pid, &thread);
    ck_assert_int_eq(ptrace(PTRACE_SEIZE, job, 0, PTRACE_O_TRACESYSGOOD), 0);
    ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, job, 0, 0), 0);
    ck_assert_int_eq(waitpid(job, &status, 0), job);
    CLEANUP_FD int reader = open(p.out, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    while (next_call(job).entry.nr != SYS_execve)
        ;
    while (next_call(job).entry.nr != SYS_write)
        ;
    /* Nothing continues the job after this stop, so only a kill ends it. */
    ck_assert_int_eq(ptrace(PTRACE_SYSCALL, job, 0, 0), 0);
    do
        ck_assert_int_eq(waitpid(job, &status, 0), job);
    while (WIFSTOPPED(status));
    ck_assert(WIFSIGNALED(status));

    ck_assert_int_eq(test_pod_wait(&p), 0);
    e = test_pod_ending(&p);
    ck_assert_int_eq(e->exit_code, 127);
    ck_assert_int_ge(reader, 0);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

/* The job gets the signal when the thread that forked it ends. Here that thread
 * is stopped until the job has asked for the signal.
 */
START_TEST(a_job_may_ask_to_end_with_its_parent)
{
    struct test_pod p;
    struct exit_record *e;
    CLEANUP_FREE char *ready = NULL;
    int status;
    pid_t thread;

    if (access("/usr/bin/setpriv", X_OK) < 0)
        SKIP("setpriv is missing");
    test_pod_init(&p);
    ready = xasprintf("%s/ready", p.work_dir);
    ck_assert_int_eq(mkfifo(p.out, 0666), 0);
    ck_assert_int_eq(chmod(p.out, 0666), 0);
    test_pod_argument(&p, "/usr/bin/setpriv");
    test_pod_argument(&p, "--pdeathsig");
    test_pod_argument(&p, "KILL");
    test_pod_argument(&p, "/bin/sh");
    test_pod_argument(&p, "-c");
    test_pod_argument(&p, "echo x >ready; sleep 0.3; exit 5");
    test_pod_start(&p);
    (void)find_child(p.pid, &thread);
    if (thread == p.pid || ptrace(PTRACE_SEIZE, thread, 0, 0) < 0) {
        CLEANUP_FD int unread = open(p.out, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

        (void)test_pod_wait(&p);
        test_pod_fini(&p);
        ck_assert_int_ge(unread, 0);
        SKIP("no thread makes the job here, or it may not be traced");
    }
    ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, thread, 0, 0), 0);
    CLEANUP_FD int reader = open(p.out, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    test_pod_wait_for(ready);

    ck_assert_int_eq(waitpid(thread, &status, __WALL), thread);
    ck_assert_int_eq(ptrace(PTRACE_DETACH, thread, 0, 0), 0);

    ck_assert_int_eq(test_pod_wait(&p), 0);
    e = test_pod_ending(&p);
    ck_assert_int_eq(e->signal, 0);
    ck_assert_int_eq(e->exit_code, 5);
    ck_assert_int_ge(reader, 0);
    exit_record_free(e);
    test_pod_fini(&p);
}
END_TEST

/* A process with the agent's session keyring would see the agent's keys in it,
 * and those that other jobs have added.
 */
START_TEST(the_job_has_no_key_of_the_agents_session)
{
    struct test_pod p;

    if (!test_pod_is_root())
        SKIP("only root can become another user");
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0
        || syscall(SYS_add_key, "user", "kiln-test-key", "secret", 6, KEY_SPEC_SESSION_KEYRING) < 0)
        SKIP("no keys are kept here");
    test_pod_init(&p);

    assert_prints(&p, "grep -c kiln-test-key /proc/keys || true", "0\n");
    test_pod_fini(&p);
}
END_TEST

/* The shepherd's own descriptors are those of the agent: its log, for example. */
START_TEST(the_job_cannot_open_a_descriptor_of_the_agent_once_more)
{
    struct test_pod p;
    CLEANUP_FREE char *log = NULL;
    CLEANUP_FREE char *printed = NULL;
    int before;

    test_pod_init(&p);
    log = xasprintf("%s/log", p.work_dir);
    CLEANUP_FD int fd = open(log, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    ck_assert_int_eq(fchmod(fd, 0666), 0);
    ck_assert_int_eq(fd_write_all(fd, "of the agent\n", 13), 0);
    before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    p.order.stdin_path = "/proc/self/fd/2";
    p.order.stderr_path = "/proc/self/fd/2";
    test_pod_shell(&p, "cat; echo of the job >&2");
    test_pod_start(&p);
    ck_assert_int_eq(dup2(before, STDERR_FILENO), STDERR_FILENO);
    close(before);
    ck_assert_int_eq(test_pod_wait(&p), 0);

    printed = test_pod_read(p.out);
    ck_assert_str_eq(printed, "");
    free(printed);
    printed = test_pod_read(log);
    ck_assert_ptr_null(strstr(printed, "of the job"));
    test_pod_fini(&p);
}
END_TEST

/* Whether the kernel lets root set the uid, as it does in a service. */
static bool
may_set_login_uid(void)
{
    bool may;
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        CLEANUP_FD int fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);
        _exit(fd >= 0 && write(fd, "65534", 5) == 5 ? 0 : 1);
    }
    may = waitpid(pid, &status, 0) == pid && status == 0;
    return may;
}

START_TEST(audit_knows_the_jobs_user)
{
    struct test_pod p;

    if (!test_pod_is_root() || !may_set_login_uid())
        SKIP("the login uid cannot be set here");
    test_pod_init(&p);
    assert_prints(&p, "cat /proc/self/loginuid", "65534");
    test_pod_fini(&p);
}
END_TEST

SUITE("become_user", the_job_is_the_user_in_every_sense, the_job_has_the_users_supplementary_groups,
      a_file_that_only_root_may_read_stays_closed, limits_umask_and_directory_are_as_ordered,
      a_limit_that_this_node_cannot_give_is_cut_to_what_it_can,
      the_environment_is_the_orders_with_the_gaps_filled, three_descriptors_come_down_and_no_other,
      the_job_leads_a_session_of_its_own, no_signal_is_blocked_or_ignored,
      the_job_is_bound_to_its_cpus_and_memory_nodes, memory_is_interleaved_or_preferred_as_ordered,
      the_oom_score_is_the_jobs_and_not_the_shepherds,
      output_is_truncated_or_appended_to_as_ordered,
      output_and_errors_in_one_file_do_not_overwrite_one_another,
      standard_input_is_read_from_its_file, a_program_is_found_along_the_users_path,
      a_kernel_that_prefers_one_node_at_most_prefers_the_nearest,
      nobody_may_dump_the_users_process_before_its_program_runs,
      a_job_that_is_stopped_when_it_could_not_start_does_not_stop_its_shepherd,
      a_job_may_ask_to_end_with_its_parent, the_job_has_no_key_of_the_agents_session,
      the_job_cannot_open_a_descriptor_of_the_agent_once_more, audit_knows_the_jobs_user)
