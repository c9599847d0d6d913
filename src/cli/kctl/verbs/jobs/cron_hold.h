/* SPDX-License-Identifier: Apache-2.0 */
/* cron_hold.h - kctl hold and release of CronJobs: their spec.suspend
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;
struct kctl;

/* Takes the CronJobs out of the operands: "cronjob/NAME", and all behind a first
 * one that is the type. Returns how many there are, by name in *ret_names, which
 * is in the arena.
 */
size_t cron_hold_take(int *n_operands,
                      char **operands,
                      struct arena *arena,
                      const char ***ret_names);

/* Changes each of them, and prints what became of it. An error is that of the
 * first that failed; the others are changed all the same.
 */
int cron_hold_run(struct kctl *kctl,
                  const char *const *names,
                  size_t count,
                  bool holds,
                  struct arena *arena,
                  struct error *err);
