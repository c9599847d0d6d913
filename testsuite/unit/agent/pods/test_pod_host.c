/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/pod_host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/pods/agent_context.h"
#include "agent/pods/files/spare_dirs.h"
#include "agent/pods/leftovers.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/volumes/pod_mounts.h"
#include "agent/volumes/removal.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static struct {
    char *place;
    struct agent_context agent;
    char *state, *run;
} world;

static char *
below(const char *parent, const char *name)
{
    return xasprintf("%s/%s", parent, name);
}

static void
make_directory(const char *parent, const char *name)
{
    CLEANUP_FREE char *path = below(parent, name);

    ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void
put(const char *parent, const char *name, const char *text)
{
    CLEANUP_FREE char *path = below(parent, name);
    struct error err = {0};

    ck_assert_msg(file_write_atomic(path, 0644, text, strlen(text), &err) == 0, "%s", err.text);
}

static int
remove_below(const char *parent, const char *name)
{
    CLEANUP_FREE char *path = below(parent, name);

    return remove(path);
}

static bool
has(const char *parent, const char *name)
{
    CLEANUP_FREE char *path = below(parent, name);

    return access(path, F_OK) == 0;
}

static void
begin(void)
{
    world.place = scratch_new();
    make_directory(world.place, "state");
    make_directory(world.place, "state/pods");
    make_directory(world.place, "run");
    make_directory(world.place, "run/pods");
    make_directory(world.place, "tmp");
    world.state = below(world.place, "state");
    world.run = below(world.place, "run");
    world.agent = (struct agent_context){
        .boot_id = "boot-2",
        .state_dir = world.state,
        .run_dir = world.run,
        .tmp_dir = below(world.place, "tmp"),
        .spare_dirs = spare_dirs_new(world.state),
        .workers = workers_new(1),
        .rootless = true,
    };
}

static void
end(void)
{
    workers_free(world.agent.workers);
    spare_dirs_free(world.agent.spare_dirs);
    free((void *)(uintptr_t)world.agent.tmp_dir);
    free(world.state);
    free(world.run);
    scratch_freep(&world.place);
}

/* A pod that an agent has begun under that boot. */
static void
put_pod(const char *uid, const char *boot)
{
    CLEANUP_FREE char *dir = xasprintf("pods/%s", uid);
    CLEANUP_FREE char *file = xasprintf("pods/%s/pod", uid);
    CLEANUP_FREE char *text = xasprintf("%s\n{\"of\":\"%s\"}", boot, uid);

    make_directory(world.state, dir);
    make_directory(world.run, dir);
    put(world.run, file, text);
}

/* The tree is deeper than the number of descriptors, and has a link to the
 * outside.
 */
START_TEST(the_files_of_a_job_in_its_tmpdir_are_removed_and_no_others)
{
    struct rlimit few = {.rlim_cur = 64, .rlim_max = 64};
    CLEANUP_FREE char *tmp = NULL;
    CLEANUP_FREE char *link = NULL;
    struct error err = {0};
    bool left = false;
    int fd;

    begin();
    put_pod("uid-a", "boot-2");
    make_directory(world.place, "tmp/kiln-uid-a");
    put(world.place, "tmp/kiln-uid-a/file", "x");
    make_directory(world.place, "precious");
    put(world.place, "precious/data", "kept");
    tmp = below(world.place, "precious");
    link = below(world.place, "tmp/kiln-uid-a/link");
    ck_assert_int_eq(symlink(tmp, link), 0);
    fd = open(world.agent.tmp_dir, O_RDONLY | O_DIRECTORY);
    for (const char *name = "kiln-uid-a";; name = "deeper") {
        static int depth;
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY);

        ck_assert_int_ge(next, 0);
        close(fd);
        fd = next;
        if (depth++ == 500)
            break;
        ck_assert_int_eq(mkdirat(fd, "deeper", 0700), 0);
    }
    close(fd);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);

    ck_assert_msg(pod_host_clean_up(&world.agent, "uid-a", NULL, &left, &err) == 0, "%s", err.text);

    ck_assert(!has(world.place, "tmp/kiln-uid-a"));
    ck_assert(!has(world.run, "pods/uid-a"));
    ck_assert(has(world.place, "precious/data"));
    ck_assert(has(world.state, "pods/uid-a"));
    end();
}
END_TEST

