/* SPDX-License-Identifier: Apache-2.0 */
/* selector_sign.h - appends selectors to a signature: equal text means that
 * they select the same
 *
 * Thread: any; pure functions.
 */
#pragma once

struct label_selector;
struct node_selector_term;
struct pod_spec;
struct string_map;
struct strbuf;

void labels_sign(const struct string_map *labels, struct strbuf *out);
void node_term_sign(const struct node_selector_term *term, struct strbuf *out);
void label_selector_sign(const struct label_selector *selector, struct strbuf *out);

/* The nodes that the pod may use: nodeSelector and required node affinity. */
void required_nodes_sign(const struct pod_spec *spec, struct strbuf *out);
