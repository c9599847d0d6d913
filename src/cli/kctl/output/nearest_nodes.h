/* SPDX-License-Identifier: Apache-2.0 */
/* nearest_nodes.h - the requirements of a waiting pod, and the nodes nearest to
 * them, from the scheduler's answer (pods/NAME/why)
 *
 *   Needs:      24 CPUs on whole cores in one NUMA node, 48Gi of memory
 *   Nearest:    n17 has 32 CPUs free, at most 14 in one NUMA node
 *
 * and for a pod that only requests amounts of CPUs and memory
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
