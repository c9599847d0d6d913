/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - everything a shepherd has to know to run one pod
 *
 * Filled by the agent, encoded to a record, handed over as a descriptor, and
 * decoded by the shepherd. Never on a command line: environments are private.
 * Unknown entries are refused: agent and shepherd are installed together, and
 * an order that is half understood is not safe to run.
 *
 * Thread: any; one at a time for each order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/shepherd/rlimit.h"
#include "lib/base/macro.h"

struct arena;
struct error;
struct strbuf;

#define ORDER_LIMIT_BYTES  (16u << 20)
#define ORDER_SCRIPT_BYTES (4u << 20)

struct order_list {
    const char **items;
    size_t count;
};

struct order {
    const char *pod;       /* "namespace/name", for messages */
    const char *pod_uid;   /* comes back in live state and exit record */
    const char *state_dir; /* this pod's, on disk: "exit", "script" */
    const char *run_dir;   /* this pod's, in /run: "live" and the lock */

    /* The user. A rootless shepherd takes only the uid and gid it has. */
    int64_t uid;
    int64_t gid;               /* -1: the user's primary group */
    int64_t groups_timeout_ms; /* for the site's directory of users */
    const char *users_dir;     /* in /run: its answers, shared; NULL: ask */
    bool allow_root;           /* uid 0 is refused otherwise */

    /* Where: what cgroup_format wrote, or NULL. Rootless: NULL. */
    const char *shepherd_cgroup;
    const char *job_cgroup;

    /* Placement. NULL is not applied: a virtual node's pods are not bound. */
    const char *cpus;
    const char *memory_nodes;
    const char *memory_policy; /* "bind", "preferred", "interleave" */

    /* The program. With a script (its bytes on the descriptor given at launch),
     * the script is run with the arguments; without, arguments[0] is looked for
     * in the environment's PATH. The script begins with "#!": the agent has
     * seen to that. HOME, USER, LOGNAME, SHELL, PATH and TMPDIR are added where
     * the environment lacks them.
     */
    int64_t script_bytes; /* -1: none */
    struct order_list arguments;
    struct order_list environment; /* "NAME=value" */

    const char *work_dir;
    const char *stdin_path;  /* NULL: /dev/null */
    const char *stdout_path; /* NULL: /dev/null */
    const char *stderr_path; /* NULL: where stdout goes */
    bool append;             /* to output files instead of truncating them */
    const char *checkpoint;  /* a command for /bin/sh (supervisor.h); or NULL */
    bool no_new_privileges;  /* setuid programs gain nothing */
    const char *tmp_dir;     /* made for the user, 0700; NULL: none */
    const char *own_dir;     /* has to be the user's, or there is no job */
    struct order_list mounts; /* of order_mount: bound in a mount namespace */
    int64_t umask;
    int64_t oom_score_adj;
    int64_t ignored_signals; /* bit N-1: signal N stays ignored, as it was */
    struct rlimit_setting limits[RLIMIT_SETTINGS_MAX];
    unsigned n_limits;

    /* The time limit, from the start of the job or, of one that cannot start,
     * from the attempt: the warning, SIGTERM, the grace period, SIGKILL
     * (deadline.h).
     */
    int64_t time_limit_ms; /* 0: none */
    int64_t warn_before_ms;
    int64_t warn_signal; /* 0: no warning */
    bool warn_main;      /* the first process alone */
    int64_t grace_ms;

    int64_t kill_wait_ms; /* for what the job leaves behind to be gone */

    /* The site's (hook.h), each with these variables and those that tell of the
     * end; NULL: none.
     */
    const char *prolog; /* before the job: when it fails there is none */
    const char *epilog; /* after all of it has ended */
    int64_t hook_timeout_ms;
    struct order_list hook_environment; /* "NAME=value" */

    /* Self-fencing (fence.h). */
    int64_t fence_after_ms; /* 0: never */
    const char *heard_path; /* the agent's note */

    char *bytes; /* a decoded order's own; the texts above are in it */
};

/* A directory that the job shall see at another place: as a text, and back.
 * Parse: the target is within the text, the source is copied; -EINVAL.
 */
struct order_mount {
    char source[4096];
    const char *target;
    bool read_only;
};
const char *order_mount(struct arena *arena,
                        const char *source,
                        const char *target,
                        bool read_only);
int order_mount_parse(const char *text, struct order_mount *ret_mount);

/* With the defaults that are not zero. */
void order_init(struct order *o);
void order_fini(struct order *o);

/* Decode takes the bytes. It checks what does not depend on the machine: that
 * the paths are absolute, the lists are lists, something is to be run.
 */
void order_encode(const struct order *o, struct strbuf *out);
int order_decode(char *bytes TAKES,
                 size_t length,
                 struct order *ret_order,
                 struct error *err);
