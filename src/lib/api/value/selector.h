/* SPDX-License-Identifier: Apache-2.0 */
/* selector.h - label and node selectors: parsed once, matched often
 *
 * Thread: any.
 * Source: k8s.io/apimachinery/pkg/labels,
 * k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
 */
#pragma once

#include "lib/json/record.h"

struct arena;
struct error;

/* In the form that objects contain. */
struct selector_requirement {
    const char *key;
    const char *operator_; /* In, NotIn, Exists, DoesNotExist, Gt, Lt */
    LIST_OF(const char *) values;
};

struct label_selector {
    struct string_map match_labels;
    LIST_OF(struct selector_requirement) match_expressions;
};

struct node_selector_term {
    LIST_OF(struct selector_requirement) match_expressions;
    LIST_OF(struct selector_requirement) match_fields;
};

struct node_selector {
    LIST_OF(struct node_selector_term) terms;
};

extern const struct record label_selector_record;
extern const struct record node_selector_record;
extern const struct record node_selector_term_record;

/* Matching of selectors in objects. A NULL label selector matches nothing, an
 * empty one everything. A node selector matches if one of its terms does; a
 * term without requirements never matches.
 */
bool label_selector_matches(const struct label_selector *selector, const struct string_map *labels);
bool node_selector_term_matches(const struct node_selector_term *term,
                                const struct string_map *labels, const char *node_name);
bool node_selector_matches(const struct node_selector *selector, const struct string_map *labels,
                           const char *node_name);

/* A filter (Bloom) for comparing one selector with many objects: labels that
 * lack one of the selector's bits do not match; most others do.
 */
uint64_t label_bits(const struct string_map *labels);
uint64_t label_selector_bits(const struct label_selector *selector);

/* Whether every requirement is valid: a term with an invalid requirement
 * matches nothing.
 */
bool node_selector_is_valid(const struct node_selector *selector);

/* The string of `labelSelector=`, parsed once. -EINVAL with upstream's error
 * text. The query is allocated in the arena.
 */
struct label_query;
int label_query_parse(struct arena *arena, const char *text, struct label_query **ret_query,
                      struct error *err);
bool label_query_matches(const struct label_query *query, const struct string_map *labels);
