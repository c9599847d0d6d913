/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/warehouse.h"

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

enum shelf { CLASSES, VOLUMES, CLAIMS, SHELVES };

struct shelved { /* what an informer's callbacks are about */
    struct warehouse *all;
    enum shelf which;
    struct informer *informer;
};

struct warehouse {
    struct client *client;
    struct shelved shelves[SHELVES];
    struct map *aside; /* "NS/NAME" of a claim to the volume's name */
    struct warehouse_listener listeners[MAX_LISTENERS];
    unsigned n_listeners;
    unsigned n_synced;
};

struct warehouse *
warehouse_new(struct client *client)
{
    struct warehouse *w = xnew(struct warehouse);

    w->client = client;
    w->aside = map_new();
    return w;
}

void
warehouse_free(struct warehouse *w)
{
    size_t at = 0;
    void *name;

    if (w == NULL)
        return;
    for (unsigned i = 0; i < SHELVES; i++)
        informer_free(w->shelves[i].informer);
    while (map_next(w->aside, &at, NULL, &name))
        free(name);
    map_free(w->aside);
    free(w);
}

void
warehouse_listen(struct warehouse *w, const struct warehouse_listener *listener)
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
index_volume(struct warehouse *w,
             const struct object *old_volume,
             const struct object *new_volume)
{
    char key[OBJECT_KEY_SIZE];
    const char *name;

    if (old_volume != NULL && claim_key(old_volume, key)) {
        name = map_find(w->aside, key);
        if (name != NULL && strcmp(name, old_volume->meta->name) == 0)
            free(map_remove(w->aside, key));
    }
    if (new_volume != NULL && claim_key(new_volume, key)
        && map_find(w->aside, key) == NULL)
        map_put(w->aside, key, xstrdup(new_volume->meta->name));
}

static warehouse_change_fn *
slot_of(const struct warehouse_listener *l, enum shelf which)
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
    const struct shelved *shelf = context;
    struct warehouse *w = shelf->all;

    if (shelf->which == VOLUMES)
        index_volume(w, old_object, new_object);
    for (unsigned i = 0; i < w->n_listeners; i++) {
        warehouse_change_fn *changed = slot_of(&w->listeners[i], shelf->which);

        if (changed != NULL)
            changed(old_object, new_object, w->listeners[i].context);
    }
}

static void
on_synced(void *context)
{
    struct warehouse *w = ((struct shelved *)context)->all;

    if (++w->n_synced < SHELVES)
        return;
    for (unsigned i = 0; i < w->n_listeners; i++)
        if (w->listeners[i].synced != NULL)
            w->listeners[i].synced(w->listeners[i].context);
}

void
warehouse_start(struct warehouse *w)
{
    static const struct kind *const kinds_of[SHELVES] = {
        [CLASSES] = &storage_class_kind,
        [VOLUMES] = &persistent_volume_kind,
        [CLAIMS] = &persistent_volume_claim_kind,
    };

    for (unsigned i = 0; i < SHELVES; i++) {
        struct shelved *shelf = &w->shelves[i];

        shelf->all = w;
        shelf->which = i;
        shelf->informer = informer_new(&(struct informer_settings){
            .client = w->client,
            .kind = kinds_of[i],
            .changed = on_change,
            .synced = on_synced,
            .context = shelf,
        });
    }
}

/* --- look ----------------------------------------------------------------- */

bool
warehouse_has_synced(const struct warehouse *w)
{
    return w->n_synced == SHELVES;
}

const struct object *
warehouse_find_claim(const struct warehouse *w,
                     const char *namespace,
                     const char *name)
{
    return informer_find(w->shelves[CLAIMS].informer, namespace, name);
}

const struct object *
warehouse_find_volume(const struct warehouse *w, const char *name)
{
    return informer_find(w->shelves[VOLUMES].informer, NULL, name);
}

const struct object *
warehouse_find_class(const struct warehouse *w, const char *name)
{
    return informer_find(w->shelves[CLASSES].informer, NULL, name);
}

const struct object *
warehouse_find_aside(const struct warehouse *w, const struct object *claim)
{
    char key[OBJECT_KEY_SIZE];
    const char *name;

    object_key(claim, key);
    name = map_find(w->aside, key);
    return name != NULL ? warehouse_find_volume(w, name) : NULL;
}

void
warehouse_visit_claims(const struct warehouse *w,
                       warehouse_visit_fn *visit,
                       void *context)
{
    informer_visit(w->shelves[CLAIMS].informer, visit, context);
}

void
warehouse_visit_volumes(const struct warehouse *w,
                        warehouse_visit_fn *visit,
                        void *context)
{
    informer_visit(w->shelves[VOLUMES].informer, visit, context);
}
