/* SPDX-License-Identifier: Apache-2.0 */
/* step_info.h - what an agent tells krun about a pod on its node, for steps on several
 * nodes
 *
 * krun asks its own agent for the nodes of the job and how to reach their agents, and
 * each of those for what the pod has on its node. It passes that on to the step
 * manager, which asks for it once. An agent believes nothing of it for its own node.
 *
 * Thread:  any; texts are borrowed from the arena.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/json/record.h"

struct arena;
struct error;
struct step_place;
struct strbuf;

/* The part of a job that is on one node. */
struct step_info_place {
    const char *name; /* of the node */
    const char *cpus; /* a list, in the order in which steps take them (step_order.h) */
    int64_t gpus;
    int64_t memory_bytes; /* 0: without a limit */
};

#define STEP_INFO_VARIABLES_BYTES (16u << 10)

struct step_info {
    const char *cluster;
    const char *group;           /* names the job's pod on each of its nodes; NULL: one node */
    LIST_OF(const char *) nodes; /* of the job, in the order of their ranks */
    int64_t port;                /* of the agents of its nodes; 0: they have none */
    int64_t agent_uid;
    const char *munge_socket; /* NULL: the usual one */
    struct step_info_place place;
    /* "NAME=value" (byte_text.h), of Kiln and Slurm: those that the job was started with there, for a
     * krun outside the job. An agent of the release before sends none.
     */
    LIST_OF(const char *) variables;
};

void step_info_encode(const struct step_info *info, struct strbuf *out);

/* -EBADMSG: it is none. */
int step_info_decode(struct arena *arena, const char *text, size_t length,
                     struct step_info *ret_info, struct error *err);

/* The places of a job, in the order of the ranks of its nodes, as krun tells them to the
 * step manager. Decode makes them without anything that steps hold; -EBADMSG.
 */
void step_places_encode(const struct step_info_place *places, unsigned n, struct strbuf *out);
int step_places_decode(struct arena *arena, const char *text, size_t length,
                       struct step_place **ret_places, unsigned *ret_n, struct error *err);
