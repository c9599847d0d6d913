/* SPDX-License-Identifier: Apache-2.0 */
/* The lock comes first, because two agents with one state directory would start each pod
 * twice. A node without cgroups or without a fork server still runs jobs, with fewer limits or
 * slower, and says so; refusing to start would leave the running jobs without anybody.
 */
#include "agent/node_resources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroot.h"
#include "agent/pods/files/spare_dirs.h"
#include "agent/settings.h"
#include "agent/shepherd/fork_server.h"
#include "agent/volumes/scratch.h"
#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/quantity.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"

/* Two agents with one state directory would start every pod twice. */
int
node_resources_lock(struct node_resources *r, const struct agent_settings *settings,
                    struct error *err)
{
    const char *dir = settings->state_dir;
    CLEANUP_FREE char *pods = xasprintf("%s/pods", dir);
    CLEANUP_FREE char *run = xasprintf("%s/pods", settings->run_dir);
    CLEANUP_FREE char *lock = xasprintf("%s/lock", dir);
    int result = dir_make(pods, 0711, err);

    if (result == 0)
        result = dir_make(run, 0700, err);
    if (result < 0)
        return result;
    r->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (r->lock_fd < 0)
        return error_set(err, -errno, "'%s': %s", lock, strerror(errno));
    if (flock(r->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, -EBUSY,
                         "another kiln-agent runs with the state directory "
                         "'%s'",
                         dir);
    r->secret_path = xasprintf("%s/node-secret", dir);
    r->spare_dirs = spare_dirs_new(dir);
    return 0;
}

/* A node without cgroups still runs jobs, but with fewer limits. The log says
 * so.
 */
static void
open_cgroups(struct node_resources *r, const struct agent_settings *settings,
             const struct topology *topology)
{
    CLEANUP_STRBUF struct strbuf cpus = STRBUF_INIT;
    struct cgroot_settings wanted = {.base = settings->cgroup_base};
    const struct cgroot_ability *can;
    struct error err = {0};

    if (geteuid() != 0)
        return;
    if (settings->cpu_partition != CPU_PARTITION_NONE && !topology->is_virtual) {
        cpuset_format(&topology->pus, &cpus);
        wanted.partition_cpus = cpus.text;
    }
    if (cgroot_open(&wanted, &r->cgroups, &err) < 0) {
        log_warning("no cgroups: %s; jobs are bound only by affinity, and "
                    "their memory is not limited",
                    err.text);
        return;
    }
    can = cgroot_ability(r->cgroups);
    if (can->lacking != NULL)
        log_warning("%s", can->lacking);
    if (can->partitions_lacking != NULL)
        log_warning("no CPU partitions: %s; reserve CPUs for the rest of the "
                    "system",
                    can->partitions_lacking);
    random_uuid(r->cgroup_prefix);
    r->cgroup_prefix[8] = '-';
    r->cgroup_prefix[9] = '\0';
    r->pool = cgpool_new(r->cgroups, r->cgroup_prefix);
}

/* Without the fork server, launch.c executes the shepherd's program for each
 * pod.
 */
static void
open_fork_server(struct node_resources *r, const struct agent_settings *settings)
{
    struct error err = {0};

    if (fork_server_open(settings->shepherd, &r->fork_server, &err) < 0)
        log_warning("%s; jobs cannot run until that is repaired", err.text);
    else if (!settings->reuse_shepherds)
        fork_server_never_reuse(r->fork_server);
}

/* The agent continues without its scratch disk, because jobs may be running. */
static void
open_scratch(struct node_resources *r, const struct agent_settings *s)
{
    int64_t bytes = s->scratch_capacity != NULL ? quantity_text_value(s->scratch_capacity) : 0;
    struct error err = {0};

    if (s->scratch_dir != NULL && scratch_open(s->scratch_dir, bytes, &r->scratch, &err) < 0)
        log_warning("this node offers no scratch: %s", err.text);
}

void
node_resources_open(struct node_resources *r, const struct agent_settings *settings,
                    const struct topology *topology)
{
    open_cgroups(r, settings, topology);
    open_fork_server(r, settings);
    open_scratch(r, settings);
}

void
node_resources_fini(struct node_resources *r)
{
    scratch_close(r->scratch);
    fork_server_close(r->fork_server);
    spare_dirs_free(r->spare_dirs);
    cgpool_free(r->pool);
    cgroot_close(r->cgroups);
    if (r->lock_fd >= 0)
        close(r->lock_fd);
    free(r->secret_path);
}
