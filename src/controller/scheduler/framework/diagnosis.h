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

struct diagnosis {
    const struct snapshot *snapshot;
    const struct answer *answers; /* by slot; verdict OK: was not looked at */
    struct answer absent;         /* of the nodes that were not */
    uint32_t
        prefilter_reason; /* STRING_ID_NONE, or why no node was looked at */
    const char *prefilter_words; /* the same of this pod alone, or NULL */
    plugin_set unschedulable;
    plugin_set pending;
};

/* The answer for that node. */
struct answer diagnosis_answer(const struct diagnosis *d,
                               const struct node_view *node);

/* "0/5 nodes are available: 3 Insufficient cpu, ...", without what postfilter
 * adds.
 */
void diagnosis_format(const struct diagnosis *d,
                      const struct string_ids *reasons,
                      struct strbuf *out);
