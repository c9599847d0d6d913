/* SPDX-License-Identifier: Apache-2.0 */
/* outfit.h - what a job takes along up the ladder, made before the fork
 *
 * An order, a person and a machine turned into the arguments of system calls.
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
struct person;

#define OUTFIT_NODE_WORDS 16u

struct outfit {
    bool is_root;
    int doors[CGROUP_MAX_PLACES]; /* cgroups to join; set by the caller */
    int n_doors;
    char oom_score_adj[8];
    struct rlimit_setting limits[RLIMIT_SETTINGS_MAX];
    unsigned n_limits;
    cpu_set_t cpus;
    bool has_cpus;
    int memory_mode; /* of set_mempolicy; -1: none */
    unsigned long memory_nodes[OUTFIT_NODE_WORDS];
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
    char **candidates;    /* paths of the program: the first that runs */
    const char **arguments;
    const char **environment;
    int report_fd; /* where a failure is written; set by the caller */
    int *rung;     /* shared with it: where the climb is; or NULL; likewise */

    char **made; /* the texts it owns */
    size_t n_made;
};

/* `script` is the path of the spooled script, or NULL. Borrows from all. */
int outfit_prepare(struct outfit *t,
                   const struct order *o,
                   const struct person *p,
                   const char *script,
                   struct error *err);
void outfit_fini(struct outfit *t);
