/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/fork_server.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "agent/shepherd/handover.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

static struct fork_server *
open_fork_server(const struct test_pod *p)
{
    struct fork_server *n = NULL;
    struct error err = {0};

    ck_assert_msg(fork_server_open(p->program, &n, &err) == 0, "%s", err.text);
    return n;
}

static void
bear(struct test_pod *p, struct fork_server *n)
{
    struct launch l = {
        .program = "/nowhere/kiln-shepherd", /* only the fork server can start it */
        .order = &p->order,
        .script_fd = p->script_fd,
        .fork_server = n,
    };
    struct shepherd_process process;
    struct error err = {0};

    ck_assert_msg(launch_start(&l, &process, &err) == 0, "%s", err.text);
    p->pid = process.pid;
    p->pidfd = process.pidfd;
    close(process.channel); /* the shepherd gets no other pod */
}

/* The shepherd is not a child of this process. */
static void
await_end(struct test_pod *p)
{
    struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

    ck_assert_int_eq(poll(&fd, 1, 60000), 1);
    close(p->pidfd);
}

static void
check_exit_code(struct test_pod *p, int code)
{
    struct exit_record *e = test_pod_ending(p);

    ck_assert_msg(e->failed_step == NULL, "%s: %s", e->failed_step, e->message);
    ck_assert_int_eq(e->exit_code, code);
    exit_record_free(e);
}

static bool
is_fork_server(const char *pid)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%s/stat", pid);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char name[32];
    long parent;

    return file_read(path, 4096, &text, NULL) == 0
           && sscanf(text.text, "%*d (%31[^)]) %*c %ld", name, &parent) == 2
           && strcmp(name, "kiln-forkserver") == 0 && parent == getpid();
}

/* The only fork server of this test. */
static pid_t
find_fork_server(void)
{
    pid_t found = 0;

    while (found == 0) {
        DIR *dir = opendir("/proc");

        for (struct dirent *e; (e = readdir(dir)) != NULL;)
            if (is_fork_server(e->d_name))
                found = (pid_t)atol(e->d_name);
        closedir(dir);
    }
    return found;
}

START_TEST(a_forked_shepherd_runs_its_order_and_no_other)
{
    struct test_pod first, second;
    struct fork_server *n;

    test_pod_init(&first);
    test_pod_init(&second);
    n = open_fork_server(&first);
    test_pod_shell(&first, "exit 3");
    test_pod_shell(&second, "exit 4");
    bear(&first, n);
    bear(&second, n);

    await_end(&first);
    await_end(&second);

    check_exit_code(&first, 3);
    check_exit_code(&second, 4);
    fork_server_close(n);
    test_pod_fini(&first);
    test_pod_fini(&second);
}
END_TEST

START_TEST(a_script_comes_along)
{
    static const char script[] = "#!/bin/sh\nexit \"$1\"\n";
    struct test_pod p;
    struct fork_server *n;

    test_pod_init(&p);
    n = open_fork_server(&p);
    test_pod_script(&p, script, sizeof(script) - 1);
    test_pod_argument(&p, "6");
    bear(&p, n);

    await_end(&p);

    check_exit_code(&p, 6);
    fork_server_close(n);
    test_pod_fini(&p);
}
END_TEST

/* The environment is larger than a pipe's buffer. */
START_TEST(a_megabyte_of_environment_comes_along)
{
    struct test_pod p;
    struct fork_server *n;
    static char variables[10][100000];

    test_pod_init(&p);
    n = open_fork_server(&p);
    for (int i = 0; i < 10; i++) {
        memset(variables[i], 'x', sizeof(variables[i]) - 1);
        variables[i][0] = (char)('A' + i);
        variables[i][1] = '=';
        test_pod_variable(&p, variables[i]);
    }
    test_pod_shell(&p, "exit $((${#A} / 1000 + ${#J} / 1000))");
    bear(&p, n);

    await_end(&p);

    check_exit_code(&p, 198);
    fork_server_close(n);
    test_pod_fini(&p);
}
END_TEST

