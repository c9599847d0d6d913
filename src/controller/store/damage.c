/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes a row that could not be read. */
#include "controller/store/directory/statedir.h"
#include "controller/store/opening.h"
#include "controller/store/store.h"

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
        r = opening_engine(location, true, NULL, &engine, &counters, err);
    if (r == 0)
        r = engine->ops->drop_row(engine, &row, out, err);
    if (engine != NULL)
        engine->ops->close(engine);
    statedir_close(lock);
    return r;
}
