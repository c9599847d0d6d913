/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc_job.h - the job of an allocation: its program only holds what it was given
 *
 * Thread:  the main one.
 */
#pragma once

struct arena;
struct client;
struct error;
struct kalloc_options;
struct object;

/* Creates it exactly once. The caller unrefs it. */
int kalloc_job_submit(const char *name, struct kalloc_options *options, struct client *client,
                      struct arena *arena, const struct object **ret_job, struct error *err);
