/* SPDX-License-Identifier: Apache-2.0 */
/* pod_host.h - a pod's place on the machine: its directories, cgroup and
 * shepherd
 *
 * These calls block (files, cgroups, a new process) and therefore run on a
 * worker, except for the reads of /run, which are cheap.
 *
 * Layout: RUN/pods/UID/ holds pod, live and cgroup; it is made first, and is
 * gone when the machine was restarted. STATE/pods/UID/ holds script, exit and
 * output, and says by being there that the pod was begun. The first line of
 * "pod" is the boot's id and the path of the job's TMPDIR (tmp_dirs.h).
 *
 * Thread: as each call says: the loop's, or a worker's because it blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/shepherd/launch.h"

struct agent_context;
struct cgroup;
struct error;
struct exit_record;
struct live_record;
struct mount_list;
struct object;
struct topology;

/* Makes the place and starts the shepherd, or finds one that an agent before
 * this one had started when it was killed. On a worker; the pod's cgroup is
 * given (from the pool) or made here, and then the run's. After a failure the
 * place may be half made: pod_host_clean_up.
 */
struct pod_host_start {
    const struct agent_context *agent;
    const struct topology *topology; /* of the loop's now */
    const struct object *pod;
    const char *script;
    size_t script_length;
    const char *environment;
    size_t environment_length;
    const struct mount_list *mounts; /* NULL: none */
    struct cgroup *cgroup;           /* in and out; NULL where there are none */
    char *partition;                 /* of this node; or NULL */
    char *shared_cpus; /* for a pod without CPUs of its own; or NULL */
    char *tmp_dir;     /* out: its path, the caller's to free */
    bool tmp_left;     /* out: a former TMPDIR is put away, to be swept */
    struct shepherd_process shepherd; /* out */
    bool is_nodes_fault;              /* out: a failure is not the pod's own */
    char *unpartitioned; /* out: why its CPUs are no partition; or NULL */
};
int pod_host_start(struct pod_host_start *start, struct error *err);

/* Clean_up removes TMPDIR, without following links, and what is in /run; on a
 * worker; tmp_dir: its path, or NULL to have it looked up in the pod's record;
 * tmp_left: some of it is put away, and to be swept. Remove_records
 * removes the rest, but for the output, once the end is told; remove_all
 * removes the output too, once the pod is gone: both from the loop, done later.
 */
void pod_host_remove_records(const struct agent_context *agent,
                             const char *uid);
void pod_host_remove_all(const struct agent_context *agent, const char *uid);
int pod_host_clean_up(const struct agent_context *agent,
                      const char *uid,
                      const char *tmp_dir,
                      bool *ret_tmp_left,
                      struct error *err);

/* Removes TMPDIRs that no pod's record speaks of. From the loop, at the start.
 */
void pod_host_collect_tmp_dirs(const struct agent_context *agent);

/* Removes retired cgroups, later, on a worker. From the loop. */
void pod_host_sweep_cgroups(const struct agent_context *agent);

/* Reads what an earlier agent left, after a restart. NULL where there is none;
 * nothing is where the pod has no place.
 */
bool pod_host_exists(const struct agent_context *agent, const char *uid);
bool pod_host_has_run_dir(const struct agent_context *agent, const char *uid);
struct live_record *pod_host_read_live(const struct agent_context *agent,
                                       const char *uid);
struct exit_record *pod_host_read_ending(const struct agent_context *agent,
                                         const char *uid);
struct cgroup *pod_host_find_cgroup(const struct agent_context *agent,
                                    const char *uid);

/* Under which boot of the machine the pod began: its record says, which a
 * restart has taken away if there is none or a torn one.
 */
enum pod_boot { POD_BOOT_THIS, POD_BOOT_EARLIER, POD_BOOT_UNKNOWN };
enum pod_boot pod_host_read_boot(const struct agent_context *agent,
                                 const char *uid);

/* Calls for each pod that left a directory, with its JSON. */
typedef void pod_host_visit_fn(const char *uid,
                               const char *pod_text,
                               size_t length,
                               void *context);
void pod_host_visit_records(const struct agent_context *agent,
                            pod_host_visit_fn *visit,
                            void *context);

/* Calls for each pod that has a directory. */
typedef void pod_host_list_fn(const char *uid, void *context);
void pod_host_list(const struct agent_context *agent,
                   pod_host_list_fn *list,
                   void *context);

/* "USR1" or "SIGUSR1"; 0 for what is no signal. */
int pod_host_parse_signal(const char *name);
