/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/task_summary.h"

#include <stddef.h>

#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/history_columns.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* A task's members have the same names as those of a row of history. */
static const struct {
    const char *name, *member, *column;
} lines[] = {
    {"Index", "index", "index"},
    {"State", "state", "state"},
    {"Attempt", "attempt", "attempt"},
    {"Node", "node", "node"},
    {"Started", "startTime", "started"},
    {"Ended", "endTime", "ended"},
    {"Elapsed", "endTime", "elapsed"},
    {"Exit code", "exitCode", "exit"},
    {"Reason", "reason", "reason"},
    {"Ended by", "endedBy", "by"},
    {"CPU time", "cpuTimeMicros", "cputime"},
    {"Peak memory", "peakMemoryBytes", "peak"},
    {"Read", "readBytes", "read"},
    {"Written", "writtenBytes", "written"},
    {"Pod", "pod", "pod"},
};

int
task_summary_add(struct kctl *kctl, const char *task, struct strbuf *out, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *items = NULL;
    const struct json *item;
    int r = job_tasks_fetch(kctl, task, arena, &items, err);

    if (r < 0)
        return r;
    item = json_at(items, 0);
    describe_output_add(out, 0, "Task", "%s", task);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        if (json_get(item, lines[i].member) == NULL)
            continue;
        history_columns_text(lines[i].column, item, &text);
        if (text.length > 0)
            describe_output_add(out, 0, lines[i].name, "%s", text.text);
    }
    return 0;
}
