/* SPDX-License-Identifier: Apache-2.0 */
/* readiness.h - tells systemd how a daemon is doing (Type=notify)
 *
 * Nothing happens where $NOTIFY_SOCKET is not set or libsystemd was not there
 * at configure time.
 * Thread: any.
 * See: sd_notify(3).
 */
#pragma once

#include "lib/base/macro.h"

void readiness_ready(void);
void readiness_reloading(void);
void readiness_stopping(void);

/* One line for people, seen in `systemctl status`. */
void readiness_status(const char *format, ...) PRINTF(1, 2);
