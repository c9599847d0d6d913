/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/pods/spread_domains.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/map.h"

void
spread_domains_init(struct domains *d)
{
    d->by_value = map_new();
    d->fewest[0] = d->fewest[1] = (struct critical){NULL, INT32_MAX};
}

void
spread_domains_fini(struct domains *d)
{
    size_t at = 0;
    void *value;

    while (map_next(d->by_value, &at, NULL, &value)) {
        free(((struct domain *)value)->value);
        free(value);
    }
    map_free(d->by_value);
}

struct domain *
spread_domains_make(struct domains *d, const char *value)
{
    struct domain *domain = map_find(d->by_value, value);

    if (domain != NULL)
        return domain;
    domain = xnew(struct domain);
    domain->value = xstrdup(value);
    map_put(d->by_value, value, domain);
    return domain;
}

static bool
is_of(const struct critical *c, const struct domain *domain)
{
    return c->value != NULL && strcmp(c->value, domain->value) == 0;
}

/* The two domains with the fewest pods are enough, as in upstream: a trial changes the
 * pods of one node, and so one domain, on a copy of its own (spread_domains_copy).
 */
void
spread_domains_changed(struct domains *d, const struct domain *domain)
{
    struct critical *p = d->fewest;
    struct critical now = {domain->value, domain->pods};

    if (is_of(&p[0], domain) || is_of(&p[1], domain)) {
        p[is_of(&p[0], domain) ? 0 : 1].pods = domain->pods;
        if (p[0].pods > p[1].pods) {
            struct critical first = p[0];

            p[0] = p[1];
            p[1] = first;
        }
    } else if (domain->pods < p[0].pods) {
        p[1] = p[0];
        p[0] = now;
    } else if (domain->pods < p[1].pods) {
        p[1] = now;
    }
}

void
spread_domains_settle(struct domains *d)
{
    size_t at = 0;
    void *value;

    while (map_next(d->by_value, &at, NULL, &value))
        spread_domains_changed(d, value);
}

void
spread_domains_copy(struct domains *to, const struct domains *from)
{
    size_t at = 0;
    void *value;

    spread_domains_init(to);
    while (map_next(from->by_value, &at, NULL, &value)) {
        const struct domain *domain = value;

        spread_domains_make(to, domain->value)->pods = domain->pods;
    }
    for (unsigned i = 0; i < 2; i++) {
        to->fewest[i].pods = from->fewest[i].pods;
        if (from->fewest[i].value != NULL)
            to->fewest[i].value = spread_domains_make(to, from->fewest[i].value)->value;
    }
}
