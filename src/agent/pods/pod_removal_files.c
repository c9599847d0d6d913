/* SPDX-License-Identifier: Apache-2.0 */
/* pod_removal_files.c - removes a finished pod's directories, records and
 * cgroup
 */
#include "agent/pods/files/mpi_variables.h"
#include "agent/pods/pod_host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/files/gpu_use.h"
#include "agent/pods/files/spare_dirs.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/pod_record.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/order.h"
#include "agent/volumes/removal.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/loop/workers.h"

/* Takes the directory from its owner (TMPDIR belongs to the job's user) first,
 * because other processes of that user could add to it. A rootless agent is
 * that user.
 */
static int
own_directory(const char *path)
{
    CLEANUP_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (geteuid() == 0 && fchown(fd, 0, 0) < 0)
        return -errno;
    return fchmod(fd, 0700) < 0 ? -errno : 0;
}

/* Most directories are empty already: then one rmdir is enough. */
static int
remove_run_dir(const char *path, struct error *err)
{
    int r = rmdir(path) == 0 ? 0 : -errno;

    if (r == -ENOTEMPTY || r == -EEXIST) {
        r = own_directory(path);
        if (r == 0)
            r = removal_run(AT_FDCWD, path);
    }
    if (r < 0 && r != -ENOENT)
        return error_set(err, r, "removing '%s': %s", path, strerror(-r));
    return 0;
}

/* An older agent named TMPDIR by the pod's uid. */
static int
remove_tmp_dir(const struct agent_context *agent, const char *uid, const char *known,
               bool *ret_left, struct error *err)
{
    CLEANUP_FREE char *former = NULL;
    CLEANUP(pod_record_fini) struct pod_record record = {.text = STRBUF_INIT};

    if (known != NULL)
        return tmp_dirs_remove(agent->tmp_dirs, known, ret_left, err);
    former = xasprintf("%s/kiln-%s", agent->tmp_dir, uid);
    if (pod_record_read(agent, uid, &record) < 0 || record.tmp_dir == NULL)
        return remove_run_dir(former, err);
    return tmp_dirs_remove(agent->tmp_dirs, record.tmp_dir, ret_left, err);
}

int
pod_host_clean_up(const struct agent_context *agent, const char *uid, const char *tmp_dir,
                  bool *ret_tmp_left, struct error *err)
{
    CLEANUP_FREE char *run = pod_record_run_path(agent, uid, "");
    CLEANUP_FREE char *live = pod_record_run_path(agent, uid, "live");
    CLEANUP_FREE char *cgroup = pod_record_run_path(agent, uid, "cgroup");
    CLEANUP_FREE char *pod = pod_record_run_path(agent, uid, "pod");
    CLEANUP_FREE char *variables = pod_record_run_path(agent, uid, VARIABLES_FILE);
    CLEANUP_FREE char *script = pod_record_state_path(agent, uid, "script");
    CLEANUP_FREE char *hosts = pod_record_state_path(agent, uid, HOSTFILE);
    CLEANUP_FREE char *machines = pod_record_state_path(agent, uid, HOSTFILE HOSTFILE_OF_MPICH);
    int r = remove_tmp_dir(agent, uid, tmp_dir, ret_tmp_left, err);

    unlink(script);
    unlink(hosts);
    unlink(machines);
    unlink(live);
    unlink(variables);
    /* Another pod may soon be in the cgroup; a record that still names it would
     * end that pod's processes.
     */
    if (unlink(cgroup) < 0 && errno != ENOENT)
        r = error_set(err, -errno, "removing '%s': %s", cgroup, strerror(errno));
    unlink(pod);
    return r < 0 ? r : remove_run_dir(run, err);
}

struct removal_call {
    struct spare_dirs *spare_dirs;
    char *path;
    bool keep_output;
};

/* The directory itself is removed or kept as spare when it has no output. */
static void
remove_files(const char *path, struct spare_dirs *spare_dirs)
{
    static const char *const files[] = {"exit", "script", HOSTFILE, HOSTFILE HOSTFILE_OF_MPICH,
                                        GPU_USE_FILE};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        CLEANUP_FREE char *file = xasprintf("%s/%s", path, files[i]);

        unlink(file);
    }
    exit_record_blank(path);
    spare_dirs_put(spare_dirs, path, EXIT_RECORD_FILE);
}

/* A pod that is deleted just after its end has its records and its directory removed at
 * the same time, by two workers. So the directory first gets a name under which the
 * other one cannot keep it as spare: closed to users, and with this worker's hands in
 * it, it would become another pod's. If the agent ends meanwhile, the next one finds
 * no pod of this name, and removes it.
 */
static void
remove_state_dir(const char *path)
{
    CLEANUP_FREE char *gone = NULL;

    if (rmdir(path) == 0 || errno == ENOENT)
        return;
    gone = xasprintf("%s.gone", path);
    if (rename(path, gone) < 0 && errno != ENOENT) { /* the rest of an earlier attempt */
        (void)remove_run_dir(gone, NULL);
        if (rename(path, gone) < 0)
            return;
    }
    (void)remove_run_dir(gone, NULL);
}

static void
remove_work(void *arg)
{
    struct removal_call *f = arg;

    if (f->keep_output)
        remove_files(f->path, f->spare_dirs);
    else
        remove_state_dir(f->path);
    free(f->path);
    free(f);
}

static void
remove_later(const struct agent_context *agent, const char *uid, bool keep_output)
{
    struct removal_call *f = xnew(struct removal_call);

    f->spare_dirs = agent->spare_dirs;
    f->path = pod_record_state_path(agent, uid, "");
    f->keep_output = keep_output;
    workers_submit(agent->workers, NULL, remove_work, NULL, f);
}

void
pod_host_remove_all(const struct agent_context *agent, const char *uid)
{
    remove_later(agent, uid, false);
}

void
pod_host_remove_records(const struct agent_context *agent, const char *uid)
{
    remove_later(agent, uid, true);
}

static void
sweep_work(void *arg)
{
    (void)cgpool_sweep(arg);
}

void
pod_host_sweep_cgroups(const struct agent_context *agent)
{
    if (agent->pool != NULL)
        workers_submit(agent->workers, NULL, sweep_work, NULL, agent->pool);
}
