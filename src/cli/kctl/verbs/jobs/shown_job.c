/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/jobs/shown_job.h"

#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/history_columns.h"
#include "cli/kctl/output/object_summary.h"
#include "cli/print/human.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

const struct json *
shown_job_spec(const struct shown_job *s)
{
    return json_get_path(s->tree, "spec.template.spec");
}

/* A task that has started keeps what it was placed with when its array is
 * changed for the tasks that wait.
 */
static const struct json *
placed_spec(const struct shown_job *s)
{
    const struct json *spec = s->task >= 0 ? json_get(s->pod, "spec") : NULL;

    return spec != NULL ? spec : shown_job_spec(s);
}

void
shown_job_add(struct shown_job *s, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0')
        describe_output_add(s->out, 0, name, "%s", text);
}

const char *
shown_job_column(const struct shown_job *s, const struct json *row, const char *name)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (row == NULL)
        return "";
    history_columns_text(name, row, &text);
    return text.length > 0 ? arena_strdup(s->arena, text.text) : "";
}

const char *
shown_job_node(const struct shown_job *s)
{
    const char *node =
        s->item != NULL ? json_get_text(s->item, "node") : object_summary_cell(s->cells, "Node");

    return node != NULL && node[0] != '\0' ? node : NULL;
}

/* ---- Times and resources ---- */

static void
add_time(struct shown_job *s, const char *name, const char *time)
{
    if (time != NULL && time[0] != '\0')
        describe_output_add(s->out, 0, name, "%s", describe_output_local(s->arena, time));
}

static const char *
brief(const struct shown_job *s, int64_t seconds)
{
    char text[DURATION_BRIEF_SIZE];

    duration_format_brief(seconds, text);
    return arena_strdup(s->arena, text);
}

/* How long the task has run until now, or ran. */
static const char *
task_time(const struct shown_job *s)
{
    const char *start = json_get_text(s->item, "startTime");
    int64_t us;

    if (start == NULL || time_parse(start, &us) < 0)
        return "";
    us = json_get_text(s->item, "endTime") != NULL
             ? history_columns_elapsed_us(s->item)
             : clock_real_us(&clock_system) - us - json_get_int(s->item, "frozenMicroseconds", 0);
    return brief(s, us > 0 ? us / SECOND_US : 0);
}

static const char *
task_limit(const struct shown_job *s)
{
    const struct json *held = s->row != NULL ? s->row : placed_spec(s);
    const int64_t seconds =
        json_get_int(held, s->row != NULL ? "timeLimitSeconds" : "activeDeadlineSeconds", 0);

    return seconds > 0 ? brief(s, seconds) : "";
}

void
shown_job_add_times(struct shown_job *s)
{
    const char *submitted = json_path_text(s->tree, "metadata.creationTimestamp");
    const char *time = object_summary_cell(s->cells, "Time");
    const char *limit = s->item != NULL ? task_limit(s) : object_summary_cell(s->cells, "Limit");
    const char *start = object_summary_cell(s->cells, "Start");

    add_time(s, "Submitted", submitted);
    if (s->item != NULL) {
        add_time(s, "Started", json_get_text(s->item, "startTime"));
        add_time(s, "Ended", json_get_text(s->item, "endTime"));
        time = task_time(s);
    } else {
        if (start[0] == '~')
            describe_output_add(s->out, 0, "Start", "about %s",
                                describe_output_local(s->arena, start + 1));
        add_time(s, "Started", object_summary_cell(s->cells, "Started"));
        add_time(s, "Ended", object_summary_cell(s->cells, "Ended"));
    }
    add_time(s, "Not before", json_path_text(s->tree, "spec.beginTime"));
    add_time(s, "Deadline", json_path_text(s->tree, "spec.deadline"));
    describe_output_add(s->out, 0, "Time", "%s of %s", time[0] != '\0' ? time : "-",
                        limit[0] != '\0' ? limit : "no limit");
}

/* The use right now, by the agent's last report. -1: unknown. */
static int64_t
memory_now(const struct shown_job *s)
{
    const struct target_object metrics = {
        .kind = &pod_metrics_kind,
        .namespace = s->job->namespace,
        .name = json_path_text(s->pod, "metadata.name"),
    };
    struct json *found = NULL;
    const char *text;

    if (s->pod == NULL || kctl_find(s->kctl, &metrics, s->arena, &found, NULL) < 0 || found == NULL)
        return -1;
    text = json_get_text(json_get(json_at(json_get(found, "containers"), 0), "usage"), "memory");
    return text != NULL ? quantity_text_value(text) : -1;
}

int64_t
shown_job_nodes(const struct shown_job *s)
{
    return json_path_text(s->tree, "spec.template.spec.execution.runs") != NULL
               ? json_get_int(json_get(s->tree, "spec"), "parallelism", 1)
               : 1;
}

static void
add_memory(struct shown_job *s, bool has_ended)
{
    const char *asked = json_path_text(json_at(json_get(placed_spec(s), "containers"), 0),
                                       "resources.requests.memory");
    const char *peak = shown_job_column(s, s->row != NULL ? s->row : s->item, "peak");
    char now[HUMAN_TEXT_SIZE];
    int64_t bytes;

    if (s->task >= 0 && s->row != NULL)
        asked = shown_job_column(s, s->row, "memory");
    if (asked == NULL || asked[0] == '\0')
        asked = "no memory";
    else if (shown_job_nodes(s) > 1)
        asked = arena_printf(s->arena, "%s on each node", asked);
    if (has_ended && s->row != NULL && json_get_int(s->row, "cacheBytes", 0) > 0) {
        describe_output_add(s->out, 0, "Memory",
                            "%s at most, of which processes %s, the rest page cache; asked for %s",
                            peak, shown_job_column(s, s->row, "rss"), asked);
        return;
    }
    if (has_ended && peak[0] != '\0') {
        describe_output_add(s->out, 0, "Memory", "%s at most; asked for %s", peak, asked);
        return;
    }
    bytes = has_ended ? -1 : memory_now(s);
    if (bytes >= 0) {
        human_bytes(bytes, now);
        describe_output_add(s->out, 0, "Memory", "%s now; asked for %s", now, asked);
    } else
        describe_output_add(s->out, 0, "Memory", "asked for %s", asked);
}

void
shown_job_add_resources(struct shown_job *s, bool has_ended)
{
    const struct json *container = json_at(json_get(placed_spec(s), "containers"), 0);
    const struct json *requests = json_get_path(container, "resources.requests");
    const char *cpus = json_path_text(s->pod, "status.allocation.cpus");
    const char *gpus = json_get_text(requests, "kiln.hpc/gpu");
    const char *asked = s->task < 0      ? object_summary_cell(s->cells, "CPUs")
                        : s->row != NULL ? shown_job_column(s, s->row, "cpus")
                                         : json_get_text(requests, "cpu");

    if (asked == NULL)
        asked = "shared";
    shown_job_add(s, "Partition", object_summary_cell(s->cells, "Partition"));
    shown_job_add(s, "Node", shown_job_node(s));
    if (cpus != NULL)
        describe_output_add(s->out, 0, "CPUs", "%s (%s %s)", asked,
                            cpus[strspn(cpus, "0123456789")] == '\0' ? "number" : "numbers", cpus);
    else
        shown_job_add(s, "CPUs", asked);
    add_memory(s, has_ended);
    if (gpus != NULL)
        describe_output_add(s->out, 0, "GPUs", "%s%s", gpus,
                            shown_job_nodes(s) > 1 ? " on each node" : "");
}
