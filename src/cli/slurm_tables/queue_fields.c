/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/queue_fields.h"

#include <ctype.h>
#include <grp.h>
#include <inttypes.h>
#include <string.h>

#include "cli/slurm_tables/queue_row.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

/* Adds a function named add_NAME that appends a value of `row`. */
#define FIELD(name)                                                  \
    static void add_##name(const void *context, struct strbuf *out); \
    static void add_##name(const void *context, struct strbuf *out)
#define ROW const struct queue_row *row = context

/* A function of one value. */
#define TEXT_FIELD(name, value)        \
    FIELD(name)                        \
    {                                  \
        ROW;                           \
        strbuf_add_text(out, (value)); \
    }
#define NUMBER_FIELD(name, value)     \
    FIELD(name)                       \
    {                                 \
        ROW;                          \
        strbuf_add_int(out, (value)); \
    }

static void
add_text_or_null(const char *text, struct strbuf *out)
{
    strbuf_add_text(out, text != NULL && text[0] != '\0' ? text : "(null)");
}

static void
add_point(int64_t us, const char *otherwise, struct strbuf *out)
{
    if (us != 0)
        slurm_time_add(us, out);
    else
        strbuf_add_text(out, otherwise);
}

/* ---- Fixed values: what no job of Kiln has ---- */

#define FIXED(name, text)                                       \
    static void add_##name(const void *row, struct strbuf *out) \
    {                                                           \
        (void)row;                                              \
        strbuf_add_text(out, text);                             \
    }

FIXED(null, "(null)")
FIXED(na, "N/A")
FIXED(short_na, "NA")
FIXED(zero, "0")
FIXED(one, "1")
FIXED(star, "*")
FIXED(sct, "*:*:*")
FIXED(nothing, "")
FIXED(no_time, "0:00")
FIXED(no_profile, "NotSet")

/* ---- Who and what ---- */

FIELD(cluster)
{
    (void)context;
    strbuf_add_text(out, slurm_cluster_name());
}

TEXT_FIELD(account, row->account)

NUMBER_FIELD(job_id, row->id)

NUMBER_FIELD(array_id, row->task >= 0 || row->tasks != NULL ? row->id : 0)

FIELD(id)
{
    queue_row_add_id(context, out);
}

FIELD(task_id)
{
    queue_row_add_tasks(context, out);
}

TEXT_FIELD(name, row->name)

TEXT_FIELD(user, row->user)

FIELD(uid)
{
    strbuf_add_int(out, queue_row_uid(context));
}

FIELD(gid)
{
    strbuf_add_int(out, queue_row_gid(context));
}

FIELD(group)
{
    const int64_t gid = queue_row_gid(context);
    const struct group *group = gid >= 0 ? getgrgid((gid_t)gid) : NULL;

    if (group != NULL)
        strbuf_add_text(out, group->gr_name);
    else
        strbuf_add_int(out, gid);
}

TEXT_FIELD(partition, row->partition)

FIELD(qos)
{
    strbuf_add_text(out, queue_row_qos(context));
}

FIELD(comment)
{
    add_text_or_null(queue_row_annotation(context, ANNOTATION_COMMENT), out);
}

FIELD(command)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    add_text_or_null(queue_row_command(context, arena), out);
}

static void
add_file(const void *context, enum queue_row_stream stream, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    strbuf_add_text(out, queue_row_file(context, stream, arena));
}

FIELD(stdin)
{
    add_file(context, QUEUE_ROW_STDIN, out);
}

FIELD(stdout)
{
    add_file(context, QUEUE_ROW_STDOUT, out);
}

FIELD(stderr)
{
    add_file(context, QUEUE_ROW_STDERR, out);
}

FIELD(reservation)
{
    add_text_or_null(queue_row_pod_text(context, "placement.reservation"), out);
}

FIELD(work_dir)
{
    ROW;
    const struct json *containers = json_get_path(row->object, "spec.template.spec.containers");

    add_text_or_null(json_get_text(json_at(containers, 0), "workingDir"), out);
}

FIELD(dependency)
{
    queue_row_add_dependency(context, out);
}

/* ---- States ---- */

TEXT_FIELD(state, slurm_words_state(row->state, false))

TEXT_FIELD(state_compact, slurm_words_state(row->state, true))

TEXT_FIELD(reason, row->reason)

FIELD(reason_or_nodes)
{
    queue_row_add_reason_or_nodes(context, out);
}

