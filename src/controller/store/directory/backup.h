/* SPDX-License-Identifier: Apache-2.0 */
/* backup.h - the store as one file, while it is served or not, and back
 *
 * Called by:  kiln-controller --backup, --restore.
 * Thread:     any; they block.
 */
#pragma once

#include "lib/base/macro.h"

struct error;

/* The secret that says which revisions are lost: "AFTER BEFORE;" for each
 * range, both ends not in it.
 */
#define STORE_LOST_REVISIONS "cluster/lost-revisions"

/* A copy of what is durable now, 0600; -EEXIST when the file is there. */
int store_backup(const char *directory, const char *file, struct error *err);

/* A copy of another database of the directory, likewise, which belongs to the
 * owner of the directory that it is put into. Its tables are the caller's matter.
 */
int store_copy_database(const char *from, const char *to, struct error *err);

/* Puts a copy in the place of what the directory holds, which is kept beside it
 * (*.before-restore, *.before-restore.1, ...). -EBUSY while a controller has
 * the directory; -EUCLEAN and -ENOTSUP for a file that is no good copy, and
 * then nothing is changed. Ids and revisions go on some way above the copy's,
 * agents know the rest; and that what was made meanwhile is lost is written in
 * the store.
 */
int store_restore(const char *directory, const char *file, struct error *err);
