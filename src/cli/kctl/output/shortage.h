/* SPDX-License-Identifier: Apache-2.0 */
/* shortage.h - what a waiting pod needs of a node, and the nodes that
 * come nearest, in words
 *
 *   Needs:    24 CPUs on whole cores in one NUMA node, 48Gi of memory
 *   Nearest:  n17 has 32 CPUs free, at most 14 in one NUMA node
 *
 * Thread: any.
 */
#pragma once

struct json;
struct outlook;
struct strbuf;

/* Nodes excluded by selectors or taints are left out. For a pod that asks for
 * CPUs and memory by amount alone, free_capacity.h describes the nodes.
 */
void shortage_describe(const struct outlook *outlook,
                       const struct json *pod,
                       struct strbuf *out);