NUMBER_FIELD(step_tasks, row->step_tasks)

NUMBER_FIELD(nice, queue_row_nice(row))
NUMBER_FIELD(exit_code, queue_row_wait_status(row))

NUMBER_FIELD(restarts, queue_row_restarts(row))

FIELD(priority)
{
    strbuf_printf(out, "%.14f", (double)queue_row_priority(context) / 4294967295.0);
}

FIELD(priority_long)
{
    strbuf_add_int(out, queue_row_priority(context));
}

FIELD(requeue)
{
    ROW;

    strbuf_add_char(out, queue_row_may_restart(row) ? '1' : '0');
}

/* ---- Times ---- */

FIELD(submitted)
{
    ROW;

    add_point(row->submit_us, "N/A", out);
}

FIELD(eligible)
{
    add_point(queue_row_eligible_us(context), "N/A", out);
}

FIELD(accrue)
{
    add_point(queue_row_accrue_us(context), "N/A", out);
}

FIELD(start)
{
    add_point(queue_row_start_us(context), "N/A", out);
}

FIELD(end)
{
    ROW;

    add_point(queue_row_end_us(row), queue_row_is_waiting(row) ? "N/A" : "NONE", out);
}

FIELD(deadline)
{
    add_point(queue_row_deadline_us(context), "N/A", out);
}

FIELD(used)
{
    ROW;

    slurm_time_add_length(row->elapsed_s, out);
}

FIELD(limit)
{
    ROW;

    if (row->limit_s == 0)
        strbuf_add_text(out, "UNLIMITED");
    else
        slurm_time_add_length(queue_row_limit_s(row), out);
}

FIELD(left)
{
    queue_row_add_time_left(context, out);
}

FIELD(pending)
{
    ROW;
    const int64_t end = row->start_us != 0 ? row->start_us
                        : row->end_us != 0 ? row->end_us
                                           : clock_real_us(&clock_system);

    strbuf_add_int(
        out, row->submit_us != 0 && end > row->submit_us ? (end - row->submit_us) / SECOND_US : 0);
}

/* ---- What it asked for, and where it runs ---- */

NUMBER_FIELD(cpus, row->cpus)

NUMBER_FIELD(nodes, row->nodes)

FIELD(node_list)
{
    ROW;

    if (!queue_row_is_waiting(row))
        strbuf_add_text(out, row->node);
}

FIELD(first_node)
{
    ROW;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char **names = NULL;
    size_t count = 0;

    if (queue_row_is_waiting(row) || row->node[0] == '\0'
        || hostlist_expand(arena, row->node, &names, &count, NULL) < 0 || count == 0)
        strbuf_add_text(out, "n/a");
    else
        strbuf_add_text(out, names[0]);
}

FIELD(cpus_per_task)
{
    strbuf_add_int(out, queue_row_cpus_per_task(context));
}

NUMBER_FIELD(least_cpus,
             queue_row_cpus_per_task(row)
                 * (queue_row_tasks_per_node(row) > 0 ? queue_row_tasks_per_node(row) : 1))

FIELD(tasks)
{
    strbuf_add_int(out, queue_row_tasks_asked(context));
}

FIELD(tasks_per_node)
{
    strbuf_add_int(out, queue_row_tasks_per_node(context));
}

FIELD(memory)
{
    ROW;

    slurm_words_add_memory(queue_row_memory(row), row->keeps_units ? 'M' : 0, out);
}

FIELD(gres)
{
    const char *model;
    const int64_t gpus = queue_row_gpus(context, &model);

    if (gpus == 0)
        strbuf_add_text(out, "N/A");
    else if (model != NULL)
        strbuf_printf(out, "gres:gpu:%s:%" PRId64, model, gpus);
    else
        strbuf_printf(out, "gres:gpu:%" PRId64, gpus);
}

FIELD(scratch)
{
    slurm_words_add_memory(queue_row_scratch(context), 0, out);
}

FIELD(tres)
{
    queue_row_add_tres(context, out);
}

FIELD(features)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    add_text_or_null(queue_row_features(context, arena), out);
}

FIELD(required_nodes)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    strbuf_add_text(out, queue_row_nodes_named(context, false, arena));
}

FIELD(excluded_nodes)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    strbuf_add_text(out, queue_row_nodes_named(context, true, arena));
}

