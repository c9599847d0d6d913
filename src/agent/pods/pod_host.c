/* SPDX-License-Identifier: Apache-2.0 */
/* pod_host.c - the files, the cgroup and the process of a pod, in an order that survives a kill
 *
 * The agent may be killed between any two of these calls, and the next one must find out what is
 * there: the record in /run is first, for it names all the rest. Files
 * below STATE say that a pod was begun, so it is never begun twice; those in /run are gone
 * after a restart of the machine, as its processes are. Nothing is synced: after a power failure
 * the API decides.
 */
#include "agent/pods/pod_host.h"
#include "agent/pods/files/mpi_variables.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/agent_context.h"
#include "agent/pods/files/gpu_use.h"
#include "agent/pods/files/spare_dirs.h"
#include "agent/pods/files/task_layout.h"
#include "agent/pods/pod_cgroup.h"
#include "agent/pods/pod_order.h"
#include "agent/pods/pod_record.h"
#include "agent/shepherd/files/exit_record.h"
#include "agent/shepherd/files/live_record.h"
#include "agent/shepherd/files/order.h"
#include "agent/shepherd/launch.h"
#include "agent/volumes/pod_mounts.h"
#include "agent/volumes/removal.h"
#include "agent/volumes/tmp_dirs.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/loop/workers.h"

/* Longer than a launched shepherd takes to write its live record. */
#define FORMER_TRIES    50
#define FORMER_PAUSE_US 20000

#define CGROUPS_AHEAD 4u

/* Not synced: after a power failure only the API's state matters. */
static int
write_file(const char *path, const char *text, struct error *err)
{
    CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

    if (r < 0)
        return error_set(err, r, "writing '%s': %s", path, strerror(-r));
    return 0;
}

/* ---- Making directories and cgroup ---- */

/* A pod without a configured output file gets one here, which its user may
 * write.
 */
static int
make_output(const struct pod_host_start *st, struct error *err)
{
    const struct pod *pod = pod_of(st->pod);
    const struct execution *e = pod->spec.execution;
    const struct security_context *who = pod->spec.security_context;
    CLEANUP_FREE char *path = pod_record_state_path(st->agent, st->pod->meta->uid, "output");
    CLEANUP_FD int fd = -1;

    if (e != NULL && e->stdout_path != NULL)
        return 0;
    fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0
        || (!st->agent->rootless
            && fchown(fd, (uid_t)*who->run_as_user,
                      (gid_t)(who->run_as_group ? *who->run_as_group : *who->run_as_user))
                   < 0))
        return error_set(err, -errno, "'%s': %s", path, strerror(errno));
    return 0;
}

static int
make_directories(const struct pod_host_start *st, struct error *err)
{
    const struct agent_context *agent = st->agent;
    const char *uid = st->pod->meta->uid;
    CLEANUP_FREE char *state = pod_record_state_path(agent, uid, "");
    CLEANUP_FREE char *run = pod_record_run_path(agent, uid, "");
    CLEANUP_FREE char *pod = pod_record_run_path(agent, uid, "pod");
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *text =
        xasprintf("%s%s%s\n%s", agent->boot_id, st->tmp_dir != NULL ? " " : "",
                  st->tmp_dir != NULL ? st->tmp_dir : "", object_text(st->pod, arena));
    int r;

    r = dir_make(run, 0700, err);
    if (r == 0)
        r = write_file(pod, text, err);
    /* 0711, so that the job's user can open its script in the directory. */
    if (r == 0 && spare_dirs_take(agent->spare_dirs, state) < 0)
        r = dir_make(state, 0711, err);
    return r < 0 ? r : make_output(st, err);
}

/* The record of an earlier attempt, whose agent was killed, is about to be
 * overwritten, and with it the only mention of that attempt's TMPDIR.
 */
static void
remove_former_tmp_dir(struct pod_host_start *st)
{
    const struct agent_context *agent = st->agent;
    CLEANUP(pod_record_fini) struct pod_record record = {.text = STRBUF_INIT};

    if (pod_record_read(agent, st->pod->meta->uid, &record) == 0 && record.tmp_dir != NULL)
        (void)tmp_dirs_remove(agent->tmp_dirs, record.tmp_dir, &st->tmp_left, NULL);
}

static int
set_limits(struct pod_host_start *st, struct error *err)
{
    int r = pod_cgroup_set_limits(&(struct pod_cgroup_limits){.agent = st->agent,
                                                              .topology = st->topology,
                                                              .pod = st->pod,
                                                              .shared_cpus = st->shared_cpus},
                                  st->cgroup, &st->unpartitioned, err);

    return r < 0 ? r : cgroup_set_back(st->cgroup, err);
}

