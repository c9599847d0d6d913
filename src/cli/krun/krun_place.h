/* SPDX-License-Identifier: Apache-2.0 */
/* krun_place.h - where a krun finds the agent of its job, as $KILN_STEP_SOCKET tells it
 *
 * In a job it is the path of a socket. Outside of it, kctl and kalloc set it to the
 * agent of the job's first node: "NODE:PORT,CLUSTER,UID,MUNGE", where UID is the agent's user
 * and MUNGE the socket of munged on this machine, empty for the usual one. With "@FD" in the place
 * of MUNGE, that descriptor has grants of the controller (krun_grants.h).
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct arena;
struct error;

struct krun_place {
    const char *socket; /* a path; NULL: what follows */
    const char *node, *cluster, *munge_socket;
    unsigned port;
    uid_t agent_uid;
    int grants_fd; /* 0: none */
};

/* Texts are the arena's. -EINVAL: it is neither. */
int krun_place_parse(struct arena *arena, const char *text, struct krun_place *ret_place,
                     struct error *err);
const char *krun_place_format(struct arena *arena, const struct krun_place *place);
