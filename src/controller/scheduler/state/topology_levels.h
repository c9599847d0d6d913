/* SPDX-License-Identifier: Apache-2.0 */
/* topology_levels.h - the labels of nodes that are levels of the topology, as configured
 *
 * The widest level comes first. A reload of the configuration may change them while
 * schedulers run on other threads.
 *
 * Owns:    copies of the keys.
 * Thread:  any.
 */
#pragma once

#include "controller/scheduler/state/node_domains.h"
#include "lib/base/macro.h"

struct topology_levels;

/* Life */
void topology_levels_free(struct topology_levels *t);
struct topology_levels *topology_levels_new(void) OWNED_BY(topology_levels_free);

/* Sets the keys, at most DOMAIN_LEVELS_MAX. */
void topology_levels_set(struct topology_levels *t, const char *const *keys, unsigned count);

/* Sets how long a job may wait for nodes of few switches (`ksub --switches`). */
void topology_levels_set_wait(struct topology_levels *t, int64_t most_us);

int64_t topology_levels_wait_us(const struct topology_levels *t);

/* Returns a number that grows with each change. */
unsigned topology_levels_version(const struct topology_levels *t);

/* Makes the domains of the present levels, and returns the version of these; NULL has no
 * level.
 */
struct node_domains *topology_levels_make_domains(struct topology_levels *t, unsigned *ret_version)
    OWNED_BY(node_domains_free);
