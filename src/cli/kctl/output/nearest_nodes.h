/* SPDX-License-Identifier: Apache-2.0 */
/* nearest_nodes.h - what a waiting pod needs of a node, and the nodes that come
 * nearest, as the scheduler answers it (pods/NAME/why)
 *
 *   Needs:      24 CPUs on whole cores in one NUMA node, 48Gi of memory
 *   Nearest:    n17 has 32 CPUs free, at most 14 in one NUMA node
 *
 * and of a pod that asks for CPUs and memory by amount alone
 *
 *   Nearest:    n17 has 9 of 64 CPUs and 181Gi of 512Gi of memory free
 *   Would fit:  on 12 nodes with --mem 180G or less
 *
 * Thread: any.
 */
#pragma once

struct json;
struct strbuf;

void nearest_nodes_describe(const struct json *why, struct strbuf *out);
