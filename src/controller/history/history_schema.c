/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_schema.h"

#include <stddef.h>

#include "controller/history/history_fields.h"
#include "controller/store/engine/schema_steps.h"
#include "lib/base/strbuf.h"

/* The columns of attempts are those of history_row_record: each version adds the columns that
 * say so there (history_fields_create), and then what stands here. An attempt is identified by
 * its pod's uid, which is never used again; that of a Job without pods by the Job's uid.
 * `lost`: see watermark.lost.
 */
static const char *const others[HISTORY_SCHEMA_VERSION + 1] = {
    [1] = "CREATE TABLE watermark ("
          " id INTEGER PRIMARY KEY CHECK (id = 1),"
          " cluster TEXT NOT NULL,"     /* its uid */
          " revision INTEGER NOT NULL," /* of the store; all earlier ends are here */
          " lost TEXT NOT NULL);"       /* ranges of revisions marked so far */
          "INSERT INTO watermark VALUES (1, '', 0, '');"
          "CREATE TABLE words ("
          " id INTEGER PRIMARY KEY,"
          " word TEXT NOT NULL UNIQUE);"
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
    /* The store's epochs, each with the revision at which it began. The sums of
     * each month (202601), so that reports of years need not read each day; and
     * the indexes that questions use now, see history_index.h.
     */
    [4] = "CREATE TABLE epochs ("
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
    /* The sums of attempts of several nodes of which not all have ended, as JSON. */
    [9] = ("CREATE INDEX by_member ON attempts (member) WHERE member > 0;"
           "CREATE TABLE open_attempts ("
           " key TEXT PRIMARY KEY,"
           " ended INTEGER NOT NULL,"
           " row TEXT NOT NULL) WITHOUT ROWID;"),
    /* With a replicated store: the number of the last record of its log that is
     * here (history_replica.h).
     */
    [10] = "ALTER TABLE watermark ADD COLUMN followed INTEGER NOT NULL DEFAULT 0;",
    /* Steps of jobs, also of running ones, by pod and id (history_steps.h); idx -1:
     * none. `at`: when it was last seen. The record is JSON.
     */
    [11] = ("CREATE TABLE steps ("
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
    /* Which of the last records of that log are here (history_applied.h), and after
     * which number it is read at the earliest.
     */
    [13] = ("CREATE TABLE applied (id INTEGER PRIMARY KEY, key TEXT NOT NULL);"
            "ALTER TABLE watermark ADD COLUMN read_after INTEGER NOT NULL DEFAULT 0;"),
};

int
history_schema_migrate(sqlite3 *db, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *steps[HISTORY_SCHEMA_VERSION];
    size_t begins[HISTORY_SCHEMA_VERSION];
    const struct schema_steps schema = {
        .application_id = 0x4b696c48, /* "KilH" */
        .sql = steps,
        .count = HISTORY_SCHEMA_VERSION,
        .not_ours = "not a history of Kiln: move it away",
        .newer = "move the file away to start a new history",
    };

    for (int version = 1; version <= HISTORY_SCHEMA_VERSION; version++) {
        begins[version - 1] = text.length;
        history_fields_create(version, &text);
        strbuf_add_text(&text, others[version] != NULL ? others[version] : "");
        strbuf_add_char(&text, '\0');
    }
    for (int i = 0; i < HISTORY_SCHEMA_VERSION; i++)
        steps[i] = text.text + begins[i];
    return schema_steps_run(&schema, db, err);
}