START_TEST(a_place_that_is_a_link_is_not_followed)
{
    CLEANUP_FREE char *target = NULL;
    CLEANUP_FREE char *link = NULL;
    struct error err = {0};
    bool left = false;

    begin();
    make_directory(world.place, "precious");
    put(world.place, "precious/data", "kept");
    target = below(world.place, "precious");
    link = below(world.place, "tmp/kiln-uid-a");
    ck_assert_int_eq(symlink(target, link), 0);

    ck_assert_int_lt(pod_host_clean_up(&world.agent, "uid-a", NULL, &left, &err), 0);

    ck_assert_ptr_nonnull(strstr(err.text, "tmp/kiln-uid-a"));
    ck_assert(has(world.place, "precious/data"));
    end();
}
END_TEST

START_TEST(a_tmpdir_is_where_the_record_says)
{
    CLEANUP_FREE char *line = NULL;
    struct error err = {0};
    bool left = false;

    begin();
    world.agent.tmp_dirs = tmp_dirs_new(&(struct tmp_dirs_settings){
        .tmp_dir = world.agent.tmp_dir,
        .state_dir = world.state,
    });
    make_directory(world.place, "tmp/parent");
    make_directory(world.place, "tmp/parent/0123");
    put(world.place, "tmp/parent/0123/file", "x");
    line = xasprintf("boot-2 %s/parent/0123", world.agent.tmp_dir);
    put_pod("uid-a", line);

    ck_assert(pod_host_read_boot(&world.agent, "uid-a") == POD_BOOT_THIS);
    ck_assert_int_eq(pod_host_clean_up(&world.agent, "uid-a", NULL, &left, &err), 0);

    ck_assert(!left);
    ck_assert(!has(world.place, "tmp/parent/0123"));
    ck_assert(!has(world.run, "pods/uid-a"));
    tmp_dirs_free(world.agent.tmp_dirs, true);
    end();
}
END_TEST

START_TEST(a_record_says_under_which_boot_its_pod_began)
{
    begin();
    put_pod("now", "boot-2");
    put_pod("before", "boot-1");
    put_pod("torn", "boot-2");
    put(world.run, "pods/torn/pod", "boo");
    make_directory(world.state, "pods/wiped"); /* /run was emptied */

    ck_assert(pod_host_read_boot(&world.agent, "now") == POD_BOOT_THIS);
    ck_assert(pod_host_read_boot(&world.agent, "before") == POD_BOOT_EARLIER);
    ck_assert(pod_host_read_boot(&world.agent, "torn") == POD_BOOT_UNKNOWN);
    ck_assert(pod_host_read_boot(&world.agent, "wiped") == POD_BOOT_UNKNOWN);
    ck_assert(pod_host_exists(&world.agent, "wiped"));
    ck_assert(!pod_host_exists(&world.agent, "never"));
    end();
}
END_TEST

static void
note_text(const char *uid, const char *text, size_t length, void *context)
{
    strbuf_printf(context, "%s=%.*s ", uid, (int)length, text);
}

START_TEST(pods_that_were_begun_are_found_with_their_text)
{
    CLEANUP_STRBUF struct strbuf found = STRBUF_INIT;

    begin();
    put_pod("a", "boot-2");
    put_pod("torn", "boot-2");
    put(world.run, "pods/torn/pod", "");
    make_directory(world.state, "pods/wiped");

    pod_host_visit_records(&world.agent, note_text, &found);

    ck_assert_str_eq(found.text, "a={\"of\":\"a\"} ");
    end();
}
END_TEST

START_TEST(output_stays_until_the_pod_is_forgotten)
{
    begin();
    put_pod("a", "boot-2");
    put(world.state, "pods/a/exit", "code 0\n");
    put(world.state, "pods/a/script", "true\n");
    put(world.state, "pods/a/output", "hello\n");

    pod_host_remove_records(&world.agent, "a");
    workers_free(world.agent.workers);
    ck_assert(has(world.state, "pods/a/output"));
    ck_assert(!has(world.state, "pods/a/exit"));
    ck_assert(!has(world.state, "pods/a/script"));

    world.agent.workers = workers_new(1);
    pod_host_remove_all(&world.agent, "a");
    workers_free(world.agent.workers);
    ck_assert(!has(world.state, "pods/a"));
    world.agent.workers = workers_new(1);
    end();
}
END_TEST

/* Both are done at once by two workers. What the one keeps as spare for a later pod, the
 * other must not have closed to users.
 */
