/* SPDX-License-Identifier: Apache-2.0 */
/* krun_pmi.h - krun between the ranks of an MPI program on several nodes
 *
 * Each node sends what its tasks have put, and that all of them are in the barrier.
 * When the last one has, all nodes get the lines of all, and the barriers open. A task that
 * ends while others wait, and has not been waited for, ends the step.
 *
 * Thread:  the main one.
 * See:     lib/step/pmi_server.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/krun/krun_pmix.h"
#include "lib/base/strbuf.h"

struct krun_link;
struct step_exit;
struct step_frame;

/* The links of a step, while they do not change. */
struct krun_pmi {
    struct krun_link *links;
    unsigned n_links;
    struct strbuf lines; /* of the nodes that are in the barrier, or on their way */
    bool *is_in;         /* by link */
    unsigned n_in;
    bool is_ending;
    struct krun_pmix pmix;
    int64_t left; /* the link of a task that has ended, or -1 */
    uint32_t left_task, left_code;
};

void krun_pmi_fini(struct krun_pmi *p);
void krun_pmi_begin(struct krun_pmi *p, struct krun_link *links, unsigned n_links);

/* A frame of a link, PMI, PMIX or ABORT; -EBADMSG: it is another one, or too much. */
int krun_pmi_take(struct krun_pmi *p, const struct krun_link *link, const struct step_frame *f);

/* A task of that link has ended. */
void krun_pmi_end_task(struct krun_pmi *p, const struct krun_link *link, uint32_t task,
                       const struct step_exit *end);

/* All tasks of that link have ended. */
void krun_pmi_end_link(struct krun_pmi *p, const struct krun_link *link);
