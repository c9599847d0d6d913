/* SPDX-License-Identifier: Apache-2.0 */
/* top.h - the views of kctl top: used, allocated and total amounts
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;
struct grid;
struct kctl;
struct named_resources;

/* Each view adds its columns and rows. All objects in `wanted` are of the
 * view's kind.
 */
struct top_query {
    const struct named_resources *wanted;
    const char *label_selector; /* or NULL */
    bool all_namespaces;
};
typedef int top_fn(struct kctl *kctl, const struct top_query *question, struct arena *arena,
                   struct grid *grid, struct error *err);
top_fn top_nodes, top_pods, top_jobs;

/* Cells, in the arena: "38%", "-" if `whole` is 0; "4", "1.5" from thousandths;
 * "1.5Gi".
 */
const char *top_percent(struct arena *arena, double part, double whole);
const char *top_cpus(struct arena *arena, int64_t mcpu);
const char *top_bytes(struct arena *arena, int64_t bytes);
