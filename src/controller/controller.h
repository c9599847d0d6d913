/* SPDX-License-Identifier: Apache-2.0 */
/* controller.h - the daemon: its components, started and stopped in one order
 *
 * Owns:    every component; the loop of the main thread.
 * Thread:  the main one. Scheduler and lifecycle have their own.
 * See:     the table at the top of controller.c.
 */
#pragma once

#include "lib/base/macro.h"

struct controller;
struct controller_settings;
struct error;

/* Life. New starts the components in their order. On a failure it stops those
 * that were started and returns a negative errno. Free stops all in the
 * opposite order.
 */
void controller_free(struct controller *controller);
int controller_new(const struct controller_settings *settings, struct controller **ret_controller,
                   struct error *err);
DEFINE_CLEANUP(struct controller, controller_free)

/* Runs until a signal asks to stop (0), or the store fails (its errno). */
int controller_run(struct controller *controller, struct error *err);
