/* SPDX-License-Identifier: Apache-2.0 */
/* krun_pmix.h - krun between the servers of PMIx of a step on several nodes
 *
 * It keeps what the nodes give to a fence until the last one has given its part, and
 * then sends all of it to each of them. A question of one node goes to the other that it names;
 * krun answers for a node that has ended.
 *
 * Thread:  the main one.
 * See:     lib/step/pmix_message.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/list.h"

struct krun_link;
struct step_frame;

/* The links of a step, while they do not change. */
struct krun_pmix {
    struct krun_link *links;
    unsigned n_links;
    struct list fences;
    unsigned n_fences;
    size_t n_bytes;        /* of all fences */
    struct list questions; /* of nodes to nodes that have not answered */
};

void krun_pmix_fini(struct krun_pmix *p);
void krun_pmix_begin(struct krun_pmix *p, struct krun_link *links, unsigned n_links);

/* A message of the link with that index; -EBADMSG: it is none, or too much. */
int krun_pmix_take(struct krun_pmix *p, unsigned index, const struct step_frame *f);

/* The node of that link says nothing more. */
void krun_pmix_end_link(struct krun_pmix *p, unsigned index);

/* Whether a fence of all tasks waits for that link. */
bool krun_pmix_awaits(const struct krun_pmix *p, unsigned index);
