/* SPDX-License-Identifier: Apache-2.0 */
/* node_description.h - the facts about this node that its status shows
 *
 * Open struct: registration reads the facts; what changes while the agent runs
 * is set here, or by the owner of the struct.
 *
 * Owns:    the texts that the facts point to; borrows the settings' and the
 *          inventory's.
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "agent/node/node_status.h"

struct agent_settings;
struct inventory;
struct node_resources;

struct node_description {
    struct node_facts facts;
    char *name;
    char *hook_failure;
    char *missing; /* of the hardware; NULL: nothing */
};

/* Life */
void node_description_init(struct node_description *d,
                           const struct agent_settings *settings,
                           const struct inventory *inventory,
                           const struct node_resources *resources);
void node_description_fini(struct node_description *d);

/* Change: whether the facts are different now. The first failure of a hook
 * stays until the agent ends, because the administrator has to look at that
 * one. Missing: in words; NULL: nothing is missing.
 */
bool node_description_set_hook_failure(struct node_description *d,
                                       const char *what);
bool node_description_set_missing(struct node_description *d,
                                  const char *words);
