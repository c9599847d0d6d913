/* SPDX-License-Identifier: Apache-2.0 */
/* node_summary.h - a short description of a node's hardware
 *
 * Thread: any.
 */
#pragma once

struct strbuf;
struct topology;

/* "2 packages, 8 NUMA nodes (1 of HBM), 24 L3 caches, 192 cores, 384 CPUs" */
void node_summary_add(const struct topology *topology, struct strbuf *out);

/* Calls `visit` with a sentence for each set of CPUs that jobs cannot use or
 * that is special: "CPUs 0-1 are reserved for the system".
 */
typedef void node_summary_sentence_fn(const char *sentence, void *context);
void node_summary_reserved_cpus(const struct topology *topology, node_summary_sentence_fn *visit,
                                void *context);
