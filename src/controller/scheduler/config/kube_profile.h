/* SPDX-License-Identifier: Apache-2.0 */
/* kube_profile.h - one profile of a KubeSchedulerConfiguration, made the
 * plugins that run at each point
 *
 * Called by:  kube_configuration.c.
 * Thread:     any, while the configuration is read.
 * Source:     kube-scheduler, apis/config/v1/default_plugins.go (mergePlugins)
 *             and framework/runtime (expandMultiPointPlugins).
 */
#pragma once

struct arena;
struct error;
struct json;
struct profile_settings;
struct strbuf;

/* Fills in what the profile leaves out, in place: its merged plugins, and the
 * arguments of all that take some. Mistakes have a line each, "WHERE: ...".
 */
void kube_profile_complete(struct arena *arena,
                           struct json *profile,
                           const char *where,
                           struct strbuf *mistakes);

/* A completed profile, from the arena. */
void kube_profile_settings(struct arena *arena,
                           const struct json *profile,
                           const char *where,
                           const struct json *extenders,
                           struct profile_settings *ret_settings,
                           struct strbuf *mistakes);
