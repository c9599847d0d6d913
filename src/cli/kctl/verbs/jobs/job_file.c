/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/jobs/job_file.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "lib/api/job/job_array.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/filename_pattern.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

const char *
job_file_resolve(const struct job_file *f, const char *pattern, struct arena *arena)
{
    const struct json *annotations = json_get_path(f->job, "metadata.annotations");
    const struct json *spec = json_get_path(f->job, "spec.template.spec");
    const char *directory = json_get_text(json_at(json_get(spec, "containers"), 0), "workingDir");
    const char *name = json_get_text(annotations, ANNOTATION_JOB_NAME);
    const char *user = json_get_text(annotations, ANNOTATION_USER);
    struct filename_pattern_values values = {
        .job_id = arena_printf(arena, "%" PRId64, f->id),
        .job_name = name != NULL ? name : f->name,
        .user = user != NULL ? user : "unknown",
        .node = f->node != NULL ? f->node : "%N",
    };
    CLEANUP_STRBUF struct strbuf path = STRBUF_INIT;

    if (pattern[0] != '/' && directory != NULL)
        strbuf_printf(&path, "%s%s", directory, strcmp(directory, "/") == 0 ? "" : "/");
    if (f->task >= 0)
        pattern = job_array_path(arena, pattern, f->id, f->task);
    else if (json_get_path(f->job, "spec.array") != NULL)
        values.job_id = arena_printf(arena, "%" PRId64 "_%%a", f->id);
    filename_pattern_expand(pattern, &values, &path);
    return arena_strdup(arena, path.text);
}
