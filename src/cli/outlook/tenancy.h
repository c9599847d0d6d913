/* SPDX-License-Identifier: Apache-2.0 */
/* tenancy.h - what pods have of one node, and what is free when they end
 *
 * Of the amounts that a bid asks for, and, where the node tells its topology,
 * exactly: cores, memory by NUMA node and devices, held as the scheduler holds
 * them. Pods deleted by force count until their node says that they are gone.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct bid;
struct node;
struct pod;
struct topology_cache;
struct strbuf;
struct tenancy;

/* Life. The bid and the node must outlive it. */
void tenancy_free(struct tenancy *t);
struct tenancy *tenancy_new(const struct node *node,
                            const struct bid *bid,
                            struct topology_cache *topologies)
    OWNED_BY(tenancy_free);
DEFINE_CLEANUP(struct tenancy, tenancy_free)

/* Change. A pod that ends at no time that anybody knows: 0. End next lets the
 * first of them go and returns when; 0, and nothing has changed: nobody knows.
 */
void tenancy_add(struct tenancy *t, const struct pod *pod, int64_t ends_us);
void tenancy_add_volumes(struct tenancy *t, int64_t bytes);
int64_t tenancy_end_next(struct tenancy *t);

/* Look: whether the bid could ever be had there, and whether now; if not, why
 * not ("has 4 CPUs of the 10 needed").
 */
bool tenancy_can_hold(const struct tenancy *t, struct strbuf *words);
bool tenancy_has_room(const struct tenancy *t, struct strbuf *words);

/* CPUs that it lacks, in thousandths: of its size, and of what is free. */
int64_t tenancy_lacks_of_size(const struct tenancy *t);
int64_t tenancy_lacks(const struct tenancy *t);

/* The node's total of one of the bid's amounts, and the free part of it; 0 for
 * an amount that the bid does not ask for.
 */
int64_t tenancy_has(const struct tenancy *t, const char *name);
int64_t tenancy_left(const struct tenancy *t, const char *name);
