/* SPDX-License-Identifier: Apache-2.0 */
/* readiness.h - notifies systemd of a daemon's state (Type=notify)
 *
 * The calls do nothing if $NOTIFY_SOCKET is not set or configure did not find
 * libsystemd.
 * Thread: any.
 * See: sd_notify(3).
 */
#pragma once

#include "lib/base/macro.h"

void readiness_ready(void);
void readiness_reloading(void);
void readiness_stopping(void);

/* Sets the one-line status text shown by `systemctl status`. */
void readiness_status(const char *format, ...) PRINTF(1, 2);
