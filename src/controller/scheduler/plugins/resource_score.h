/* SPDX-License-Identifier: Apache-2.0 */
/* resource_score.h - which resources a score looks at, with their weights,
 * and how much of each a node would have in use with the pod on it
 *
 * Source: kube-scheduler, plugins/noderesources, resourceAllocationScorer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct amounts;
struct error;
struct json;
struct names;
struct node_view;
struct pod_view;

#define RESOURCE_SCORE_MAX 16

struct resource_weight {
    char *name;
    int64_t weight;
};

struct resource_score {
    struct names *resources;
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
                        struct names *resources,
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

/* For signatures: all that fits and scores depend on. */
struct strbuf;
void requests_sign(const struct pod_view *pod, struct strbuf *out);