/* A reused cgroup that does not accept the pod's limits is retired, and a new
 * one is made.
 */
static int
make_limited_cgroup(struct pod_host_start *st, struct error *err)
{
    struct cgpool *pool = st->agent->pool;
    int r;

    if (st->cgroup != NULL) {
        r = set_limits(st, err);
        if (r == 0 || !cgroup_was_used(st->cgroup))
            return r;
        (void)cgpool_retire(pool, st->cgroup);
        st->cgroup = NULL;
        free(st->unpartitioned);
        st->unpartitioned = NULL;
    }
    r = cgpool_make(pool, &st->cgroup, err);
    return r < 0 ? r : set_limits(st, err);
}

static int
make_cgroup(struct pod_host_start *st, struct strbuf *ret_text, struct error *err)
{
    const struct agent_context *agent = st->agent;
    CLEANUP_FREE char *path = NULL;
    int r;

    if (agent->pool == NULL)
        return 0;
    r = make_limited_cgroup(st, err);
    if (r < 0)
        return r;
    cgroup_format(st->cgroup, ret_text);
    path = pod_record_run_path(agent, st->pod->meta->uid, "cgroup");
    return write_file(path, cgroup_name(st->cgroup), err);
}

/* Everybody may read it, as everybody may ask for the nodes of a job. */
static int
write_public(const char *path, const char *text, struct error *err)
{
    int r;

    unlink(path);
    r = write_file(path, text, err);
    if (r == 0 && chmod(path, 0444) < 0)
        r = error_set(err, -errno, "'%s': %s", path, strerror(errno));
    return r;
}

/* For a job of several nodes or tasks: how many tasks mpirun may start where. */
static int
make_hostfile(const struct pod_host_start *st, struct arena *arena, const char **ret_path,
              struct error *err)
{
    CLEANUP_FREE char *path = pod_record_state_path(st->agent, st->pod->meta->uid, HOSTFILE);
    CLEANUP_FREE char *of_mpich = xasprintf("%s" HOSTFILE_OF_MPICH, path);
    CLEANUP_STRBUF struct strbuf hosts = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf machines = STRBUF_INIT;
    struct task_layout nodes;
    int r;

    task_layout_init(&nodes, arena, st->pod, st->nodes, st->agent->node);
    if (nodes.count == 1 && nodes.total == 1)
        return 0;
    task_layout_format_hostfile(&nodes, &hosts);
    task_layout_format_machines(&nodes, &machines);
    r = write_public(path, hosts.text, err);
    if (r == 0)
        r = write_public(of_mpich, machines.text, err);
    if (r == 0)
        *ret_path = arena_strdup(arena, path);
    return r;
}

static bool
is_for_steps(const char *entry)
{
    return strncmp(entry, "KILN_", 5) == 0 || strncmp(entry, "SLURM_", 6) == 0;
}

/* Without them the job runs, too. */
static void
write_variables(const struct pod_host_start *st, const struct order *o)
{
    CLEANUP_FREE char *path = pod_record_run_path(st->agent, st->pod->meta->uid, VARIABLES_FILE);
    CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < o->environment.count; i++) {
        const char *entry = o->environment.items[i];
        const size_t length = strlen(entry) + 1;

        if (is_for_steps(entry) && text.length + length <= VARIABLES_BYTES)
            strbuf_add(&text, entry, length);
    }
    if (fd >= 0)
        (void)fd_write_all(fd, text.text, text.length);
}

static int
script_descriptor(const struct pod_host_start *st, struct error *err)
{
    int fd;
    int r;

    if (st->script == NULL)
        return -1;
    fd = memfd_create("script", MFD_CLOEXEC);
    if (fd < 0)
        return error_set(err, -errno, "memfd_create: %s", strerror(errno));
    r = fd_write_all(fd, st->script, st->script_length);
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    if (r < 0) {
        close(fd);
        return error_set(err, r, "storing the script: %s", strerror(-r));
    }
    return fd;
}

static int
check_volumes(const struct mount_list *mounts, struct error *err)
{
    for (size_t i = 0; mounts != NULL && i < mounts->count; i++) {
        const struct mount_place *m = &mounts->items[i];
        struct stat st;

        if (stat(m->source, &st) < 0)
            return error_set(err, -errno, "volume '%s': '%s': %s", m->volume, m->source,
                             strerror(errno));
        if (!S_ISDIR(st.st_mode))
            return error_set(err, -ENOTDIR, "volume '%s': '%s' is not a directory", m->volume,
                             m->source);
    }
    return 0;
}

