/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_json.h - the frame of --json and --yaml, as Slurm 22.05 has it
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct json;

/* Prints {"meta": ..., "errors": [], NAME: value}. */
void slurm_json_print(struct arena *arena, const char *name, struct json *value, bool is_yaml);

/* The same of a list of many items as JSON, which are made and printed one by one: item `i`, in
 * the arena.
 */
typedef struct json *slurm_json_make_fn(void *context, size_t i, struct arena *arena);
void slurm_json_print_rows(const char *name, size_t count, slurm_json_make_fn *make, void *context);
