/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/account_json.h"

#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/slurm_tables/account_row.h"
#include "cli/slurm_tables/queue_row.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

/* A member that is an object. */
static struct json *
part(struct arena *arena, struct json *object, const char *name)
{
    struct json *made = json_object(arena);

    json_set(arena, object, name, made);
    return made;
}

static void
set_length(struct arena *arena, struct json *object, const char *name, int64_t us)
{
    struct json *length = part(arena, object, name);

    json_set_int(arena, length, "seconds", us > 0 ? us / SECOND_US : 0);
    json_set_int(arena, length, "microseconds", us > 0 ? us % SECOND_US : 0);
}

static void
add_tres(struct arena *arena, struct json *list, const char *type, const char *name, int id,
         int64_t count)
{
    struct json *one = json_object(arena);

    json_set_string(arena, one, "type", type);
    json_set(arena, one, "name", name != NULL ? json_string(arena, name) : json_null(arena));
    json_set_int(arena, one, "id", id);
    json_set_int(arena, one, "count", count);
    json_append(arena, list, one);
}

static struct json *
list_tres(const struct account_row *row, struct arena *arena)
{
    struct json *list = json_array(arena);

    add_tres(arena, list, "cpu", NULL, 1, row->cpus);
    add_tres(arena, list, "mem", NULL, 2, row->memory >> 20);
    add_tres(arena, list, "node", NULL, 4, row->nodes);
    if (row->step == NULL)
        add_tres(arena, list, "billing", NULL, 5, row->cpus);
    if (row->gpus > 0)
        add_tres(arena, list, "gres", "gpu", 1001, row->gpus);
    return list;
}

static void
set_exit_code(const struct account_row *row, struct arena *arena, struct json *out)
{
    struct json *code = part(arena, out, "exit_code"), *signal;

    json_set_string(arena, code, "status",
                    row->signal != 0                                      ? "SIGNALED"
                    : row->exit_code != 0                                 ? "ERROR"
                    : job_state_is_ended(row->state) || row->step != NULL ? "SUCCESS"
                                                                          : "PENDING");
    json_set(arena, code, "return_code",
             row->signal != 0 ? json_null(arena) : json_int(arena, row->exit_code));
    if (row->signal == 0)
        return;
    signal = part(arena, code, "signal");
    json_set_int(arena, signal, "signal_id", row->signal);
    json_set_string(arena, signal, "name", strsignal((int)row->signal));
}

static struct json *
set_times(const struct account_row *row, struct arena *arena, struct json *out)
{
    struct json *time = part(arena, out, "time");

    json_set_int(arena, time, "elapsed", account_row_elapsed_s(row));
    json_set_int(arena, time, "end", account_row_end_us(row) / SECOND_US);
    json_set_int(arena, time, "start", account_row_start_us(row) / SECOND_US);
    json_set_int(arena, time, "suspended", row->suspended_us / SECOND_US);
    set_length(arena, time, "system", row->system_us >= 0 ? row->system_us : 0);
    set_length(arena, time, "total", row->cpu_us);
    set_length(arena, time, "user", row->user_us >= 0 ? row->user_us : row->cpu_us);
    return time;
}

/* These are not known of any step, and are as Slurm has them then. */
static void
add_unmeasured(struct json *step, struct arena *arena)
{
    struct json *cpu = part(arena, step, "CPU"), *statistics = part(arena, step, "statistics");
    struct json *frequency = part(arena, cpu, "requested_frequency");

    json_set_int(arena, frequency, "min", 0);
    json_set_int(arena, frequency, "max", 0);
    json_set(arena, cpu, "governor", json_array(arena));
    json_set(arena, step, "pid", json_null(arena));
    json_set_int(arena, part(arena, statistics, "CPU"), "actual_frequency", 0);
    json_set_int(arena, part(arena, statistics, "energy"), "consumed", 0);
}

static void
set_layout(const struct account_row *row, struct json *step, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;

    if (row->tasks_count > 0)
        slurm_words_add_layout(row->distribution, row->tasks_count, row->nodes, &words);
    json_set_string(arena, part(arena, step, "task"), "distribution",
                    row->tasks_count > 0 ? words.text : "Unknown");
}

static struct json *
make_step(const struct account_row *row, struct arena *arena)
{
    struct json *out = json_object(arena), *nodes = part(arena, out, "nodes");
    struct json *tres = part(arena, out, "tres"), *step = part(arena, out, "step");
    struct json *consumed = part(arena, tres, "consumed"), *max = json_array(arena);
    struct json *list = json_array(arena);

    json_append(arena, list, json_string(arena, row->node));
    json_set(arena, nodes, "list", list);
    json_set_int(arena, nodes, "count", row->nodes);
    json_set_string(arena, nodes, "range", row->node);
    if (row->rss >= 0)
        add_tres(arena, max, "mem", NULL, 2, row->rss);
    json_set(arena, consumed, "max", max);
    json_set(arena, tres, "allocated", list_tres(row, arena));
    (void)set_times(row, arena, out);
    set_exit_code(row, arena, out);
    json_set_int(arena, part(arena, out, "tasks"), "count",
                 row->tasks_count > 0 ? row->tasks_count : 1);
    json_set(arena, out, "kill_request_user",
             row->ended_by >= 0 ? json_string(arena, row->ender) : json_null(arena));
    json_set_string(arena, out, "state", slurm_words_state(row->state, false));
    add_unmeasured(out, arena);
    set_layout(row, out, arena);
    json_set_int(arena, step, "job_id", row->id);
    json_set(arena, part(arena, step, "het"), "component", json_null(arena));
    if (row->step[strspn(row->step, "0123456789")] == '\0')
        json_set_int(arena, step, "id", atoll(row->step));
    else
        json_set_string(arena, step, "id", row->step);
    json_set_string(arena, step, "name", row->name);
    return out;
}