/* An agent that is killed right after a launch leaves a shepherd that has not
 * written its live record yet. If a record of an earlier start exists, this
 * waits for the live record. Otherwise a second shepherd would be refused the
 * pod's lock and end, which would be taken for the pod's end while the job runs
 * on.
 */
static bool
find_former_shepherd(struct pod_host_start *st)
{
    const struct agent_context *agent = st->agent;
    const char *uid = st->pod->meta->uid;
    struct live_record *live = NULL;

    if (!pod_host_has_run_dir(agent, uid))
        return false;
    for (int i = 0; live == NULL && i < FORMER_TRIES; i++) {
        if (i > 0)
            usleep(FORMER_PAUSE_US);
        live = pod_host_read_live(agent, uid);
    }
    st->shepherd = (struct shepherd_process){
        .pidfd = live != NULL ? pod_host_open_shepherd(agent, uid, live) : -1,
        .channel = -1,
    };
    live_record_free(live);
    return st->shepherd.pidfd >= 0;
}

/* The former shepherd's pod has its cgroup already, so the new one is retired.
 */
static void
keep_former_cgroup(struct pod_host_start *st)
{
    const struct agent_context *agent = st->agent;

    if (st->cgroup != NULL && cgpool_retire(agent->pool, st->cgroup))
        (void)cgpool_sweep(agent->pool);
    st->cgroup = pod_host_find_cgroup(agent, st->pod->meta->uid);
}

int
pod_host_start(struct pod_host_start *st, struct error *err)
{
    const struct agent_context *agent = st->agent;
    CLEANUP(arena_freep) struct arena *arena = arena_new(16384);
    CLEANUP_STRBUF struct strbuf job_cgroup = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf own_cgroup = STRBUF_INIT;
    CLEANUP_FD int script_fd = -1;
    struct order order;
    struct launch launch = {
        .program = agent->shepherd,
        .order = &order,
        .fork_server = agent->fork_server,
    };
    struct pod_order_input input = {
        .agent = agent,
        .topology = st->topology,
        .pod = st->pod,
        .script = st->script,
        .script_length = st->script_length,
        .environment = st->environment,
        .environment_length = st->environment_length,
        .mounts = st->mounts,
        .nodes = st->nodes,
        .partition = st->partition,
        .hides_devices = pod_cgroup_hides_devices(agent),
    };
    int r = 0;

    if (find_former_shepherd(st)) {
        keep_former_cgroup(st);
        return 0;
    }
    st->is_nodes_fault = true;
    if (agent->tmp_dirs != NULL)
        r = tmp_dirs_name(agent->tmp_dirs, &st->tmp_dir, err);
    remove_former_tmp_dir(st);
    if (r == 0)
        r = make_directories(st, err);
    if (r == 0)
        r = make_cgroup(st, &job_cgroup, err);
    if (r == 0)
        r = make_hostfile(st, arena, &input.hostfile, err);
    if (r < 0)
        return r;
    st->is_nodes_fault = false;
    r = check_volumes(st->mounts, err);
    if (r < 0)
        return r;
    input.tmp_dir = st->tmp_dir;
    if (agent->cgroups != NULL) {
        cgroup_format(cgroot_shepherds(agent->cgroups), &own_cgroup);
        input.job_cgroup = job_cgroup.text;
        input.shepherd_cgroup = own_cgroup.text;
    }
    r = pod_order_compose(&input, arena, &order, err);
    if (r < 0)
        return r;
    st->is_nodes_fault = true;
    script_fd = script_descriptor(st, err);
    if (script_fd < -1)
        return script_fd;
    launch.script_fd = script_fd;
    write_variables(st, &order);
    r = launch_start(&launch, &st->shepherd, err);
    st->is_nodes_fault = r < 0;
    if (agent->pool != NULL) /* in parallel with the job's start */
        (void)cgpool_fill(agent->pool, CGROUPS_AHEAD, NULL);
    return r;
}

/* ---- Reading what exists ---- */

/* The directory below STATE is made last and removed last. */
bool
pod_host_exists(const struct agent_context *agent, const char *uid)
{
    CLEANUP_FREE char *state = pod_record_state_path(agent, uid, "");

    return access(state, F_OK) == 0 || errno != ENOENT;
}

bool
pod_host_has_run_dir(const struct agent_context *agent, const char *uid)
{
    CLEANUP_FREE char *run = pod_record_run_path(agent, uid, "");

    return access(run, F_OK) == 0;
}

struct live_record *
pod_host_read_live(const struct agent_context *agent, const char *uid)
{
    CLEANUP_FREE char *dir = pod_record_run_path(agent, uid, "");
    struct live_record *live = NULL;

    return live_record_read(dir, &live, NULL) == 0 ? live : NULL;
}

