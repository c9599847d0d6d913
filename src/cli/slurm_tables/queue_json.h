/* SPDX-License-Identifier: Apache-2.0 */
/* queue_json.h - a job as squeue --json of Slurm 22.05 shows it
 *
 * Thread: the main one.
 */
#pragma once

struct arena;
struct json;
struct queue_row;

struct json *queue_json(const struct queue_row *row, struct arena *arena);
