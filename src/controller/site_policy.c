/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/site_policy.h"

#include <errno.h>
#include <string.h>

#include "controller/apiserver/access/policy.h"
#include "controller/settings.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"

static int
add_people(struct policy_people *people, const struct setting_texts *names, const char *key,
           struct error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        int r = policy_people_add(people, names->items[i], err);

        if (r < 0)
            return error_wrap(err, -EINVAL, "%s", key);
    }
    return 0;
}

int
site_policy_read(const struct controller_settings *s, struct policy *policy, struct error *err)
{
    int r = add_people(&policy->administrators, &s->administrators, "administrators", err);

    if (r == 0)
        r = add_people(&policy->operators, &s->operators, "operators", err);
    policy->allows_root_jobs = s->allow_root_jobs;
    policy->minimum_uid = (uid_t)s->min_uid;
    policy->allows_rootless_agents = s->allow_rootless_agents;
    policy->must_approve_nodes = s->approve_nodes;
    policy->agent_labels = xnew_array(char *, s->agent_labels.count);
    for (size_t i = 0; i < s->agent_labels.count; i++)
        policy->agent_labels[policy->n_agent_labels++] = xstrdup(s->agent_labels.items[i]);
    policy->topology_levels = xnew_array(char *, s->topology_levels.count);
    for (size_t i = 0; i < s->topology_levels.count; i++)
        policy->topology_levels[policy->n_topology_levels++] = xstrdup(s->topology_levels.items[i]);
    policy->impossible = (enum impossible_jobs)s->impossible;
    policy->limits = s->limits;
    policy->sends_mail = s->mail_program != NULL;
    return r;
}

void
site_policy_fini(struct policy *policy)
{
    policy_people_fini(&policy->administrators);
    policy_people_fini(&policy->operators);
    for (size_t i = 0; i < policy->n_agent_labels; i++)
        free(policy->agent_labels[i]);
    free(policy->agent_labels);
    policy->agent_labels = NULL;
    policy->n_agent_labels = 0;
    for (size_t i = 0; i < policy->n_topology_levels; i++)
        free(policy->topology_levels[i]);
    free(policy->topology_levels);
    policy->topology_levels = NULL;
    policy->n_topology_levels = 0;
}
