/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/account_row.h"

#include <inttypes.h>
#include <pwd.h>
#include <signal.h>

#include "cli/slurm_tables/queue_row.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

static const char *
text_of(const struct json *row, const char *name)
{
    const char *text = json_get_text(row, name);

    return text != NULL ? text : "";
}

static int64_t
time_of(const struct json *row, const char *name)
{
    const char *text = json_get_text(row, name);
    int64_t us = 0;

    return text != NULL && time_parse(text, &us) == 0 ? us : 0;
}

static int64_t
count_nodes(const char *list, struct arena *arena)
{
    const char **names = NULL;
    size_t count = 0;

    if (list[0] == '\0' || hostlist_expand(arena, list, &names, &count, NULL) < 0)
        return 1;
    return count > 0 ? (int64_t)count : 1;
}

struct account_row
account_row_of_history(const struct json *row, struct arena *arena)
{
    const int64_t rss = json_get_int(row, "rssBytes", -1);
    struct account_row a = {
        .id = json_get_int(row, "job", 0),
        .task = json_get_int(row, "task", -1),
        .tasks = json_get_text(row, "tasks"),
        .name = text_of(row, "name"),
        .user = text_of(row, "user"),
        .account = text_of(row, "account"),
        .partition = text_of(row, "partition"),
        .node = text_of(row, "node"),
        .ender = json_get_text(row, "endedBy"),
        .ended_by = -1,
        .reason = slurm_words_reason(json_get_text(row, "reason")),
        .state = job_state_of_name(json_get_text(row, "state")),
        .uid = json_get_int(row, "uid", -1),
        .cpus = (json_get_int(row, "cpuMillis", 0) + 999) / 1000,
        .gpus = json_get_int(row, "gpus", 0),
        .memory = json_get_int(row, "memoryBytes", 0),
        .limit_s = json_get_int(row, "timeLimitSeconds", 0),
        .submit_us = time_of(row, "submitTime"),
        .eligible_us = time_of(row, "eligibleTime"),
        .start_us = time_of(row, "startTime"),
        .end_us = time_of(row, "endTime"),
        .suspended_us = json_get_int(row, "frozenMicroseconds", 0),
        .attempt = json_get_int(row, "attempt", 0),
        .exit_code = json_get_int(row, "exitCode", 0),
        .signal = json_get_int(row, "signal", 0),
        .cpu_us = json_get_int(row, "cpuTimeMicros", -1),
        .rss = rss >= 0 ? rss : json_get_int(row, "peakMemoryBytes", -1),
        .read = json_get_int(row, "readBytes", -1),
        .written = json_get_int(row, "writtenBytes", -1),
        .user_us = -1,
        .system_us = -1,
        .is_allocation = json_is_true(json_get(row, "allocation")),
    };

    a.nodes = count_nodes(a.node, arena);
    if (a.cpus < 1)
        a.cpus = 1;
    if (a.signal != 0)
        a.exit_code = 0;
    slurm_words_take_exit(a.reason, &a.exit_code, &a.signal);
    return a;
}

struct account_row
account_row_of_queue(const struct queue_row *row, int64_t now_us)
{
    const char *model;
    struct account_row a = {
        .id = row->id,
        .task = row->task,
        .tasks = row->tasks,
        .throttle = row->throttle,
        .name = row->name,
        .user = row->user,
        .account = row->account,
        .partition = row->partition,
        .node = queue_row_is_waiting(row) ? "" : row->node,
        .reason = row->reason,
        .state = row->state,
        .uid = queue_row_uid(row),
        .cpus = row->cpus,
        .nodes = row->nodes,
        .gpus = queue_row_gpus(row, &model) * (row->nodes > 0 ? row->nodes : 1),
        .memory = queue_row_memory(row) * (row->nodes > 0 ? row->nodes : 1),
        .limit_s = row->limit_s,
        .submit_us = row->submit_us,
        .eligible_us = queue_row_eligible_us(row),
        .start_us = queue_row_is_waiting(row) ? 0 : row->start_us, /* else of an earlier run */
        .end_us = queue_row_is_waiting(row) ? 0 : row->end_us,
        .attempt = row->attempts,
        .exit_code = row->signal != 0 ? 0 : row->exit_code,
        .signal = row->signal,
        .cpu_us = -1,
        .rss = -1,
        .read = -1,
        .written = -1,
        .user_us = -1,
        .system_us = -1,
        .ended_by = -1,
        .live = row,
        .is_allocation = queue_row_is_allocation(row),
    };

    if (a.state == JOB_STATE_CANCELLED)
        a.ender = queue_row_annotation(row, ANNOTATION_CANCEL);
    if (a.ender == NULL && a.state == JOB_STATE_CANCELLED && a.task >= 0)
        a.ender = queue_row_annotation(row, ANNOTATION_TASKS_CANCELLED);
    if (a.start_us != 0 && a.end_us == 0)
        a.suspended_us = now_us - a.start_us - row->elapsed_s * SECOND_US;
    if (a.suspended_us < SECOND_US)
        a.suspended_us = 0;
    return a;
}

/* The script runs on the first of the job's nodes, each of which has the same part. */
static void
keep_first_node(struct account_row *a, struct arena *arena)
{
    const char **names = NULL;
    size_t count = 0;

    if (a->nodes < 2)
        return;
    a->cpus = (a->cpus + a->nodes - 1) / a->nodes;
    a->gpus /= a->nodes;
    a->memory /= a->nodes;
    if (hostlist_expand(arena, a->node, &names, &count, NULL) == 0 && count > 0)
        a->node = names[0];
    a->nodes = 1;
}

