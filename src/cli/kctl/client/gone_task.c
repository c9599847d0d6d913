/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/gone_task.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/client/kctl.h"
#include "lib/api/job/job_array_path.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define MAX_NODE 256

static bool
keep_node(const struct json *row, void *context)
{
    const char *node = json_get_text(row, "node");

    snprintf(context, MAX_NODE, "%s", node != NULL ? node : "");
    return true;
}

/* The pod is gone, so history has the node, and the template of the Job the file. */
int
gone_task_explain(struct kctl *kctl, const struct target_object *target, const char *why,
                  struct arena *arena, struct error *err)
{
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    const char *task = target->task, *path, *directory;
    struct json *job = NULL, *spec;
    char node[MAX_NODE] = "";
    int r = kctl_get(kctl, target, arena, &job, err);

    if (r < 0)
        return r;
    if (history_query_add_job(&query, task, NULL) < 0
        || history_pages_visit(kctl, query.text, keep_node, node, NULL) < 0 || node[0] == '\0')
        return error_set(err, -EAGAIN,
                         "task %s has not been started; 'kctl why %s' says "
                         "more",
                         task, task);
    spec = json_get_path(job, "spec.template.spec");
    path = json_path_text(spec, "execution.stdoutPath");
    directory = json_get_text(json_at(json_get(spec, "containers"), 0), "workingDir");
    if (path == NULL || directory == NULL)
        return error_set(err, -ENOENT, "task %s has ended, and its pod is gone", task);
    path = job_array_path(arena, path, strtoll(task, NULL, 10),
                          strtoll(strchr(task, '_') + 1, NULL, 10));
    return error_set(err, -ENOENT,
                     "task %s has ended, and its pod is gone; its output is "
                     "the file %s%s%s as node %s sees it "
                     "(%s)",
                     task, path[0] == '/' ? "" : directory, path[0] == '/' ? "" : "/", path, node,
                     why);
}
