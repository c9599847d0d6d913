/* SPDX-License-Identifier: Apache-2.0 */
/* pod_record.h - the files of a pod below STATE and RUN
 *
 * Thread: any.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

struct agent_context;

/* The path of a pod's directory, or of a file in it ("" for the directory). The
 * caller frees it.
 */
#define HOSTFILE        "hosts" /* of a job of several nodes or tasks (task_layout.h) */
/* Below RUN: the variables of Kiln and Slurm that the pod was started with, for who enters
 * the job from outside; "NAME=value", each ended by a NUL. A process of the job would show
 * what its user likes, and as late as he likes.
 */
#define VARIABLES_FILE  "variables"
#define VARIABLES_BYTES (64u << 10)

char *pod_record_state_path(const struct agent_context *agent, const char *uid, const char *file);
char *pod_record_run_path(const struct agent_context *agent, const char *uid, const char *file);

/* The first line of a pod's record, and the pod's JSON after it. Set `text` to
 * STRBUF_INIT before use; the other members point into it.
 */
struct pod_record {
    struct strbuf text;
    const char *boot_id;
    const char *tmp_dir; /* NULL: an older agent named it by the pod's uid */
    const char *pod;
};

/* -EBADMSG if the record is torn. */
int pod_record_read(const struct agent_context *agent, const char *uid, struct pod_record *r);
void pod_record_fini(struct pod_record *r);
