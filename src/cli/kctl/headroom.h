/* SPDX-License-Identifier: Apache-2.0 */
/* headroom.h - what nodes have left for a pod that asks for amounts alone, in
 * words
 *
 *   Needs:      4 CPUs, 256Gi of memory
 *   Nearest:    n17 has 9 of 64 CPUs and 181Gi of 512Gi of memory free
 *   Would fit:  on 12 nodes with --mem 180G or less
 */
#pragma once

#include <stdint.h>

struct json;
struct map;
struct strbuf;

/* The loads are by the nodes' names (node_load.h). */
void headroom_tell(const struct json *nodes,
                   const struct map *loads,
                   int64_t mcpu,
                   int64_t bytes,
                   struct strbuf *out);
