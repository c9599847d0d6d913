/* SPDX-License-Identifier: Apache-2.0 */
/* job_nodes.h - which nodes a job may go to: names and features, as
 * requirements of the affinity in its template's spec
 *
 * A list of names becomes requirements on metadata.name in every term of the
 * affinity, "a&b" requirements on labels in one term, and "a|b" a term each;
 * other expressions are multiplied out.
 *
 * Thread:  any; pure functions of trees.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct json;

/* Sets the names, separated by commas, of the only node (one) or of the nodes that
 * are excluded; "" removes the requirement.
 */
int job_nodes_set_names(struct arena *arena, struct json *spec, bool is_exclusion,
                        const char *names, struct error *err);

/* Lets each pod of a job go to any of the nodes, instead of to the only one; there
 * were no names before.
 */
int job_nodes_add_choice(struct arena *arena, struct json *spec, const char *const *names,
                         size_t count, struct error *err);

/* The same in place of the former names, which are separated by commas; "" removes
 * them. -EINVAL: these are not so many as the job has nodes.
 */
int job_nodes_set_choice(struct arena *arena, struct json *spec, const char *names, int64_t nodes,
                         struct error *err);

/* Reads them back, in the arena and separated by commas; "" for none, and also
 * for requirements that the functions here could not have made.
 */
const char *job_nodes_names(struct arena *arena, const struct json *spec, bool is_exclusion);
const char *job_nodes_features(struct arena *arena, const struct json *spec);

/* Sets the features: "avx512", "zone=east", "a&b", "a|b", "(a|b)&c", read from left
 * to right without precedence; "" removes them. -EINVAL: malformed, or the terms of the
 * affinity have different names; -E2BIG: too many alternatives.
 */
int job_nodes_set_features(struct arena *arena, struct json *spec, const char *text,
                           struct error *err);
