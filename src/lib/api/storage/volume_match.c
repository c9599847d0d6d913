/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/storage/volume_match.h"

#include <string.h>

#include "lib/api/storage/persistent_volume.h"
#include "lib/api/storage/persistent_volume_claim.h"
#include "lib/base/text.h"

bool
volume_is_for(const struct persistent_volume *v, const struct persistent_volume_claim *c)
{
    const struct object_reference *claim = v->spec.claim;

    return claim != NULL && text_equals_loosely(claim->name, c->meta.name)
           && text_equals_loosely(claim->namespace, c->meta.namespace)
           && (claim->uid == NULL || claim->uid[0] == '\0'
               || text_equals_loosely(claim->uid, c->meta.uid));
}

static const char *
mode_of(const char *mode)
{
    return mode != NULL ? mode : "Filesystem";
}

static bool
has_mode(const struct persistent_volume *v, const char *mode)
{
    for (unsigned i = 0; i < v->spec.access_modes.count; i++)
        if (strcmp(v->spec.access_modes.items[i], mode) == 0)
            return true;
    return false;
}

static bool
has_modes(const struct persistent_volume *v, const struct persistent_volume_claim *c)
{
    for (unsigned i = 0; i < c->spec.access_modes.count; i++)
        if (!has_mode(v, c->spec.access_modes.items[i]))
            return false;
    return true;
}

bool
volume_suits(const struct persistent_volume *v, const struct persistent_volume_claim *c)
{
    if (v->spec.claim != NULL && !volume_is_for(v, c))
        return false;
    if (persistent_volume_bytes(v) < persistent_volume_claim_bytes(c)
        || strcmp(mode_of(v->spec.volume_mode), mode_of(c->spec.volume_mode)) != 0)
        return false;
    /* The author of the volume has chosen this claim; the rest is not asked, as in upstream. */
    if (v->spec.claim != NULL)
        return true;
    return persistent_volume_is_in_phase(v, "Available") && v->meta.deleted_at_us == 0
           && (c->spec.selector == NULL
               || label_selector_matches(c->spec.selector, &v->meta.labels))
           && strcmp(persistent_volume_class(v), persistent_volume_claim_class(c)) == 0
           && has_modes(v, c);
}

bool
volume_is_better(const struct persistent_volume *a, const struct persistent_volume *b)
{
    int64_t x = persistent_volume_bytes(a), y = persistent_volume_bytes(b);

    return x != y ? x < y : strcmp(a->meta.name, b->meta.name) < 0;
}
