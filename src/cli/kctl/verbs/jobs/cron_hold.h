/* SPDX-License-Identifier: Apache-2.0 */
/* cron_hold.h - kctl hold and release of CronJobs, which set spec.suspend
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;
struct kctl;

/* Removes the CronJobs from the operands: "cronjob/NAME", or all operands after
 * a first one that is the type. Returns their number; *ret_names has their
 * names, in the arena.
 */
size_t cron_hold_take(int *n_operands, char **operands, struct arena *arena,
                      const char ***ret_names);

/* Changes each CronJob and prints the result. All are attempted; the error is
 * that of the first failure.
 */
int cron_hold_run(struct kctl *kctl, const char *const *names, size_t count, bool holds,
                  struct arena *arena, struct error *err);
