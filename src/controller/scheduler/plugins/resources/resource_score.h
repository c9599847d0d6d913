/* SPDX-License-Identifier: Apache-2.0 */
/* resource_score.h - the resources that a score considers, with their weights,
 * and how much of each a node would have in use with the pod on it
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, plugins/noderesources, resourceAllocationScorer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct json;
struct bounds;
struct string_ids;
struct node_view;
struct pod_view;

#define RESOURCE_SCORE_MAX 16

enum resource_kind {
    RESOURCE_OTHER,
    RESOURCE_CPU,
    RESOURCE_MEMORY,
};

struct resource_weight {
    char *name;
    enum resource_kind kind;
    int64_t weight;
};

struct resource_score {
    struct string_ids *resources;
    struct resource_weight weights[RESOURCE_SCORE_MAX];
    unsigned count;
    /* A pod without a request counts 0, not the default amount */
    bool real_requests;
};

/* The field table of one entry of the list. */
extern const struct record resource_weight_record;

/* `list` is [{"name", "weight"}], or NULL for CPU and memory with equal
 * weights. -EINVAL: a name is missing or duplicate, or a weight is not from 0
 * to 100 (0 means 1). `where` is the path of the list for error texts.
 */
int resource_score_init(struct resource_score *s, struct string_ids *resources,
                        const struct json *list, const char *where, bool real_requests,
                        struct error *err);
void resource_score_fini(struct resource_score *s);

/* For each resource: the requested and allocatable amounts; 0 and 0 for a
 * resource that does not count on this node.
 */
void resource_score_read(const struct resource_score *s, const struct pod_view *pod,
                         const struct node_view *node, int64_t *ret_requested,
                         int64_t *ret_allocatable);

/* The range of what would be in use, and of what is allocatable, on nodes
 * within these bounds. False: the bounds do not cover this resource.
 * `least_there` may be 0: the resource does not count on such a node, as above.
 */
struct resource_span {
    int64_t least_used, most_used;
    int64_t least_there, most_there;
};
bool resource_score_span(const struct resource_score *s, unsigned at, const struct pod_view *pod,
                         const struct bounds *bounds, struct resource_span *ret_span);

/* Appends all requests that filters and scores depend on to a signature. */
struct strbuf;
void requests_sign(const struct pod_view *pod, struct strbuf *out);
