/* SPDX-License-Identifier: Apache-2.0 */
/* kube_configuration.h - how the scheduler is told to be: upstream's
 * KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)
 *
 * It is read strictly: a field that is unknown, given twice or of the wrong
 * type, an unknown plugin and arguments that a plugin does not take are
 * mistakes. Settings of upstream that Kiln has no use for (a client connection,
 * say) are named in the warnings. Settings that are left out get defaults:
 * Kiln's own profile, and all nodes looked at where upstream would take a
 * sample.
 *
 * Owns:    the profiles' settings and the tree they came from; const once
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
struct json;
struct kube_configuration;
struct profile_settings;
struct strbuf;

/* Life. Read: NULL for what there is without a file. -EINVAL with a line per
 * mistake, "NAME: KEY: WORDS"; -errno when the file cannot be read.
 */
void kube_configuration_free(struct kube_configuration *c);
int kube_configuration_parse(const char *name,
                             const char *text,
                             size_t length,
                             struct kube_configuration **ret_configuration,
                             struct strbuf *mistakes);
int kube_configuration_read(const char *path,
                            struct kube_configuration **ret_configuration,
                            struct strbuf *mistakes);
DEFINE_CLEANUP(struct kube_configuration, kube_configuration_free)

/* Look. The profiles' handles are NULL: the scheduler fills them in. */
struct kube_numbers {
    int64_t initial_backoff_us;
    int64_t max_backoff_us;
    bool is_electing; /* a leader, by a Lease */
    int64_t lease_us;
    int64_t renew_us;
    int64_t retry_us;
    const char *lease_namespace;
    const char *lease_name;
};
struct kube_numbers
kube_configuration_numbers(const struct kube_configuration *c);
const struct profile_settings *
kube_configuration_profiles(const struct kube_configuration *c,
                            unsigned *ret_count);

/* The other programs that have a say. */
const struct extenders *
kube_configuration_extenders(const struct kube_configuration *c);

/* The settings in the file that have no effect, one on a line, or "". */
const char *kube_configuration_warnings(const struct kube_configuration *c);

/* The whole of it as it is in effect, YAML: reading that gives the same. Show:
 * JSON for anybody to see, without the keys of extenders' tlsConfig.
 */
void kube_configuration_show(const struct kube_configuration *c,
                             struct strbuf *out);
void kube_configuration_print(const struct kube_configuration *c,
                              struct strbuf *out);
