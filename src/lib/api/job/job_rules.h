/* SPDX-License-Identifier: Apache-2.0 */
/* job_rules.h - validation of a job's spec; called by job_strategy.c
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct causes;
struct json;

void job_spec_check(struct causes *c, const struct json *spec);

/* The same for a job template, whose spec has no selector yet. */
void job_template_spec_check(struct causes *c, const struct json *spec);

/* Parts of the given spec. */
void job_failure_policy_check(struct causes *c, const struct json *spec);
void job_success_policy_check(struct causes *c, const struct json *spec);

/* Checks the status of a job; the causes' path must point at the job. */
void job_status_check(struct causes *c, const struct json *job, const struct json *old);

/* Lists of indexes such as "1,3-5", all below `completions`. -EINVAL with the
 * reason: the list is malformed. Overlap: of two valid lists.
 */
int job_indexes_count(struct arena *arena, const char *text, int64_t completions,
                      int64_t *ret_total, const char **ret_why);
bool job_indexes_overlap(struct arena *arena, const char *a, const char *b, int64_t completions,
                         int64_t *ret_at);

/* Whether a label selector matches a map of labels; both are trees. */
bool job_selector_matches(struct arena *arena, const struct json *selector,
                          const struct json *labels);
