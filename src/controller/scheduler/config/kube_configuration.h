/* SPDX-License-Identifier: Apache-2.0 */
/* kube_configuration.h - the scheduler's configuration: upstream's
 * KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)
 *
 * Parsing is strict. Errors are a field that is unknown, duplicate or of the
 * wrong type, an unknown plugin, and arguments that a plugin does not take.
 * Upstream's settings that Kiln does not need (such as a client connection) are
 * named in the warnings. Missing settings get defaults: Kiln's own profile, and
 * evaluation of all nodes where upstream would take a sample.
 *
 * Owns:    the profiles' settings and the tree that they came from; const once
 *          read, so that threads may share it.
 * Thread:  any; const once read.
 * Source:  kube-scheduler, apis/config/v1 (defaults.go, default_plugins.go),
 *          apis/config/validation, framework/runtime (expandMultiPointPlugins).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct extenders;
struct kube_configuration;
struct profile_settings;
struct strbuf;

/* Life. Read: with a NULL path it gives the defaults. -EINVAL, with a line for
 * each mistake, "NAME: KEY: TEXT"; another -errno when the file cannot be read.
 */
void kube_configuration_free(struct kube_configuration *c);
int kube_configuration_read(const char *path, struct kube_configuration **ret_configuration,
                            struct strbuf *mistakes);
DEFINE_CLEANUP(struct kube_configuration, kube_configuration_free)

/* The profiles' handles are NULL; the scheduler sets them. */
struct kube_numbers {
    int64_t initial_backoff_us;
    int64_t max_backoff_us;
    bool is_electing; /* a leader is elected, by a Lease */
    int64_t lease_us;
    int64_t renew_us;
    int64_t retry_us;
    const char *lease_namespace;
    const char *lease_name;
};
struct kube_numbers kube_configuration_numbers(const struct kube_configuration *c);
const struct profile_settings *kube_configuration_profiles(const struct kube_configuration *c,
                                                           unsigned *ret_count);

/* The extenders: programs that take part in scheduling over HTTP. */
const struct extenders *kube_configuration_extenders(const struct kube_configuration *c);

/* The settings in the file that have no effect, one for each line, or "". */
const char *kube_configuration_warnings(const struct kube_configuration *c);

/* Writes the effective configuration as JSON for any user, without the private keys in the
 * extenders' tlsConfig.
 */
void kube_configuration_show(const struct kube_configuration *c, struct strbuf *out);

/* Writes the effective configuration as YAML, which can be read again with the same result. */
void kube_configuration_print(const struct kube_configuration *c, struct strbuf *out);
