/* SPDX-License-Identifier: Apache-2.0 */
/* node_description.h - the facts about this node that its status shows
 *
 * Open struct: registration reads the facts. The functions here, or the owner
 * of the struct, set those that change while the agent runs.
 *
 * Owns:    the texts that the facts point to; borrows the texts of the settings
 *          and of the inventory.
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
    char *missing; /* the missing hardware in words; NULL: none */
};

/* Life */
void node_description_init(struct node_description *d, const struct agent_settings *settings,
                           const struct inventory *inventory,
                           const struct node_resources *resources);
void node_description_fini(struct node_description *d);

/* Returns whether the facts are different now. The first failure of a
 * hook is kept until the agent ends, because the administrator has to look at
 * that failure. set_missing takes the missing hardware in words; NULL: nothing
 * is missing.
 */
bool node_description_set_hook_failure(struct node_description *d, const char *what);
bool node_description_set_missing(struct node_description *d, const char *words);
