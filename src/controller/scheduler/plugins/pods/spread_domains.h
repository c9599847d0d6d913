/* SPDX-License-Identifier: Apache-2.0 */
/* spread_domains.h - the number of pods in each domain of one constraint, while
 * pods are added and removed in a what-if
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, plugins/podtopologyspread/filtering.go.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct domain {
    char *value;
    int64_t pods;
};

/* One of the two domains with the fewest pods. As upstream, a change compares
 * only with these two, so the second may be outdated after a change.
 */
struct critical {
    const char *value; /* NULL: none */
    int64_t pods;
};

struct domains {
    struct map *by_value; /* to struct domain */
    struct critical fewest[2];
};

void spread_domains_init(struct domains *d);
void spread_domains_fini(struct domains *d);
void spread_domains_copy(struct domains *to, const struct domains *from);

/* The domain of that value; made with no pods when there is none. */
struct domain *spread_domains_make(struct domains *d, const char *value);

/* Updates the fewest after a change of that domain; after a change of all. */
void spread_domains_changed(struct domains *d, const struct domain *domain);
void spread_domains_settle(struct domains *d);
