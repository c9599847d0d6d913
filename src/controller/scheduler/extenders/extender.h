/* SPDX-License-Identifier: Apache-2.0 */
/* extender.h - the configuration of one extender
 *
 * Plain data, const while the scheduler runs. An extender is named by its URL.
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
    const char *url;         /* the prefix of the verbs */
    const char *filter_verb; /* each verb is NULL if it is not used */
    const char *prioritize_verb;
    const char *preempt_verb;
    const char *bind_verb;
    int64_t weight; /* of its scores */
    int64_t timeout_us;
    struct tls_client_settings tls; /* for a URL that begins with "https" */
    bool is_node_cache_capable;     /* gets node names instead of nodes */
    bool is_ignorable;              /* when it fails, the pod goes on without it */
    const char **resources;         /* that it manages; none: it handles all pods */
    unsigned n_resources;
};

struct extenders {
    const struct extender *items;
    unsigned count;
};

/* Whether the extender handles the pod: a container requests a resource that it
 * manages, or it manages none.
 */
bool extender_is_concerned(const struct extender *e, const struct pod_view *pod);
