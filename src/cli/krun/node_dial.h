/* SPDX-License-Identifier: Apache-2.0 */
/* node_dial.h - krun's connection to the agent of another node
 *
 * Thread: any; blocks.
 */
#pragma once

#include <sys/types.h>

struct credential_backend;
struct error;
struct krun_grants;
struct step_keys;

struct node_dial {
    struct credential_backend *backend;
    struct krun_grants *grants; /* in the place of MUNGE; or NULL */
    const char *cluster;
    const char *node; /* its name, which must resolve to an address */
    const char *pod;  /* as that agent knows it */
    unsigned port;
    uid_t agent_uid;
};

/* Returns a descriptor with the keys of the connection. -ECONNREFUSED with the words of
 * an agent that refuses the caller; other errors with what could not be reached.
 */
int node_dial(const struct node_dial *to, int *ret_fd, struct step_keys *ret_keys,
              struct error *err);
