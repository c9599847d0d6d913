/* SPDX-License-Identifier: Apache-2.0 */
/* job_wait.h - the text for what keeps a pod pending, made from facts
 *
 * The component that knows the facts writes the text: the scheduler for a cycle
 * that found no node, the job controller for a pod that it was not allowed to
 * create.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/api/job/job_reason.h"

struct pod_spec;

/* The result of a scheduling cycle that found no node. */
struct job_wait {
    enum {
        WAIT_NO_NODES,    /* the cluster has no nodes */
        WAIT_ROOM,        /* suitable nodes are in use: `what` is short */
        WAIT_CLOSED,      /* suitable nodes are closed: because of `what` */
        WAIT_SILENT,      /* suitable nodes do not report */
        WAIT_TOO_LARGE,   /* no node has that much: `what` */
        WAIT_UNWANTED,    /* no node meets the pod's requirements */
        WAIT_MAKING_ROOM, /* preemption is under way */
        WAIT_WORDS,       /* anything else: `what` is the text */
    } kind;
    unsigned nodes, total;  /* concerned, and in all */
    bool is_all;            /* all nodes that the pod may use */
    bool is_outside;        /* the only node that it may use is not of its
                             * partition */
    const char *node;       /* the only node concerned, or NULL */
    const char *what;       /* "2 CPUs", "virtual"; or NULL */
    enum job_reason reason; /* for WAIT_WORDS */
};

/* Appends the text. `spec` tells which required nodes or labels do not exist.
 */
enum job_reason job_wait_format(const struct job_wait *wait, const struct pod_spec *spec,
                                struct strbuf *out);

/* Begins a sentence about the nodes that the pod may use: "no node of partition
 * gpu with feature avx", or "node n1" if it may use that one only.
 */
void job_wait_format_nodes(const struct pod_spec *spec, struct strbuf *out);

/* The only node that is required by name, and the partition; or NULL. */
const char *job_wait_node(const struct pod_spec *spec);
const char *job_wait_partition(const struct pod_spec *spec);

/* "quota chem: 4 CPUs used of 4", from the API's refusal to create a pod; for
 * other refusals the API's own text, shortened.
 */
enum job_reason job_wait_format_refusal(const char *refusal, struct strbuf *out);

/* The name of the quota in such a text, borrowed from it; NULL: the text is not
 * about a quota.
 */
const char *job_wait_find_quota(const char *message, size_t *ret_length);
