/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_schema.h"

#include "controller/store/engine/schema_steps.h"

/* An attempt is identified by its pod's uid, which is never used again; that of
 * a Job without pods by the Job's uid. `lost`: see watermark.lost.
 */
static const char *const steps[HISTORY_SCHEMA_VERSION] = {
    "CREATE TABLE watermark ("
    " id INTEGER PRIMARY KEY CHECK (id = 1),"
    " cluster TEXT NOT NULL,"     /* its uid */
    " revision INTEGER NOT NULL," /* of the store; all earlier ends are here */
    " lost TEXT NOT NULL);"       /* ranges of revisions marked so far */
    "INSERT INTO watermark VALUES (1, '', 0, '');"
    "CREATE TABLE words ("
    " id INTEGER PRIMARY KEY,"
    " word TEXT NOT NULL UNIQUE);"
    "CREATE TABLE attempts ("
    " id INTEGER PRIMARY KEY,"
    " end_at INTEGER NOT NULL,"
    " uid INTEGER NOT NULL,"
    " user INTEGER NOT NULL,"
    " account INTEGER NOT NULL,"
    " partition INTEGER NOT NULL,"
    " job INTEGER NOT NULL,"
    " job_uid BLOB,"
    " idx INTEGER,"
    " attempt INTEGER NOT NULL,"
    " object TEXT NOT NULL,"
    " name TEXT," /* NULL: same as object */
    " pod TEXT,"  /* the name after that of the object, or all of it */
    " key BLOB NOT NULL,"
    " submit_at INTEGER NOT NULL,"
    " eligible_at INTEGER NOT NULL,"
    " start_at INTEGER NOT NULL,"
    " node INTEGER NOT NULL,"
    " cpu_milli INTEGER NOT NULL,"
    " memory INTEGER NOT NULL,"
    " devices INTEGER NOT NULL,"
    " time_limit INTEGER NOT NULL,"
    " cpu_us INTEGER,"
    " peak INTEGER,"
    " state INTEGER NOT NULL,"
    " exit_code INTEGER,"
    " signal INTEGER NOT NULL,"
    " ended_by INTEGER NOT NULL,"
    " reason INTEGER NOT NULL,"
    " message TEXT,"
    " script BLOB,"
    " revision INTEGER NOT NULL,"
    " lost INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX by_key ON attempts (key);"
    "CREATE INDEX by_end ON attempts (end_at);"
    "CREATE INDEX by_uid ON attempts (uid, end_at);"
    "CREATE INDEX by_account ON attempts (account, end_at);"
    "CREATE INDEX by_node ON attempts (node, end_at);"
    "CREATE INDEX by_job ON attempts (job, end_at) WHERE job > 0;"
    "CREATE TABLE users ("
    " user INTEGER NOT NULL,"
    " uid INTEGER NOT NULL,"
    " PRIMARY KEY (user, uid)) WITHOUT ROWID;"
    /* The amounts of each day since 1970, UTC. */
    "CREATE TABLE daily ("
    " day INTEGER NOT NULL,"
    " account INTEGER NOT NULL,"
    " user INTEGER NOT NULL,"
    " partition INTEGER NOT NULL,"
    " ended INTEGER NOT NULL,"
    " completed INTEGER NOT NULL,"
    " failed INTEGER NOT NULL,"
    " stopped INTEGER NOT NULL,"
    " cpu_s REAL NOT NULL,"
    " cpu_used_s REAL NOT NULL,"
    " cpu_measured_s REAL NOT NULL,"
    " memory_gib_s REAL NOT NULL,"
    " device_s REAL NOT NULL,"
    " started INTEGER NOT NULL,"
    " wait_s INTEGER NOT NULL,"
    " wait_most_s INTEGER NOT NULL,"
    " PRIMARY KEY (day, account, user, partition)) WITHOUT ROWID;",
    /* The id of an array's task, which differs from the index. */
    "ALTER TABLE attempts ADD COLUMN task INTEGER;",
    /* For how many microseconds the pod was frozen; NULL: never. */
    "ALTER TABLE attempts ADD COLUMN frozen_us INTEGER;",
    /* The store's epochs, each with the revision at which it began. The sums of
     * each month (202601), so that reports of years need not read each day; and
     * the indexes that questions use now, see history_index.h.
     */
    "CREATE TABLE epochs ("
    " epoch INTEGER PRIMARY KEY,"
    " revision INTEGER NOT NULL);"
    "CREATE TABLE monthly ("
    " month INTEGER NOT NULL,"
    " account INTEGER NOT NULL,"
    " user INTEGER NOT NULL,"
    " partition INTEGER NOT NULL,"
    " ended INTEGER NOT NULL,"
    " completed INTEGER NOT NULL,"
    " failed INTEGER NOT NULL,"
    " stopped INTEGER NOT NULL,"
    " cpu_s REAL NOT NULL,"
    " cpu_used_s REAL NOT NULL,"
    " cpu_measured_s REAL NOT NULL,"
    " memory_gib_s REAL NOT NULL,"
    " device_s REAL NOT NULL,"
    " started INTEGER NOT NULL,"
    " wait_s INTEGER NOT NULL,"
    " wait_most_s INTEGER NOT NULL,"
    " PRIMARY KEY (month, account, user, partition)) WITHOUT ROWID;"
    "INSERT INTO monthly SELECT"
    " CAST(strftime('%Y%m', day * 86400, 'unixepoch') AS INTEGER) AS month,"
    " account, user, partition, sum(ended), sum(completed), sum(failed),"
    " sum(stopped), sum(cpu_s), sum(cpu_used_s), sum(cpu_measured_s),"
    " sum(memory_gib_s), sum(device_s), sum(started), sum(wait_s),"
    " max(wait_most_s) FROM daily GROUP BY month, account, user, partition;",
    /* For an array that ended: the tasks that never started, in one row. */
    "ALTER TABLE attempts ADD COLUMN tasks TEXT;",
    /* Bytes read from and written to storage; NULL: not known. */
    ("ALTER TABLE attempts ADD COLUMN read_bytes INTEGER;"
     "ALTER TABLE attempts ADD COLUMN written_bytes INTEGER;"),
    /* The parts of the memory used; NULL: not known. */
    ("ALTER TABLE attempts ADD COLUMN rss INTEGER;"
     "ALTER TABLE attempts ADD COLUMN cache INTEGER;"),
    /* The use of GPUs; NULL: not known. */
    ("ALTER TABLE attempts ADD COLUMN gpus INTEGER;"
     "ALTER TABLE attempts ADD COLUMN gpu_milli INTEGER;"
     "ALTER TABLE attempts ADD COLUMN gpu_peak INTEGER;"
     "ALTER TABLE attempts ADD COLUMN gpu_memory INTEGER;"),
    /* Of an attempt of several nodes, how many, and for the row of each, which is
     * beside the attempt's, that it is one. The sums of attempts of which not all
     * have ended, as JSON.
     */
    ("ALTER TABLE attempts ADD COLUMN nodes INTEGER;"
     "ALTER TABLE attempts ADD COLUMN member INTEGER;"
     "CREATE INDEX by_member ON attempts (member) WHERE member > 0;"
     "CREATE TABLE open_attempts ("
     " key TEXT PRIMARY KEY,"
     " ended INTEGER NOT NULL,"
     " row TEXT NOT NULL) WITHOUT ROWID;"),
    /* With a replicated store: the number of the last record of its log that is
     * here (history_replica.h).
     */
    "ALTER TABLE watermark ADD COLUMN followed INTEGER NOT NULL DEFAULT 0;",
    /* Steps of jobs, also of running ones, by pod and id (history_steps.h); idx -1:
     * none. `at`: when it was last seen. The record is JSON.
     */
    ("CREATE TABLE steps ("
     " pod BLOB NOT NULL,"
     " step INTEGER NOT NULL,"
     " job INTEGER NOT NULL,"
     " idx INTEGER NOT NULL,"
     " attempt INTEGER NOT NULL,"
     " uid INTEGER NOT NULL,"
     " at INTEGER NOT NULL,"
     " is_over INTEGER NOT NULL,"
     " observed INTEGER NOT NULL,"
     " record TEXT NOT NULL,"
     " PRIMARY KEY (pod, step)) WITHOUT ROWID;"
     "CREATE INDEX steps_by_job ON steps (job, idx, attempt, step);"
     "CREATE INDEX steps_by_at ON steps (at);"),
    /* 1: programs were started in it from outside (kalloc); NULL: it had a script. */
    "ALTER TABLE attempts ADD COLUMN allocation INTEGER;",
    /* Which of the last records of that log are here (history_applied.h), and after
     * which number it is read at the earliest.
     */
    ("CREATE TABLE applied (id INTEGER PRIMARY KEY, key TEXT NOT NULL);"
     "ALTER TABLE watermark ADD COLUMN read_after INTEGER NOT NULL DEFAULT 0;"),
};

static const struct schema_steps schema = {
    .application_id = 0x4b696c48, /* "KilH" */
    .sql = steps,
    .count = HISTORY_SCHEMA_VERSION,
    .not_ours = "not a history of Kiln: move it away",
    .newer = "move the file away to start a new history",
};

int
history_schema_migrate(sqlite3 *db, struct error *err)
{
    return schema_steps_run(&schema, db, err);
}
