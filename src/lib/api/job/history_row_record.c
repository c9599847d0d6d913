/* SPDX-License-Identifier: Apache-2.0 */
/* history_row_record.c - the names by which a row of history is read: in the API, in the
 * outbox of a replicated store, in the open sums of jobs of several nodes
 *
 * The order is that of history_print.c, and of the bits by which a question names its
 * members. A name that exists stays: outboxes of the former release have it.
 */
#include "lib/api/job/history_row.h"

#include "lib/api/value/rows.h"
#include "lib/base/macro.h"

/* clang-format off */
static const struct field history_row_fields[] = {
    INT64("id", history_row, id, 0, HELP("The id of the row.")),
    STRING("user", history_row, user, 0, HELP("Its owner's name at the time.")),
    INT64("uid", history_row, uid, 0, HELP("Its owner's uid.")),
    STRING("account", history_row, account, 0, HELP("Its namespace.")),
    STRING("partition", history_row, partition, 0,
        HELP("The partition it was submitted to.")),
    INT64("job", history_row, job_id, 0, HELP("The job id.")),
    STRING("jobUid", history_row, job_uid, 0, HELP("The Job's uid.")),
    STRING("object", history_row, object, 0,
        HELP("The Job's name in its namespace, or the pod's.")),
    STRING("name", history_row, name, 0, HELP("The name its owner gave.")),
    STRING("pod", history_row, pod, 0, HELP("The pod's name.")),
    STRING("podUid", history_row, pod_uid, 0, HELP("The pod's uid.")),
    INT("index", history_row, index, OPTIONAL,
        HELP("Its completion index.")),
    INT("task", history_row, task, OPTIONAL,
        HELP("The number of an array's task.")),
    STRING("tasks", history_row, tasks, 0,
        HELP("Tasks of an array that never started: one row for all.")),
    INT("attempt", history_row, attempt, 0, HELP("From 1.")),
    TIME("submitTime", history_row, submit_at_us, KEPT,
        HELP("When it was submitted.")),
    TIME("eligibleTime", history_row, eligible_at_us, KEPT,
        HELP("When it became eligible to start.")),
    TIME("startTime", history_row, start_at_us, KEPT,
        HELP("When its process started.")),
    TIME("endTime", history_row, end_at_us, KEPT, HELP("When it ended.")),
    INT64("frozenMicroseconds", history_row, frozen_us, 0,
        HELP("How long it was suspended.")),
    STRING("node", history_row, node, 0, HELP("Where it ran.")),
    INT64("cpuMillis", history_row, cpu_milli, 0,
        HELP("Thousandths of CPUs that it held.")),
    INT64("memoryBytes", history_row, memory_bytes, 0,
        HELP("Memory that it asked for.")),
    STRING("devices", history_row, devices, 0,
        HELP("Devices that it held.")),
    INT64("timeLimitSeconds", history_row, time_limit_s, 0,
        HELP("Its time limit.")),
    INT64("cpuTimeMicros", history_row, cpu_time_us, OPTIONAL,
        HELP("CPU time that its processes used.")),
    INT64("peakMemoryBytes", history_row, peak_memory_bytes, OPTIONAL,
        HELP("Its peak memory.")),
    INT64("rssBytes", history_row, rss_bytes, OPTIONAL,
        HELP("What its processes had of the peak memory, without page cache.")),
    INT64("cacheBytes", history_row, cache_bytes, OPTIONAL,
        HELP("The page cache of its files, at its end.")),
    INT64("gpus", history_row, gpus, OPTIONAL,
        HELP("Its GPUs whose use is known.")),
    INT64("gpuMillis", history_row, gpu_milli, OPTIONAL,
        HELP("How many of these were busy on average, in thousandths of a GPU.")),
    INT64("gpuPeakMemoryBytes", history_row, gpu_peak_bytes, OPTIONAL,
        HELP("The most memory of these that was in use.")),
    INT64("gpuMemoryBytes", history_row, gpu_memory_bytes, OPTIONAL,
        HELP("The memory that these have.")),
    INT64("readBytes", history_row, read_bytes, OPTIONAL,
        HELP("What it read from storage.")),
    INT64("writtenBytes", history_row, written_bytes, OPTIONAL,
        HELP("What it wrote to storage.")),
    STRING("state", history_row, state, 0, HELP("kiln-states(7).")),
    INT("exitCode", history_row, exit_code, OPTIONAL,
        HELP("The exit code of its process.")),
    INT("signal", history_row, signal, 0, HELP("The signal that killed it.")),
    STRING("endedBy", history_row, ended_by, 0, HELP("Who or what ended it.")),
    STRING("reason", history_row, reason, 0, HELP("kiln-reasons(7).")),
    STRING("message", history_row, message, 0, HELP("The reason in words.")),
    STRING("script", history_row, script, 0,
        HELP("The digest of its script.")),
    INT64("revision", history_row, revision, 0,
        HELP("The store's revision at its end.")),
    BOOL("lost", history_row, is_lost, 0,
        HELP("The store was restored to a state before its end.")),
    INT64("nodes", history_row, nodes, 0,
        HELP("How many nodes the attempt had, if several.")),
    INT64("member", history_row, member, 0,
        HELP("Set for what ran on one of these nodes: 1 if the script ran on the first, "
             "2 if on each.")),
};
RECORD(history_row, history_row, "hpc.kiln.v1.HistoryRow",
       HELP("One attempt of a job that has ended."));
/* clang-format on */
