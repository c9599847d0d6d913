/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/cluster/step_record.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/api/value/rows.h"
#include "lib/base/error.h"

#define CODE_MOST 255
#define MOST      (INT64_MAX / 4) /* of any number: sums of some do not overflow */

/* clang-format off */
static const struct field step_record_fields[] = {
    INT64("step", step_record, id, ALWAYS, HELP("The id of the step in its job.")),
    STRING("name", step_record, name, 0, HELP("The name that krun was given, or the program's.")),
    STRING("command", step_record, command, 0, HELP("The beginning of its command.")),
    STRING("nodes", step_record, nodes, 0, HELP("A list of its nodes.")),
    INT("nodeCount", step_record, node_count, 0, HELP("How many these are.")),
    INT("tasks", step_record, tasks, 0, HELP("How many tasks it has.")),
    INT("cpus", step_record, cpus, 0, HELP("Its CPUs, of all nodes.")),
    MICRO_TIME("startTime", step_record, start_at_us, 0, HELP("When it started.")),
    MICRO_TIME("endTime", step_record, end_at_us, 0, HELP("When it ended.")),
    STRING("state", step_record, state, REQUIRED, HELP("As of a job: kiln-states(7).")),
    INT("exitCode", step_record, exit_code, OPTIONAL,
        HELP("The highest exit code of its tasks.")),
    INT("signal", step_record, signal, 0,
        HELP("The signal that ended the task with this exit code.")),
    INT64("cpuUserMicros", step_record, cpu_user_us, OPTIONAL,
        HELP("CPU time of its processes, in their programs.")),
    INT64("cpuSystemMicros", step_record, cpu_system_us, OPTIONAL,
        HELP("CPU time of its processes, in the kernel.")),
    INT64("peakMemoryBytes", step_record, peak_memory_bytes, OPTIONAL,
        HELP("The most memory that one of its processes had at a time.")),
    INT("endedBy", step_record, ended_by, OPTIONAL,
        HELP("The uid of who ended it, or is about to, beside the job.")),
    INT64("timeLimitSeconds", step_record, time_limit_s, 0, HELP("Its own time limit.")),
    STRING("distribution", step_record, distribution, 0,
        HELP("How its tasks were to be distributed.")),
    STRING("host", step_record, host, 0, HELP("The node on which its krun runs.")),
    INT64("hostPid", step_record, host_pid, 0, HELP("The process id of krun there.")),
    STRING("submitLine", step_record, submit_line, 0, HELP("The beginning of krun's command line.")),
    MICRO_TIME("observedTime", step_record, observed_at_us, 0,
        HELP("When this was true.")),
};
RECORD(step_record, step_record, "hpc.kiln.v1.StepRecord", HELP("A step of a job."));

static const struct field step_batch_fields[] = {
    STRING("namespace", step_batch, namespace, 0, HELP("Of the pod.")),
    STRING("pod", step_batch, pod, 0, HELP("The pod's name.")),
    STRING("podUid", step_batch, pod_uid, REQUIRED, HELP("The pod's uid.")),
    STRING("node", step_batch, node, 0, HELP("The node that reported the steps.")),
    BOOL("ofRow", step_batch, is_of_row, 0, HELP("The pod is gone, and has a row in history.")),
    INT64("job", step_batch, job_id, 0, HELP("The job id.")),
    STRING("jobUid", step_batch, job_uid, 0, HELP("The Job's uid.")),
    INT("index", step_batch, index, OPTIONAL, HELP("Its completion index.")),
    INT("task", step_batch, task, OPTIONAL, HELP("The number of an array's task.")),
    INT("attempt", step_batch, attempt, 0, HELP("From 1.")),
    STRING("user", step_batch, user, 0, HELP("Its owner's name at the time.")),
    INT64("uid", step_batch, uid, 0, HELP("Its owner's uid.")),
    STRING("account", step_batch, account, 0, HELP("Its namespace.")),
    INT64("omitted", step_batch, omitted, 0, HELP("Steps of which there is no record.")),
    OBJECTS("steps", step_batch, steps, step_record, 0, HELP("Its steps.")),
};
RECORD(step_batch, step_batch, "hpc.kiln.v1.StepBatch", HELP("Steps of one pod."));

static const struct field step_report_fields[] = {
    OBJECTS("pods", step_report, pods, step_batch, 0,
        HELP("Of each pod that has steps which are new or have changed.")),
};
RECORD(step_report, step_report, "hpc.kiln.v1.StepReport",
       HELP("The steps of the jobs of a node, as its agent reports them."));
/* clang-format on */

static bool
is_short(const char *text)
{
    return text == NULL || strlen(text) <= STEP_TEXT_MOST;
}

static bool
is_number(int64_t n)
{
    return n >= 0 && n <= MOST;
}

static bool
is_number_or_none(const int64_t *n)
{
    return n == NULL || is_number(*n);
}

/* The states of a job that steps can have, too. */
static bool
is_end(const char *name)
{
    static const char *const ends[] = {"Completed", "Failed",      "Cancelled",
                                       "TimedOut",  "OutOfMemory", "NodeFailed"};

    for (unsigned i = 0; i < ARRAY_SIZE(ends); i++)
        if (strcmp(ends[i], name) == 0)
            return true;
    return false;
}

static bool
is_state(const char *name, bool has_ended)
{
    return name != NULL && (has_ended ? is_end(name) : strcmp(name, "Running") == 0);
}

static const char *
find_fault(const struct step_record *s)
{
    if (s->id < 0 || s->id >= STEP_RECORDS_MOST)
        return "step";
    if (!is_short(s->name))
        return "name";
    if (!is_short(s->command))
        return "command";
    if (!is_short(s->distribution) || !is_short(s->host) || !is_short(s->submit_line))
        return "distribution, host or submitLine";
    if (!is_number(s->time_limit_s) || !is_number(s->host_pid))
        return "timeLimitSeconds or hostPid";
    if (s->ended_by != NULL && (*s->ended_by < 0 || *s->ended_by > UINT32_MAX))
        return "endedBy";
    if (!is_short(s->nodes) || !is_number(s->node_count))
        return "nodes";
    if (!is_number(s->tasks) || !is_number(s->cpus))
        return "tasks or cpus";
    if (!is_number(s->start_at_us) || !is_number(s->end_at_us) || !is_number(s->observed_at_us))
        return "times";
    if (!is_state(s->state, s->end_at_us > 0))
        return "state";
    if (s->exit_code != NULL && (*s->exit_code < 0 || *s->exit_code > CODE_MOST))
        return "exitCode";
    if (s->signal < 0 || s->signal > CODE_MOST)
        return "signal";
    if (!is_number_or_none(s->cpu_user_us) || !is_number_or_none(s->cpu_system_us)
        || !is_number_or_none(s->peak_memory_bytes))
        return "use";
    return NULL;
}

int
step_batch_check(const struct step_batch *batch, struct error *err)
{
    if (batch->pod_uid == NULL || batch->pod_uid[0] == '\0' || !is_short(batch->pod_uid))
        return error_set(err, -EINVAL, "podUid: cannot be that of a pod");
    if (!is_number(batch->omitted))
        return error_set(err, -EINVAL, "omitted: must be 0 or more");
    for (uint32_t i = 0; i < batch->steps.count; i++) {
        const char *fault = find_fault(&batch->steps.items[i]);

        if (fault != NULL)
            return error_set(err, -EINVAL, "steps[%u].%s: not a value that a step can have", i,
                             fault);
    }
    return 0;
}
