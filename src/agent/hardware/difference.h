/* SPDX-License-Identifier: Apache-2.0 */
/* difference.h - what has changed between two topologies of a machine
 *
 * Thread: any; pure.
 */
#pragma once

#include <stdbool.h>

struct strbuf;
struct topology;

/* Returns whether anything differs, and appends a sentence for the log and the
 * node's condition: "CPUs 4-7 are gone; NUMA node 1 has 64 GiB instead of 128
 * GiB". `words` may be NULL.
 */
bool difference_find(const struct topology *was, const struct topology *is, struct strbuf *words);
