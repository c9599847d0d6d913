/* SPDX-License-Identifier: Apache-2.0 */
/* account_fields.h - the fields of sacct: all that Slurm 22.05 lists with
 * --helpformat, in that order
 *
 * Thread: the main one.
 */
#pragma once

#include "cli/slurm_tables/field_format.h"

extern const struct output_columns account_fields;
