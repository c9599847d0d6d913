/* SPDX-License-Identifier: Apache-2.0 */
/* extender.h - one extender as it is configured
 *
 * Plain data, const while the scheduler runs. The URL is its name.
 *
 * Thread: any; const once read.
 * Source: kube-scheduler, apis/config (Extender) and extender.go.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/tls/tls_client.h"

struct pod_view;

struct extender {
    const char *url;         /* that the verbs are put behind */
    const char *filter_verb; /* each NULL where it has no say */
    const char *prioritize_verb;
    const char *preempt_verb;
    const char *bind_verb;
    int64_t weight; /* of its scores */
    int64_t timeout_us;
    struct tls_client_settings tls; /* for a URL that begins with "https" */
    bool is_node_cache_capable;     /* is told names, not nodes */
    bool is_ignorable;              /* its failing is no failure */
    const char **resources;         /* that concern it; none: all pods do */
    unsigned n_resources;
};

struct extenders {
    const struct extender *items;
    unsigned count;
};

/* A container asks for a resource that it manages, or it manages none. */
bool extender_is_concerned(const struct extender *e,
                           const struct pod_view *pod);
