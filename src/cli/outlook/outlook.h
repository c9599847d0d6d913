/* SPDX-License-Identifier: Apache-2.0 */
/* outlook.h - when and where a pod could run at best, node by node
 *
 * A pure function of the nodes, the pods on them and the time, by the same
 * allocator as the scheduler's: cores, NUMA policies and devices are counted
 * exactly. The scheduler's order, and pods that wait before this one, can only
 * make it later.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct pod_spec;
struct strbuf;
struct survey;

/* Best last: what a node may come to be for the pod. */
enum outlook_chance {
    OUTLOOK_NEVER,   /* too small, or not one that was asked for */
    OUTLOOK_BLOCKED, /* down, cordoned, or tainted */
    OUTLOOK_LATER,   /* others have its room */
    OUTLOOK_NOW,
};

struct outlook_node {
    const char *name; /* the node's */
    enum outlook_chance chance;
    char words[200];    /* why not now: "has 2 CPUs of the 64 asked for" */
    int64_t lacks_mcpu; /* of its size when never, of what is free when later */
    int64_t from_us;    /* later: when enough has ended; 0: nobody knows */
    bool is_open;       /* such pods may come there, by selectors and taints */
    int64_t free_mcpu, free_bytes; /* of what is asked for, where it is open */
    int64_t has_mcpu, has_bytes;   /* ...and all that the node has of it */
};

struct outlook {
    struct outlook_node *nodes; /* the best first */
    unsigned n_nodes;
    unsigned counts[OUTLOOK_NOW + 1];
    unsigned n_waiting; /* pods that wait for a node */
    int64_t now_us;
};

/* Life. Names are the survey's. */
void outlook_free(struct outlook *outlook);
struct outlook *outlook_new(const struct pod_spec *spec,
                            const struct survey *survey,
                            int64_t now_us) OWNED_BY(outlook_free);
DEFINE_CLEANUP(struct outlook, outlook_free)

/* Look */
enum outlook_chance outlook_best(const struct outlook *outlook);

/* A sentence: "it could start now, on n1 (2 of 3 nodes have room)". */
void outlook_format(const struct outlook *outlook, struct strbuf *out);
