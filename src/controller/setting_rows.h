/* SPDX-License-Identifier: Apache-2.0 */
/* setting_rows.h - the table of the controller's settings: keys, values, help
 *
 * Called by:  settings.c.
 * Thread:     any; constants.
 */
#pragma once

#include "lib/program/setting.h"

#define CONTROLLER_STATE_DIR     LOCALSTATEDIR "/lib/kiln"
#define CONTROLLER_SOCKET        RUNSTATEDIR "/kiln/socket"
#define CONTROLLER_CONFIGURATION SYSCONFDIR "/kiln/controller.yaml"

/* Offsets are in struct controller_settings. */
extern const struct setting_table controller_setting_table;
