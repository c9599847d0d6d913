/* SPDX-License-Identifier: Apache-2.0 */
/* node_selector_rules.h - what is right in selectors of nodes, and the labels
 * of nodes that have a newer name
 *
 * Each call looks at the part given, where the walk of the causes stands at it,
 * and adds what is wrong.
 *
 * Thread:  any.
 * Source:  k8s.io/kubernetes/pkg/apis/core/validation of 1.32.
 */
#pragma once

#include <stdbool.h>

struct causes;
struct json;

void node_selector_check(struct causes *c, const struct json *selector);
void node_selector_term_check(struct causes *c, const struct json *term);

/* Warn of labels that have a newer name: in the member of the object, with the
 * old label's name in the text or without; in the keys of the map below `name`;
 * and in a term of a node selector.
 */
void node_label_warn(struct causes *c,
                     const struct json *object,
                     const char *name,
                     bool is_named);
void
node_labels_warn(struct causes *c, const struct json *object, const char *name);
void node_selector_term_warn(struct causes *c, const struct json *term);
