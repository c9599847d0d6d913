/* SPDX-License-Identifier: Apache-2.0 */
/* pod_tables.h - the columns of pods: upstream's and Kiln's
 *
 * Thread:  any; constants.
 */
#pragma once

#include "lib/api/object/table.h"

extern const struct table pod_table;
extern const struct table pod_kiln_table;
