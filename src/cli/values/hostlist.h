/* SPDX-License-Identifier: Apache-2.0 */
/* hostlist.h - lists of node names in Slurm's short form: "n[1-3,08-10],login"
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

struct arena;
struct error;

#define HOSTLIST_MAX 4096u

/* The names, in the arena, in the order written; leading zeros are kept.
 * -EINVAL for a text that is no such list, -E2BIG above HOSTLIST_MAX names.
 */
int hostlist_expand(struct arena *arena, const char *text, const char ***ret_names,
                    size_t *ret_count, struct error *err);
