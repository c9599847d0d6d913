/* SPDX-License-Identifier: Apache-2.0 */
/* pod_kiln.c - Kiln's additions to a pod: placement, execution, allocation
 *
 * The JSON names are Kiln's own; doc/decisions.md lists them.
 */
#include "lib/api/node/allocation.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_records.h"
#include "lib/api/value/rows.h"

/* clang-format off */
static const struct field placement_fields[] = {
    STRING("numaPolicy", placement, numa_policy, 0,
        ONE_OF("none", "best-effort", "restricted", "single-numa-node"),
        HELP("How hard to keep cores and memory on one NUMA node.")),
    STRING("cpuPolicy", placement, cpu_policy, 0,
        ONE_OF("exclusive", "shared"),
        HELP("Whole cores of its own, or the node's shared pool.")),
    INT("threadsPerCore", placement, threads_per_core, 0,
        HELP("How many hardware threads of each core to use.")),
    INT("coresPerSocket", placement, cores_per_socket, 0,
        HELP("At most this many cores of each socket.")),
    STRING("distribution", placement, distribution, 0,
        ONE_OF("pack", "scatter", "cyclic"),
        HELP("Cores close together, far apart, or in turn.")),
    STRING("memoryPolicy", placement, memory_policy, 0,
        ONE_OF("bind", "preferred", "interleave"),
        HELP("Where memory comes from: bind, only from the NUMA nodes of "
             "the allocation; preferred, from them first; interleave, page "
             "by page in turn. The default is bind for pods that request "
             "memory, and preferred for others.")),
    STRING("gpuBinding", placement, gpu_binding, 0,
        ONE_OF("closest", "none"),
        HELP("GPUs and other devices near the cores, or anywhere.")),
    STRING("gpuType", placement, gpu_type, 0,
        HELP("Words that the model of its GPUs must contain, such as a100.")),
    BOOL("wholeNode", placement, whole_node, 0,
        HELP("No other pod on the node.")),
    STRING("partition", placement, partition, 0,
        HELP("Its partition; of several, such as a,b, the first that has "
             "room.")),
    STRING("reservation", placement, reservation, 0,
        HELP("The reservation whose nodes it uses while the reservation is "
             "active.")),
};
RECORD(placement, placement, "hpc.kiln.v1.Placement",
       HELP("How cores, NUMA memory and devices are chosen."));

static const struct field rlimit_value_fields[] = {
    STRING("name", rlimit_value, name, ALWAYS | REQUIRED,
        HELP("As in RLIMIT_, in lower case: nofile, stack, ...")),
    STRING("soft", rlimit_value, soft, 0, HELP("A number, or unlimited.")),
    STRING("hard", rlimit_value, hard, 0, HELP("A number, or unlimited.")),
};
static RECORD(rlimit_value, rlimit_value, "hpc.kiln.v1.ResourceLimit",
       HELP("A limit of setrlimit(2)."));

static const struct field limit_signal_fields[] = {
    STRING("name", limit_signal, name, ALWAYS | REQUIRED,
        HELP("Without SIG: USR1, TERM, ...")),
    INT("secondsBefore", limit_signal, seconds_before, 0,
        HELP("How long before the end of the time limit.")),
    BOOL("batchOnly", limit_signal, batch_only, 0,
        HELP("Only to the script, not to its children; otherwise only to "
             "its children, and to the script if that is no shell and has a "
             "handler for the signal.")),
};
static RECORD(limit_signal, limit_signal, "hpc.kiln.v1.LimitSignal",
       HELP("A warning before the time limit."));

