/* SPDX-License-Identifier: Apache-2.0 */
/* step_grant.h - what the step manager gives a step: its number, and its tasks and CPUs
 * on each node
 *
 * The agent gives it to kiln-step as JSON, which sends it on to krun as the payload of
 * ACCEPT.
 *
 * Thread:  any; a grant is borrowed from its arena.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/step/step_layout.h"

struct arena;
struct error;
struct strbuf;

/* A variable of kiln-step: the agent has created it in the step's cgroup. */
#define STEP_IN_CGROUP "KILN_STEP_IN_CGROUP"
/* Its descriptor of the connection to krun. */
#define STEP_LINK_FD   0

struct step_grant {
    int64_t step_id;
    unsigned node;           /* the index of this node in the layout */
    bool is_bound;           /* the CPUs are the machine's, and tasks are bound to them */
    const char *task_prolog; /* of the site, or NULL */
    struct step_layout layout;
};

void step_grant_encode(const struct step_grant *grant, struct strbuf *out);

/* -EBADMSG: it is no grant. */
int step_grant_decode(struct arena *arena, const char *text, size_t length,
                      struct step_grant *ret_grant, struct error *err);
