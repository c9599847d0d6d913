/* SPDX-License-Identifier: Apache-2.0 */
/* diagnosis.h - why no node fits a pod
 *
 * It holds the cycle's answer for each node, by slot, and PreFilter's reason for the pod as a
 * whole.
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

/* How many nodes gave a reason, and the first such node. There are few reasons
 * even when there are many nodes.
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

/* All answers added up. `n_rejected`: nodes where preemption may help. */
struct diagnosis_totals {
    struct diagnosis_counts counts;
    unsigned n_rejected;
    plugin_set unschedulable, pending;
};

struct diagnosis {
    const struct snapshot *snapshot;
    /* By slot. Verdict OK: the cycle did not evaluate the node. */
    const struct answer *answers;
    struct answer absent; /* for nodes not evaluated */
    /* STRING_ID_NONE, or why no node was evaluated */
    uint32_t prefilter_reason;
    const char *prefilter_words; /* the same in full, for this pod; or NULL */
    plugin_set unschedulable;
    plugin_set pending;
    const struct diagnosis_totals *totals; /* NULL: not added up yet */
};

struct answer diagnosis_answer(const struct diagnosis *d, const struct node_view *node);

/* The caller owns the counts. */
void diagnosis_counts_fini(struct diagnosis_counts *counts);
struct diagnosis_counts diagnosis_count(const struct diagnosis *d,
                                        const struct string_ids *reasons);

/* Formats "0/5 nodes are available: 3 Insufficient cpu, ...", without the part
 * that PostFilter adds.
 */
void diagnosis_format_counts(const struct diagnosis *d, const struct diagnosis_counts *counts,
                             const struct string_ids *reasons, struct strbuf *out);
void diagnosis_format(const struct diagnosis *d, const struct string_ids *reasons,
                      struct strbuf *out);
