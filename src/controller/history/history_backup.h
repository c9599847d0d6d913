/* SPDX-License-Identifier: Apache-2.0 */
/* history_backup.h - backs up the history file beside a backup of the store,
 * and restores it
 *
 * The store is copied first, so that every row which the store no longer has is
 * in the copy of history: a row is removed from the store only after it is
 * written.
 *
 * Called by:  kiln-controller --backup, --restore, after the store's.
 * Thread:     any; they block.
 */
#pragma once

struct error;

/* Copies history to "FILE.history"; does nothing if there is no history. Check:
 * -EEXIST if that file exists; called before anything is copied.
 */
int history_backup_check(const char *file, struct error *err);
int history_backup(const char *directory, const char *file, struct error *err);

/* Copies "FILE.history" into the directory if that has no history. An existing
 * history stays: it has more rows, and the rows that the restored store does
 * not know are marked later.
 */
int history_restore(const char *directory, const char *file, struct error *err);
