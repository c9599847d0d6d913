/* SPDX-License-Identifier: Apache-2.0 */
/* reload.h - SIGHUP: the configuration is read again and what may change in a
 * running controller changes
 *
 * Settings marked `reloads` in the table change; for each of the others that
 * differs from what the controller was started with, a line in the log says
 * that it waits for a restart. A configuration with a mistake changes nothing.
 *
 * Called by:  controller.c.
 * Thread:     the loop's; the file is read and names are resolved on a worker.
 */
#pragma once

#include "lib/base/macro.h"

struct controller_settings;
struct loop;
struct policy;
struct reload;
struct workers;

struct reload_settings {
    struct loop *loop;
    struct workers *workers;
    const struct controller_settings *started_with;
    struct policy *policy; /* in effect; changed on the loop */
};

/* Life. Free only when the workers are gone. */
void reload_free(struct reload *r);
struct reload *reload_new(const struct reload_settings *settings)
    OWNED_BY(reload_free);

/* Change. While one is under way, another follows it. After stop none is
 * begun.
 */
void reload_start(struct reload *r);
void reload_stop(struct reload *r);