/* The name of the program that the pod's shepherd runs. */
static char *
dup_program_name(const struct test_pod *p)
{
    CLEANUP_FREE char *link = xasprintf("/proc/%ld/exe", (long)p->pid);
    char path[4096];
    ssize_t n = readlink(link, path, sizeof(path) - 1);

    ck_assert_int_gt(n, 0);
    path[n] = '\0';
    return xstrdup(strrchr(path, '/') + 1);
}

static char *
run_and_dup_program_name(struct fork_server *n, const char *users_dir)
{
    static const char script[] = "#!/bin/sh\necho x >ready\nsleep 0.3\nexit 5\n";
    CLEANUP_FREE char *ready = NULL;
    struct test_pod p;
    char *name;

    test_pod_init(&p);
    ready = xasprintf("%s/ready", p.work_dir);
    p.order.users_dir = users_dir;
    test_pod_script(&p, script, sizeof(script) - 1);
    bear(&p, n);
    test_pod_wait_for(ready);
    name = dup_program_name(&p);
    await_end(&p);
    check_exit_code(&p, 5);
    test_pod_fini(&p);
    return name;
}

/* A static program cannot query the user database; a build may have none. */
START_TEST(a_user_who_is_not_known_yet_is_looked_up_by_a_program_that_can)
{
    CLEANUP_FREE char *beside = NULL;
    CLEANUP_FREE char *first = NULL;
    CLEANUP_FREE char *second = NULL;
    CLEANUP_FREE char *users = NULL;
    struct test_pod place;
    struct fork_server *n;
    const char *expected;

    test_pod_init(&place);
    beside = xasprintf("%.*s/kiln-forkserver", (int)(strrchr(place.program, '/') - place.program),
                       place.program);
    expected = access(beside, X_OK) == 0 ? "kiln-forkserver" : "kiln-shepherd";
    users = xasprintf("%s/users", place.directory);
    n = open_fork_server(&place);

    first = run_and_dup_program_name(n, users);
    second = run_and_dup_program_name(n, users);

    ck_assert_str_eq(first, "kiln-shepherd");
    ck_assert_str_eq(second, expected);
    fork_server_close(n);
    test_pod_fini(&place);
}
END_TEST

START_TEST(a_forked_shepherd_outlives_the_fork_server)
{
    struct test_pod p;
    struct fork_server *n;
    CLEANUP_FREE char *ready = NULL;

    test_pod_init(&p);
    ready = xasprintf("%s/ready", p.work_dir);
    n = open_fork_server(&p);
    test_pod_shell(&p, "echo x > ready; sleep 0.5; exit 7");
    bear(&p, n);
    test_pod_wait_for(ready);

    fork_server_close(n);

    await_end(&p);
    check_exit_code(&p, 7);
    test_pod_fini(&p);
}
END_TEST

START_TEST(one_that_was_killed_is_replaced)
{
    struct test_pod p;
    struct fork_server *n;
    pid_t former;

    test_pod_init(&p);
    n = open_fork_server(&p);
    former = find_fork_server();
    ck_assert_int_eq(kill(former, SIGKILL), 0);
    test_pod_shell(&p, "exit 8");
    bear(&p, n);

    await_end(&p);

    check_exit_code(&p, 8);
    ck_assert_int_ne(find_fork_server(), former);
    fork_server_close(n);
    test_pod_fini(&p);
}
END_TEST

