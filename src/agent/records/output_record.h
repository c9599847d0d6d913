/* SPDX-License-Identifier: Apache-2.0 */
/* output_record.h - where pods of job arrays wrote, for the time after they are
 * gone
 *
 * Each pod has a line in STATE/outputs. When that file is full, it becomes
 * STATE/outputs.1 and replaces the previous one, so that some tens of thousands
 * of pods are remembered in bounded space:
 *
 *     UID USER GROUP PATH
 *
 * Only the agent writes the file, from the orders of its own pods: a request
 * for an output names the pod's uid, and never a path.
 *
 * Thread: any; the functions block.
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

/* The approximate size at which a file is full. */
#define OUTPUT_RECORD_FILE_MAX (4u << 20)

/* -EINVAL: the path cannot be part of a line, and is not noted. */
int output_record_note(const char *state_dir, const struct output_record *o);

/* -ENOENT: the pod is unknown, or no longer known. The caller owns the path. */
int output_record_find(const char *state_dir, const char *pod_uid, uid_t *ret_uid, gid_t *ret_gid,
                       char **ret_path);