static bool
is_locked(const char *directory)
{
    CLEANUP_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

/* A shepherd that has finished this pod may run another pod by now, which would
 * then get the signals meant for this one. A shepherd holds the lock of the run
 * directory of its present pod, so an unlocked directory has no shepherd.
 */
int
pod_host_open_shepherd(const struct agent_context *agent, const char *uid,
                       const struct live_record *live)
{
    CLEANUP_FREE char *dir = pod_record_run_path(agent, uid, "");
    int pidfd = live_record_open(live, agent->boot_id);

    if (pidfd < 0)
        return -1;
    if (is_locked(dir))
        return pidfd;
    close(pidfd);
    return -1;
}

struct exit_record *
pod_host_read_ending(const struct agent_context *agent, const char *uid)
{
    CLEANUP_FREE char *state = pod_record_state_path(agent, uid, "");
    CLEANUP_FREE char *run = pod_record_run_path(agent, uid, "");
    struct exit_record *exit_record = NULL;

    return exit_record_read(state, run, uid, &exit_record, NULL) == 0 ? exit_record : NULL;
}

void
pod_host_read_gpu_use(const struct agent_context *agent, const char *uid, struct gpu_use *ret_use)
{
    CLEANUP_FREE char *state = pod_record_state_path(agent, uid, "");

    gpu_use_read(state, uid, ret_use);
}

struct cgroup *
pod_host_find_cgroup(const struct agent_context *agent, const char *uid)
{
    CLEANUP_FREE char *path = pod_record_run_path(agent, uid, "cgroup");
    CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;
    struct cgroup *c = NULL;

    if (agent->cgroups == NULL || file_read(path, 4096, &name, NULL) < 0)
        return NULL;
    return cgroot_find(agent->cgroups, name.text, &c, NULL) == 0 ? c : NULL;
}

/* A restart empties /run. A run directory on a disk is not emptied, but a torn
 * file in it means that the machine has crashed.
 */
enum pod_boot
pod_host_read_boot(const struct agent_context *agent, const char *uid)
{
    CLEANUP(pod_record_fini) struct pod_record record = {.text = STRBUF_INIT};
    int r = pod_record_read(agent, uid, &record);

    if (r < 0)
        return POD_BOOT_UNKNOWN;
    return strcmp(record.boot_id, agent->boot_id) == 0 ? POD_BOOT_THIS : POD_BOOT_EARLIER;
}

void
pod_host_list(const struct agent_context *agent, pod_host_list_fn *list, void *context)
{
    CLEANUP_FREE char *path = xasprintf("%s/pods", agent->state_dir);
    DIR *dir = opendir(path);

    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.')
            list(e->d_name, context);
    closedir(dir);
}

/* The TMPDIRs that records name. */
struct tmp_use {
    const struct agent_context *agent;
    struct map *paths;
};

static void
note_tmp_dir(const char *uid, void *context)
{
    const struct tmp_use *use = context;
    CLEANUP(pod_record_fini) struct pod_record r = {.text = STRBUF_INIT};

    if (pod_record_read(use->agent, uid, &r) == 0 && r.tmp_dir != NULL)
        map_put(use->paths, r.tmp_dir, use->paths);
}

static bool
is_tmp_used(const char *path, void *context)
{
    return map_find(context, path) != NULL;
}

void
pod_host_collect_tmp_dirs(const struct agent_context *agent)
{
    struct tmp_use use = {agent, map_new()};

    pod_host_list(agent, note_tmp_dir, &use);
    tmp_dirs_collect(agent->tmp_dirs, is_tmp_used, use.paths);
    map_free(use.paths);
}

struct record_visit {
    const struct agent_context *agent;
    pod_host_visit_fn *visit;
    void *context;
};

static void
visit_one(const char *uid, void *context)
{
    const struct record_visit *v = context;
    CLEANUP(pod_record_fini) struct pod_record r = {.text = STRBUF_INIT};

    if (pod_record_read(v->agent, uid, &r) == 0)
        v->visit(uid, r.pod, r.text.length - (size_t)(r.pod - r.text.text), v->context);
}

void
pod_host_visit_records(const struct agent_context *agent, pod_host_visit_fn *visit, void *context)
{
    struct record_visit v = {agent, visit, context};

    pod_host_list(agent, visit_one, &v);
}

int
pod_host_parse_signal(const char *name)
{
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (int n = 1; n < NSIG; n++) {
        const char *abbreviation = sigabbrev_np(n);

        if (abbreviation != NULL && strcmp(abbreviation, name) == 0)
            return n;
    }
    return 0;
}

/* ---- Removal ---- */

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
