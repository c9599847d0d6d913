/* SPDX-License-Identifier: Apache-2.0 */
/* prepared_job.h - the arguments of a job's system calls, made before the fork
 *
 * Made from an order, a user account and what the machine has.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/rlimit.h"

struct error;
struct order;
struct order_mount;
struct user_account;

#define PREPARED_JOB_NODE_WORDS 16u

struct prepared_job {
    bool is_root;
    int join_fds[CGROUP_MAX_DIRS]; /* cgroups to join; set by the caller */
    int n_join_fds;
    char oom_score_adj[8];
    struct rlimit_setting limits[RLIMIT_SETTINGS_MAX];
    unsigned n_limits;
    cpu_set_t cpus;
    bool has_cpus;
    int memory_mode; /* of set_mempolicy; -1: none */
    unsigned long memory_nodes[PREPARED_JOB_NODE_WORDS];
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    gid_t *groups_seen; /* room for as many, to verify */
    int n_groups;
    struct order_mount *mounts; /* the job's own view of the file systems */
    unsigned n_mounts;
    bool no_new_privileges;
    mode_t umask;
    const char *work_dir;
    const char *stdin_path;
    const char *stdout_path;
    const char *stderr_path; /* NULL: as stdout */
    int output_mode;         /* O_TRUNC or O_APPEND */
    uint64_t ignored_signals;
    bool has_no_handlers; /* all others are at their default; by the caller */
    char **program_paths; /* paths of the program: the first that runs */
    const char **arguments;
    const char **environment;
    int report_fd;  /* where a failure is written; set by the caller */
    int channel_fd; /* the shepherd's, to be closed; or -1; likewise */
    int *step;      /* shared with it: where the climb is; or NULL; likewise */

    char **made; /* the texts it owns */
    size_t n_made;
};

/* All zero is none. */
void prepared_job_fini(struct prepared_job *t);

/* `script` is the path of the spooled script, or NULL. Borrows from all. */
int prepared_job_prepare(struct prepared_job *t,
                         const struct order *o,
                         const struct user_account *p,
                         const char *script,
                         struct error *err);
