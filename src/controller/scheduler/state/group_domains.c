/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/state/group_domains.h"

#include <stdlib.h>

#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/node_domains.h"
#include "controller/scheduler/state/topology_levels.h"
#include "lib/base/alloc.h"

struct group_domains {
    struct group_domains_settings settings;
    struct node_domains *domains;
    unsigned version; /* of the levels */
};

void
group_domains_free(struct group_domains *g)
{
    if (g == NULL)
        return;
    node_domains_free(g->domains);
    free(g);
}

struct group_domains *
group_domains_new(const struct group_domains_settings *settings)
{
    struct group_domains *g = xnew(struct group_domains);

    g->settings = *settings;
    g->domains = topology_levels_make_domains(settings->topology, &g->version);
    return g;
}

bool
group_domains_renew(struct group_domains *g)
{
    struct node_domains *now;

    if (g->version == topology_levels_version(g->settings.topology))
        return false;
    now = topology_levels_make_domains(g->settings.topology, &g->version);
    node_domains_free(g->domains);
    g->domains = now;
    return true;
}

struct node_domains *
group_domains_now(struct group_domains *g)
{
    cache_update_snapshot(g->settings.cache, g->settings.snapshot);
    node_domains_update(g->domains, g->settings.snapshot);
    return g->domains;
}

struct node_domains *
group_domains_last(const struct group_domains *g)
{
    return g->domains;
}

struct taken_domain {
    const struct domain_level *level;
    const struct node_domain *domain;
};

static void
take_domain(struct pod_view *pod, const struct node_view *node, void *context)
{
    struct taken_domain *t = context;

    (void)pod;
    if (t->domain == NULL)
        t->domain = domain_level_of(t->level, node);
}

const struct node_domain *
group_domains_taken(const struct group_domains *g, const struct domain_level *level,
                    const struct pod_view *pod)
{
    struct taken_domain t = {.level = level};

    cache_visit_group(g->settings.cache, pod, take_domain, &t);
    return t.domain;
}

const struct domain_level *
group_domains_find(struct group_domains *g, const struct pod_view *pod, const char *key,
                   const struct node_domain **ret_taken)
{
    const struct domain_level *level;

    if (key == NULL)
        return NULL;
    level = node_domains_find(group_domains_now(g), g->settings.snapshot, key);
    *ret_taken = group_domains_taken(g, level, pod);
    return level;
}
