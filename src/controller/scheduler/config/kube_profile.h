/* SPDX-License-Identifier: Apache-2.0 */
/* kube_profile.h - turns one profile of a KubeSchedulerConfiguration into the
 * lists of plugins that run at each point
 *
 * Called by:  kube_configuration.c.
 * Thread:     any, while the configuration is read.
 * Source:     kube-scheduler, apis/config/v1/default_plugins.go (mergePlugins)
 *             and framework/runtime (expandMultiPointPlugins).
 */
#pragma once

struct arena;
struct json;
struct profile_settings;
struct strbuf;

/* Sets the defaults of the profile in place: the merged list of plugins, and
 * the arguments of all plugins that take some. Adds a line for each mistake,
 * "WHERE: ...".
 */
void kube_profile_complete(struct arena *arena, struct json *profile, const char *where,
                           struct strbuf *mistakes);

/* The settings of a completed profile, allocated in the arena. */
void kube_profile_settings(struct arena *arena, const struct json *profile, const char *where,
                           const struct json *extenders, struct profile_settings *ret_settings,
                           struct strbuf *mistakes);
