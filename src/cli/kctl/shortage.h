/* SPDX-License-Identifier: Apache-2.0 */
/* shortage.h - what a pod that waits needs of a node, and which nodes come
 * nearest, in words
 *
 *   Needs:    24 CPUs on whole cores in one NUMA node, 48Gi of memory
 *   Nearest:  n17: 32 free, at most 14 in one NUMA node
 */
#pragma once

struct error;
struct json;
struct kctl;
struct strbuf;

/* Of one that asks for no cores of its own, by amounts (headroom.h). */
int shortage_tell(struct kctl *kctl,
                  const struct json *pod,
                  struct strbuf *out,
                  struct error *err);
