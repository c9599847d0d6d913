/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_table.h - sinfo -T: a line for each reservation
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct slurm_client;

/* Prints the table, or an error; the exit status. */
int reservation_table_print(struct slurm_client *client, bool has_heading);
