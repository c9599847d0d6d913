/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.h - parses why the nodes refused a pod from the scheduler's message
 *
 * The message of a PodScheduled=False condition counts the nodes by their
 * reason, in kube-scheduler's words: "0/5 nodes are available: 2 Insufficient
 * cpu, 3 node(s) were unschedulable. preemption: ...". People who watch a queue
 * want the one reason that matters.
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
    unsigned nodes;   /* with this reason; 0: not in the message */
    const char *text; /* in the message, without its count; */
    size_t length;    /* not NUL-terminated */
    const char *code; /* stable name: "InsufficientCPU" */
    bool may_pass;    /* it can change when other pods end */
};

/* Reasons that may pass come first; then those with more nodes. */
struct refusals {
    unsigned total; /* nodes examined; 0: not in the message */
    unsigned count;
    struct refusal items[REFUSALS_MAX];
};

/* False: the message does not have that form, and `ret` is unchanged. Borrows
 * from the message.
 */
bool refusals_parse(const char *message, struct refusals *ret);

/* The code of one node's reason: "InsufficientCPU" for "Insufficient cpu",
 * "Other" for an unknown reason.
 */
const char *refusals_code(const char *text, size_t length, bool *ret_may_pass);

/* Appends the reason that matters, short enough for a column of a table:
 * "Insufficient cpu", or "Insufficient cpu (2 of 5 nodes)" if other nodes have
 * other reasons. A message without that form is appended unchanged.
 */
void refusals_format_brief(const char *message, struct strbuf *out);
