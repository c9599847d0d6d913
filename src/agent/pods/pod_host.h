/* SPDX-License-Identifier: Apache-2.0 */
/* pod_host.h - a pod's directories, cgroup and shepherd on this machine
 *
 * These calls block (files, cgroups, a new process) and therefore run on a
 * worker, except for the reads of /run, which are cheap.
 *
 * Layout: RUN/pods/UID/ holds pod, live and cgroup; it is made first, and a
 *         restart of the machine removes it. STATE/pods/UID/ holds script, exit
 *         and output; its existence means that the pod was begun. The first
 *         line of "pod" is the boot id and the path of the job's TMPDIR
 *         (tmp_dirs.h).
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

/* Makes directories and cgroup and starts the shepherd, or finds a shepherd
 * that an earlier agent had started when it was killed. On a worker. The pod's
 * cgroup comes from the pool or is made here; it then belongs to the run. After
 * a failure a part may exist: call pod_host_clean_up.
 */
struct pod_host_start {
    const struct agent_context *agent;
    const struct topology *topology; /* a copy of the loop's pointer */
    const struct object *pod;
    const char *script;
    size_t script_length;
    const char *environment;
    size_t environment_length;
    const struct mount_list *mounts;  /* NULL: none */
    char *nodes;                      /* of its group, "n[1-4]"; or NULL */
    struct cgroup *cgroup;            /* in and out; NULL: no cgroups are used */
    char *partition;                  /* the partition of this node, or NULL */
    char *shared_cpus;                /* for a pod without exclusive CPUs; or NULL */
    char *tmp_dir;                    /* out: path of TMPDIR; the caller frees it */
    bool tmp_left;                    /* out: a former TMPDIR waits for a sweep */
    struct shepherd_process shepherd; /* out */
    bool is_nodes_fault;              /* out: a failure has a cause outside the pod */
    char *unpartitioned;              /* out: why its CPUs are no partition; or NULL */
};
int pod_host_start(struct pod_host_start *start, struct error *err);

/* pod_host_clean_up removes TMPDIR, without following links, and the files in
 * /run; on a worker. `tmp_dir` is the path of TMPDIR, or NULL to look it up in
 * the pod's record; *ret_tmp_left: a part of it waits for a sweep.
 * pod_host_remove_records removes the rest except for the output, after the end
 * was reported; pod_host_remove_all also removes the output, after the pod was
 * deleted: both are called on the loop and done later on a worker.
 */
void pod_host_remove_records(const struct agent_context *agent, const char *uid);
void pod_host_remove_all(const struct agent_context *agent, const char *uid);
int pod_host_clean_up(const struct agent_context *agent, const char *uid, const char *tmp_dir,
                      bool *ret_tmp_left, struct error *err);

/* Removes TMPDIRs that no pod's record names. On the loop, at the start. */
void pod_host_collect_tmp_dirs(const struct agent_context *agent);

/* Removes retired cgroups, later, on a worker. Call it on the loop. */
void pod_host_sweep_cgroups(const struct agent_context *agent);

/* Read what an earlier agent left. NULL where it does not exist; a pod without
 * a directory below STATE has nothing. pod_host_open_shepherd returns a pidfd
 * of the record's shepherd, or -1 if that shepherd has ended or runs another
 * pod by now.
 */
bool pod_host_exists(const struct agent_context *agent, const char *uid);
bool pod_host_has_run_dir(const struct agent_context *agent, const char *uid);
struct live_record *pod_host_read_live(const struct agent_context *agent, const char *uid);
int pod_host_open_shepherd(const struct agent_context *agent, const char *uid,
                           const struct live_record *live);
struct exit_record *pod_host_read_ending(const struct agent_context *agent, const char *uid);

/* Reads the use of the pod's GPUs that an earlier agent has noted. */
struct gpu_use;
void pod_host_read_gpu_use(const struct agent_context *agent, const char *uid,
                           struct gpu_use *ret_use);
struct cgroup *pod_host_find_cgroup(const struct agent_context *agent, const char *uid);

/* The boot under which the pod began, from the pod's record. It is unknown when
 * a restart has removed the record, or the record is torn.
 */
enum pod_boot { POD_BOOT_THIS, POD_BOOT_EARLIER, POD_BOOT_UNKNOWN };
enum pod_boot pod_host_read_boot(const struct agent_context *agent, const char *uid);

/* Calls `visit` for each pod with a record, with the pod's JSON. */
typedef void pod_host_visit_fn(const char *uid, const char *pod_text, size_t length, void *context);
void pod_host_visit_records(const struct agent_context *agent, pod_host_visit_fn *visit,
                            void *context);

/* Calls `list` for each pod that has a directory. */
typedef void pod_host_list_fn(const char *uid, void *context);
void pod_host_list(const struct agent_context *agent, pod_host_list_fn *list, void *context);

/* Parses "USR1" or "SIGUSR1"; 0 for an unknown name. */
int pod_host_parse_signal(const char *name);