static const struct field execution_fields[] = {
    STRING("stdinPath", execution, stdin_path, 0, HELP("Default: /dev/null.")),
    STRING("stdoutPath", execution, stdout_path, 0,
        HELP("May hold %j %x %u %N %%.")),
    STRING("stderrPath", execution, stderr_path, 0,
        HELP("Default: where the output goes.")),
    STRING("openMode", execution, open_mode, 0, ONE_OF("truncate", "append"),
        HELP("truncate or append; by default the first attempt truncates the "
             "output, and later ones append to it.")),
    STRING("umask", execution, umask, 0, HELP("Octal: 0022.")),
    OBJECTS("limits", execution, limits, rlimit_value, 0, BY_KEY("name"),
        HELP("Limits of setrlimit(2).")),
    OBJECT("signal", execution, signal, limit_signal, OPTIONAL,
        HELP("A warning before the time limit ends the process.")),
    INT("fenceAfterSeconds", execution, fence_after_s, 0,
        HELP("End it when its node is cut off from the controller for this "
             "long, so that it can run elsewhere; 0: never.")),
    STRING("checkpointCommand", execution, checkpoint_command, 0,
        HELP("A command for /bin/sh that saves the state of the process. It "
             "runs beside the process before that is told to end at its "
             "time limit, for a requeue or for preemption, and may take all "
             "of the grace period except the last 5 seconds.")),
    BOOL("bindThreads", execution, bind_threads, 0,
        HELP("Each thread of an OpenMP program stays on a core of its own "
             "(OMP_PLACES, OMP_PROC_BIND, GOMP_CPU_AFFINITY), unless its "
             "environment sets one of these.")),
    STRING("runs", execution, runs, 0, ONE_OF(EXECUTION_RUNS_FIRST, EXECUTION_RUNS_EACH),
        HELP("Of a Job whose pods are placed together, which of them run the "
             "program: First, while the others hold their resources until it "
             "ends, or Each. The pods of such a Job start, end and are "
             "started again together.")),
};
RECORD(execution, execution, "hpc.kiln.v1.Execution",
       HELP("How the process is started: output, umask, limits and "
            "signals."));

static const struct field scheduling_group_fields[] = {
    STRING("podGroupName", scheduling_group, pod_group_name, 0,
        HELP("The PodGroup.")),
};
RECORD(scheduling_group, scheduling_group, "io.k8s.api.core.v1.PodSchedulingGroup",
       MESSAGE("podGroupName"),
       HELP("The group a pod is scheduled with."));

static const struct field allocation_memory_fields[] = {
    INT("node", allocation_memory, node, ALWAYS | REQUIRED,
        HELP("The operating system's number of the NUMA node.")),
    QUANTITY("bytes", allocation_memory, bytes, REQUIRED,
        HELP("How much.")),
    QUANTITY("pageSize", allocation_memory, page_size, 0,
        HELP("Of huge pages; none: ordinary memory.")),
};
static RECORD(allocation_memory, allocation_memory, "hpc.kiln.v1.NodeMemory",
       HELP("Memory of a NUMA node."));

static const struct field allocation_fields[] = {
    STRING("cpus", allocation, cpus, 0,
        HELP("Hardware threads of its own, as 0-7,64-71; none: the shared pool.")),
    STRING("withheld", allocation, withheld, 0,
        HELP("Sibling threads that are kept idle, and charged.")),
    STRING("memoryNodes", allocation, memory_nodes, 0,
        HELP("NUMA nodes that memory comes from.")),
    LIST(STRING, "devices", allocation, devices, 0,
        HELP("Devices, by their names in the node's topology.")),
    OBJECTS("memory", allocation, memory, allocation_memory, 0,
        HELP("The memory of each NUMA node.")),
    QUANTITY("sharedCpu", allocation, shared_cpu, 0,
        HELP("Its share of the shared pool.")),
};
RECORD(allocation, allocation, "hpc.kiln.v1.Allocation",
       HELP("The exact resources that the pod has been given."), ATOMIC);