static bool
is_whole_node(const struct queue_row *row)
{
    return json_is_true(json_get_path(row->object, "spec.template.spec.placement.wholeNode"));
}

FIELD(sharing)
{
    strbuf_add_text(out, is_whole_node(context) ? "NO" : "OK");
}

/* ---- The tables ---- */

/* clang-format off */
static const struct output_column columns[] = {
    {'a', "Account", "ACCOUNT", add_account, 0},
    {0, "AccrueTime", "ACCRUE_TIME", add_accrue, 0},
    {0, "admin_comment", "ADMIN_COMMENT", add_null, 0},
    {0, "AllocNodes", "ALLOC_NODES", add_null, 0},
    {0, "AllocSID", "ALLOC_SID", add_zero, 0},
    {'F', "ArrayJobID", "ARRAY_JOB_ID", add_job_id, 0},
    {'K', "ArrayTaskID", "ARRAY_TASK_ID", add_task_id, 0},
    {0, "AssocID", "ASSOC_ID", add_zero, 0},
    {0, "BatchFlag", "BATCH_FLAG", add_one, 0},
    {'B', "BatchHost", "EXEC_HOST", add_first_node, 0},
    {0, "BoardsPerNode", "BOARDS_PER_NODE", add_zero, 0},
    {0, "BurstBuffer", "BURST_BUFFER", add_null, 0},
    {0, "BurstBufferState", "BURST_BUFFER_STATE", add_null, 0},
    {0, "Cluster", "CLUSTER", add_cluster, 0},
    {0, "ClusterFeature", "CLUSTER_FEATURES", add_null, 0},
    {'o', "Command", "COMMAND", add_command, 0},
    {'k', "Comment", "COMMENT", add_comment, 0},
    {0, "Container", "CONTAINER", add_null, 0},
    {'O', "Contiguous", "CONTIGUOUS", add_zero, 0},
    {'I', "Cores", "CORES_PER_SOCKET", add_star, 0},
    {'X', "CoreSpec", "CORE_SPEC", add_na, 0},
    {0, "cpus-per-task", "CPUS_PER_TASK", add_cpus_per_task, 0},
    {0, "cpus-per-tres", "CPUS_PER_TRES", add_na, 0},
    {0, "Deadline", "DEADLINE", add_deadline, 0},
    {0, "DelayBoot", "DELAY_BOOT", add_no_time, 0},
    {'E', "Dependency", "DEPENDENCY", add_dependency, 0},
    {0, "DerivedEC", "DERIVED_EC", add_zero, 0},
    {0, "EligibleTime", "ELIGIBLE_TIME", add_eligible, 0},
    {'e', "EndTime", "END_TIME", add_end, 0},
    {'x', NULL, "EXC_NODES", add_excluded_nodes, 0},
    {0, "exit_code", "EXIT_CODE", add_exit_code, 0},
    {'f', "Feature", "FEATURES", add_features, 0},
    {'b', "Gres", "TRES_PER_NODE", add_gres, 0},
    {'G', "GroupID", "GROUP", add_gid, 0},
    {'g', "GroupName", "GROUP", add_group, 0},
    {0, "HetJobID", "HET_JOB_ID", add_na, 0},
    {0, "HetJobIDSet", "HET_JOB_ID_SET", add_na, 0},
    {0, "HetJobOffset", "HET_JOB_OFFSET", add_na, 0},
    {'i', "JobArrayID", "JOBID", add_id, 0},
    {'A', "JobID", "JOBID", add_job_id, 0},
    {0, "LastSchedEval", "LAST_SCHED_EVAL", add_na, 0},
    {'W', "Licenses", "LICENSES", add_null, 0},
    {0, "MaxCPUs", "MAX_CPUS", add_cpus, 0},
    {0, "MaxNodes", "MAX_NODES", add_nodes, 0},
    {0, "MCSLabel", "MCSLABEL", add_null, 0},
    {0, "mem-per-tres", "MEM_PER_TRES", add_na, 0},
    {'c', "MinCpus", "MIN_CPUS", add_least_cpus, 0},
    {'m', "MinMemory", "MIN_MEMORY", add_memory, 0},
    {0, "MinTime", "TIME_MIN", add_no_time, 0},
    {'d', "MinTmpDisk", "MIN_TMP_DISK", add_scratch, 0},
    {'j', "Name", "NAME", add_name, 0},
    {0, "Network", "NETWORK", add_null, 0},
    {'y', "Nice", "NICE", add_nice, 0},
    {'N', "NodeList", "NODELIST", add_node_list, 0},
    {0, "NTPerBoard", "NTASKS_PER_BOARD", add_zero, 0},
    {0, "NTPerCore", "NTASKS_PER_CORE", add_na, 0},
    {0, "NTPerNode", "NTASKS_PER_NODE", add_tasks_per_node, 0},
    {0, "NTPerSocket", "NTASKS_PER_SOCKET", add_na, 0},
    {'C', "NumCPUs", "CPUS", add_cpus, 0},
    {'D', "NumNodes", "NODES", add_nodes, 0},
    {0, "NumTasks", "TASKS", add_tasks, 0},
    {0, "Origin", "ORIGIN", add_short_na, 0},
    {0, "OriginRaw", "ORIGIN_RAW", add_short_na, 0},
    {'h', "OverSubscribe", "OVER_SUBSCRIBE", add_sharing, 0},
    {'P', "Partition", "PARTITION", add_partition, 0},
    {0, "PendingTime", "PENDING_TIME", add_pending, 0},
    {0, "PreemptTime", "PREEMPT_TIME", add_na, 0},
    {0, "Prefer", "PREFER", add_null, 0},
    {'p', "Priority", "PRIORITY", add_priority, 0},
    {'Q', "PriorityLong", "PRIORITY", add_priority_long, 0},
    {0, "Profile", "PROFILE", add_no_profile, 0},
    {'q', "QOS", "QOS", add_qos, 0},
    {'r', "Reason", "REASON", add_reason, 0},
    {'R', "ReasonList", "NODELIST(REASON)", add_reason_or_nodes, 0},
    {0, "Reboot", "REBOOT", add_zero, 0},
    {'n', "ReqNodes", "REQ_NODES", add_required_nodes, 0},
    {0, "ReqSwitch", "REQ_SWITCH", add_zero, 0},
    {0, "Requeue", "REQUEUE", add_requeue, 0},
    {'v', "Reservation", "RESERVATION", add_reservation, 0},
    {0, "ResizeTime", "RESIZE_TIME", add_na, 0},
    {0, "RestartCnt", "RESTART_COUNT", add_restarts, 0},
    {'Y', "SchedNodes", "SCHEDNODES", add_null, 0},
    {'z', "SCT", "S:C:T", add_sct, 0},
    {'s', "SelectJobInfo", "", add_nothing, 0},
    {0, "Shared", "OVER_SUBSCRIBE", add_sharing, 0},
    {0, "SiblingsActive", "ACTIVE_SIBLINGS", add_short_na, 0},
    {0, "SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW", add_short_na, 0},
    {0, "SiblingsViable", "VIABLE_SIBLINGS", add_short_na, 0},
    {0, "SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW", add_short_na, 0},
    {'H', "Sockets", "SOCKETS_PER_NODE", add_star, 0},
    {0, "SPerBoard", "SOCKETS_PER_BOARD", add_zero, 0},
    {'S', "StartTime", "START_TIME", add_start, 0},
    {'T', "State", "STATE", add_state, 0},
    {'t', "StateCompact", "ST", add_state_compact, 0},
    {0, "STDERR", "STDERR", add_stderr, 0},
    {0, "STDIN", "STDIN", add_stdin, 0},
    {0, "STDOUT", "STDOUT", add_stdout, 0},
    {'V', "SubmitTime", "SUBMIT_TIME", add_submitted, 0},
    {0, "system_comment", "SYSTEM_COMMENT", add_null, 0},
    {'J', "Threads", "THREADS_PER_CORE", add_star, 0},
    {'L', "TimeLeft", "TIME_LEFT", add_left, COLUMN_NEVER_CUT},
    {'l', "TimeLimit", "TIME_LIMIT", add_limit, COLUMN_NEVER_CUT},
    {'M', "TimeUsed", "TIME", add_used, COLUMN_NEVER_CUT},
    {0, "tres", "TRES_ALLOC", add_tres, 0},
    {0, "tres-alloc", "TRES_ALLOC", add_tres, 0},
    {0, "tres-bind", "TRES_BIND", add_na, 0},
    {0, "tres-freq", "TRES_FREQ", add_na, 0},
    {0, "tres-per-job", "TRES_PER_JOB", add_na, 0},
    {0, "tres-per-node", "TRES_PER_NODE", add_gres, 0},
    {0, "tres-per-socket", "TRES_PER_SOCKET", add_na, 0},
    {0, "tres-per-task", "TRES_PER_TASK", add_na, 0},
    {'U', "UserID", "UID", add_uid, 0},
    {'u', "UserName", "USER", add_user, 0},
    {'w', "wckey", "WCKEY", add_null, 0},
    {'Z', "WorkDir", "WORK_DIR", add_work_dir, 0},
};

