/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/discovery/api_resources.h"

#include <string.h>

#include "controller/apiserver/request/api_profile.h"
#include "lib/api/object/kind.h"
#include "lib/base/macro.h"

/* In kube-apiserver's order; the unit test checks that every kind's group is
 * here.
 */
const char *const api_resources_groups[] = {
    "",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "batch",
    "policy",
    "storage.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "kiln.hpc",
    "metrics.k8s.io",
    NULL,
};

const enum verb api_resources_verb_order[N_VERBS] = {
    VERB_CREATE, VERB_DELETE, VERB_DELETE_COLLECTION, VERB_GET,
    VERB_LIST,   VERB_PATCH,  VERB_REPLACE,           VERB_WATCH,
};

/* Inserts by name; the lists are short. */
static unsigned
add_sorted(const struct kind **list, unsigned n, const struct kind *kind)
{
    unsigned at = n;

    if (n == API_RESOURCES_MAX_KINDS)
        return n;
    for (; at > 0 && strcmp(list[at - 1]->plural, kind->plural) > 0; at--)
        list[at] = list[at - 1];
    list[at] = kind;
    return n + 1;
}

/* Calls `each` for every kind of the group. */
static void
visit_kinds(const char *group, const struct api_profile *profile,
            void (*each)(const struct kind *kind, void *context), void *context)
{
    const struct {
        const struct kind *const *kinds;
        unsigned n;
    } lists[] = {
        {kinds, n_kinds},
        {answered_kinds, n_answered_kinds},
        {measured_kinds, n_measured_kinds},
    };

    for (unsigned l = 0; l < ARRAY_SIZE(lists); l++)
        for (unsigned i = 0; i < lists[l].n; i++) {
            const struct kind *kind = lists[l].kinds[i];

            if (strcmp(kind->group, group) == 0
                && !(!profile->has_additions && kind->flags & KIND_KILN))
                each(kind, context);
        }
}

struct kind_search {
    const struct kind **kinds;
    const char *version;
    unsigned n;
};

static void
add_version(const struct kind *kind, void *context)
{
    struct kind_search *s = context;

    for (unsigned i = 0; i < s->n; i++)
        if (strcmp(s->kinds[i]->version, kind->version) == 0)
            return;
    if (s->n < API_RESOURCES_MAX_VERSIONS)
        s->kinds[s->n++] = kind;
}

/* The registry lists the kinds of the preferred version first. */
unsigned
api_resources_versions(const char *group, const struct api_profile *profile,
                       const struct kind *ret_kinds[API_RESOURCES_MAX_VERSIONS])
{
    struct kind_search s = {.kinds = ret_kinds};

    visit_kinds(group, profile, add_version, &s);
    return s.n;
}

static void
add_kind(const struct kind *kind, void *context)
{
    struct kind_search *s = context;

    if (strcmp(kind->version, s->version) == 0)
        s->n = add_sorted(s->kinds, s->n, kind);
}

unsigned
api_resources_kinds(const char *group, const char *version, const struct api_profile *profile,
                    const struct kind *ret_kinds[API_RESOURCES_MAX_KINDS])
{
    struct kind_search s = {.kinds = ret_kinds, .version = version};

    visit_kinds(group, profile, add_kind, &s);
    return s.n;
}

static bool
has_part(const struct kind *kind, enum subresource part)
{
    for (unsigned verb = 0; verb < N_VERBS; verb++)
        if (subresource_allows(kind, part, verb))
            return true;
    return false;
}

unsigned
api_resources_parts(const struct kind *kind, const struct api_profile *profile,
                    enum subresource ret_parts[N_SUBRESOURCES])
{
    unsigned n = 0;

    for (unsigned part = SUBRESOURCE_NONE + 1; part < N_SUBRESOURCES; part++) {
        unsigned at = n;

        if (!has_part(kind, part) || (!profile->has_additions && subresource_is_kiln(kind, part)))
            continue;
        for (; at > 0 && strcmp(subresource_name(ret_parts[at - 1]), subresource_name(part)) > 0;
             at--)
            ret_parts[at] = ret_parts[at - 1];
        ret_parts[at] = part;
        n++;
    }
    return n;
}

const char *
api_resources_part_kind(const struct kind *kind, enum subresource part)
{
    switch (part) {
    case SUBRESOURCE_BINDING:
        return "Binding";
    case SUBRESOURCE_EVICTION:
        return "Eviction";
    case SUBRESOURCE_EXEC:
        return "PodExecOptions";
    case SUBRESOURCE_EXEC_GRANT:
        return "ExecGrant";
    default:
        return kind->name;
    }
}