START_TEST(the_directory_of_a_pod_that_is_deleted_at_its_end_is_no_bad_spare)
{
    CLEANUP_FREE char *taken = NULL;

    begin();
    workers_free(world.agent.workers);
    taken = xasprintf("%s/taken", world.state);
    for (int round = 0; round < 50; round++) {
        world.agent.workers = workers_new(4);
        for (int i = 0; i < 20; i++) {
            CLEANUP_FREE char *uid = xasprintf("uid-%d-%d", round, i);
            CLEANUP_FREE char *directory = xasprintf("%s/pods/%s", world.state, uid);
            CLEANUP_FREE char *file = xasprintf("pods/%s/record", uid);

            ck_assert_int_eq(mkdir(directory, 0711), 0);
            put(world.state, file, "code 0\n");
            pod_host_remove_records(&world.agent, uid);
            pod_host_remove_all(&world.agent, uid);
        }
        workers_free(world.agent.workers);
        while (spare_dirs_take(world.agent.spare_dirs, taken) == 0) {
            struct stat st;

            ck_assert_int_eq(stat(taken, &st), 0);
            ck_assert_int_eq(st.st_mode & 0777, 0711);
            ck_assert_int_eq(removal_run(AT_FDCWD, taken), 0);
        }
    }
    world.agent.workers = workers_new(1);
    end();
}
END_TEST