static const struct output_column step_columns[] = {
    {'A', "NumTasks", "TASKS", add_step_tasks, 0},
    {0, "ArrayJobID", "ARRAY_JOB_ID", add_array_id, 0},
    {0, "ArrayTaskID", "ARRAY_TASK_ID", add_task_id, 0},
    {'b', "tres-per-job", "TRES_PER_JOB", add_null, 0},
    {0, "Cluster", "CLUSTER", add_cluster, 0},
    {0, "Container", "CONTAINER", add_null, 0},
    {0, "cpus-per-tres", "CPUS_PER_TRES", add_null, 0},
    {0, "JobID", "JOB_ID", add_job_id, 0},
    {0, "mem-per-tres", "MEM_PER_TRES", add_null, 0},
    {0, "Network", "NETWORK", add_null, 0},
    {0, "Nodes", "NODELIST", add_node_list, 0},
    {'i', "StepID", "STEPID", add_id, 0},
    {'j', "StepName", "NAME", add_name, 0},
    {'M', "TimeUsed", "TIME", add_used, 0},
    {'l', "TimeLimit", "TIME_LIMIT", add_limit, 0},
    {'N', "NodeList", "NODELIST", add_node_list, 0},
    {0, "NumCPUs", "NUM_CPUS", add_cpus, 0},
    {'P', "Partition", "PARTITION", add_partition, 0},
    {0, "ResvPorts", "RESERVED_PORTS", add_null, 0},
    {'S', "StartTime", "START_TIME", add_start, 0},
    {0, "StepState", "STATE", add_state, 0},
    {0, "tres-bind", "TRES_BIND", add_null, 0},
    {0, "tres-freq", "TRES_FREQ", add_null, 0},
    {0, "tres-per-node", "TRES_PER_STEP", add_null, 0},
    {0, "tres-per-socket", "TRES_PER_SOCKET", add_null, 0},
    {0, "tres-per-step", "TRES_PER_STEP", add_null, 0},
    {0, "tres-per-task", "TRES_PER_TASK", add_null, 0},
    {'u', "UserName", "USER", add_user, 0},
    {'U', "UserID", "UID", add_uid, 0},
};
/* clang-format on */

