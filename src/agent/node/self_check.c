/* SPDX-License-Identifier: Apache-2.0 */
/* A node that cannot start pods takes them all: each fails at once, so the node is always
 * free. It must find that out itself and stop being Ready before the queue has run through it.
 * A check that hangs is a failed check, and several failed starts in a row count even if no
 * check finds a fault; after a while the node tries again, because what was wrong may be over.
 */
#include "agent/node/self_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroot.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/loop/timer.h"
#include "lib/loop/workers.h"

#define EVERY_MS        15000
#define EVERY_FAILED_MS 5000
#define ANSWER_MS       20000 /* a check that takes longer has failed */
#define STARTS          3u    /* failed starts in a row */
#define STARTS_MS       300000
#define DESCRIPTORS     32
#define SPOOL_BYTES     (8u << 20) /* scripts, environments, exit records */
#define SPOOL_FILES     16u

/* The result of one round of checks. */
struct finding {
    const char *reason; /* NULL: nothing is wrong */
    bool is_repaired;   /* the check repaired the fault */
    struct error err;
};

struct self_check {
    struct self_check_settings s;
    struct timer *timer;
    struct timer *answer_timer; /* runs with the check */
    struct timer *retry_timer;  /* until starts are tried again */
    struct finding found;       /* set by a worker */
    bool is_checking, check_again, is_freed, has_told;
    unsigned n_failed; /* starts in a row */
    char *start_failure;
    const char *reason; /* NULL: no fault */
    char *words;
};

/* ---- The check, on a worker ---- */

static int
check_descriptors(UNUSED struct self_check *c, struct error *err)
{
    int fds[DESCRIPTORS];
    int n = 0;
    int r = 0;

    while (n < DESCRIPTORS && r == 0) {
        fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        r = fds[n] < 0 ? -errno : 0;
        n += r == 0;
    }
    while (n > 0)
        close(fds[--n]);
    if (r == -EMFILE)
        return error_set(err, r,
                         "the agent has no free file descriptors; restart "
                         "it, with a higher LimitNOFILE or a lower maxPods");
    if (r == -ENFILE)
        return error_set(err, r,
                         "the machine has no free file descriptors: see "
                         "fs.file-max and fs.file-nr (sysctl)");
    return r < 0 ? error_set(err, r, "opening '/dev/null': %s", strerror(-r)) : 0;
}

/* Checks that a file can be made and written. */
static int
check_directory(const char *dir, const char *setting, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/.self-check", dir);
    CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char block[4096] = {0};
    struct statvfs fs;
    int r = fd < 0 ? -errno : fd_write_all(fd, block, sizeof(block));

    if (fd >= 0)
        unlink(path);
    if (r == 0 && fstatvfs(fd, &fs) == 0
        && (fs.f_bavail * fs.f_frsize < SPOOL_BYTES
            || (fs.f_files > 0 && fs.f_favail < SPOOL_FILES)))
        r = -ENOSPC;
    if (r == -ENOSPC)
        return error_set(err, r, "'%s' (%s) is full: free at least %u MiB", dir, setting,
                         SPOOL_BYTES >> 20);
    if (r < 0)
        return error_set(err, r,
                         "'%s' (%s) cannot be written to: %s; repair it or "
                         "set another directory in agent.yaml",
                         dir, setting, strerror(-r));
    return 0;
}

static int
check_state(struct self_check *c, struct error *err)
{
    CLEANUP_FREE char *pods = xasprintf("%s/pods", c->s.state_dir);

    return check_directory(pods, "stateDir", err);
}

static int
check_run(struct self_check *c, struct error *err)
{
    CLEANUP_FREE char *pods = xasprintf("%s/pods", c->s.run_dir);

    return check_directory(pods, "runDir", err);
}

static int
check_tmp(struct self_check *c, struct error *err)
{
    int r = tmp_dirs_check(c->s.tmp_dirs, err);

    return r < 0 ? error_wrap(err, r, "tmpDir, which must be repaired on the node") : 0;
}

static int
check_shepherd(struct self_check *c, struct error *err)
{
    if (access(c->s.shepherd, X_OK) == 0)
        return 0;
    return error_set(err, -errno, "'%s' cannot be run: %s; install Kiln again on this node",
                     c->s.shepherd, strerror(errno));
}

/* systemd may have restarted the unit of the cgroup while the agent runs. */
static int
check_cgroups(struct self_check *c, struct error *err)
{
    int r = c->s.cgroups != NULL ? cgroot_repair(c->s.cgroups, err) : 0;

    if (r < 0)
        return error_wrap(err, r,
                          "the cgroup of all jobs is missing and cannot be "
                          "created again (systemctl start kiln-jobs)");
    if (r > 0) {
        log_warning("the cgroup of all jobs was missing, and was created "
                    "again");
        cgpool_forget(c->s.pool);
        c->found.is_repaired = true;
    }
    return 0;
}

