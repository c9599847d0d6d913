/* SPDX-License-Identifier: Apache-2.0 */
/* site_audit.h - the audit log as the settings say it
 *
 * Called by: controller.c.
 * Thread:    the loop's.
 */
#pragma once

struct audit_log;
struct controller_settings;
struct error;
struct metric_registry;

/* Leaves it as it is where there is to be none. Lines that could not be written
 * are counted among the metrics, which read the log.
 */
int site_audit_open(const struct controller_settings *settings,
                    struct metric_registry *metrics,
                    struct audit_log **ret_log,
                    struct error *err);
