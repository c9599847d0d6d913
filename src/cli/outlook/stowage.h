/* SPDX-License-Identifier: Apache-2.0 */
/* stowage.h - scratch of nodes: what a pod brings claims for, and what volumes
 * have of it already
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct object;
struct pod_spec;
struct stowage;

/* Bytes of scratch that the pod asks for with itself (ksub --tmp). */
int64_t stowage_wanted(const struct pod_spec *spec);

/* Life. Of the volumes that there are; any may be of no node. */
void stowage_free(struct stowage *s);
struct stowage *stowage_new(const struct object *const *volumes,
                            unsigned n_volumes) OWNED_BY(stowage_free);
DEFINE_CLEANUP(struct stowage, stowage_free)

/* Bytes that volumes have of that node's scratch. */
int64_t stowage_taken(const struct stowage *s, const char *node);