static const struct {
    const char *reason;
    int (*check)(struct self_check *c, struct error *err);
} checks[] = {
    {REASON_NO_FILE_DESCRIPTORS, check_descriptors},
    {REASON_STATE_DIR_UNUSABLE, check_state},
    {REASON_RUN_DIR_UNUSABLE, check_run},
    {REASON_TMP_DIR_UNUSABLE, check_tmp},
    {REASON_SHEPHERD_MISSING, check_shepherd},
    {REASON_CGROUP_GONE, check_cgroups},
};

static void
run_checks(void *arg)
{
    struct self_check *c = arg;

    c->found = (struct finding){0};
    for (size_t i = 0; i < ARRAY_SIZE(checks) && c->found.reason == NULL; i++)
        if (checks[i].check(c, &c->found.err) < 0)
            c->found.reason = checks[i].reason;
}

/* ---- The verdict ---- */

/* `reason` is NULL when nothing is wrong. */
static void
set_verdict(struct self_check *c, const char *reason, const char *words)
{
    bool is_news =
        !c->has_told || c->reason != reason || (words != NULL && strcmp(words, c->words) != 0);
    char *former = c->words;

    if (!is_news) /* keep the former words: others borrow them */
        return;
    if (reason != NULL)
        log_warning("this node cannot start jobs: %s", words);
    else if (reason == NULL && c->reason != NULL)
        log_info("this node can start jobs again");
    c->has_told = true;
    c->reason = reason;
    c->words = words != NULL ? xstrdup(words) : NULL;
    c->s.changed(c->s.context);
    free(former);
}

static void
decide(struct self_check *c)
{
    CLEANUP_FREE char *words = NULL;

    if (c->found.is_repaired || c->found.reason != NULL)
        c->n_failed = 0; /* the finding explains the failed starts */
    if (c->found.reason != NULL) {
        set_verdict(c, c->found.reason, c->found.err.text);
    } else if (c->n_failed >= STARTS) {
        if (!timer_is_running(c->retry_timer))
            timer_start(c->retry_timer, STARTS_MS);
        words = xasprintf("%u pods in a row could not be started here, the "
                          "last one: %s; trying again after %u minutes, or a "
                          "restart of kiln-agent",
                          c->n_failed, c->start_failure, STARTS_MS / 60000);
        set_verdict(c, REASON_STARTS_FAIL, words);
    } else
        set_verdict(c, NULL, NULL);
}

static void
destroy(struct self_check *c)
{
    free(c->start_failure);
    free(c->words);
    free(c);
}

static void start_checks(void *arg);

static void
on_checks_done(void *arg)
{
    struct self_check *c = arg;

    c->is_checking = false;
    if (c->is_freed) {
        destroy(c);
        return;
    }
    timer_stop(c->answer_timer);
    if (c->check_again) {
        start_checks(c);
        return;
    }
    decide(c);
    timer_start(c->timer, c->reason != NULL ? EVERY_FAILED_MS : EVERY_MS);
}

static void
start_checks(void *arg)
{
    struct self_check *c = arg;

    c->check_again = c->is_checking;
    if (c->is_checking)
        return;
    c->is_checking = true;
    timer_start(c->answer_timer, ANSWER_MS);
    workers_submit(c->s.workers, c->s.loop, run_checks, on_checks_done, c);
}

static void
on_no_answer(void *arg)
{
    set_verdict(arg, REASON_NO_ANSWER,
                "a file system that jobs need does not answer: stateDir, runDir "
                "or tmpDir of this node (see 'dmesg')");
}

static void
try_again(void *arg)
{
    struct self_check *c = arg;

    c->n_failed = STARTS - 1;
    start_checks(c);
}

void
self_check_note_start(struct self_check *c, const char *failure)
{
    if (failure == NULL) {
        c->n_failed = 0;
        return;
    }
    c->n_failed++;
    free(c->start_failure);
    c->start_failure = xstrdup(failure);
    start_checks(c);
}

bool
self_check_has_failed(const struct self_check *c, const char **ret_reason, const char **ret_words)
{
    *ret_reason = c->reason;
    *ret_words = c->words;
    return c->reason != NULL;
}

/* ---- Life ---- */

struct self_check *
self_check_new(const struct self_check_settings *settings)
{
    struct self_check *c = xnew(struct self_check);

    c->s = *settings;
    c->timer = timer_new(settings->loop, start_checks, c);
    c->answer_timer = timer_new(settings->loop, on_no_answer, c);
    c->retry_timer = timer_new(settings->loop, try_again, c);
    return c;
}

void
self_check_start(struct self_check *c)
{
    start_checks(c);
}

void
self_check_free(struct self_check *c)
{
    if (c == NULL)
        return;
    timer_free(c->timer);
    timer_free(c->answer_timer);
    timer_free(c->retry_timer);
    c->is_freed = true;
    if (!c->is_checking)
        destroy(c);
}
