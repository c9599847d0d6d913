/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_json.h - the frame of --json and --yaml, as Slurm 22.05 has it
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct arena;
struct json;

/* Prints {"meta": ..., "errors": [], NAME: value}. */
void slurm_json_print(struct arena *arena, const char *name, struct json *value, bool is_yaml);
