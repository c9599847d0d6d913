/* SPDX-License-Identifier: Apache-2.0 */
/* pod_record.h - what the agent keeps of a pod in files, below STATE and RUN
 *
 * Thread: any.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

struct agent_context;

/* Paths of a pod's directory, or of a file in it ("" for none). The caller
 * frees them.
 */
char *pod_record_state_path(const struct agent_context *g,
                            const char *uid,
                            const char *file);
char *pod_record_run_path(const struct agent_context *g,
                          const char *uid,
                          const char *file);

/* The first line of a pod's record, and the pod behind it. Begins with a text of
 * STRBUF_INIT; the others point into it.
 */
struct pod_record {
    struct strbuf text;
    const char *boot_id;
    const char *tmp_dir; /* NULL: of an agent that named it after the pod */
    const char *pod;
};

/* -EBADMSG for one that was torn. */
int pod_record_read(const struct agent_context *g,
                    const char *uid,
                    struct pod_record *r);
void pod_record_fini(struct pod_record *r);
