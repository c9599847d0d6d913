/* SPDX-License-Identifier: Apache-2.0 */
/* history_row_record.c - the fields of a row of history
 *
 * A row was described six times, in the schema, the INSERT, its binds, the SELECT, the
 * answer and the sums, and each description could be wrong alone. This table is the only one.
 * The names are those of the API, of the outbox of a replicated store, and of the open sums
 * of jobs of several nodes: a name that exists stays, for outboxes of the former release have
 * it. A column that exists stays as it is, too, since files have it; a new one has the next
 * version of the schema (HISTORY_SCHEMA_VERSION), and is NULL in rows from before.
 */
#include "lib/api/job/history_row.h"

#include "lib/api/value/rows.h"
#include "lib/base/macro.h"

#define COLUMN(n, f, ...)                                           \
    .column = &(const struct field_column)                          \
    {                                                               \
        .name = (n), .form = HISTORY_FORM_##f, .since = __VA_ARGS__ \
    }
#define SUMMED  .is_summed = true
#define PRIVATE .is_private = true

/* clang-format off */
static const struct field history_row_fields[] = {
    [HISTORY_AT_ID] = INT64("id", history_row, id, 0, COLUMN("id", ROW_ID, 1),
        HELP("The id of the row.")),
    [HISTORY_AT_USER] = STRING("user", history_row, user, 0, COLUMN("user", WORD, 1),
        HELP("Its owner's name at the time.")),
    [HISTORY_AT_UID] = INT64("uid", history_row, uid, 0, COLUMN("uid", VALUE, 1),
        HELP("Its owner's uid.")),
    [HISTORY_AT_ACCOUNT] = STRING("account", history_row, account, 0, COLUMN("account", WORD, 1),
        HELP("Its namespace.")),
    [HISTORY_AT_PARTITION] = STRING("partition", history_row, partition, 0,
        COLUMN("partition", WORD, 1),
        HELP("The partition it was submitted to.")),
    [HISTORY_AT_JOB] = INT64("job", history_row, job_id, 0, COLUMN("job", VALUE, 1),
        HELP("The job id.")),
    STRING("jobUid", history_row, job_uid, 0, COLUMN("job_uid", UID, 1),
        HELP("The Job's uid.")),
    [HISTORY_AT_OBJECT] = STRING("object", history_row, object, 0, COLUMN("object", OBJECT, 1),
        HELP("The Job's name in its namespace, or the pod's.")),
    [HISTORY_AT_NAME] = STRING("name", history_row, name, 0, COLUMN("name", NAME, 1),
        HELP("The name its owner gave.")),
    [HISTORY_AT_POD] = STRING("pod", history_row, pod, 0, COLUMN("pod", POD, 1),
        HELP("The pod's name.")),
    STRING("podUid", history_row, pod_uid, 0, COLUMN("key", POD_UID, 1),
        HELP("The pod's uid.")),
    [HISTORY_AT_INDEX] = INT("index", history_row, index, OPTIONAL, COLUMN("idx", VALUE, 1),
        HELP("Its completion index.")),
    [HISTORY_AT_TASK] = INT("task", history_row, task, OPTIONAL, COLUMN("task", VALUE, 2),
        HELP("The number of an array's task.")),
    [HISTORY_AT_TASKS] = STRING("tasks", history_row, tasks, 0, COLUMN("tasks", VALUE, 5),
        HELP("Tasks of an array that never started: one row for all.")),
    INT("attempt", history_row, attempt, 0, COLUMN("attempt", VALUE, 1),
        HELP("From 1.")),
    TIME("submitTime", history_row, submit_at_us, KEPT, COLUMN("submit_at", VALUE, 1),
        HELP("When it was submitted.")),
    TIME("eligibleTime", history_row, eligible_at_us, KEPT, COLUMN("eligible_at", VALUE, 1),
        HELP("When it became eligible to start.")),
    TIME("startTime", history_row, start_at_us, KEPT, COLUMN("start_at", VALUE, 1),
        HELP("When its process started.")),
    [HISTORY_AT_END] = TIME("endTime", history_row, end_at_us, KEPT, COLUMN("end_at", VALUE, 1),
        HELP("When it ended.")),
    INT64("frozenMicroseconds", history_row, frozen_us, 0, COLUMN("frozen_us", VALUE, 3),
        HELP("How long it was suspended.")),
    [HISTORY_AT_NODE] = STRING("node", history_row, node, 0, COLUMN("node", WORD, 1),
        HELP("Where it ran.")),
    INT64("cpuMillis", history_row, cpu_milli, 0, COLUMN("cpu_milli", VALUE, 1, SUMMED),
        HELP("Thousandths of CPUs that it held.")),
    INT64("memoryBytes", history_row, memory_bytes, 0, COLUMN("memory", VALUE, 1, SUMMED),
        HELP("Memory that it asked for.")),
    STRING("devices", history_row, devices, 0, COLUMN("devices", WORD, 1),
        HELP("Devices that it held.")),
    INT64("timeLimitSeconds", history_row, time_limit_s, 0, COLUMN("time_limit", VALUE, 1),
        HELP("Its time limit.")),
    INT64("cpuTimeMicros", history_row, cpu_time_us, OPTIONAL, COLUMN("cpu_us", VALUE, 1, SUMMED),
        HELP("CPU time that its processes used.")),
    INT64("peakMemoryBytes", history_row, peak_memory_bytes, OPTIONAL,
        COLUMN("peak", VALUE, 1, SUMMED),
        HELP("Its peak memory.")),
    INT64("rssBytes", history_row, rss_bytes, OPTIONAL, COLUMN("rss", VALUE, 7, SUMMED),
        HELP("What its processes had of the peak memory, without page cache.")),
    INT64("cacheBytes", history_row, cache_bytes, OPTIONAL, COLUMN("cache", VALUE, 7, SUMMED),
        HELP("The page cache of its files, at its end.")),
    INT64("gpus", history_row, gpus, OPTIONAL, COLUMN("gpus", VALUE, 8, SUMMED),
        HELP("Its GPUs whose use is known.")),
    INT64("gpuMillis", history_row, gpu_milli, OPTIONAL, COLUMN("gpu_milli", VALUE, 8, SUMMED),
        HELP("How many of these were busy on average, in thousandths of a GPU.")),
    INT64("gpuPeakMemoryBytes", history_row, gpu_peak_bytes, OPTIONAL,
        COLUMN("gpu_peak", VALUE, 8, SUMMED),
        HELP("The most memory of these that was in use.")),
    INT64("gpuMemoryBytes", history_row, gpu_memory_bytes, OPTIONAL,
        COLUMN("gpu_memory", VALUE, 8, SUMMED),
        HELP("The memory that these have.")),
    INT64("readBytes", history_row, read_bytes, OPTIONAL, COLUMN("read_bytes", VALUE, 6, SUMMED),
        HELP("What it read from storage.")),
    INT64("writtenBytes", history_row, written_bytes, OPTIONAL,
        COLUMN("written_bytes", VALUE, 6, SUMMED),
        HELP("What it wrote to storage.")),
    [HISTORY_AT_STATE] = STRING("state", history_row, state, 0, COLUMN("state", WORD, 1),
        HELP("kiln-states(7).")),
    INT("exitCode", history_row, exit_code, OPTIONAL, COLUMN("exit_code", VALUE, 1),
        HELP("The exit code of its process.")),
    INT("signal", history_row, signal, 0, COLUMN("signal", VALUE, 1),
        HELP("The signal that killed it.")),
    STRING("endedBy", history_row, ended_by, 0, COLUMN("ended_by", WORD, 1),
        HELP("Who or what ended it.")),
    STRING("reason", history_row, reason, 0, COLUMN("reason", WORD, 1),
        HELP("kiln-reasons(7).")),
    STRING("message", history_row, message, 0, COLUMN("message", VALUE, 1, PRIVATE),
        HELP("The reason in words.")),
    STRING("script", history_row, script, 0, COLUMN("script", DIGEST, 1, PRIVATE),
        HELP("The digest of its script.")),
    INT64("revision", history_row, revision, 0, COLUMN("revision", VALUE, 1),
        HELP("The store's revision at its end.")),
    BOOL("lost", history_row, is_lost, 0, COLUMN("lost", LOST, 1),
        HELP("The store was restored to a state before its end.")),
    [HISTORY_AT_NODES] = INT64("nodes", history_row, nodes, 0, COLUMN("nodes", VALUE, 9),
        HELP("How many nodes the attempt had, if several.")),
    [HISTORY_AT_MEMBER] = INT64("member", history_row, member, 0, COLUMN("member", VALUE, 9),
        HELP("Set for what ran on one of these nodes: 1 if the script ran on the first, "
             "2 if on each.")),
    BOOL("allocation", history_row, is_allocation, 0, COLUMN("allocation", VALUE, 12, SUMMED),
        HELP("It had no script: programs were started in it by kalloc or salloc.")),
};
RECORD(history_row, history_row, "hpc.kiln.v1.HistoryRow",
       HELP("One attempt of a job that has ended."));
/* clang-format on */
