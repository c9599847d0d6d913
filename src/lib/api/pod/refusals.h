/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.h - why the nodes refused a pod, out of the scheduler's message
 *
 * The message of a PodScheduled=False condition counts the nodes by their
 * reason, in kube-scheduler's words: "0/5 nodes are available: 2 Insufficient
 * cpu, 3 node(s) were unschedulable. preemption: ...". People who look at a
 * queue want the one reason that matters.
 *
 * Thread: any.
 * See: framework/diagnosis.h, which writes such messages.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

#define REFUSALS_MAX 16u

struct refusal {
    unsigned nodes;   /* that gave this reason; 0: the message has no count */
    const char *text; /* inside the message, without its count... */
    size_t length;    /* ...and this long */
    const char *code; /* one word that stays the same: "InsufficientCPU" */
    bool may_pass;    /* other pods' ends can change it */
};

/* Those that time may change stand first, then by number of nodes. */
struct refusals {
    unsigned total; /* nodes that were looked at; 0: the message has none */
    unsigned count;
    struct refusal items[REFUSALS_MAX];
};

/* False, when the message is not of that form; `ret` is untouched. Borrows
 * from the message.
 */
bool refusals_parse(const char *message, struct refusals *ret);

/* The code of one node's reason: "InsufficientCPU" of "Insufficient cpu", "Other"
 * of what is not known.
 */
const char *refusals_code(const char *text, size_t length, bool *ret_may_pass);

/* The reason that matters, short enough for a column of a table:
 * "Insufficient cpu", or "Insufficient cpu (2 of 5 nodes)" where others say
 * something else. A message that is not of that form comes as it is.
 */
void refusals_format_brief(const char *message, struct strbuf *out);
