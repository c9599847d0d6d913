/* SPDX-License-Identifier: Apache-2.0 */
/* site.h - a pod's place on the machine: its directories, cgroup and shepherd
 *
 * What blocks (files, cgroups, a new process) and is therefore done on a
 * worker, except for the reads of /run, which are cheap.
 *
 * Layout: RUN/pods/UID/ holds pod, live and cgroup; it is made first, and is
 * gone when the machine was restarted. STATE/pods/UID/ holds script, exit and
 * output, and says by being there that the pod was begun. The first line of
 * "pod" is the boot's id and the path of the job's TMPDIR (tmp_dirs.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cgroup;
struct ending;
struct error;
struct ground;
struct live;
struct mount_list;
struct object;
struct topology;

/* Makes the place and starts the shepherd. On a worker; the pod's cgroup is
 * given (from the pool) or made here, and then the stay's. After a failure the
 * place may be half made: site_leave.
 */
struct site_start {
    const struct ground *ground;
    const struct topology *topology; /* of the loop's now */
    const struct object *pod;
    const char *script;
    size_t script_length;
    const char *environment;
    size_t environment_length;
    const struct mount_list *mounts; /* NULL: none */
    struct cgroup *cgroup;           /* in and out; NULL where there are none */
    char *shared_cpus;   /* for a pod without CPUs of its own; or NULL */
    char *tmp_dir;       /* out: its path, the caller's to free */
    bool tmp_left;       /* out: a former TMPDIR is put away, to be swept */
    int pidfd;           /* out */
    bool is_nodes_fault; /* out: a failure is not the pod's own */
    char *unpartitioned; /* out: why its CPUs are no partition; or NULL */
};
int site_start(struct site_start *start, struct error *err);

/* Leave removes TMPDIR, without following links, and what is in /run; on a
 * worker; tmp_left: some of it is put away, and to be swept. Settle removes the rest, but for the output, once the end is told;
 * forget removes the output too, once the pod is gone: both from the loop, done
 * later.
 */
void site_settle(const struct ground *ground, const char *uid);
void site_forget(const struct ground *ground, const char *uid);
int site_leave(const struct ground *ground,
               const char *uid,
               bool *ret_tmp_left,
               struct error *err);

/* Removes TMPDIRs that no pod's record speaks of. From the loop, at the start. */
void site_collect_tmp_dirs(const struct ground *ground);

/* Removes retired cgroups, later, on a worker. From the loop. */
void site_sweep(const struct ground *ground);

/* What is there, after a restart. NULL where there is none; nothing is where
 * the pod has no place.
 */
bool site_is_there(const struct ground *ground, const char *uid);
bool site_has_run_dir(const struct ground *ground, const char *uid);
struct live *site_read_live(const struct ground *ground, const char *uid);
struct ending *site_read_ending(const struct ground *ground, const char *uid);
struct cgroup *site_find_cgroup(const struct ground *ground, const char *uid);

/* Under which boot of the machine the pod began: its record says, which a restart
 * has taken away if there is none or a torn one.
 */
enum site_boot { SITE_BOOT_THIS, SITE_BOOT_EARLIER, SITE_BOOT_UNKNOWN };
enum site_boot site_boot(const struct ground *ground, const char *uid);

/* Calls for each pod that left a directory, with its JSON. */
typedef void site_visit_fn(const char *uid,
                           const char *pod_text,
                           size_t length,
                           void *context);
void
site_visit(const struct ground *ground, site_visit_fn *visit, void *context);

/* Calls for each pod that has a directory. */
typedef void site_list_fn(const char *uid, void *context);
void site_list(const struct ground *ground, site_list_fn *list, void *context);

/* "USR1" or "SIGUSR1"; 0 for what is no signal. */
int site_signal_number(const char *name);
