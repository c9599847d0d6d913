/* SPDX-License-Identifier: Apache-2.0 */
/* agent_context.h - what the pods of this node use of their agent
 *
 * An open struct that agent.c fills once and that nobody changes afterwards,
 * except `topology`. It owns nothing.
 *
 * Thread: workers may read all but `topology`; only the loop changes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgpool;
struct cgroot;
struct client;
struct clock;
struct event_recorder;
struct fork_server;
struct loop;
struct pod_signal;
struct tmp_dirs;
struct topology;
struct workers;

/* File in run_dir: when the controller last acknowledged a heartbeat
 * (agent/shepherd/fence.h).
 */
#define AGENT_CONTEXT_HEARD "%s/heard"

struct agent_context {
    struct loop *loop;
    struct workers *workers;
    struct client *client;
    struct clock *clock;
    const char *cluster; /* the cluster's name */
    const char *node;
    const char *address; /* for status.hostIP, or NULL */
    const char *boot_id;
    const struct topology *topology; /* current; only on the loop's thread */
    bool is_virtual;                 /* the topology was given */
    struct event_recorder *event_recorder;

    /* Called when the API no longer has pods that run here;
     * pods_resolve_forgotten then decides what happens to these. NULL: they are
     * ended.
     */
    void (*ask_if_forgotten)(void *context);
    void (*interrupted)(void *context);                     /* the watch was lost; or NULL */
    void (*note_revision)(int64_t revision, void *context); /* of a pod here; or NULL */
    void *ask_context;
    /* The value of a label of this node, or NULL; on the loop. */
    const char *(*find_label)(const char *label, void *context);
    int64_t observe_ms; /* interval of placement checks; 0: never */

    const char *state_dir;         /* pods/UID/: exit, script, output */
    struct spare_dirs *spare_dirs; /* below the state directory */
    const char *run_dir;           /* pods/UID/: pod, live, cgroup */
    const char *tmp_dir;           /* parent of jobs' TMPDIRs */
    struct tmp_dirs *tmp_dirs;     /* NULL: jobs get no TMPDIR */
    /* `broken` returns why no pod can be started now, or NULL. `note_start`
     * notes that a pod was started, or could not be started for a reason that
     * is not its own. On the loop.
     */
    const char *(*broken)(void *context);
    void (*note_start)(const char *failure, void *context);
    void *start_context;
    const char *shepherd;    /* path of the program */
    const char *step_socket; /* where krun asks for steps, or NULL */
    /* Ends the steps of a pod whose job has ended; true when none is left. Or NULL. */
    bool (*end_steps)(const char *uid, void *context);
    /* Stops the processes of a pod's steps, or lets them go on, where no cgroup does it. */
    void (*freeze_steps)(const char *uid, bool still, void *context);
    /* Sends a signal that the API's server has left in the pod to one of its steps. */
    void (*signal_step)(const char *uid, const struct pod_signal *signal, void *context);
    void *steps_context;
    const char *slurm_commands;      /* a folder for PATH of scripts for Slurm, or NULL */
    const char *krsh;                /* the program that mpirun takes for ssh, or NULL */
    struct fork_server *fork_server; /* of the shepherd, or NULL */

    /* Programs of the site that run before and after each job, or NULL.
     * `hook_failed` is called when one of them failed and the node should get
     * no more jobs; on the loop.
     */
    const char *prolog;
    const char *epilog;
    const char *task_prolog; /* runs in each task of a step, as its user */
    int64_t hook_timeout_ms;
    int64_t shutdown_grace_ms; /* of pods, at most, when the node is shut down */
    void (*hook_failed)(const char *what, void *context);
    void *hook_context;

    struct cgroot *cgroups; /* NULL: rootless */
    uint64_t pids_per_pod;  /* 0: no limit */
    /* bytes, for pods without a request; 0: no limit */
    uint64_t default_memory;
    /* "root" or "isolated" for CPUs of one pod, or NULL */
    const char *partition;
    struct cgpool *pool;

    bool rootless;
    uid_t uid;         /* the agent's; a rootless agent runs only this user's pods */
    uid_t service_uid; /* the controller's; 0: not known */
    bool allow_root;
    uid_t min_uid;
};
