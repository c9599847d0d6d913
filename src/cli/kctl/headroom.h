/* SPDX-License-Identifier: Apache-2.0 */
/* headroom.h - what nodes have left for a pod that asks for amounts alone, in
 * words
 *
 *   Nearest:    n17 has 9 of 64 CPUs and 181Gi of 512Gi of memory free
 *   Would fit:  on 12 nodes with --mem 180G or less
 */
#pragma once

#include <stdint.h>

struct outlook;
struct strbuf;

/* Of the nodes that such pods may come to. */
void headroom_tell(const struct outlook *outlook,
                   int64_t mcpu,
                   int64_t bytes,
                   struct strbuf *out);
