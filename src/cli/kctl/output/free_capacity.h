/* SPDX-License-Identifier: Apache-2.0 */
/* free_capacity.h - in words, what nodes have free for a pod that asks for
 * amounts alone
 *
 *   Nearest:    n17 has 9 of 64 CPUs and 181Gi of 512Gi of memory free
 *   Would fit:  on 12 nodes with --mem 180G or less
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct outlook;
struct strbuf;

/* Describes the nodes that such pods may run on. */
void free_capacity_describe(const struct outlook *outlook,
                            int64_t mcpu,
                            int64_t bytes,
                            struct strbuf *out);
