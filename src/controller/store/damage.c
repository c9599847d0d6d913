/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the quarantined rows, and deletes one of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/directory/statedir.h"
#include "controller/store/quarantine.h"
#include "controller/store/scrub.h"
#include "controller/store/store_state.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

size_t
store_count_damaged(const struct store *s)
{
    return quarantine_count(s->quarantine);
}

size_t
store_count_damaged_since(const struct store *s)
{
    return scrub_count(s->scrub);
}

const struct store_damaged *
store_damaged(const struct store *s, size_t i)
{
    return quarantine_get(s->quarantine, i);
}

bool
store_is_damaged(const struct store *s, const struct kind *kind, const char *namespace,
                 const char *name)
{
    CLEANUP_FREE char *key = NULL;

    if (quarantine_count(s->quarantine) == 0 || name == NULL)
        return false;
    key = namespace != NULL && namespace[0] != '\0'
              ? xasprintf("%s/%s/%s", store_section(s, kind)->name, namespace, name)
              : xasprintf("%s/%s", store_section(s, kind)->name, name);
    return quarantine_has(s->quarantine, key);
}

bool
store_names_damaged(const struct store *s, const char *uid)
{
    return uid != NULL && quarantine_names(s->quarantine, uid);
}

/* The store is closed, so this opens the engine alone. */
int
store_drop_damaged(const struct store_location *location, const struct store_damaged *d,
                   struct strbuf *out, struct error *err)
{
    const struct engine_lost_row row = {
        .row = d->row,
        .revision = d->last_revision,
        .is_lone_change = d->is_lone_change,
    };
    struct engine_counters counters;
    struct engine *engine = NULL;
    struct statedir *lock = NULL;
    int r = statedir_open(location->directory, &lock, err);

    if (r == 0)
        r = store_open_engine(location, true, NULL, &engine, &counters, err);
    if (r == 0)
        r = engine->ops->drop_row(engine, &row, out, err);
    if (engine != NULL)
        engine->ops->close(engine);
    statedir_close(lock);
    return r;
}
