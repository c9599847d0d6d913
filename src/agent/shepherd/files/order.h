/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - everything that a shepherd needs to run one pod
 *
 * Filled by the agent, encoded as a record, handed over as a descriptor, and
 * decoded by the shepherd. Never on a command line, because environments are
 * private. Unknown entries are refused: agent and shepherd are installed
 * together, and an order that is only partly understood is not safe to run.
 *
 * Thread: any; one at a time for each order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/shepherd/files/rlimit.h"
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
    const char *pod_uid;   /* copied to live and exit record */
    const char *state_dir; /* this pod's, on disk: "record", "script" */
    const char *run_dir;   /* this pod's, in /run: "live" and the lock */

    /* The user. A rootless shepherd accepts only its own uid and gid. */
    int64_t uid;
    int64_t gid;               /* -1: the user's primary group */
    int64_t groups_timeout_ms; /* for the site's user database */
    const char *users_dir;     /* user cache in /run; NULL: no cache */
    bool allow_root;           /* uid 0 is refused otherwise */

    /* Cgroups: texts of cgroup_format, or NULL. Rootless: NULL. */
    const char *shepherd_cgroup;
    const char *job_cgroup;

    /* Placement. NULL is not applied: a virtual node's pods are not bound. */
    const char *cpus;
    const char *memory_nodes;
    const char *memory_policy; /* "bind", "preferred", "interleave" */

    /* The program. With a script (its bytes are on the descriptor given at
     * launch), the script is run with the arguments; without, arguments[0] is
     * looked up in the environment's PATH. The agent has checked that the
     * script begins with "#!". HOME, USER, LOGNAME, SHELL, PATH and TMPDIR are
     * added where the environment lacks them.
     */
    int64_t script_bytes; /* -1: none */
    struct order_list arguments;
    struct order_list environment; /* "NAME=value" */

    const char *work_dir;
    const char *stdin_path;   /* NULL: /dev/null */
    const char *stdout_path;  /* NULL: /dev/null */
    const char *stderr_path;  /* NULL: same as stdout */
    bool append;              /* append to output files instead of truncating */
    const char *checkpoint;   /* command for /bin/sh (supervisor.h); or NULL */
    bool no_new_privileges;   /* setuid programs gain nothing */
    const char *tmp_dir;      /* made for the user, 0700; NULL: none */
    const char *own_dir;      /* must belong to the user, or the job fails */
    struct order_list mounts; /* of order_mount: bound in a mount namespace */
    int64_t umask;
    int64_t oom_score_adj;
    struct rlimit_setting limits[RLIMIT_SETTINGS_MAX];
    unsigned n_limits;

    /* The time limit counts from the start of the job or, for a job that cannot
     * start, from the attempt: the warning, SIGTERM, the grace period, SIGKILL
     * (deadline.h).
     */
    int64_t time_limit_ms; /* 0: none */
    int64_t warn_before_ms;
    int64_t warn_signal; /* 0: no warning */
    bool warn_main;      /* only to the first process (warning.h) */
    int64_t grace_ms;

    /* between SIGTERM and SIGKILL when the node is being shut down */
    int64_t shutdown_grace_ms;

    /* maximum wait for processes that the job left behind */
    int64_t kill_wait_ms;

    bool awaits_start; /* the job starts only when the agent says so (launch_let_start) */

    /* Hooks of the site (hook.h). Each gets these variables; the epilog also
     * gets those about the job's end. NULL: none.
     */
    const char *prolog; /* runs before the job, which needs its success */
    const char *epilog; /* runs after the last process has ended */
    int64_t hook_timeout_ms;
    struct order_list hook_environment; /* "NAME=value" */

    /* Self-fencing (fence.h). */
    int64_t fence_after_ms; /* 0: never */
    const char *heard_path; /* the agent's note */

    char *bytes; /* of a decoded order: holds the texts above */
};

/* A directory that the job sees at another path; converted to a text and back.
 * In order_mount_parse, the target is borrowed from the text, the source is
 * copied; -EINVAL.
 */
struct order_mount {
    char source[4096];
    const char *target;
    bool read_only;
};
const char *order_mount(struct arena *arena, const char *source, const char *target,
                        bool read_only);
int order_mount_parse(const char *text, struct order_mount *ret_mount);

/* Sets the defaults that are not zero. */
void order_init(struct order *o);
void order_fini(struct order *o);

/* order_decode takes the bytes. It checks what does not depend on the machine:
 * absolute paths, complete lists, a program to run.
 */
void order_encode(const struct order *o, struct strbuf *out);
int order_decode(char *bytes TAKES, size_t length, struct order *ret_order, struct error *err);
