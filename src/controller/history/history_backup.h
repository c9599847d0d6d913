/* SPDX-License-Identifier: Apache-2.0 */
/* history_backup.h - the file of history beside a backup of the store, and back
 *
 * The store is copied first, so that whatever it no longer has is in the copy of
 * history: a row leaves the store only when it is written.
 *
 * Called by:  kiln-controller --backup, --restore, after the store's.
 * Thread:     any; they block.
 */
#pragma once

struct error;

/* Copies history to "FILE.history"; nothing where there is none. Check: -EEXIST
 * when that is there already, before anything is copied.
 */
int history_backup_check(const char *file, struct error *err);
int history_backup(const char *directory, const char *file, struct error *err);

/* Takes "FILE.history" where the directory has no history. One that is there
 * stays: it has more rows, and those that the store then does not know of are
 * marked.
 */
int history_restore(const char *directory, const char *file, struct error *err);
