/* SPDX-License-Identifier: Apache-2.0 */
/* job_tables.h - the columns of jobs: upstream's, and those of batch systems
 *
 * Thread:  any; constants.
 */
#pragma once

#include "lib/api/object/table.h"

extern const struct table job_table;
extern const struct table job_kiln_table;
