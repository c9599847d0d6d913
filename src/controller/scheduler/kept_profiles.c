/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/kept_profiles.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/profile.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

struct kept_profiles *
kept_profiles_ref(struct kept_profiles *k)
{
    atomic_fetch_add_explicit(&k->references, 1, memory_order_relaxed);
    return k;
}

void
kept_profiles_unref(struct kept_profiles *k)
{
    if (k == NULL || atomic_fetch_sub_explicit(&k->references, 1, memory_order_acq_rel) != 1)
        return;
    arena_free(k->arena);
    free(k);
}

struct kept_profiles *
kept_profiles_new(unsigned most)
{
    struct kept_profiles *k = xnew(struct kept_profiles);

    atomic_init(&k->references, 1);
    k->arena = arena_new(0);
    k->items = arena_alloc(k->arena, most * sizeof(*k->items));
    return k;
}

void
kept_profiles_add(struct kept_profiles *k, const struct profile_settings *given)
{
    struct profile_plugin *plugins =
        arena_alloc(k->arena, (given->n_plugins + 1) * sizeof(*plugins));
    struct profile_settings *kept = &k->items[k->count++];
    struct point_order *orders = NULL;

    for (unsigned i = 0; i < given->n_plugins; i++) {
        plugins[i] = given->plugins[i];
        if (plugins[i].args != NULL)
            plugins[i].args = json_dup(k->arena, plugins[i].args);
    }
    if (given->orders != NULL) {
        orders = arena_alloc(k->arena, POINTS * sizeof(*orders));
        memcpy(orders, given->orders, POINTS * sizeof(*orders));
    }
    *kept = *given;
    kept->scheduler_name = arena_strdup(k->arena, given->scheduler_name);
    kept->plugins = plugins;
    kept->orders = orders;
}
