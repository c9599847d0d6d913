/* SPDX-License-Identifier: Apache-2.0 */
/* reload.h - SIGHUP: reads the configuration again and changes what may change
 * in a running controller
 *
 * Settings marked `reloads` in the table change. For each other setting that
 * differs from the one at the start, a line in the log says that it needs a
 * restart. A certificate for TLS is read again, too. A configuration with a mistake,
 * or a certificate that cannot be used, changes nothing.
 *
 * Called by:  controller.c.
 * Thread:     the loop's; a worker reads the file and resolves names.
 */
#pragma once

#include "lib/base/macro.h"

struct controller_settings;
struct loop;
struct policy;
struct reload;
struct serving_keys;
struct topology_levels;
struct workers;

struct reload_settings {
    struct loop *loop;
    struct workers *workers;
    const struct controller_settings *started_with;
    struct policy *policy;              /* in effect; changed on the loop */
    struct serving_keys **serving_keys; /* NULL without TLS; likewise */
    struct topology_levels *topology;   /* likewise */
};

/* Life. Free after the workers are gone. */
void reload_free(struct reload *r);
struct reload *reload_new(const struct reload_settings *settings) OWNED_BY(reload_free);

/* During a reload, reload_start requests another one after it. After
 * reload_stop none begins.
 */
void reload_start(struct reload *r);
void reload_stop(struct reload *r);
