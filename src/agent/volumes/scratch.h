/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - the directory of this node that volumes are made in
 *
 * DIR/pvc-UID is a volume; DIR/.new-* is one that is being made, DIR/.gone-*
 * one that is being emptied. The directory is the agent's, 0711; a volume
 * belongs to its owner only, 0700.
 *
 * Owns:    the directory's descriptor.
 * Thread:  open and close the loop's; make, remove and tidy a worker's, at most
 *          one call at a time for a name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct error;
struct scratch;

/* Life. Capacity in bytes; 0: the size of the file system, which must then be
 * separate from that of the parent directory. scratch_open makes the directory
 * where it is missing.
 */
void scratch_close(struct scratch *s);
int scratch_open(const char *dir, int64_t capacity_bytes, struct scratch **ret_scratch,
                 struct error *err);
DEFINE_CLEANUP(struct scratch, scratch_close)

const char *scratch_dir(const struct scratch *s);
int64_t scratch_capacity(const struct scratch *s);
bool scratch_has_quota(const struct scratch *s);

/* scratch_make succeeds for an existing volume, scratch_remove for a missing
 * one. scratch_tidy completes the removals that an earlier agent began, and
 * returns their number.
 */
struct scratch_volume {
    const char *name;
    int64_t bytes;
    uid_t uid;
    gid_t gid;
};
int scratch_make(struct scratch *s, const struct scratch_volume *volume, struct error *err);
int scratch_remove(struct scratch *s, const char *name, struct error *err);
unsigned scratch_tidy(struct scratch *s);