static void
add_part_of_job(const struct account_row *job, const char *name, struct json *steps,
                struct arena *arena)
{
    const struct account_row row = account_row_step(job, name, arena);

    json_append(arena, steps, make_step(&row, arena));
}

void
account_json_add_step(struct json *job, const struct account_row *step, struct arena *arena)
{
    json_append(arena, json_get(job, "steps"), make_step(step, arena));
}

static void
set_text(struct arena *arena, struct json *out, const char *name, const char *text)
{
    json_set(arena, out, name, text != NULL ? json_string(arena, text) : json_null(arena));
}

static void
set_group(const struct account_row *row, struct arena *arena, struct json *out)
{
    const int64_t gid = account_row_gid(row);
    const struct group *group = gid >= 0 ? getgrgid((gid_t)gid) : NULL;

    set_text(arena, out, "group", group != NULL ? group->gr_name : NULL);
}

struct json *
account_json(const struct account_row *row, struct arena *arena)
{
    const struct queue_row *live = row->live;
    const struct json *containers =
        live != NULL ? json_get_path(live->object, "spec.template.spec.containers") : NULL;
    const bool is_array = row->task >= 0 || row->tasks != NULL;
    struct json *out = json_object(arena), *steps = json_array(arena);
    struct json *comment = part(arena, out, "comment"), *array = part(arena, out, "array");
    struct json *association = part(arena, out, "association"), *time, *state, *tres, *required;
    struct json *het, *reservation, *wckey;

    json_set_string(arena, out, "account", row->account);
    json_set(arena, comment, "administrator", json_null(arena));
    set_text(arena, comment, "job",
             live != NULL ? queue_row_annotation(live, ANNOTATION_COMMENT) : NULL);
    json_set(arena, comment, "system", json_null(arena));
    json_set_int(arena, out, "allocation_nodes", account_row_has_started(row) ? row->nodes : 0);
    json_set_int(arena, array, "job_id", is_array ? row->id : 0);
    json_set_int(arena, part(arena, part(arena, part(arena, array, "limits"), "max"), "running"),
                 "tasks", row->throttle);
    set_text(arena, array, "task", row->tasks);
    json_set(arena, array, "task_id",
             row->task >= 0 ? json_int(arena, row->task) : json_null(arena));
    json_set_string(arena, association, "account", row->account);
    json_set_string(arena, association, "cluster", slurm_cluster_name());
    json_set(arena, association, "partition", json_null(arena));
    json_set_string(arena, association, "user", row->user);
    json_set_string(arena, out, "cluster", slurm_cluster_name());
    json_set_string(arena, out, "constraints",
                    live != NULL && queue_row_features(live, arena) != NULL
                        ? queue_row_features(live, arena)
                        : "");
    json_set(arena, out, "container", json_null(arena));
    time = set_times(row, arena, out);
    json_set_int(arena, time, "eligible", row->eligible_us / SECOND_US);
    json_set_int(arena, time, "submission", row->submit_us / SECOND_US);
    json_set(arena, time, "limit",
             row->limit_s > 0 ? json_int(arena, (row->limit_s + 59) / 60) : json_null(arena));
    set_exit_code(row, arena, out);
    json_set(arena, out, "flags", json_array(arena));
    json_set_int(arena, out, "job_id", row->id);
    json_set_string(arena, out, "name", row->name);
    json_set_string(arena, out, "nodes", row->node[0] != '\0' ? row->node : "None assigned");
    json_set_string(arena, out, "partition", row->partition);
    set_group(row, arena, out);
    het = part(arena, out, "het");
    json_set_int(arena, het, "job_id", 0);
    json_set(arena, het, "job_offset", json_null(arena));
    json_set_string(arena, part(arena, out, "mcs"), "label", "");
    wckey = part(arena, out, "wckey");
    json_set_string(arena, wckey, "wckey", "");
    json_set(arena, wckey, "flags", json_array(arena));
    reservation = part(arena, out, "reservation");
    json_set_int(arena, reservation, "id", 0);
    set_text(arena, reservation, "name",
             live != NULL ? queue_row_pod_text(live, "placement.reservation") : NULL);
    json_set_int(arena, out, "priority", live != NULL ? queue_row_priority(live) : 0);
    set_text(arena, out, "qos", live != NULL ? queue_row_qos(live) : NULL);
    required = part(arena, out, "required");
    json_set_int(arena, required, "CPUs", row->cpus);
    json_set_int(arena, required, "memory", row->memory >> 20);
    set_text(arena, out, "kill_request_user", row->ender);
    state = part(arena, out, "state");
    json_set_string(arena, state, "current", slurm_words_state(row->state, false));
    json_set_string(arena, state, "reason", account_row_waits(row) ? row->reason : "None");
    if (account_row_has_step(row, "batch"))
        add_part_of_job(row, "batch", steps, arena);
    if (account_row_has_step(row, "extern"))
        add_part_of_job(row, "extern", steps, arena);
    json_set(arena, out, "steps", steps);
    tres = part(arena, out, "tres");
    json_set(arena, tres, "allocated",
             account_row_has_started(row) ? list_tres(row, arena) : json_array(arena));
    json_set(arena, tres, "requested", list_tres(row, arena));
    json_set_string(arena, out, "user", row->user);
    set_text(arena, out, "working_directory", json_get_text(json_at(containers, 0), "workingDir"));
    return out;
}
