/* SPDX-License-Identifier: Apache-2.0 */
/* site_audit.h - opens the audit log that the settings ask for
 *
 * Called by:  controller.c.
 * Thread:     the loop's.
 */
#pragma once

struct audit_log;
struct controller_settings;
struct error;
struct metric_registry;

/* Leaves *ret_log unchanged when there is to be no audit log. Lines that could
 * not be written are a metric, which reads the log's count.
 */
int site_audit_open(const struct controller_settings *settings, struct metric_registry *metrics,
                    struct audit_log **ret_log, struct error *err);
