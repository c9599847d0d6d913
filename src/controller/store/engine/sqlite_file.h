/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_file.h - a database file as a whole: copies, and what a restore changes
 *
 * Thread:  any; blocks.
 */
#pragma once

#include <stdbool.h>

struct error;

/* Whether the file has tables: an initialization that was interrupted leaves one
 * without.
 */
int sqlite_file_has_tables(const char *path, bool *ret_has, struct error *err);

/* -ENOTSUP: the file is not a store, or one of a later release. */
int sqlite_file_check(const char *path, struct error *err);

/* Writes a copy of what is durable now to an empty file, and syncs it. The file
 * may be in use.
 */
int sqlite_file_copy(const char *from, const char *to, struct error *err);

/* Upgrades a restored store, and raises its counters above all that the copy may
 * lack. The secrets record the lost revisions, and the revision of the copy.
 */
int sqlite_file_raise(const char *path, const char *lost_secret, const char *restored_secret,
                      struct error *err);
