/* SPDX-License-Identifier: Apache-2.0 */
/* account_json.h - a job as sacct --json of Slurm 22.05 shows it
 *
 * Thread: the main one.
 */
#pragma once

struct account_row;
struct arena;
struct json;

/* With its steps, if it has started. */
struct json *account_json(const struct account_row *row, struct arena *arena);
