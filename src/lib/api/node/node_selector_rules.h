/* SPDX-License-Identifier: Apache-2.0 */
/* node_selector_rules.h - validation of node selectors, and warnings about
 * deprecated node labels
 *
 * Each call checks one part of an object; the causes' path must point at the
 * part. Errors are added to the causes.
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

/* Warn of deprecated labels: in one member of the object, with or without the
 * old label's name in the text; in the keys of the map `name`; and in a term of
 * a node selector.
 */
void node_label_warn(struct causes *c, const struct json *object, const char *name, bool is_named);
void node_labels_warn(struct causes *c, const struct json *object, const char *name);
void node_selector_term_warn(struct causes *c, const struct json *term);
