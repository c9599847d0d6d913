/* SPDX-License-Identifier: Apache-2.0 */
/* schema_steps.h - the tables of a database in versions, each made from the one
 * before by a step
 *
 * The version stands in the file (user_version). Each step takes one version
 * to the next; a new file takes all of them, in one transaction. Never change
 * a step that was released: add one.
 *
 * Called by:  schema.c, the store's, and history_schema.c.
 * Thread:     that of the connection.
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

struct error;

struct schema_steps {
    int64_t application_id; /* of four letters; it marks the file as ours */
    const char *const *sql; /* to version 1, to version 2, and so on */
    int count;              /* the latest version */
    const char *not_ours;   /* behind "is a database, but" */
    const char *newer;      /* behind "start that one, or" */
};

/* 0 for an empty file and for one of ours that this program can read or bring
 * up to date; -ENOTSUP for a database of others or of a later version.
 */
int schema_steps_check(const struct schema_steps *s,
                       sqlite3 *db,
                       struct error *err);

/* Brings the file to that version, unless it has a later one. Refuses what
 * check does.
 */
int schema_steps_run(const struct schema_steps *s,
                     sqlite3 *db,
                     int version,
                     struct error *err);
