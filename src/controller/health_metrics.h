/* SPDX-License-Identifier: Apache-2.0 */
/* health_metrics.h - what an administrator has to watch of a controller
 *
 *   kiln_munge_up                                   1 while munged answers
 *   kiln_tls_certificate_expiry_timestamp_seconds   absent without TLS
 *   kiln_last_backup_timestamp_seconds              0: there was none
 *   kiln_store_size_bytes                           kiln.db and its log
 *
 * All are read when the metrics are; a read costs a few calls of stat at most.
 *
 * Called by:  controller.c.
 * Thread:     the main one.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct metric_registry;
struct tls;

/* All arguments outlive the registry's use; tls may be NULL. */
void health_metrics_add(struct metric_registry *registry, const char *state_dir,
                        atomic_bool *is_munge_dead, struct tls *tls);
