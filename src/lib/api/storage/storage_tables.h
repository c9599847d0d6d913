/* SPDX-License-Identifier: Apache-2.0 */
/* storage_tables.h - the columns of volumes, claims and storage classes
 *
 * Thread:  any; constants.
 */
#pragma once

#include "lib/api/object/table.h"

extern const struct table persistent_volume_table;
extern const struct table persistent_volume_claim_table;
extern const struct table storage_class_table;
