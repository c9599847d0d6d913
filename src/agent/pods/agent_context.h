/* SPDX-License-Identifier: Apache-2.0 */
/* agent_context.h - what the pods of this node need of their agent
 *
 * An open struct that agent.c fills once and nobody changes afterwards. It owns
 * nothing.
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
struct tmp_dirs;
struct topology;
struct workers;

/* In run_dir: when the controller was last heard of (agent/shepherd/fence.h).
 */
#define AGENT_CONTEXT_HEARD "%s/heard"

struct agent_context {
    struct loop *loop;
    struct workers *workers;
    struct client *client;
    struct clock *clock;
    const char *cluster; /* its name */
    const char *node;
    const char *address; /* for status.hostIP, or NULL */
    const char *boot_id;
    const struct topology *topology; /* of now; on the loop's thread alone */
    bool is_virtual;                 /* the topology was given */
    struct event_recorder *event_recorder;

    /* The API has forgotten pods that run here: pods_resolve_forgotten says
     * what becomes of them. NULL: they are ended.
     */
    void (*ask_if_forgotten)(void *context);
    void *ask_context;
    /* The value of a label of this node, or NULL; on the loop. */
    const char *(*find_label)(const char *label, void *context);
    int64_t observe_ms; /* how often to look where pods are; 0: never */

    const char *state_dir;         /* pods/UID/: exit, script, output */
    struct spare_dirs *spare_dirs; /* below it */
    const char *run_dir;           /* pods/UID/: pod, live, cgroup */
    const char *tmp_dir;           /* what jobs' TMPDIRs are below */
    struct tmp_dirs *tmp_dirs;     /* NULL: jobs get none */
    /* Why no pod can be started now, or NULL; and: one was, or could not be for
     * a reason that is not its own. On the loop.
     */
    const char *(*broken)(void *context);
    void (*note_start)(const char *failure, void *context);
    void *start_context;
    const char *shepherd;            /* the program */
    struct fork_server *fork_server; /* of it; or NULL */

    /* Programs of the site, run before and after each job; or NULL. Failed: one
     * did, and the node should get no more jobs; on the loop.
     */
    const char *prolog;
    const char *epilog;
    int64_t hook_timeout_ms;
    void (*hook_failed)(const char *what, void *context);
    void *hook_context;

    struct cgroot *cgroups;  /* NULL: rootless */
    uint64_t pids_per_pod;   /* 0: as many as it likes */
    uint64_t default_memory; /* bytes, where none is asked for; 0: no limit */
    const char *partition; /* "root", "isolated": of pods' own CPUs; or NULL */
    struct cgpool *pool;

    bool rootless;
    uid_t uid; /* of the agent: a rootless one runs this user's pods alone */
    bool allow_root;
    uid_t min_uid;
};
