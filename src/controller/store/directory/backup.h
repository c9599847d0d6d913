/* SPDX-License-Identifier: Apache-2.0 */
/* backup.h - copies the store into one file, also while it is served, and
 * restores it
 *
 * Called by:  kiln-controller --backup, --restore.
 * Thread:     any; they block.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct error;
struct store_location;

/* The secret that records lost revisions: "AFTER BEFORE;" for each range, both
 * ends excluded.
 */
#define STORE_LOST_REVISIONS "cluster/lost-revisions"

/* The secret with the revision of the copy that was restored, until the store
 * is opened.
 */
#define STORE_RESTORED_AT "cluster/restored-at"

/* Writes a copy of what is durable now, mode 0600; -EEXIST if the file exists,
 * -EBUSY if another process writes it. The file appears when it is whole; until
 * then it is FILE.new.
 */
int store_backup(const struct store_location *location, const char *file, struct error *err);

/* When the last backup of this directory was made, in seconds since 1970; 0:
 * there was none. It is the time of the file last-backup beside the store.
 */
int64_t store_last_backup_s(const char *directory);

/* The size of the database with its write-ahead log. */
int64_t store_file_bytes(const char *directory);

/* Copies another database of the directory likewise; the copy belongs to the
 * owner of the directory it is in. The caller checks its tables.
 */
int store_copy_database(const char *from, const char *to, struct error *err);

/* Replaces the store of the directory by a copy, and keeps the old files beside
 * it (*.before-restore, *.before-restore.1, ...). -EBUSY while a controller has
 * the directory or the database; -EEXIST if a cluster has run in the database;
 * -EUCLEAN and -ENOTSUP for a file that is not a valid copy, and
 * then nothing is changed. Ids and revisions continue well above those of the
 * copy, and agents report the rest; the store records that the revisions in
 * between are lost.
 */
int store_restore(const struct store_location *location, const char *file, struct error *err);

/* Copies the store of the directory into its database, where no cluster has run
 * (else -EEXIST), and renames the file to kiln.db.migrated.
 */
int store_migrate(const struct store_location *location, struct error *err);
