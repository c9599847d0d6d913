/* SPDX-License-Identifier: Apache-2.0 */
/* output_record.h - where pods of job arrays wrote, for when they are gone
 *
 * A line for each in STATE/outputs, which is begun anew when it is full; the
 * one before it stays as STATE/outputs.1, so that some tens of thousands are
 * remembered, in a place that does not grow:
 *
 *     UID USER GROUP PATH
 *
 * The agent alone writes it, and what it says was the agent's own order: who
 * asks for an output names the pod's uid, and never a path.
 *
 * Thread: any; they block.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct output_record {
    const char *pod_uid;
    uid_t uid;
    gid_t gid;
    const char *path;
};

/* The bytes of one of the two files, about. */
#define OUTPUT_RECORD_FILE_MAX (4u << 20)

/* -EINVAL: the path cannot stand in a line, and is not noted. */
int output_record_note(const char *state_dir, const struct output_record *o);

/* -ENOENT: it is not known, any more. The path is the caller's. */
int output_record_find(const char *state_dir,
                       const char *pod_uid,
                       uid_t *ret_uid,
                       gid_t *ret_gid,
                       char **ret_path);
