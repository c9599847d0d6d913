/* SPDX-License-Identifier: Apache-2.0 */
/* hook_registry.c - the hooks of all kinds, and which of them conformance has */
#include "controller/apiserver/access/policy.h"
#include "controller/apiserver/kinds/kinds.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "lib/base/macro.h"

static const struct kind_hooks *const all[] = {
    &pod_hooks,
    &job_hooks,
    &node_hooks,
    &event_hooks,
    &events_event_hooks,
    &lease_hooks,
    &cron_job_hooks,
    &persistent_volume_hooks,
    &persistent_volume_claim_hooks,
    &pod_group_hooks,
    &namespace_hooks,
};

/* All hooks are Kiln's additions but those that remove them. */
static const struct kind_hooks *const conformance[] = {
    &job_conformance_hooks,
};

static const struct kind_hooks none;

static const struct kind_hooks *
find_in(const struct kind_hooks *const *list, unsigned n, const struct kind *kind)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i]->kind == kind)
            return list[i];
    return &none;
}

const struct kind_hooks *
kind_hooks_find(const struct kind *kind)
{
    return find_in(all, ARRAY_SIZE(all), kind);
}

const struct kind_hooks *
kind_hooks_of_route(const struct request *q)
{
    if (q->server->policy->is_conformance)
        return find_in(conformance, ARRAY_SIZE(conformance), q->route.kind);
    return kind_hooks_find(q->route.kind);
}
