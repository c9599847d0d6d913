/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cgroup/cgpool.h"
#include "agent/cgroup/cgroot.h"
#include "agent/cgroup/cgroup.h"
#include "agent/pods/compose.h"
#include "agent/pods/confines.h"
#include "agent/pods/ground.h"
#include "agent/pods/spares.h"
#include "agent/shepherd/ending.h"
#include "agent/shepherd/launch.h"
#include "agent/shepherd/live.h"
#include "agent/shepherd/order.h"
#include "agent/volumes/mountings.h"
#include "agent/volumes/removal.h"
#include "lib/api/object.h"
#include "lib/api/pod.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/loop/workers.h"

#define POD_TEXT_LIMIT (4u << 20)
#define CGROUPS_AHEAD  4u

static char *
state_path(const struct ground *g, const char *uid, const char *file)
{
    return xasprintf("%s/pods/%s%s%s",
                     g->state_dir,
                     uid,
                     *file ? "/" : "",
                     file);
}

static char *
run_path(const struct ground *g, const char *uid, const char *file)
{
    return xasprintf("%s/pods/%s%s%s", g->run_dir, uid, *file ? "/" : "", file);
}

/* Not synced: what matters after a power failure is in the API. */
static int
write_file(const char *path, const char *text, struct error *err)
{
    CLEANUP_FD int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

    if (r < 0)
        return error_set(err, r, "writing '%s': %s", path, strerror(-r));
    return 0;
}

/* ---- Making the place ---- */

/* A pod that names no output file gets one here, which its user may write. */
static int
make_output(const struct site_start *st, struct error *err)
{
    const struct pod *pod = pod_of(st->pod);
    const struct execution *e = pod->spec.execution;
    const struct security_context *who = pod->spec.security_context;
    CLEANUP_FREE char *path =
        state_path(st->ground, st->pod->meta->uid, "output");
    CLEANUP_FD int fd = -1;

    if (e != NULL && e->stdout_path != NULL)
        return 0;
    fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0
        || (!st->ground->rootless
            && fchown(fd,
                      (uid_t)*who->run_as_user,
                      (gid_t)(who->run_as_group ? *who->run_as_group
                                                : *who->run_as_user))
                   < 0))
        return error_set(err, -errno, "'%s': %s", path, strerror(errno));
    return 0;
}

static int
make_directories(const struct site_start *st, struct error *err)
{
    const struct ground *g = st->ground;
    const char *uid = st->pod->meta->uid;
    CLEANUP_FREE char *state = state_path(g, uid, "");
    CLEANUP_FREE char *run = run_path(g, uid, "");
    CLEANUP_FREE char *pod = run_path(g, uid, "pod");
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *text =
        xasprintf("%s\n%s", g->boot_id, object_text(st->pod, arena));
    int r;

    r = dir_make(run, 0700, err);
    if (r == 0)
        r = write_file(pod, text, err);
    /* 0711: the job's user must reach its script in there. */
    if (r == 0 && spares_take(g->spares, state) < 0)
        r = dir_make(state, 0711, err);
    return r < 0 ? r : make_output(st, err);
}

static int
make_cgroup(struct site_start *st, struct strbuf *ret_text, struct error *err)
{
    const struct ground *g = st->ground;
    CLEANUP_FREE char *path = NULL;
    int r;

    if (g->pool == NULL)
        return 0;
    if (st->cgroup == NULL) {
        r = cgpool_make(g->pool, &st->cgroup, err);
        if (r < 0)
            return r;
    }
    r = confines_set(&(struct confines){.ground = g,
                                        .topology = st->topology,
                                        .pod = st->pod,
                                        .shared_cpus = st->shared_cpus},
                     st->cgroup,
                     &st->unpartitioned,
                     err);
    if (r < 0)
        return r;
    cgroup_format(st->cgroup, ret_text);
    path = run_path(g, st->pod->meta->uid, "cgroup");
    return write_file(path, cgroup_name(st->cgroup), err);
}

