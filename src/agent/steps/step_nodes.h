/* SPDX-License-Identifier: Apache-2.0 */
/* step_nodes.h - the nodes of a job, and how kruns on other nodes name its pods
 *
 * Thread: the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct agent_context;
struct arena;
struct object;
struct pods;
struct step_channel;
struct step_nodes;
struct step_place;

/* Life. Read finds the nodes in the files of the pod; none for a job of one node. */
void step_nodes_free(struct step_nodes *n);
struct step_nodes *step_nodes_read(const struct agent_context *agent, const char *pod_uid)
    OWNED_BY(step_nodes_free);
DEFINE_CLEANUP(struct step_nodes, step_nodes_free)

/* The manager is the agent of the first node; the first two: only where there are nodes. */
const char *step_nodes_manager(const struct step_nodes *n);
bool step_nodes_is_manager(const struct step_nodes *n);
unsigned step_nodes_count(const struct step_nodes *n);

/* The places of the pods on their nodes. Take: the text is a krun's (lib/step/step_layout.h), and is
 * ignored if it is not about these nodes, or another one has come before. Copy returns one
 * place for each node, of which that of this node is empty; *ret_own is NULL if there is none.
 */
void step_nodes_take_places(struct step_nodes *n, const char *text, size_t length);
bool step_nodes_have_places(const struct step_nodes *n);
struct step_place *step_nodes_copy_places(const struct step_nodes *n, struct arena *arena,
                                          struct step_place **ret_own);

/* Names of a pod. Find_pod returns the uid of the pod that a caller on another node means, or
 * NULL; name_group: how such a caller names a pod, or NULL, to be freed.
 */
const char *step_nodes_find_pod(const struct pods *pods, const char *name);
char *step_nodes_name_group(const struct object *pod);

/* ASK: what a pod has here. */
struct step_nodes_settings {
    const struct agent_context *agent;
    unsigned port;
    const char *munge_socket;
};
void step_nodes_answer(const struct step_nodes_settings *settings,
                       struct step_channel *connection TAKES, const struct object *pod);