START_TEST(a_volume_that_is_not_there_is_said_before_anything_runs)
{
    static const char text[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":"
                               "\"uid-a\"},\"spec\":{\"securityContext\":{\"runAsUser\":1001},"
                               "\"containers\":[{\"name\":\"main\"}]}}";
    struct mount_place place = {.volume = (char[]){"data"}, .source = (char[]){"/nowhere/data"}};
    struct mount_list mounts = {.items = &place, .count = 1};
    struct pod_host_start start = {.mounts = &mounts, .shepherd = {.pidfd = -1}};
    struct error err = {0};
    bool left = false;

    begin();
    ck_assert_int_eq(object_parse(&pod_kind, text, sizeof(text) - 1, &start.pod, &err), 0);
    start.agent = &world.agent;

    ck_assert_int_eq(pod_host_start(&start, &err), -ENOENT);

    ck_assert_ptr_nonnull(strstr(err.text, "volume 'data': '/nowhere/data': No such file"));
    ck_assert_int_eq(start.shepherd.pidfd, -1);
    ck_assert(pod_host_exists(&world.agent, "uid-a"));
    ck_assert_int_eq(pod_host_clean_up(&world.agent, "uid-a", NULL, &left, &err), 0);
    object_unref(start.pod);
    end();
}
END_TEST

/* An agent that was killed during the start had started the pod before. */
START_TEST(a_second_start_leaves_nothing_of_the_first)
{
    static const char text[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":"
                               "\"uid-a\"},\"spec\":{\"securityContext\":{\"runAsUser\":1001},"
                               "\"containers\":[{\"name\":\"main\"}]}}";
    struct mount_place place = {.volume = (char[]){"data"}, .source = (char[]){"/nowhere/data"}};
    struct mount_list mounts = {.items = &place, .count = 1};
    struct pod_host_start start = {.mounts = &mounts, .shepherd = {.pidfd = -1}};
    CLEANUP_FREE char *line = NULL;
    struct error err = {0};

    begin();
    ck_assert_int_eq(object_parse(&pod_kind, text, sizeof(text) - 1, &start.pod, &err), 0);
    start.agent = &world.agent;
    world.agent.tmp_dirs = tmp_dirs_new(&(struct tmp_dirs_settings){
        .tmp_dir = world.agent.tmp_dir,
        .state_dir = world.state,
    });
    make_directory(world.place, "tmp/parent");
    make_directory(world.place, "tmp/parent/0123");
    put(world.place, "tmp/parent/0123/of-the-prolog", "x");
    line = xasprintf("boot-2 %s/parent/0123", world.agent.tmp_dir);
    put_pod("uid-a", line);

    /* the volume does not exist */
    ck_assert_int_eq(pod_host_start(&start, &err), -ENOENT);

    ck_assert(!has(world.place, "tmp/parent/0123"));
    ck_assert(!start.tmp_left);
    ck_assert_ptr_null(strstr(start.tmp_dir, "0123"));
    object_unref(start.pod);
    free(start.tmp_dir);
    tmp_dirs_free(world.agent.tmp_dirs, true);
    end();
}
END_TEST

/* A process that writes a little later that it is the pod's shepherd.
 * `has_lock`: it also takes the pod's lock, as the pod's real shepherd would.
 */
static pid_t
become_shepherd_later(bool has_lock)
{
    struct live_record live = {
        .pod_uid = (char[]){"uid-a"}, .boot_id = (char[]){"boot-2"}, .phase = LIVE_PREPARING};
    CLEANUP_FREE char *place = below(world.run, "pods/uid-a");
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    usleep(50000);
    if (has_lock && flock(open(place, O_RDONLY), LOCK_EX | LOCK_NB) < 0)
        _exit(1);
    live.shepherd_pid = getpid();
    if (live_record_read_start(getpid(), &live.shepherd_start) == 0
        && live_record_write(&live, place, NULL) == 0)
        pause();
    _exit(1);
}

START_TEST(a_shepherd_of_an_earlier_agent_is_waited_for)
{
    static const char text[] = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":"
                               "\"uid-a\"},\"spec\":{\"securityContext\":{\"runAsUser\":1001},"
                               "\"containers\":[{\"name\":\"main\"}]}}";
    struct pod_host_start start = {.shepherd = {.pidfd = -1}};
    struct error err = {0};
    pid_t shepherd;

    begin();
    ck_assert_int_eq(object_parse(&pod_kind, text, sizeof(text) - 1, &start.pod, &err), 0);
    start.agent = &world.agent;
    put_pod("uid-a", "boot-2");
    shepherd = become_shepherd_later(true);

    ck_assert_msg(pod_host_start(&start, &err) == 0, "%s", err.text);

    ck_assert_int_ge(start.shepherd.pidfd, 0);
    ck_assert_int_eq(kill(shepherd, SIGKILL), 0);
    ck_assert_int_eq(waitpid(shepherd, NULL, 0), shepherd);
    close(start.shepherd.pidfd);
    object_unref(start.pod);
    end();
}
END_TEST

/* The shepherd was kept for other pods, and the agent was killed before it
 * removed the former pod's directory.
 */
START_TEST(a_shepherd_that_has_another_pod_by_now_is_not_this_ones)
{
    struct live_record *live = NULL;
    pid_t shepherd;

    begin();
    put_pod("uid-a", "boot-2");
    shepherd = become_shepherd_later(false);
    while (live == NULL)
        live = pod_host_read_live(&world.agent, "uid-a");

    ck_assert_int_eq(pod_host_open_shepherd(&world.agent, "uid-a", live), -1);

    /* A pod with only a run directory left does not count as running either. */
    ck_assert_int_eq(remove_below(world.state, "pods/uid-a"), 0);
    leftovers_collect(&world.agent, "prefix-");
    ck_assert(!has(world.run, "pods/uid-a"));
    ck_assert(!has(world.state, "pods/uid-a"));
    ck_assert_int_eq(kill(shepherd, SIGKILL), 0);
    ck_assert_int_eq(waitpid(shepherd, NULL, 0), shepherd);
    live_record_free(live);
    end();
}
END_TEST

START_TEST(directories_without_a_record_go_at_the_start)
{
    begin();
    put_pod("whole", "boot-2");
    put_pod("half-removed", "boot-2");
    put(world.state, "pods/half-removed/exit", "code 0\n");
    put_pod("without-state", "boot-2");
    ck_assert_int_eq(remove_below(world.run, "pods/half-removed/pod"), 0);
    ck_assert_int_eq(remove_below(world.state, "pods/without-state"), 0);

    leftovers_collect(&world.agent, "prefix-");

    ck_assert(has(world.run, "pods/whole/pod"));
    ck_assert(!has(world.run, "pods/half-removed"));
    ck_assert(has(world.state, "pods/half-removed/exit"));
    ck_assert(!has(world.run, "pods/without-state"));
    end();
}
END_TEST

START_TEST(signals_have_names)
{
    ck_assert_int_eq(pod_host_parse_signal("USR1"), SIGUSR1);
    ck_assert_int_eq(pod_host_parse_signal("SIGTERM"), SIGTERM);
    ck_assert_int_eq(pod_host_parse_signal("SIG"), 0);
    ck_assert_int_eq(pod_host_parse_signal("NOTHING"), 0);
}
END_TEST

SUITE("pod_host", the_files_of_a_job_in_its_tmpdir_are_removed_and_no_others,
      a_place_that_is_a_link_is_not_followed, a_tmpdir_is_where_the_record_says,
      a_record_says_under_which_boot_its_pod_began, pods_that_were_begun_are_found_with_their_text,
      output_stays_until_the_pod_is_forgotten,
      the_directory_of_a_pod_that_is_deleted_at_its_end_is_no_bad_spare,
      a_volume_that_is_not_there_is_said_before_anything_runs,
      a_second_start_leaves_nothing_of_the_first, a_shepherd_of_an_earlier_agent_is_waited_for,
      a_shepherd_that_has_another_pod_by_now_is_not_this_ones,
      directories_without_a_record_go_at_the_start, signals_have_names)
