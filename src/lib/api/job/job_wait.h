/* SPDX-License-Identifier: Apache-2.0 */
/* job_wait.h - the words for what keeps a pod waiting, out of facts
 *
 * The component that knows the facts writes them: the scheduler for a cycle
 * that found no node, the job controller for a pod that it was not allowed to
 * make.
 *
 * Thread:  any; pure functions.
 */
#pragma once

#include <stdbool.h>

#include "lib/api/job/job_reason.h"

struct pod_spec;

/* The findings of a cycle that found no node. */
struct job_wait {
    enum {
        WAIT_NO_NODES,  /* the cluster has none */
        WAIT_ROOM,      /* nodes that could do are taken: `what` is short */
        WAIT_CLOSED,    /* nodes that could do are closed: `what` closed them */
        WAIT_SILENT,    /* they are not heard of */
        WAIT_TOO_LARGE, /* no node has that much: `what` */
        WAIT_UNWANTED,  /* no node is one that it asks for */
        WAIT_MAKING_ROOM, /* others leave for it */
        WAIT_WORDS,       /* anything else: `what` says it */
    } kind;
    unsigned nodes, total;  /* that it is about, and all */
    bool is_all;            /* of those that it asks for, and may have */
    const char *node;       /* the only one that it is about, or NULL */
    const char *what;       /* "2 CPUs", "virtual"; or NULL */
    enum job_reason reason; /* of WAIT_WORDS */
};

/* Of a pod's wishes for nodes: what is asked for that no node has. */
enum job_reason job_wait_format(const struct job_wait *wait,
                                const struct pod_spec *spec,
                                struct strbuf *out);

/* The only node that is asked for by name, and the partition; or NULL. */
const char *job_wait_node(const struct pod_spec *spec);
const char *job_wait_partition(const struct pod_spec *spec);

/* "quota chem: 4 CPUs used of 4", of the API's refusal to make a pod; of others
 * its own words, cut.
 */
enum job_reason job_wait_format_refusal(const char *refusal,
                                        struct strbuf *out);