static const struct field observed_fields[] = {
    STRING("cpus", observed, cpus, 0,
        HELP("Cpus_allowed_list of its processes together.")),
    STRING("memoryNodes", observed, memory_nodes, 0,
        HELP("Mems_allowed_list of its processes together.")),
    INT("localMemoryPercent", observed, local_memory_percent, OPTIONAL,
        HELP("How much of their memory is on the NUMA nodes of the "
             "allocation.")),
    INT("processes", observed, processes, 0,
        HELP("The number of processes that were examined.")),
    TIME("at", observed, at_us, 0,
        HELP("When this was first observed; later observations were the "
             "same.")),
    BOOL("ownEnd", observed, has_own_end, 0,
        HELP("Its process failed by itself, before an order to end reached it.")),
    STRING("nodeBootID", observed, node_boot_id, 0,
        HELP("The boot of the node that it ran under.")),
};
RECORD(observed, observed, "hpc.kiln.v1.Observed",
       HELP("Where the processes were observed to run."));

static const struct field pod_usage_fields[] = {
    INT64("peakMemoryBytes", pod_usage, peak_memory_bytes, 0,
        HELP("The peak memory.")),
    INT64("userCpuMicroseconds", pod_usage, user_cpu_us, 0,
        HELP("CPU time in user mode.")),
    INT64("systemCpuMicroseconds", pod_usage, system_cpu_us, 0,
        HELP("CPU time in the kernel.")),
    INT64("rssBytes", pod_usage, rss_bytes, OPTIONAL,
        HELP("What the processes had of the peak memory, at least, without the page cache of "
             "files; known at the end.")),
    INT64("cacheBytes", pod_usage, cache_bytes, OPTIONAL,
        HELP("The page cache of its files, at the end. It counts as memory, and the kernel takes "
             "it back when memory is short.")),
    INT64("gpus", pod_usage, gpus, OPTIONAL,
        HELP("The GPUs whose use is known: those of NVIDIA, if the node has the library of the "
             "driver. Known at the end, if it ran for long enough.")),
    INT64("gpuMillis", pod_usage, gpu_milli, OPTIONAL,
        HELP("How many of these were busy on average, in thousandths of a GPU.")),
    INT64("gpuPeakMemoryBytes", pod_usage, gpu_peak_bytes, OPTIONAL,
        HELP("The most memory of these that was in use in any sample.")),
    INT64("gpuMemoryBytes", pod_usage, gpu_memory_bytes, OPTIONAL,
        HELP("The memory that these have.")),
    INT64("readBytes", pod_usage, read_bytes, OPTIONAL,
        HELP("Read from storage, at the end.")),
    INT64("writtenBytes", pod_usage, written_bytes, OPTIONAL,
        HELP("Written to storage, at the end.")),
};
RECORD(pod_usage, pod_usage, "hpc.kiln.v1.Usage",
       HELP("The resources that a pod used."));

static const struct field pod_cause_fields[] = {
    STRING("code", pod_cause, code, ALWAYS | REQUIRED,
        OFTEN("Resources", "BadConstraints", "ReqNodeNotAvail"),
        HELP("A fixed word: kiln-reasons(7).")),
    STRING("message", pod_cause, message, 0,
        HELP("The same in few words, for people.")),
    TIME("from", pod_cause, from_us, KEPT,
        HELP("When it may get what it waits for, according to the time "
             "limits of running jobs.")),
    BOOL("assumed", pod_cause, is_assumed, 0,
        HELP("Some running jobs have no time limit, so that time is based "
             "on an assumed end.")),
    STRING("node", pod_cause, node, 0,
        HELP("The node that is reserved for it from then on.")),
    BOOL("final", pod_cause, is_final, 0,
        HELP("It was preempted on a partition that cancels preempted jobs, "
             "which do not start again.")),
};
RECORD(pod_cause, pod_cause, "hpc.kiln.v1.Cause",
       HELP("Why it waits, or why it was ended."));

static const struct field pod_ending_fields[] = {
    STRING("reason", pod_ending, reason, ALWAYS | REQUIRED, OFTEN(REASON_DEADLINE_EXCEEDED),
        HELP("Why, in one word; the reason of its end, if it does not end by itself first.")),
    TIME("since", pod_ending, since_us, KEPT,
        HELP("When its processes got the first signal to end.")),
};
RECORD(pod_ending, pod_ending, "hpc.kiln.v1.Ending",
       HELP("Why its agent ends it."));
/* clang-format on */
