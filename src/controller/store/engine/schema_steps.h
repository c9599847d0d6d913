/* SPDX-License-Identifier: Apache-2.0 */
/* schema_steps.h - the tables of a database in versions, each made from the one
 * before by a step
 *
 * The file holds its version (user_version). Each step takes one version to the
 * next; a new file takes all of them, in one transaction. Never change a step
 * that was released: add one.
 *
 * Called by:  schema.c, the store's, and history_schema.c.
 * Thread:     that of the connection.
 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

struct error;

struct schema_steps {
    int64_t application_id; /* four letters, which mark the file as Kiln's */
    const char *const *sql; /* step to version 1, to version 2, and so on */
    int count;              /* the latest version */
    const char *not_ours;   /* message after "is a database, but" */
    const char *newer;      /* message after "start that one, or" */
    const char *writer;     /* query for the program that wrote the file; or NULL */
};

/* 0 for an empty file and for one of Kiln's that this program can read or
 * upgrade; -ENOTSUP for another program's database or one of a later version.
 */
int schema_steps_check(const struct schema_steps *s, sqlite3 *db, struct error *err);

/* Upgrades the file to the latest version. Fails as schema_steps_check does. */
int schema_steps_run(const struct schema_steps *s, sqlite3 *db, struct error *err);
