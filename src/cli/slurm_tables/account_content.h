/* SPDX-License-Identifier: Apache-2.0 */
/* account_content.h - the scripts and environments of jobs (sacct -B, --env-vars)
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct account_rows;
struct slurm_client;

/* Prints the script of each of the jobs, or its environment. A job that was deleted has neither,
 * which is told. Returns the exit status.
 */
int account_content_print(struct slurm_client *client, const struct account_rows *rows,
                          bool is_environment);
