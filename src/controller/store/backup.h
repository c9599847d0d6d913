/* SPDX-License-Identifier: Apache-2.0 */
/* backup.h - the store as one file, while it is served or not, and back
 *
 * Called by:  kiln-controller --backup, --restore.
 */
#pragma once

#include "lib/base/macro.h"

struct error;

/* A copy of what is durable now, 0600; -EEXIST when the file is there. */
int store_backup(const char *directory, const char *file, struct error *err);

/* Puts a copy in the place of what the directory holds, which is kept beside
 * it (*.before-restore). -EBUSY while a controller has the directory; -EUCLEAN
 * and -ENOTSUP for a file that is no good copy, and then nothing is changed.
 * Ids go on some way above the copy's; agents know the rest.
 */
int store_restore(const char *directory, const char *file, struct error *err);
