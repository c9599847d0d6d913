/* SPDX-License-Identifier: Apache-2.0 */
/* job_rules.h - what is right in a job's spec; called by job_strategy.c */
#pragma once

#include <stdbool.h>

struct arena;
struct causes;
struct json;

void job_spec_check(struct causes *c, const struct json *spec);
void pod_template_check(struct causes *c,
                        const struct json *owner,
                        const char *name);

/* Whether a label selector selects a map of labels, both trees. */
bool job_selector_matches(struct arena *arena,
                          const struct json *selector,
                          const struct json *labels);
