/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/storage/volume_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/storage/persistent_volume.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"
#include "lib/client/client.h"
#include "lib/client/informer.h"

#define MAX_LISTENERS 4u

enum cached_volume_kind { CLASSES, VOLUMES, CLAIMS, N_VOLUME_KINDS };

struct volume_informer { /* what an informer's callbacks are about */
    struct volume_cache *all;
    enum cached_volume_kind which;
    struct informer *informer;
};

struct volume_cache {
    struct client *client;
    struct volume_informer informers[N_VOLUME_KINDS];
    struct map *prebound; /* "NS/NAME" of a claim to the volume's name */
    struct volume_cache_listener listeners[MAX_LISTENERS];
    unsigned n_listeners;
    unsigned n_synced;
};

struct volume_cache *
volume_cache_new(struct client *client)
{
    struct volume_cache *w = xnew(struct volume_cache);

    w->client = client;
    w->prebound = map_new();
    return w;
}

void
volume_cache_free(struct volume_cache *w)
{
    size_t at = 0;
    void *name;

    if (w == NULL)
        return;
    for (unsigned i = 0; i < N_VOLUME_KINDS; i++)
        informer_free(w->informers[i].informer);
    while (map_next(w->prebound, &at, NULL, &name))
        free(name);
    map_free(w->prebound);
    free(w);
}

void
volume_cache_listen(struct volume_cache *w,
                    const struct volume_cache_listener *listener)
{
    if (w->n_listeners == MAX_LISTENERS)
        abort();
    w->listeners[w->n_listeners++] = *listener;
}

/* --- what changes --------------------------------------------------------- */

static bool
claim_key(const struct object *volume, char out[OBJECT_KEY_SIZE])
{
    const struct object_reference *claim =
        persistent_volume_of(volume)->spec.claim;

    if (claim == NULL || claim->name == NULL || claim->namespace == NULL)
        return false;
    snprintf(out, OBJECT_KEY_SIZE, "%s/%s", claim->namespace, claim->name);
    return true;
}

static void
index_volume(struct volume_cache *w,
             const struct object *old_volume,
             const struct object *new_volume)
{
    char key[OBJECT_KEY_SIZE];
    const char *name;

    if (old_volume != NULL && claim_key(old_volume, key)) {
        name = map_find(w->prebound, key);
        if (name != NULL && strcmp(name, old_volume->meta->name) == 0)
            free(map_remove(w->prebound, key));
    }
    if (new_volume != NULL && claim_key(new_volume, key)
        && map_find(w->prebound, key) == NULL)
        map_put(w->prebound, key, xstrdup(new_volume->meta->name));
}

static volume_cache_change_fn *
slot_of(const struct volume_cache_listener *l, enum cached_volume_kind which)
{
    return which == CLAIMS    ? l->claim_changed
           : which == VOLUMES ? l->volume_changed
                              : l->class_changed;
}

static void
on_change(const struct object *old_object,
          const struct object *new_object,
          void *context)
{
    const struct volume_informer *cached = context;
    struct volume_cache *w = cached->all;

    if (cached->which == VOLUMES)
        index_volume(w, old_object, new_object);
    for (unsigned i = 0; i < w->n_listeners; i++) {
        volume_cache_change_fn *changed =
            slot_of(&w->listeners[i], cached->which);

        if (changed != NULL)
            changed(old_object, new_object, w->listeners[i].context);
    }
}

static void
on_synced(void *context)
{
    struct volume_cache *w = ((struct volume_informer *)context)->all;

    if (++w->n_synced < N_VOLUME_KINDS)
        return;
    for (unsigned i = 0; i < w->n_listeners; i++)
        if (w->listeners[i].synced != NULL)
            w->listeners[i].synced(w->listeners[i].context);
}

void
volume_cache_start(struct volume_cache *w)
{
    static const struct kind *const kinds_of[N_VOLUME_KINDS] = {
        [CLASSES] = &storage_class_kind,
        [VOLUMES] = &persistent_volume_kind,
        [CLAIMS] = &persistent_volume_claim_kind,
    };

    for (unsigned i = 0; i < N_VOLUME_KINDS; i++) {
        struct volume_informer *cached = &w->informers[i];

        cached->all = w;
        cached->which = i;
        cached->informer = informer_new(&(struct informer_settings){
            .client = w->client,
            .kind = kinds_of[i],
            .changed = on_change,
            .synced = on_synced,
            .context = cached,
        });
    }
}

/* --- look ----------------------------------------------------------------- */

bool
volume_cache_has_synced(const struct volume_cache *w)
{
    return w->n_synced == N_VOLUME_KINDS;
}

const struct object *
volume_cache_find_claim(const struct volume_cache *w,
                        const char *namespace,
                        const char *name)
{
    return informer_find(w->informers[CLAIMS].informer, namespace, name);
}

const struct object *
volume_cache_find_volume(const struct volume_cache *w, const char *name)
{
    return informer_find(w->informers[VOLUMES].informer, NULL, name);
}

const struct object *
volume_cache_find_class(const struct volume_cache *w, const char *name)
{
    return informer_find(w->informers[CLASSES].informer, NULL, name);
}

const struct object *
volume_cache_find_prebound(const struct volume_cache *w,
                           const struct object *claim)
{
    char key[OBJECT_KEY_SIZE];
    const char *name;

    object_key(claim, key);
    name = map_find(w->prebound, key);
    return name != NULL ? volume_cache_find_volume(w, name) : NULL;
}

void
volume_cache_visit_claims(const struct volume_cache *w,
                          volume_cache_visit_fn *visit,
                          void *context)
{
    informer_visit(w->informers[CLAIMS].informer, visit, context);
}

void
volume_cache_visit_volumes(const struct volume_cache *w,
                           volume_cache_visit_fn *visit,
                           void *context)
{
    informer_visit(w->informers[VOLUMES].informer, visit, context);
}
