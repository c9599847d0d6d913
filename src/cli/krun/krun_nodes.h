/* SPDX-License-Identifier: Apache-2.0 */
/* krun_nodes.h - the nodes of a job, and connections to their agents
 *
 * Thread: the program's main one; connections are opened by several.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct error;
struct krun_link;
struct krun_nodes;
struct step_layout;
struct strbuf;

/* Life. Open takes the text of krun_place.h, and asks that agent; of a job that is known to
 * have only this node, it asks nothing.
 */
void krun_nodes_free(struct krun_nodes *nodes);
int krun_nodes_open(const char *place, const char *pod_uid, bool is_single,
                    struct krun_nodes **ret_nodes, struct error *err);
DEFINE_CLEANUP(struct krun_nodes, krun_nodes_free)

/* The variables of the job on its first node (step_info.h). */
const char *const *krun_nodes_variables(const struct krun_nodes *nodes, unsigned *ret_n);

/* Whether the job has more than this node. */
bool krun_nodes_are_several(const struct krun_nodes *nodes);

/* Opens a link to the agent of the job's first node, which is the step manager (of its only
 * node, which is both); or one to each node of a layout, all or none. Blocks.
 */
int krun_nodes_dial_manager(struct krun_nodes *nodes, struct krun_link *l, struct error *err);
/* To one node whose link is in such a list, while its agent answers: not again and again. */
int krun_nodes_dial_again(struct krun_nodes *nodes, const char *node, struct krun_link *l,
                          struct error *err);
int krun_nodes_dial(struct krun_nodes *nodes, const struct step_layout *layout,
                    struct krun_link *links, struct error *err);

/* Asks all nodes of the job for what it has there, and adds the answer for the step
 * manager, as the payload of PLACES. Blocks.
 */
int krun_nodes_ask_places(struct krun_nodes *nodes, struct strbuf *out, struct error *err);
