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

/* The empty text is the empty set. -EINVAL: the text is not a list; -ERANGE: a
 * number is out of range. The kernel's form `N-M:U/G` (U of every G) is
 * refused, because nothing here writes it.
 */
int cpuset_parse(const char *text, struct bitset *ret_set, struct error *err);

/* Appends the shortest list; nothing for the empty set. */
void cpuset_format(const struct bitset *set, struct strbuf *out);
