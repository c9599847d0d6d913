/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_registry.h - all plugins, and the default profile
 *
 * A new plugin needs one file and one line in plugin_registry.c.
 *
 * Thread: any; const tables.
 */
#pragma once

#include "controller/scheduler/framework/profile.h"

extern const struct plugin *const plugin_list[];
extern const unsigned plugin_count;

/* NULL when no plugin has that name. */
const struct plugin *plugin_find(const char *name);

/* Kiln's default profile. */
extern const struct profile_plugin default_profile[];
extern const unsigned n_default_profile;
