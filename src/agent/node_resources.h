/* SPDX-License-Identifier: Apache-2.0 */
/* node_resources.h - what an agent opens on its machine before it can run pods
 *
 * Open struct: others borrow what is in it.
 *
 * Thread: the loop's opens and closes.
 */
#pragma once

#include "lib/base/random.h"

struct agent_settings;
struct cgpool;
struct cgroot;
struct error;
struct fork_server;
struct scratch;
struct spare_dirs;
struct topology;

struct node_resources {
    int lock_fd; /* locks the state directory */
    char *secret_path;
    struct spare_dirs *spare_dirs;
    struct cgroot *cgroups; /* NULL: no cgroups are used; the pool likewise */
    struct cgpool *pool;
    char cgroup_prefix[UUID_SIZE]; /* prefix of this agent's cgroup names */
    struct fork_server *fork_server;
    struct scratch *scratch; /* NULL: no scratch space is offered */
};

/* Life. node_resources_lock makes the directories; it returns -EBUSY when
 * another agent holds the lock. node_resources_open cannot fail: the log says
 * what is missing, and the node offers less.
 */
int node_resources_lock(struct node_resources *r, const struct agent_settings *settings,
                        struct error *err);
void node_resources_open(struct node_resources *r, const struct agent_settings *settings,
                         const struct topology *topology);
void node_resources_fini(struct node_resources *r);
