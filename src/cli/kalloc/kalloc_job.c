/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kalloc/kalloc_job.h"

#include <string.h>

#include "cli/kalloc/kalloc_options.h"
#include "cli/ksub/job_submit.h"
#include "cli/ksub/manifest.h"
#include "cli/ksub/node_request.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define PATIENCE_MS 30000

/* In place of the script. An allocation is not started again: nobody would know. */
static void
set_program(struct json *job, bool is_detached, struct arena *arena)
{
    struct json *spec = json_get(job, "spec");
    struct json *main = json_at(json_get_path(spec, "template.spec.containers"), 0);
    struct json *command = json_array(arena), *args = json_array(arena);

    json_remove(spec, "script");
    json_set_bool(arena, spec, "requeue", false);
    json_append(arena, command, json_string(arena, POD_PAUSE_COMMAND));
    json_append(arena, args, json_string(arena, is_detached ? "--hold=detached" : "--hold"));
    json_set(arena, main, "command", command);
    json_set(arena, main, "args", args);
}

int
kalloc_job_submit(const char *name, struct kalloc_options *o, struct client *client,
                  struct arena *arena, const struct object **ret_job, struct error *err)
{
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    struct submission *s = &o->s;
    const struct json *manifest;
    struct json *job;
    int r = 0;

    strbuf_add_text(&script, "#!/bin/sh\n"); /* replaced below */
    manifest = manifest_make(s, &script, arena, err);
    if (manifest == NULL)
        return err->code;
    if (node_request_may_spread(&o->asked))
        r = node_request_spread(&(struct node_spread){.program = o->is_slurms ? NULL : name,
                                                      .asked = &o->asked,
                                                      .script = &script,
                                                      .client = client,
                                                      .patience_ms = s->no_wait ? 0 : PATIENCE_MS,
                                                      .arena = arena},
                                s, &manifest, err);
    if (r < 0)
        return r;
    job = json_dup(arena, manifest);
    set_program(job, o->is_detached, arena);
    return job_submit_run(&(struct job_submit){.program = name,
                                               .client = client,
                                               .namespace = manifest_namespace(s),
                                               .job = job,
                                               .patience_ms = s->no_wait ? 0 : PATIENCE_MS},
                          ret_job, err);
}