static int
script_descriptor(const struct site_start *st, struct error *err)
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
        return error_set(err, r, "keeping the script: %s", strerror(-r));
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
            return error_set(err,
                             -errno,
                             "volume '%s': '%s': %s",
                             m->volume,
                             m->source,
                             strerror(errno));
        if (!S_ISDIR(st.st_mode))
            return error_set(err,
                             -ENOTDIR,
                             "volume '%s': '%s' is no directory",
                             m->volume,
                             m->source);
    }
    return 0;
}

int
site_start(struct site_start *st, struct error *err)
{
    const struct ground *g = st->ground;
    CLEANUP(arena_freep) struct arena *arena = arena_new(16384);
    CLEANUP_STRBUF struct strbuf job_cgroup = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf own_cgroup = STRBUF_INIT;
    CLEANUP_FD int script_fd = -1;
    struct order order;
    struct launch launch = {
        .program = g->shepherd,
        .order = &order,
        .nursery = g->nursery,
    };
    struct compose_input input = {
        .ground = g,
        .topology = st->topology,
        .pod = st->pod,
        .script = st->script,
        .script_length = st->script_length,
        .environment = st->environment,
        .environment_length = st->environment_length,
        .mounts = st->mounts,
    };
    pid_t pid;
    int r;

    r = make_directories(st, err);
    if (r == 0)
        r = check_volumes(st->mounts, err);
    if (r == 0)
        r = make_cgroup(st, &job_cgroup, err);
    if (r < 0)
        return r;
    if (g->cgroups != NULL) {
        cgroup_format(cgroot_shepherds(g->cgroups), &own_cgroup);
        input.job_cgroup = job_cgroup.text;
        input.shepherd_cgroup = own_cgroup.text;
    }
    r = compose_order(&input, arena, &order, err);
    if (r < 0)
        return r;
    script_fd = script_descriptor(st, err);
    if (script_fd < -1)
        return script_fd;
    launch.script_fd = script_fd;
    r = launch_start(&launch, &pid, &st->pidfd, err);
    if (g->pool != NULL) /* while the job starts */
        (void)cgpool_fill(g->pool, CGROUPS_AHEAD, NULL);
    return r;
}

/* ---- Leaving it ---- */

/* Whoever owned it (TMPDIR is the job's) is kept out first, as what else runs of
 * that user could go on adding to it. A rootless agent is that user.
 */
static int
take_over(const char *path)
{
    CLEANUP_FD int fd =
        open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (geteuid() == 0 && fchown(fd, 0, 0) < 0)
        return -errno;
    return fchmod(fd, 0700) < 0 ? -errno : 0;
}

/* Most have nothing inside any more, which one rmdir finds out. */
static int
remove_place(const char *path, struct error *err)
{
    int r = rmdir(path) == 0 ? 0 : -errno;

    if (r == -ENOTEMPTY || r == -EEXIST) {
        r = take_over(path);
        if (r == 0)
            r = removal_run(AT_FDCWD, path);
    }
    if (r < 0 && r != -ENOENT)
        return error_set(err, r, "removing '%s': %s", path, strerror(-r));
    return 0;
}

int
site_leave(const struct ground *g, const char *uid, struct error *err)
{
    CLEANUP_FREE char *tmp = xasprintf("%s/kiln-%s", g->tmp_dir, uid);
    CLEANUP_FREE char *run = run_path(g, uid, "");
    CLEANUP_FREE char *live = run_path(g, uid, "live");
    CLEANUP_FREE char *cgroup = run_path(g, uid, "cgroup");
    CLEANUP_FREE char *pod = run_path(g, uid, "pod");
    CLEANUP_FREE char *script = state_path(g, uid, "script");
    int r = remove_place(tmp, err);

    unlink(script);
    unlink(live);
    unlink(cgroup);
    unlink(pod);
    return r < 0 ? r : remove_place(run, err);
}

struct forgetting {
    struct spares *spares;
    char *path;
    bool keep_output;
};

/* The directory itself goes too when there is no output in it. */
static void
settle(const char *path, struct spares *spares)
{
    static const char *const files[] = {"exit", "script"};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        CLEANUP_FREE char *file = xasprintf("%s/%s", path, files[i]);

        unlink(file);
    }
    spares_put(spares, path);
}

