/* SPDX-License-Identifier: Apache-2.0 */
/* resource_score.h - which resources a score looks at, with their weights,
 * and how much of each a node would have in use with the pod on it
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, plugins/noderesources, resourceAllocationScorer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct amounts;
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
    bool real_requests; /* without the defaults for what is not requested */
};

/* The table of one entry of the list. */
extern const struct record resource_weight_record;

/* List: [{"name", "weight"}], or NULL for CPU and memory alike. -EINVAL: a
 * name that is missing or comes twice, a weight beyond 1 to 100 (0: 1). Where:
 * the list's path, for words.
 */
int resource_score_init(struct resource_score *s,
                        struct string_ids *resources,
                        const struct json *list,
                        const char *where,
                        bool real_requests,
                        struct error *err);
void resource_score_fini(struct resource_score *s);

/* For each of them; 0 and 0 for what does not count on this node. */
void resource_score_read(const struct resource_score *s,
                         const struct pod_view *pod,
                         const struct node_view *node,
                         int64_t *ret_requested,
                         int64_t *ret_allocatable);

/* How much of it would be in use, and is there, on nodes within these bounds.
 * False: not known of this resource. There may be none of it: then, as above,
 * it does not count on that node.
 */
struct resource_span {
    int64_t least_used, most_used;
    int64_t least_there, most_there;
};
bool resource_score_span(const struct resource_score *s,
                         unsigned at,
                         const struct pod_view *pod,
                         const struct bounds *bounds,
                         struct resource_span *ret_span);

/* For signatures: all that fits and scores depend on. */
struct strbuf;
void requests_sign(const struct pod_view *pod, struct strbuf *out);
