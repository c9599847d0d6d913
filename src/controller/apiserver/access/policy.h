/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - the site's decisions: who administers the cluster, whose jobs may
 * run
 *
 * Plain data from the configuration, const while the controller runs. Names are
 * resolved to ids once, at the start.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "controller/apiserver/access/site_limits.h"

struct error;

struct policy_people {
    uid_t *uids;
    size_t n_uids;
    gid_t *gids;
    size_t n_gids;
};

/* The answer to a job that no node could ever run. */
enum impossible_jobs {
    IMPOSSIBLE_WARN, /* it is accepted with a warning */
    IMPOSSIBLE_REFUSE,
    IMPOSSIBLE_ACCEPT, /* without a word: nodes come and go */
};
extern const char *const policy_impossible_words[];

struct policy {
    struct policy_people administrators;
    struct policy_people operators;
    bool allows_root_jobs;
    uid_t minimum_uid; /* of jobs; 0: only root is refused */
    bool allows_rootless_agents;
    bool must_approve_nodes;
    /* Labels that a new node may give itself: "KEY" or "DOMAIN/" and a star */
    char **agent_labels;
    size_t n_agent_labels;
    char **topology_levels; /* labels of nodes, the widest part first */
    size_t n_topology_levels;
    enum impossible_jobs impossible;
    struct limits limits;
    bool sends_mail; /* about jobs */
};

/* The loop's thread alone replaces a policy and reads it as it likes; another
 * thread reads it between these two calls.
 */
void policy_replace(struct policy *policy, const struct policy *by);
void policy_begin_reading(void);
void policy_end_reading(void);

/* Adds the users and groups of a comma-separated list of user names and
 * "@group"s. Returns the error of the first name that failed, -ENOENT for one
 * that the system does not know, after adding all others. Blocks on NSS.
 */
int policy_people_add(struct policy_people *people, const char *names, struct error *err);
/* Looks up one name, without '@'. Returns 0, -ENOENT, or the error that
 * prevented the look-up. Any thread; blocks on NSS.
 */
int policy_find_name(const char *name, bool is_group, struct error *err);
void policy_people_fini(struct policy_people *people);

bool policy_people_has(const struct policy_people *people, uid_t uid, const gid_t *groups,
                       size_t n_groups);
