/* SPDX-License-Identifier: Apache-2.0 */
/* The first write of each opening of a store. The files may be a copy of what
 * another opening continued: from a backup, or a copy or a snapshot of the state
 * directory that was put back. So the revisions that were reserved but are not
 * stored count as lost, the opening has a number of its own, and job ids
 * continue well above the last one that is stored.
 */
#include <stdlib.h>
#include <string.h>

#include "controller/store/directory/backup.h"
#include "controller/store/lineage/revision_ranges.h"
#include "controller/store/store_state.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/map.h"
#include "lib/base/random.h"

#define OPS 3

struct opening {
    struct store *store;
    struct engine_op ops[OPS];
    size_t n_ops;
};

static void
keep_secret(struct opening *o, const char *name, char *value TAKES)
{
    free(map_put(o->store->secrets, name, value));
    o->ops[o->n_ops++] = (struct engine_op){
        .verb = ENGINE_PUT_SECRET,
        .name = name,
        .bytes = value,
        .length = strlen(value),
    };
}

/* The revision that the store has: a restore has raised the counter. */
static int64_t
find_last(struct opening *o, int64_t counter)
{
    CLEANUP_FREE char *restored = map_remove(o->store->secrets, STORE_RESTORED_AT);

    if (restored == NULL)
        return counter;
    o->ops[o->n_ops++] = (struct engine_op){.verb = ENGINE_DROP_SECRET, .name = STORE_RESTORED_AT};
    o->store->was_closed = false;
    return strtoll(restored, NULL, 10);
}

static void
begin_run(struct opening *o, int64_t last)
{
    struct store *s = o->store;
    uint64_t run;

    random_bytes(&run, sizeof(run));
    run_chain_parse(store_find_secret(s, STORE_RUNS), &s->runs);
    run_chain_open(&s->runs, run, s->epoch, last);
    keep_secret(o, STORE_RUNS, run_chain_format(&s->runs));
}

/* Two copies of one store skip differently, so that they hardly ever issue the
 * same revisions, and no watch of the one continues with the other.
 */
static int64_t
skip_more(void)
{
    uint32_t bytes;

    random_bytes(&bytes, sizeof(bytes));
    return bytes % REVISIONS_SKIPPED;
}

static void
note_skipped(struct opening *o, int64_t after, int64_t before)
{
    struct revision_ranges skipped;

    revision_ranges_parse(store_find_secret(o->store, STORE_SKIPPED_REVISIONS), &skipped);
    revision_ranges_add(&skipped, after, before);
    keep_secret(o, STORE_SKIPPED_REVISIONS, revision_ranges_format(&skipped));
}

int
store_begin_run(struct store *s, struct engine_counters *counters, struct error *err)
{
    struct opening o = {.store = s};
    struct engine_batch batch = {
        .expected_revision = counters->revision,
        .after = *counters,
    };

    s->was_closed = counters->revision >= counters->reserved;
    if (!s->was_closed) {
        batch.after.revision = counters->reserved + skip_more();
        batch.after.job_id = counters->job_id + JOB_IDS_RESERVED;
        note_skipped(&o, counters->revision, batch.after.revision + 1);
    }
    s->opened_at = counters->revision;
    s->begun_at = batch.after.revision;
    begin_run(&o, find_last(&o, counters->revision));
    batch.after.reserved = batch.after.revision + REVISIONS_RESERVED;
    batch.ops = o.ops;
    batch.n_ops = o.n_ops;
    if (s->engine->ops->apply(s->engine, &batch, err) != ENGINE_COMMITTED)
        return err->code;
    *counters = batch.after;
    return 0;
}