/* The script of a job that was ended shows the signal that ended it. Programs that
 * others start in a job have no exit code.
 */
struct account_row
account_row_step(const struct account_row *job, const char *step, struct arena *arena)
{
    const bool is_extern = step[0] == 'e';
    const bool is_over = job->state == JOB_STATE_REQUEUED && job->start_us != 0; /* an attempt */
    struct account_row a = *job;

    a.step = a.name = step;
    if (is_extern) {
        a.cpu_us = a.rss = a.read = a.written = -1;
        a.exit_code = a.signal = 0;
        if (job_state_is_ended(a.state) || is_over)
            a.state = JOB_STATE_COMPLETED;
        return a;
    }
    keep_first_node(&a, arena);
    if (is_over)
        a.state = a.signal != 0      ? JOB_STATE_CANCELLED
                  : a.exit_code != 0 ? JOB_STATE_FAILED
                                     : JOB_STATE_COMPLETED;
    else if (a.state == JOB_STATE_TIMED_OUT || a.state == JOB_STATE_PREEMPTED
             || a.state == JOB_STATE_DEADLINE || (a.state == JOB_STATE_FAILED && a.signal != 0))
        a.state = JOB_STATE_CANCELLED;
    return a;
}

/* Agents tell of an end some seconds later: a step does not run longer than its job. */
static void
take_step_end(struct account_row *a, const struct account_row *job, const struct json *record)
{
    a->end_us = time_of(record, "endTime");
    a->state = job_state_of_name(json_get_text(record, "state"));
    if (a->end_us != 0 || job->end_us == 0)
        return;
    a->end_us = job->end_us;
    a->state = job->state == JOB_STATE_COMPLETED ? JOB_STATE_COMPLETED : JOB_STATE_CANCELLED;
}

/* Slurm ends a step by SIGKILL. Here its tasks get SIGTERM before, and most end by that: who ended
 * it is what the status says in Slurm.
 */
static void
take_step_status(struct account_row *a, const struct json *record, struct arena *arena)
{
    const struct passwd *user;

    a->exit_code = json_get_int(record, "exitCode", 0);
    a->signal = json_get_int(record, "signal", 0);
    if (a->signal != 0) {
        a->exit_code = 0;
        if (a->state == JOB_STATE_FAILED)
            a->state = JOB_STATE_CANCELLED;
    }
    a->ender = NULL;
    a->ended_by =
        a->state == JOB_STATE_CANCELLED ? json_get_int(record, "endedBy", -1) : INT64_C(-1);
    if (a->ended_by < 0)
        return;
    if (a->signal == SIGTERM)
        a->signal = SIGKILL;
    user = getpwuid((uid_t)a->ended_by);
    a->ender = user != NULL ? arena_strdup(arena, user->pw_name)
                            : arena_printf(arena, "%" PRId64, a->ended_by);
}

struct account_row
account_row_of_step(const struct account_row *job, const struct json *record, struct arena *arena)
{
    struct account_row a = *job;

    a.step = arena_printf(arena, "%" PRId64, json_get_int(record, "step", 0));
    a.name = text_of(record, "name");
    a.node = text_of(record, "nodes");
    a.nodes = json_get_int(record, "nodeCount", 1);
    a.tasks_count = json_get_int(record, "tasks", 1);
    a.cpus = json_get_int(record, "cpus", 1);
    a.gpus = a.memory = 0;
    a.suspended_us = 0;
    a.start_us = time_of(record, "startTime");
    take_step_end(&a, job, record);
    take_step_status(&a, record, arena);
    a.distribution = json_get_text(record, "distribution");
    a.submit_line = json_get_text(record, "submitLine");
    a.user_us = json_get_int(record, "cpuUserMicros", -1);
    a.system_us = json_get_int(record, "cpuSystemMicros", -1);
    a.cpu_us = a.user_us >= 0 && a.system_us >= 0 ? a.user_us + a.system_us : -1;
    a.rss = json_get_int(record, "peakMemoryBytes", -1);
    a.read = a.written = -1;
    return a;
}

/* Of an allocation nothing but its numbered steps was started by Slurm. */
bool
account_row_has_step(const struct account_row *row, const char *step)
{
    return account_row_has_started(row) && !(row->is_allocation && step[0] == 'b');
}

bool
account_row_has_started(const struct account_row *row)
{
    return row->start_us != 0;
}

bool
account_row_waits(const struct account_row *row)
{
    return !job_state_is_ended(row->state) && row->start_us == 0;
}

int64_t
account_row_start_us(const struct account_row *row)
{
    return row->start_us != 0 && row->start_us < row->since_us ? row->since_us : row->start_us;
}

int64_t
account_row_end_us(const struct account_row *row)
{
    if (row->until_us == 0 || row->start_us == 0)
        return row->end_us;
    return row->end_us == 0 || row->end_us > row->until_us ? row->until_us : row->end_us;
}

int64_t
account_row_elapsed_s(const struct account_row *row)
{
    const int64_t start = account_row_start_us(row);
    int64_t end = account_row_end_us(row);

    if (start == 0)
        return 0;
    if (end == 0)
        end = clock_real_us(&clock_system);
    return end - start > row->suspended_us ? (end - start - row->suspended_us) / SECOND_US : 0;
}

int64_t
account_row_gid(const struct account_row *row)
{
    const struct passwd *user;

    if (row->step != NULL)
        return -1;
    if (row->live != NULL)
        return queue_row_gid(row->live);
    user = row->uid >= 0 ? getpwuid((uid_t)row->uid) : NULL;
    return user != NULL ? (int64_t)user->pw_gid : -1;
}
