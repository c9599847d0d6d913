/* SPDX-License-Identifier: Apache-2.0 */
/* prepared_job.h - the arguments of a job's system calls, prepared before the
 * fork
 *
 * They come from an order, a user account and the machine.
 *
 * Thread: the shepherd's only one.
 */
#pragma once

/* The PATH of a job whose submission had none. */
#define PREPARED_JOB_PATH "/usr/local/bin:/usr/bin:/bin"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/cgroup/cgroup.h"
#include "agent/shepherd/files/rlimit.h"
#include "agent/shepherd/user_account.h"

struct error;
struct order;
struct order_mount;

#define PREPARED_JOB_NODE_WORDS 16u

struct prepared_job {
    int join_fds[CGROUP_MAX_DIRS]; /* cgroups to join; set by the caller */
    int n_join_fds;
    char oom_score_adj[8];
    struct rlimit_setting limits[RLIMIT_SETTINGS_MAX];
    unsigned n_limits;
    cpu_set_t cpus;
    bool has_cpus;
    int memory_mode; /* of set_mempolicy; -1: none */
    unsigned long memory_nodes[PREPARED_JOB_NODE_WORDS];
    struct process_user who;
    struct order_mount *mounts; /* the job's own mounts */
    unsigned n_mounts;
    bool no_new_privileges;
    mode_t umask;
    const char *work_dir;
    const char *stdin_path;
    const char *stdout_path;
    const char *stderr_path; /* NULL: same as stdout */
    int output_mode;         /* O_TRUNC or O_APPEND */
    bool keeps_streams;      /* descriptors 0 to 2 remain; set by the caller */
    int namespace_fd;        /* a mount namespace to enter; 0: none; set by the caller */
    char **program_paths;    /* candidates: the first that can run is used */
    const char **arguments;
    const char **environment;
    int report_fd; /* where a failure is written; set by the caller */
    /* the shepherd's, which the job closes, or -1; set by the caller */
    int channel_fd;
    /* shared with the shepherd: the present step; or NULL; set by the caller */
    int *step;

    char **made; /* the texts that the struct owns */
    size_t n_made;
};

/* Accepts a zeroed struct. */
void prepared_job_fini(struct prepared_job *job);

/* `script` is the path of the spooled script, or NULL. Borrows from all
 * arguments.
 */
int prepared_job_prepare(struct prepared_job *job, const struct order *o,
                         const struct user_account *p, const char *script, struct error *err);
