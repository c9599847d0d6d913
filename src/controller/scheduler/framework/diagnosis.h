/* SPDX-License-Identifier: Apache-2.0 */
/* diagnosis.h - why a pod fits on no node
 *
 * One answer for each node, by slot, as the cycle left them; and what was said
 * of the pod as a whole.
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, framework.Diagnosis and FitError.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/framework/verdict.h"

struct string_ids;
struct node_view;
struct snapshot;
struct strbuf;

/* How many nodes gave each reason, and the first of them: few reasons, however
 * many nodes there are.
 */
struct reason_nodes {
    uint32_t reason;
    unsigned nodes;
    const struct node_view *first;
};

struct diagnosis_counts {
    struct reason_nodes *items;
    unsigned count;
};

/* All answers added up. Rejected: nodes where preemption may help. */
struct diagnosis_totals {
    struct diagnosis_counts counts;
    unsigned n_rejected;
    plugin_set unschedulable, pending;
};

struct diagnosis {
    const struct snapshot *snapshot;
    const struct answer *answers; /* by slot; verdict OK: was not looked at */
    struct answer absent;         /* of the nodes that were not */
    uint32_t
        prefilter_reason; /* STRING_ID_NONE, or why no node was looked at */
    const char *prefilter_words; /* the same of this pod alone, or NULL */
    plugin_set unschedulable;
    plugin_set pending;
    const struct diagnosis_totals *totals; /* NULL: nobody has added them up */
};

/* The answer for that node. */
struct answer diagnosis_answer(const struct diagnosis *d,
                               const struct node_view *node);

/* The counts are the caller's. */
void diagnosis_counts_fini(struct diagnosis_counts *counts);
struct diagnosis_counts diagnosis_count(const struct diagnosis *d,
                                        const struct string_ids *reasons);

/* "0/5 nodes are available: 3 Insufficient cpu, ...", without what postfilter
 * adds.
 */
void diagnosis_format_counts(const struct diagnosis *d,
                             const struct diagnosis_counts *counts,
                             const struct string_ids *reasons,
                             struct strbuf *out);
void diagnosis_format(const struct diagnosis *d,
                      const struct string_ids *reasons,
                      struct strbuf *out);
