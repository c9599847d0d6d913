/* SPDX-License-Identifier: Apache-2.0 */
/* hook_registry.c - finds the hooks of a kind in a profile's list
 *
 * api_profiles.c has the lists. They are short, and a request looks at most a few times.
 */
#include <stddef.h>

#include "controller/apiserver/request/api_profile.h"
#include "controller/apiserver/request/kind_hooks.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"

static const struct kind_hooks none;

static const struct kind_hooks *
find_in(const struct api_profile *profile, const struct kind *kind)
{
    for (const struct kind_hooks *const *at = profile->hooks; *at != NULL; at++)
        if ((*at)->kind == kind)
            return *at;
    return &none;
}

const struct kind_hooks *
kind_hooks_find(const struct kind *kind)
{
    return find_in(&api_profile_kiln, kind);
}

const struct kind_hooks *
kind_hooks_served(const struct request *q, const struct kind *kind)
{
    return find_in(q->server->profile, kind);
}

const struct kind_hooks *
kind_hooks_of_route(const struct request *q)
{
    return kind_hooks_served(q, q->route.kind);
}

const char *
kind_hooks_resolve_name(const struct request *q, const struct kind *kind, const char *name)
{
    const struct kind_hooks *hooks = kind_hooks_served(q, kind);

    return name != NULL && hooks->resolve_name != NULL ? hooks->resolve_name(q, name) : name;
}
