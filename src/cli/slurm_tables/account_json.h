/* SPDX-License-Identifier: Apache-2.0 */
/* account_json.h - a job as sacct --json of Slurm 22.05 shows it
 *
 * Thread: the main one.
 */
#pragma once

struct account_row;
struct arena;
struct json;

/* With its script, as a step, if it has started; add_step adds a numbered one. */
struct json *account_json(const struct account_row *row, struct arena *arena);
void account_json_add_step(struct json *job, const struct account_row *step, struct arena *arena);