static void
forget_work(void *arg)
{
    struct forgetting *f = arg;

    if (f->keep_output)
        settle(f->path, f->spares);
    else
        (void)remove_place(f->path, NULL);
    free(f->path);
    free(f);
}

static void
forget(const struct ground *g, const char *uid, bool keep_output)
{
    struct forgetting *f = xnew(struct forgetting);

    f->spares = g->spares;
    f->path = state_path(g, uid, "");
    f->keep_output = keep_output;
    workers_submit(g->workers, NULL, forget_work, NULL, f);
}

void
site_forget(const struct ground *g, const char *uid)
{
    forget(g, uid, false);
}

void
site_settle(const struct ground *g, const char *uid)
{
    forget(g, uid, true);
}

static void
sweep_work(void *arg)
{
    (void)cgpool_sweep(arg);
}

void
site_sweep(const struct ground *g)
{
    if (g->pool != NULL)
        workers_submit(g->workers, NULL, sweep_work, NULL, g->pool);
}

/* ---- What is there ---- */

/* The directory below STATE is made first and removed last. */
bool
site_is_there(const struct ground *g, const char *uid)
{
    CLEANUP_FREE char *state = state_path(g, uid, "");

    return access(state, F_OK) == 0 || errno != ENOENT;
}

struct live *
site_read_live(const struct ground *g, const char *uid)
{
    CLEANUP_FREE char *dir = run_path(g, uid, "");
    struct live *live = NULL;

    return live_read(dir, &live, NULL) == 0 ? live : NULL;
}

struct ending *
site_read_ending(const struct ground *g, const char *uid)
{
    CLEANUP_FREE char *state = state_path(g, uid, "");
    CLEANUP_FREE char *run = run_path(g, uid, "");
    struct ending *ending = NULL;

    return ending_read(state, run, &ending, NULL) == 0 ? ending : NULL;
}

struct cgroup *
site_find_cgroup(const struct ground *g, const char *uid)
{
    CLEANUP_FREE char *path = run_path(g, uid, "cgroup");
    CLEANUP_STRBUF struct strbuf name = STRBUF_INIT;
    struct cgroup *c = NULL;

    if (g->cgroups == NULL || file_read(path, 4096, &name, NULL) < 0)
        return NULL;
    return cgroot_find(g->cgroups, name.text, &c, NULL) == 0 ? c : NULL;
}

/* The boot's id on a line of its own, and the pod as JSON: the text behind the
 * line; -EBADMSG for one that was torn.
 */
static int
read_pod(const struct ground *g,
         const char *uid,
         struct strbuf *text,
         const char **ret_pod)
{
    CLEANUP_FREE char *path = run_path(g, uid, "pod");
    char *line_end;
    int r = file_read(path, POD_TEXT_LIMIT, text, NULL);

    if (r < 0)
        return r;
    line_end = text->length > 0 ? memchr(text->text, '\n', text->length) : NULL;
    if (line_end == NULL)
        return -EBADMSG;
    *line_end = '\0';
    *ret_pod = line_end + 1;
    return 0;
}

/* /run is emptied by a restart; one on a disk is not, and a torn file in it has
 * seen a crash of the machine.
 */
bool
site_is_of_earlier_boot(const struct ground *g, const char *uid)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *pod;
    int r = read_pod(g, uid, &text, &pod);

    return r == -ENOENT || r == -EBADMSG
           || (r == 0 && strcmp(text.text, g->boot_id) != 0);
}

void
site_list(const struct ground *g, site_list_fn *list, void *context)
{
    CLEANUP_FREE char *path = xasprintf("%s/pods", g->state_dir);
    DIR *dir = opendir(path);

    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.')
            list(e->d_name, context);
    closedir(dir);
}

struct visit {
    const struct ground *ground;
    site_visit_fn *visit;
    void *context;
};

static void
visit_one(const char *uid, void *context)
{
    const struct visit *v = context;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *pod;

    if (read_pod(v->ground, uid, &text, &pod) == 0)
        v->visit(uid, pod, text.length - (size_t)(pod - text.text), v->context);
}

void
site_visit(const struct ground *g, site_visit_fn *visit, void *context)
{
    struct visit v = {g, visit, context};

    site_list(g, visit_one, &v);
}

int
site_signal_number(const char *name)
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
