/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/contents.h"

#include <stdlib.h>
#include <string.h>

#include "controller/store/expiry.h"
#include "controller/store/memory/blob_counts.h"
#include "controller/store/memory/object_index.h"
#include "controller/store/memory/secondary_index.h"
#include "controller/store/quarantine.h"
#include "lib/api/object/dictionary_objects.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/map.h"

static void
make_indexes(struct section *section, const struct kind *kind)
{
    section->n_indexes = kind_stored(kind) == kind ? kind->n_indexes : 0;
    section->indexes = xnew_array(struct secondary_index *, section->n_indexes + 1);
    for (unsigned i = 0; i < section->n_indexes; i++)
        section->indexes[i] = secondary_index_new(&kind->indexes[i], i);
}

void
contents_init(struct contents *c)
{
    *c = (struct contents){
        .sections = xnew_array(struct section, n_kinds),
        .blobs = blob_counts_new(),
        .secrets = map_new(),
        .quarantine = quarantine_new(),
        .dictionaries = dictionary_objects_new(),
    };
    for (unsigned i = 0; i < n_kinds; i++) {
        const struct kind *kind = kinds[i];

        make_indexes(&c->sections[i], kind);
        c->sections[i].objects = object_index_new(kind, c->sections[i].n_indexes);
        c->sections[i].name = kind->group[0] != '\0' ? xasprintf("%s.%s", kind->plural, kind->group)
                                                     : xstrdup(kind->plural);
    }
}

static void
section_fini(struct section *section)
{
    expiry_free(section->expiry);
    for (struct entry *e = object_index_first(section->objects); e != NULL; e = e->next[0]) {
        object_unref(e->heads[STORE_PUBLISHED]);
        object_unref(e->heads[STORE_PENDING]);
    }
    object_index_free(section->objects);
    for (unsigned i = 0; i < section->n_indexes; i++)
        secondary_index_free(section->indexes[i]);
    free(section->indexes);
    free(section->name);
}

static void
free_secrets(struct map *secrets)
{
    size_t at = 0;
    void *value;

    while (map_next(secrets, &at, NULL, &value))
        free(value);
    map_free(secrets);
}

void
contents_fini(struct contents *c)
{
    for (unsigned i = 0; i < n_kinds; i++)
        section_fini(&c->sections[i]);
    free(c->sections);
    blob_counts_free(c->blobs);
    free_secrets(c->secrets);
    quarantine_free(c->quarantine);
    dictionary_objects_free(c->dictionaries);
}

struct section *
contents_section(const struct contents *c, const struct kind *kind)
{
    for (unsigned i = 0; i < n_kinds; i++)
        if (kinds[i] == kind)
            return &c->sections[i];
    abort(); /* the kind is not in kinds[] */
}

struct section *
contents_find_section(const struct contents *c, const char *name)
{
    for (unsigned i = 0; i < n_kinds; i++)
        if (strcmp(c->sections[i].name, name) == 0)
            return &c->sections[i];
    return NULL;
}

void
contents_set_head(struct contents *c, struct entry *entry, const struct kind *kind,
                  enum store_head head, const struct object *object)
{
    struct section *section = contents_section(c, kind);

    for (unsigned i = 0; i < section->n_indexes; i++)
        secondary_index_set(section->indexes[i], entry, head, object);
    if (head == STORE_PENDING && c->moved != NULL)
        c->moved(entry->heads[head], object, c->moved_context);
    object_unref(entry->heads[head]);
    entry->heads[head] = object;
}
