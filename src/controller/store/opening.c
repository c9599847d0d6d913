/* SPDX-License-Identifier: Apache-2.0 */
/* The first write of each opening of a store. The files may be a copy of what
 * another opening continued: from a backup, or a copy or a snapshot of the state
 * directory that was put back. So the revisions that were reserved but are not
 * stored count as lost, the opening has a number of its own, and job ids
 * continue well above the last one that is stored.
 */
#include "controller/store/opening.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/store/directory/backup.h"
#include "controller/store/lineage/revision_ranges.h"
#include "controller/store/store.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/map.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"

#define OPS 3

/* At most so many more revisions are skipped than were reserved when the last opening did not
 * end in good order.
 */
#define REVISIONS_SKIPPED (1 << 20)

/* How many job ids are skipped then. Those that are issued need no write of their own, so
 * the stored counter is the start of the block.
 */
#define JOB_IDS_RESERVED 1000

struct first_batch {
    struct map *secrets;
    struct engine_op ops[OPS];
    size_t n_ops;
};

static const char *
find_host(char ret_host[256])
{
    (void)gethostname(ret_host, 255);
    return ret_host;
}

/* The machine and the state directory, for another controller to read. Machines
 * that were copied have one name and one machine-id; two that run never have the
 * same boot id.
 */
static char *
name_place(const char *directory, const char *host)
{
    CLEANUP_STRBUF struct strbuf boot = STRBUF_INIT;
    struct stat at = {0};

    (void)stat(directory, &at);
    if (file_read("/proc/sys/kernel/random/boot_id", 64, &boot, NULL) < 0)
        strbuf_truncate(&boot, 0);
    return xasprintf("%s (state directory '%s', inode %llu, boot %.*s)", host, directory,
                     (unsigned long long)at.st_ino, (int)strcspn(boot.text, "\n"), boot.text);
}

int
opening_engine(const struct store_location *location, bool must_exist,
               const struct engine_waits *waits, struct engine **ret_engine,
               struct engine_counters *ret_counters, struct error *err)
{
    CLEANUP_FREE char *path = xasprintf("%s/kiln.db", location->directory);
    char host[256] = "";
    CLEANUP_FREE char *place = name_place(location->directory, find_host(host));
    const struct engine_sqlite_settings file = {.path = path, .must_exist = must_exist};
    const struct engine_postgres_settings database = {
        .url = location->database,
        .place = place,
        .name = host,
        .directory = location->directory,
        .waits = waits,
    };

    return location->database != NULL
               ? engine_postgres_open(&database, ret_engine, ret_counters, err)
               : engine_sqlite_open(&file, ret_engine, ret_counters, err);
}

/* --- the first batch ------------------------------------------------------------------ */

static void
keep_secret(struct first_batch *o, const char *name, char *value TAKES)
{
    free(map_put(o->secrets, name, value));
    o->ops[o->n_ops++] = (struct engine_op){
        .verb = ENGINE_PUT_SECRET,
        .name = name,
        .bytes = value,
        .length = strlen(value),
    };
}

/* The revision that the store has: a restore has raised the counter. */
static int64_t
find_last(struct first_batch *o, struct opening *opening, int64_t counter)
{
    CLEANUP_FREE char *restored = map_remove(o->secrets, STORE_RESTORED_AT);

    if (restored == NULL)
        return counter;
    o->ops[o->n_ops++] = (struct engine_op){.verb = ENGINE_DROP_SECRET, .name = STORE_RESTORED_AT};
    opening->was_closed = false;
    return strtoll(restored, NULL, 10);
}

static void
begin_run(struct first_batch *o, struct opening *opening, int64_t last)
{
    uint64_t run;

    random_bytes(&run, sizeof(run));
    run_chain_parse(map_find(o->secrets, STORE_RUNS), &opening->runs);
    run_chain_open(&opening->runs, run, opening->epoch, last);
    keep_secret(o, STORE_RUNS, run_chain_format(&opening->runs));
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
note_skipped(struct first_batch *o, int64_t after, int64_t before)
{
    struct revision_ranges skipped;

    revision_ranges_parse(map_find(o->secrets, STORE_SKIPPED_REVISIONS), &skipped);
    revision_ranges_add(&skipped, after, before);
    keep_secret(o, STORE_SKIPPED_REVISIONS, revision_ranges_format(&skipped));
}

int
opening_begin(struct opening *opening, struct engine *engine, struct map *secrets,
              struct engine_counters *counters, struct error *err)
{
    struct first_batch o = {.secrets = secrets};
    struct engine_batch batch = {
        .expected_revision = counters->revision,
        .after = *counters,
    };

    opening->epoch = counters->epoch;
    opening->was_closed = counters->revision >= counters->reserved;
    if (!opening->was_closed) {
        batch.after.revision = counters->reserved + skip_more();
        batch.after.job_id = counters->job_id + JOB_IDS_RESERVED;
        note_skipped(&o, counters->revision, batch.after.revision + 1);
    }
    opening->opened_at = counters->revision;
    opening->begun_at = batch.after.revision;
    begin_run(&o, opening, find_last(&o, opening, counters->revision));
    batch.after.reserved = batch.after.revision + REVISIONS_RESERVED;
    batch.ops = o.ops;
    batch.n_ops = o.n_ops;
    if (engine->ops->apply(engine, &batch, err) != ENGINE_COMMITTED)
        return err->code;
    *counters = batch.after;
    return 0;
}