const struct output_columns queue_fields = {columns, ARRAY_SIZE(columns)};
const struct output_columns queue_step_fields = {step_columns, ARRAY_SIZE(step_columns)};

/* ---- What a format needs ---- */

enum queue_need
queue_fields_need(const struct output_format *format)
{
    static output_add_fn *const of_cells[] = {
        add_job_id,   add_user,    add_partition, add_state,      add_state_compact,
        add_reason,   add_nodes,   add_cpus,      add_node_list,  add_reason_or_nodes,
        add_used,     add_limit,   add_left,      add_first_node, add_priority_long,
        add_id,       add_task_id, add_start,     add_end,        add_priority,
        add_na,       add_null,    add_zero,      add_restarts,   add_one,
        add_short_na, add_nothing, add_star,      add_sct,
    };
    static output_add_fn *const of_metadata[] = {
        add_account,  add_name,      add_comment, add_uid,
        add_eligible, add_submitted, add_pending, add_deadline,
    };
    enum queue_need need = QUEUE_NEEDS_CELLS;

    for (size_t i = 0; i < format->count; i++) {
        output_add_fn *add = format->fields[i].column->add;
        enum queue_need one = QUEUE_NEEDS_JOB;

        for (size_t k = 0; k < ARRAY_SIZE(of_cells); k++)
            if (of_cells[k] == add)
                one = QUEUE_NEEDS_CELLS;
        for (size_t k = 0; k < ARRAY_SIZE(of_metadata); k++)
            if (of_metadata[k] == add)
                one = QUEUE_NEEDS_METADATA;
        /* A cell has the first 40 bytes of a name. */
        if (add == add_name && format->fields[i].width > 0 && format->fields[i].width <= 36)
            one = QUEUE_NEEDS_CELLS;
        if (one > need)
            need = one;
    }
    return need;
}
