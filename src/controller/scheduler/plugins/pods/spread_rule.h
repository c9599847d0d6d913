/* SPDX-License-Identifier: Apache-2.0 */
/* spread_rule.h - one topology spread constraint of a pod, ready to count with
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, plugins/podtopologyspread/common.go.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/json/record.h"

struct arena;
struct handle;
struct label_selector;
struct node_view;
struct pod_view;
struct strbuf;
struct topology_spread;

struct spread_rule {
    const char *topology_key;
    int64_t max_skew;
    int64_t min_domains;
    bool honors_affinity; /* nodes that the pod may not go to do not count */
    bool honors_taints;
    bool is_hostname;

    /* The pods that count match all of these. */
    const struct label_selector *selector; /* NULL: nothing by itself */
    struct string_map same; /* matchLabelKeys of the pod's own labels; owned */
    const struct label_selector *owner; /* of the pod's owner, or NULL */
    uint64_t label_bits;                /* that all of them have (selector.h) */
};

#define SPREAD_RULES 16

struct spread_rules {
    struct spread_rule items[SPREAD_RULES];
    unsigned count;
    bool is_cut;         /* there are more than these */
    struct arena *arena; /* of what the owner selects; or NULL */
};

/* The pod's own rules with that whenUnsatisfiable, or of the default ones when
 * it has none; those count what the pod's services and owner select. Fini
 * frees.
 */
struct spread_defaults {
    const struct topology_spread *items;
    unsigned count;
};
void spread_rules_init(struct spread_rules *rules,
                       const struct handle *handle,
                       const struct pod_view *pod,
                       const struct spread_defaults *defaults,
                       const char *when_unsatisfiable);
void spread_rules_fini(struct spread_rules *rules);

bool spread_rule_selects(const struct spread_rule *rule,
                         const struct string_map *labels);

/* How many pods of the node it selects; those being deleted do not count. */
int64_t spread_rule_count(const struct spread_rule *rule,
                          const struct node_view *node,
                          const char *namespace);

/* Whether the node counts at all for this pod. */
bool spread_rule_includes(const struct spread_rule *rule,
                          const struct pod_view *pod,
                          const struct node_view *node);

/* Appends text that is equal where the rules count the same pods; the rules are
 * the pod's own.
 */
void spread_rules_sign(const struct spread_rules *rules,
                       const struct pod_view *pod,
                       struct strbuf *out);

/* The node has the labels of all rules. */
bool spread_rules_cover(const struct spread_rules *rules,
                        const struct string_map *labels);
