/* SPDX-License-Identifier: Apache-2.0 */
/* node_tables.h - the columns of nodes: upstream's and Kiln's
 *
 * Thread:  any; constants.
 */
#pragma once

#include "lib/api/object/table.h"

extern const struct table node_table;
extern const struct table node_kiln_table; /* of lib/api/node_kiln_table.c */

/* Cells that both tables have. */
void node_table_add_status(struct table_row *row);
void node_table_add_version(struct table_row *row);
