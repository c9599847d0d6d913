/* SPDX-License-Identifier: Apache-2.0 */
/* cpuset.h - lists of CPUs and of NUMA nodes as people and the kernel write
 * them: "0-7,64-71"
 *
 * The kernel's list format (cpuset.cpus, Cpus_allowed_list). Numbers stay
 * below BITSET_BITS.
 *
 * Thread:  any.
 */
#pragma once

#include "lib/base/bitset.h"

struct error;
struct strbuf;

/* The empty text is the empty set. Refuses what is not a list with -EINVAL
 * and numbers out of range with -ERANGE. `N-M:U/G` (U of every G) is not
 * taken: nothing here writes it.
 */
int cpuset_parse(const char *text, struct bitset *ret_set, struct error *err);

/* Appends the shortest list; nothing for the empty set. */
void cpuset_format(const struct bitset *set, struct strbuf *out);