START_TEST(one_whose_owner_was_killed_ends)
{
    struct test_pod p;
    int ends[2];
    pid_t owner, fork_server = 0;
    int fd;
    struct pollfd end = {.events = POLLIN};

    test_pod_init(&p);
    ck_assert_int_eq(pipe(ends), 0);
    owner = fork();
    if (owner == 0) {
        open_fork_server(&p);
        fork_server = find_fork_server();
        if (write(ends[1], &fork_server, sizeof(fork_server)) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(ends[0], &fork_server, sizeof(fork_server)), sizeof(fork_server));
    fd = (int)syscall(SYS_pidfd_open, fork_server, 0);
    ck_assert_int_ge(fd, 0);
    end.fd = fd;

    ck_assert_int_eq(kill(owner, SIGKILL), 0);

    ck_assert_int_eq(poll(&end, 1, 60000), 1);
    ck_assert_int_eq(waitpid(owner, NULL, 0), owner);
    close(fd);
    close(ends[0]);
    close(ends[1]);
    test_pod_fini(&p);
}
END_TEST

START_TEST(without_one_that_can_the_program_is_started)
{
    struct test_pod p;
    struct fork_server *n = NULL;
    struct launch l;
    struct shepherd_process process;
    struct error err = {0};

    test_pod_init(&p);
    /* The program ends at once, and again, without an answer. */
    ck_assert_int_eq(fork_server_open("/bin/true", &n, &err), 0);
    test_pod_shell(&p, "exit 9");
    l = (struct launch){
        .program = p.program,
        .order = &p.order,
        .script_fd = -1,
        .fork_server = n,
    };
    ck_assert_int_eq(launch_start(&l, &process, &err), 0);
    p.pid = process.pid;
    p.pidfd = process.pidfd;

    ck_assert_int_eq(test_pod_wait(&p), 0);

    check_exit_code(&p, 9);
    fork_server_close(n);
    test_pod_fini(&p);
}
END_TEST

/* ---- Waiting shepherds, whose end of the channel belongs to the test ---- */

static int
keep_one(struct fork_server *n)
{
    const struct handover_forked done = {.pid = getpid()};
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    /* fork_server_fork sets a longer limit on the channels that it opens. */
    ck_assert_int_eq(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO,
                                &(struct timeval){.tv_usec = 100000}, sizeof(struct timeval)),
                     0);
    ck_assert_int_eq(send(ends[1], &done, sizeof(done), 0), sizeof(done));
    ck_assert(fork_server_take_back(n, &(struct shepherd_process){
                                           .pid = getpid(),
                                           .pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0),
                                           .channel = ends[0],
                                       }));
    return ends[1];
}

static int
reuse(struct fork_server *n)
{
    struct shepherd_process process;
    int ends[2];
    int r;

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    r = fork_server_reuse(n, ends[0], -1, &process);
    close(ends[0]);
    close(ends[1]);
    if (r == 0) {
        close(process.pidfd);
        close(process.channel);
    }
    return r;
}

START_TEST(one_that_has_ended_is_passed_over_for_another)
{
    const struct handover_forked answer = {.pid = 7};
    struct fork_server *n;
    struct test_pod p;
    int first, second;

    test_pod_init(&p);
    n = open_fork_server(&p);
    first = keep_one(n);
    second = keep_one(n);
    close(second);
    ck_assert_int_eq(send(first, &answer, sizeof(answer), 0), sizeof(answer));

    ck_assert_int_eq(reuse(n), -EAGAIN);
    ck_assert_int_eq(reuse(n), 0);

    ck_assert_int_eq(reuse(n), -ENOENT);
    close(first);
    fork_server_close(n);
    test_pod_fini(&p);
}
END_TEST

START_TEST(after_one_that_does_not_answer_no_other_is_waited_for)
{
    struct fork_server *n;
    struct test_pod p;
    int all[3];
    char byte;

    test_pod_init(&p);
    n = open_fork_server(&p);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        all[i] = keep_one(n);

    ck_assert_int_eq(reuse(n), -EAGAIN);

    ck_assert_int_eq(reuse(n), -ENOENT);
    /* Their channels are closed, so they end as soon as they continue. */
    ck_assert_int_eq(recv(all[0], &byte, 1, MSG_DONTWAIT), 0);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        close(all[i]);
    fork_server_close(n);
    test_pod_fini(&p);
}
END_TEST

SUITE("fork_server", a_forked_shepherd_runs_its_order_and_no_other, a_script_comes_along,
      a_megabyte_of_environment_comes_along,
      a_user_who_is_not_known_yet_is_looked_up_by_a_program_that_can,
      a_forked_shepherd_outlives_the_fork_server, one_that_was_killed_is_replaced,
      one_whose_owner_was_killed_ends, without_one_that_can_the_program_is_started,
      one_that_has_ended_is_passed_over_for_another,
      after_one_that_does_not_answer_no_other_is_waited_for)
