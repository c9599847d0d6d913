/* SPDX-License-Identifier: Apache-2.0 */
/* spread_domains.h - how many pods there are in each domain of one rule, while
 * pods are tried to come and go
 *
 * Thread: the scheduler's.
 * Source: kube-scheduler, plugins/podtopologyspread/filtering.go.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The pods in each domain of one rule. */
struct domain {
    char *value;
    int64_t pods;
};

/* The two domains with fewest pods, as upstream keeps them: after a change
 * the second is right as far as it was known before.
 */
struct critical {
    const char *value; /* NULL: none */
    int64_t pods;
};

struct domains {
    struct map *by_value; /* to struct domain */
    struct critical fewest[2];
};

void domains_init(struct domains *d);
void domains_fini(struct domains *d);
void domains_copy(struct domains *to, const struct domains *from);

/* The domain of that value, made with no pods when it is not there. */
struct domain *domains_make(struct domains *d, const char *value);

/* That one has other numbers now; all have. */
void domains_changed(struct domains *d, const struct domain *domain);
void domains_settle(struct domains *d);
