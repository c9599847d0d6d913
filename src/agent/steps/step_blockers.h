/* SPDX-License-Identifier: Apache-2.0 */
/* step_blockers.h - which grant waits for which CPU or GPU of a pod
 *
 * A grant that cannot start waits for one of the CPUs that it lacks. When a step ends, only
 * those are tried again that wait for one of its CPUs; and of those that wait for the same
 * CPU, no others once one has found it busy again. So thousands that wait cost nothing
 * while others come and go.
 *
 * Thread: one at a time.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/bitset.h"
#include "lib/base/list.h"
#include "lib/base/macro.h"

/* A CPU is its number, a GPU its number after BITSET_BITS. */
#define STEP_BLOCKER_GPU(number) (BITSET_BITS + (number))
#define STEP_BLOCKER_ANY         (2 * BITSET_BITS) /* any step's end */

struct step_blockers;

/* A member of what waits. */
struct step_blocked {
    struct list link;
    unsigned blocker;
};

/* Life. Those that wait are not owned. */
void step_blockers_free(struct step_blockers *b);
struct step_blockers *step_blockers_new(void) OWNED_BY(step_blockers_free);

/* Whether it waits again: it has been added. It may be gone otherwise. */
typedef bool step_blockers_try_fn(struct step_blocked *w, void *context);

/* Wake takes out those that wait for what is free now, and calls `try` for each. */
void step_blockers_add(struct step_blockers *b, struct step_blocked *w, unsigned blocker);
void step_blockers_remove(struct step_blocked *w);
void step_blockers_wake(struct step_blockers *b, const struct bitset *cpus,
                        const struct bitset *gpus, step_blockers_try_fn *try, void *context);
