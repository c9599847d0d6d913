/* SPDX-License-Identifier: Apache-2.0 */
/* step_user.c - becomes the user, in the cgroup of the step
 *
 * Before anything that the user wrote is read. The user's groups, limits and mount
 * namespace are those of the job's first process: the shepherd has looked them up in
 * the site's user database, which may take long.
 */
#include "step/step_user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/become_user.h"
#include "agent/shepherd/descendants.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/files/order.h"
#include "agent/shepherd/prepared_job.h"
#include "agent/shepherd/user_account.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_grant.h"

#define GROUPS_MOST 65536

/* The record may be older than the process that has this pid now. */
static int
find_job(const struct order *o, pid_t *ret_pid, struct error *err)
{
    CLEANUP(live_record_freep) struct live_record *live = NULL;
    int64_t start;
    int r = live_record_read(o->run_dir, &live, err);

    if (r < 0)
        return r;
    if (live->phase != LIVE_RUNNING || live->job_pid <= 0
        || live_record_read_start((pid_t)live->job_pid, &start) < 0 || start != live->job_start)
        return error_set(err, -ESRCH, "the job has ended");
    *ret_pid = (pid_t)live->job_pid;
    return 0;
}

/* "1000 1000 1000 1000": all four have to be the user's, or the job's first process is
 * something else now, a program that is set-uid for example.
 */
static bool
are_all(const char *text, unsigned long id)
{
    char *end;

    for (int i = 0; i < 4; i++) {
        if (strtoul(text, &end, 10) != id || end == text)
            return false;
        text = end;
    }
    return true;
}

static void
parse_groups(const char *text, struct user_account *p)
{
    char *end;

    for (unsigned long id = strtoul(text, &end, 10); end != text && p->n_groups < GROUPS_MOST;
         id = strtoul(text, &end, 10)) {
        p->groups = xrealloc_array(p->groups, (size_t)p->n_groups + 1, sizeof(*p->groups));
        p->groups[p->n_groups++] = (gid_t)id;
        text = end;
    }
}

static int
read_account(pid_t job, const struct order *o, struct user_account *p, struct error *err)
{
    CLEANUP_STRBUF struct strbuf uids = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf gids = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf groups = STRBUF_INIT;

    if (!process_read_status(job, "Uid", &uids) || !process_read_status(job, "Gid", &gids)
        || !process_read_status(job, "Groups", &groups))
        return error_set(err, -ESRCH, "the job has ended");
    p->uid = (uid_t)o->uid;
    p->gid = (gid_t)strtoul(gids.text, NULL, 10);
    if (!are_all(uids.text, p->uid) || !are_all(gids.text, p->gid))
        return error_set(err, -EPERM,
                         "the job's first process runs as another user or group at present, and "
                         "a step gets its groups from there");
    parse_groups(groups.text, p);
    return 0;
}

static void
copy_limits(pid_t job, struct order *o)
{
    for (int resource = 0; resource < (int)RLIM_NLIMITS && o->n_limits < RLIMIT_SETTINGS_MAX;
         resource++) {
        struct rlimit l;

        if (prlimit(job, (enum __rlimit_resource)resource, NULL, &l) == 0)
            o->limits[o->n_limits++] = (struct rlimit_setting){
                .resource = resource,
                .soft = l.rlim_cur,
                .hard = l.rlim_max,
            };
    }
}

static bool
is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Only a namespace that root has made: in one of the user's own, root's programs
 * would trust files that the user has made.
 */
static int
open_namespace(pid_t job)
{
    CLEANUP_FREE char *path = xasprintf("/proc/%d/ns/mnt", (int)job);
    struct stat own, of_job, own_user, owner;
    CLEANUP_FD int owner_fd = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    owner_fd = ioctl(fd, NS_GET_USERNS);
    if (stat("/proc/self/ns/mnt", &own) == 0 && fstat(fd, &of_job) == 0 && !is_same(&own, &of_job)
        && owner_fd >= 0 && stat("/proc/self/ns/user", &own_user) == 0
        && fstat(owner_fd, &owner) == 0 && is_same(&own_user, &owner))
        return fd;
    close(fd);
    return 0;
}

static bool
has_no_new_privileges(pid_t job)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    return process_read_status(job, "NoNewPrivs", &text) && strtol(text.text, NULL, 10) != 0;
}

static int
enter_cgroup(const struct order *o, struct prepared_job *prepared, struct error *err)
{
    CLEANUP(cgroup_freep) struct cgroup *c = NULL;
    const bool is_there = getenv(STEP_IN_CGROUP) != NULL;
    int r;

    if (o->job_cgroup == NULL)
        return 0;
    r = cgroup_parse(o->job_cgroup, &c, err);
    if (r == 0 && !is_there)
        r = cgroup_make_inner(c, err);
    if (r == 0)
        r = cgroup_open_join_files(c, !is_there, prepared->join_fds, err);
    if (r < 0)
        return r;
    prepared->n_join_fds = r;
    return 0;
}

static int
become(const struct order *o, struct prepared_job *prepared, struct error *err)
{
    struct become_user_report report;
    int r = enter_cgroup(o, prepared, err);

    if (r < 0)
        return r;
    r = become_user(prepared, &report);
    if (r < 0)
        return error_set(err, r, "starting the step: %s: %s", become_user_step_name(&report),
                         strerror(-r));
    return 0;
}

int
step_user_become(const char *text, size_t length, int kept_fd, pid_t *ret_job,
                 struct cgroup **ret_cgroup, struct error *err)
{
    struct user_account who = {0};
    struct prepared_job prepared = {0};
    struct order o;
    pid_t job = 0;
    int r = order_decode(xmemdup(text, length), length, &o, err);

    if (r < 0)
        return r;
    r = find_job(&o, &job, err);
    if (r == 0)
        r = read_account(job, &o, &who, err);
    if (r == 0) {
        copy_limits(job, &o);
        o.no_new_privileges = o.no_new_privileges || has_no_new_privileges(job);
        r = prepared_job_prepare(&prepared, &o, &who, NULL, err);
    }
    if (r == 0) {
        prepared.keeps_streams = true;
        prepared.report_fd = kept_fd;
        prepared.namespace_fd = open_namespace(job);
        prepared.no_new_privileges |= prepared.namespace_fd > 0;
        r = become(&o, &prepared, err);
    }
    if (r == 0 && o.job_cgroup != NULL)
        r = cgroup_parse(o.job_cgroup, ret_cgroup, err);
    prepared_job_fini(&prepared);
    free(who.groups);
    order_fini(&o);
    *ret_job = job;
    return r;
}
