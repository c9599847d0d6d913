/* SPDX-License-Identifier: Apache-2.0 */
/* job_strategy.h - the functions and columns of struct kind for jobs; for job.c
 *
 * Thread:  any.
 */
#pragma once

struct arena;
struct causes;
struct json;
struct object;
struct table;

/* The columns: upstream's, and those of batch systems. */
extern const struct table job_table;
extern const struct table job_kiln_table;

void job_set_defaults(struct arena *arena, struct json *job);
void job_prepare(struct arena *arena, struct json *job, const struct json *old);
void job_validate(struct causes *c, const struct json *job, const struct json *old);
void job_warn(struct causes *c, const struct json *job, const struct json *old);
/* Parts of the spec of a Job or of a job template. */
void job_policy_set_defaults(struct arena *arena, const struct json *spec);
void job_spec_redact(struct arena *arena, struct json *spec);

void job_redact(struct arena *arena, struct json *job);
void job_validate_status(struct causes *c, const struct json *job, const struct json *old);
void job_check_status(struct causes *c, const struct json *job, const struct json *old);
struct json *job_part_of_spec(struct arena *arena, const struct object *object);
