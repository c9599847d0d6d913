/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/account_fields.h"

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#include "cli/slurm_tables/account_row.h"
#include "cli/slurm_tables/queue_row.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

#define FIELD(name)                                                  \
    static void add_##name(const void *context, struct strbuf *out); \
    static void add_##name(const void *context, struct strbuf *out)
#define ROW const struct account_row *row = context

/* A function of one call: for a number, for a job but not its steps, and for a step whose use is
 * known.
 */
#define NUMBER_FIELD(name, value)     \
    FIELD(name)                       \
    {                                 \
        ROW;                          \
        strbuf_add_int(out, (value)); \
    }
#define JOB_FIELD(name, call)  \
    FIELD(name)                \
    {                          \
        ROW;                   \
        if (row->step == NULL) \
            call;              \
    }
#define STEP_FIELD(name, member, call)             \
    FIELD(name)                                    \
    {                                              \
        ROW;                                       \
        if (row->step != NULL && row->member >= 0) \
            call;                                  \
    }

/* Kiln has no such value. */
FIELD(nothing)
{
    (void)context;
    (void)out;
}

/* ---- Ids and names ---- */

static void
add_job_of(const struct account_row *row, struct strbuf *out)
{
    const struct queue_row q = {
        .id = row->id, .task = row->task, .tasks = row->tasks, .throttle = row->throttle};

    queue_row_add_id(&q, out);
    if (row->step != NULL)
        strbuf_printf(out, ".%s", row->step);
}

FIELD(id)
{
    add_job_of(context, out);
}

FIELD(name)
{
    ROW;

    strbuf_add_text(out, row->name);
}

FIELD(account)
{
    ROW;

    strbuf_add_text(out, row->account);
}

FIELD(cluster)
{
    (void)context;
    strbuf_add_text(out, slurm_cluster_name());
}

JOB_FIELD(partition, strbuf_add_text(out, row->partition))

JOB_FIELD(user, strbuf_add_text(out, row->user))

FIELD(uid)
{
    ROW;

    if (row->step == NULL && row->uid >= 0)
        strbuf_add_int(out, row->uid);
}

FIELD(gid)
{
    const int64_t gid = account_row_gid(context);

    if (gid >= 0)
        strbuf_add_int(out, gid);
}

FIELD(group)
{
    const int64_t gid = account_row_gid(context);
    const struct group *group = gid >= 0 ? getgrgid((gid_t)gid) : NULL;

    if (group != NULL)
        strbuf_add_text(out, group->gr_name);
}

/* Values of the Job, while it is known. */
static void
add_live(const struct account_row *row, const char *text, struct strbuf *out)
{
    if (row->step == NULL && row->live != NULL && text != NULL)
        strbuf_add_text(out, text);
}

FIELD(comment)
{
    ROW;

    add_live(row, row->live != NULL ? queue_row_annotation(row->live, ANNOTATION_COMMENT) : NULL,
             out);
}

FIELD(constraints)
{
    ROW;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    add_live(row, row->live != NULL ? queue_row_features(row->live, arena) : NULL, out);
}

FIELD(qos)
{
    ROW;

    add_live(row, row->live != NULL ? queue_row_qos(row->live) : NULL, out);
}

FIELD(reservation)
{
    ROW;

    add_live(row, row->live != NULL ? queue_row_pod_text(row->live, "placement.reservation") : NULL,
             out);
}

FIELD(priority)
{
    ROW;

    if (row->step == NULL && row->live != NULL)
        strbuf_add_int(out, queue_row_priority(row->live));
}

FIELD(work_dir)
{
    ROW;
    const struct json *containers =
        row->live != NULL ? json_get_path(row->live->object, "spec.template.spec.containers")
                          : NULL;

    add_live(row, json_get_text(json_at(containers, 0), "workingDir"), out);
}

/* ---- States ---- */

static int64_t
find_ender(const struct account_row *row)
{
    const struct passwd *user =
        row->step == NULL && row->ender != NULL ? getpwnam(row->ender) : NULL;

    if (row->ended_by >= 0)
        return row->ended_by;
    return user != NULL ? (int64_t)user->pw_uid : -1;
}

FIELD(state)
{
    ROW;

    /* In history, an attempt after which the job was started again. */
    if (row->state == JOB_STATE_REQUEUED && row->start_us != 0)
        strbuf_add_text(out, "REQUEUED");
    else
        strbuf_add_text(out, slurm_words_state(row->state, false));
    if (row->state == JOB_STATE_CANCELLED && find_ender(row) >= 0)
        strbuf_printf(out, " by %" PRId64, find_ender(row));
}

/* A job that was ended has no exit code of its own, only its script has. */
FIELD(exit_code)
{
    ROW;
    const bool is_ended_by_others =
        row->state == JOB_STATE_CANCELLED || row->state == JOB_STATE_TIMED_OUT
        || row->state == JOB_STATE_PREEMPTED || row->state == JOB_STATE_DEADLINE;

    if (row->step == NULL && is_ended_by_others)
        strbuf_add_text(out, "0:0");
    else if (row->state == JOB_STATE_OUT_OF_MEMORY)
        strbuf_add_text(out, "0:125");
    else
        strbuf_printf(out, "%" PRId64 ":%" PRId64, row->exit_code, row->signal);
}

JOB_FIELD(derived_exit_code,
          strbuf_printf(out, "%" PRId64 ":%" PRId64, row->derived >> 8, row->derived & 0x7f))

JOB_FIELD(reason, strbuf_add_text(out, account_row_waits(row) ? row->reason : "None"))

/* ---- Times ---- */

static void
add_point(int64_t us, const char *otherwise, struct strbuf *out)
{
    if (us != 0)
        slurm_time_add(us, out);
    else
        strbuf_add_text(out, otherwise);
}

FIELD(submit)
{
    ROW;

    add_point(row->step != NULL ? row->start_us : row->submit_us, "Unknown", out);
}

FIELD(eligible)
{
    ROW;

    add_point(row->step != NULL ? account_row_start_us(row) : row->eligible_us, "Unknown", out);
}

/* A job that was cancelled while it waited starts when it ends, as in Slurm. */
FIELD(start)
{
    ROW;
    const int64_t start = account_row_start_us(row);

    add_point(start == 0 && job_state_is_ended(row->state) ? account_row_end_us(row) : start,
              "Unknown", out);
}

FIELD(end)
{
    add_point(account_row_end_us(context), "Unknown", out);
}

FIELD(elapsed)
{
    slurm_time_add_elapsed(account_row_elapsed_s(context), out);
}

NUMBER_FIELD(elapsed_raw, account_row_elapsed_s(row))

FIELD(suspended)
{
    ROW;

    slurm_time_add_elapsed(row->suspended_us / SECOND_US, out);
}

FIELD(limit)
{
    ROW;

    if (row->step != NULL)
        return;
    if (row->limit_s == 0)
        strbuf_add_text(out, "UNLIMITED");
    else
        slurm_time_add_elapsed((row->limit_s + 59) / 60 * 60, out);
}

FIELD(limit_raw)
{
    ROW;

    if (row->step != NULL)
        return;
    if (row->limit_s == 0)
        strbuf_add_text(out, "UNLIMITED");
    else
        strbuf_add_int(out, (row->limit_s + 59) / 60);
}

static int64_t
waited_s(const struct account_row *row)
{
    return row->start_us != 0 && row->start_us > row->eligible_us && row->eligible_us != 0
               ? (row->start_us - row->eligible_us) / SECOND_US
               : 0;
}

JOB_FIELD(waited, slurm_time_add_elapsed(waited_s(row), out))

JOB_FIELD(waited_cpu, slurm_time_add_elapsed(waited_s(row) * row->cpus, out))

JOB_FIELD(waited_cpu_raw, strbuf_add_int(out, waited_s(row) * row->cpus))

/* ---- Amounts ---- */

NUMBER_FIELD(cpus, row->cpus)

NUMBER_FIELD(nodes, row->nodes)

NUMBER_FIELD(nodes_held, account_row_has_started(row) ? row->nodes : 0)

FIELD(node_list)
{
    ROW;

    strbuf_add_text(out, row->node[0] != '\0' ? row->node : "None assigned");
}

JOB_FIELD(memory_asked, slurm_words_add_memory(row->memory, row->unit, out))

static void
add_tres(const struct account_row *row, struct strbuf *out)
{
    if (row->step == NULL || row->step[0] == 'e')
        strbuf_printf(out, "billing=%" PRId64 ",", row->cpus);
    strbuf_printf(out, "cpu=%" PRId64, row->cpus);
    if (row->gpus > 0)
        strbuf_printf(out, ",gres/gpu=%" PRId64, row->gpus);
    if (row->memory > 0) {
        strbuf_add_text(out, ",mem=");
        slurm_words_add_memory(row->memory, row->unit, out);
    }
    strbuf_printf(out, ",node=%" PRId64, row->nodes);
}

JOB_FIELD(tres_asked, add_tres(row, out))

FIELD(tres_held)
{
    ROW;

    if (account_row_has_started(row))
        add_tres(row, out);
}

FIELD(cpu_time)
{
    ROW;

    slurm_time_add_elapsed(account_row_elapsed_s(row) * row->cpus, out);
}

NUMBER_FIELD(cpu_time_raw, account_row_elapsed_s(row) * row->cpus)

FIELD(cpu_used)
{
    ROW;

    if (row->cpu_us >= 0)
        slurm_time_add_cpu(row->cpu_us, out);
    else
        strbuf_add_text(out, "00:00:00");
}

static int64_t
count_tasks(const struct account_row *row)
{
    return row->tasks_count > 0 ? row->tasks_count : row->nodes;
}

/* Which of the tasks used most is only known if there is one. */
static bool
has_one_task(const struct account_row *row)
{
    return row->tasks_count <= 1;
}

STEP_FIELD(cpu_of_task, cpu_us,
           slurm_time_add_elapsed(row->cpu_us / SECOND_US
                                      / (row->tasks_count > 1 ? row->tasks_count : 1),
                                  out))

FIELD(least_cpu)
{
    ROW;

    if (has_one_task(row))
        add_cpu_of_task(row, out);
}

FIELD(cpu_of_user)
{
    ROW;

    if (row->user_us >= 0)
        slurm_time_add_cpu(row->user_us, out);
}

FIELD(cpu_of_system)
{
    ROW;

    if (row->system_us >= 0)
        slurm_time_add_cpu(row->system_us, out);
}

STEP_FIELD(rss, rss, slurm_words_add_usage(row->rss, row->unit, out))

STEP_FIELD(read, read, slurm_words_add_usage(row->read, row->unit, out))

STEP_FIELD(written, written, slurm_words_add_usage(row->written, row->unit, out))

FIELD(average_rss)
{
    ROW;

    if (has_one_task(row))
        add_rss(row, out);
}

STEP_FIELD(usage_node, rss, strbuf_add_text(out, row->nodes == 1 ? row->node : ""))

STEP_FIELD(usage_task, rss, strbuf_add_text(out, has_one_task(row) ? "0" : ""))

FIELD(tasks)
{
    ROW;

    if (row->step != NULL)
        strbuf_add_int(out, count_tasks(row));
}

FIELD(layout)
{
    ROW;

    if (row->tasks_count > 0)
        slurm_words_add_layout(row->distribution, row->tasks_count, row->nodes, out);
    else if (row->step != NULL)
        strbuf_add_text(out, "Unknown");
}

FIELD(submit_line)
{
    ROW;

    if (row->submit_line != NULL)
        strbuf_add_text(out, row->submit_line);
    add_live(row,
             row->live != NULL ? queue_row_annotation(row->live, ANNOTATION_SUBMIT_LINE) : NULL,
             out);
}

FIELD(frequency)
{
    ROW;

    strbuf_add_text(out, row->step != NULL ? "0" : "Unknown");
}

FIELD(tres_in)
{
    ROW;

    if (row->step == NULL || row->rss < 0)
        return;
    strbuf_add_text(out, "cpu=");
    slurm_time_add_elapsed(row->cpu_us > 0 ? row->cpu_us / SECOND_US : 0, out);
    if (row->read >= 0)
        strbuf_printf(out, ",fs/disk=%" PRId64, row->read);
    strbuf_add_text(out, ",mem=");
    slurm_words_add_usage(row->rss, row->unit, out);
}

STEP_FIELD(tres_out, written, strbuf_printf(out, "fs/disk=%" PRId64, row->written))

/* clang-format off */
static const struct output_column columns[] = {
    {0, "Account", NULL, add_account, 10},
    {0, "AdminComment", NULL, add_nothing, 15},
    {0, "AllocCPUS", NULL, add_cpus, 10},
    {0, "AllocNodes", NULL, add_nodes_held, 10},
    {0, "AllocTRES", NULL, add_tres_held, 10},
    {0, "AssocID", NULL, add_nothing, 7},
    {0, "AveCPU", NULL, add_cpu_of_task, 10},
    {0, "AveCPUFreq", NULL, add_nothing, 10},
    {0, "AveDiskRead", NULL, add_read, 14},
    {0, "AveDiskWrite", NULL, add_written, 14},
    {0, "AvePages", NULL, add_nothing, 10},
    {0, "AveRSS", NULL, add_average_rss, 10},
    {0, "AveVMSize", NULL, add_nothing, 10},
    {0, "BlockID", NULL, add_nothing, 16},
    {0, "Cluster", NULL, add_cluster, 10},
    {0, "Comment", NULL, add_comment, 14},
    {0, "Constraints", NULL, add_constraints, 19},
    {0, "ConsumedEnergy", NULL, add_nothing, 14},
    {0, "ConsumedEnergyRaw", NULL, add_nothing, 17},
    {0, "Container", NULL, add_nothing, 19},
    {0, "CPUTime", NULL, add_cpu_time, 10},
    {0, "CPUTimeRAW", NULL, add_cpu_time_raw, 10},
    {0, "DBIndex", NULL, add_nothing, -10},
    {0, "DerivedExitCode", NULL, add_derived_exit_code, 15},
    {0, "Elapsed", NULL, add_elapsed, 10},
    {0, "ElapsedRaw", NULL, add_elapsed_raw, 10},
    {0, "Eligible", NULL, add_eligible, 19},
    {0, "End", NULL, add_end, 19},
    {0, "ExitCode", NULL, add_exit_code, 8},
    {0, "Flags", NULL, add_nothing, 19},
    {0, "GID", NULL, add_gid, 6},
    {0, "Group", NULL, add_group, 9},
    {0, "JobID", NULL, add_id, -12},
    {0, "JobIDRaw", NULL, add_id, -12},
    {0, "JobName", NULL, add_name, 10},
    {0, "Layout", NULL, add_layout, 9},
    {0, "MaxDiskRead", NULL, add_read, 12},
    {0, "MaxDiskReadNode", NULL, add_usage_node, 15},
    {0, "MaxDiskReadTask", NULL, add_usage_task, 15},
    {0, "MaxDiskWrite", NULL, add_written, 12},
    {0, "MaxDiskWriteNode", NULL, add_usage_node, 16},
    {0, "MaxDiskWriteTask", NULL, add_usage_task, 16},
    {0, "MaxPages", NULL, add_nothing, 8},
    {0, "MaxPagesNode", NULL, add_nothing, 12},
    {0, "MaxPagesTask", NULL, add_nothing, 14},
    {0, "MaxRSS", NULL, add_rss, 10},
    {0, "MaxRSSNode", NULL, add_usage_node, 10},
    {0, "MaxRSSTask", NULL, add_usage_task, 10},
    {0, "MaxVMSize", NULL, add_nothing, 10},
    {0, "MaxVMSizeNode", NULL, add_nothing, 14},
    {0, "MaxVMSizeTask", NULL, add_nothing, 14},
    {0, "McsLabel", NULL, add_nothing, 12},
    {0, "MinCPU", NULL, add_least_cpu, 10},
    {0, "MinCPUNode", NULL, add_usage_node, 10},
    {0, "MinCPUTask", NULL, add_usage_task, 10},
    {0, "NCPUS", NULL, add_cpus, 10},
    {0, "NNodes", NULL, add_nodes, 8},
    {0, "NodeList", NULL, add_node_list, 15},
    {0, "NTasks", NULL, add_tasks, 8},
    {0, "Partition", NULL, add_partition, 10},
    {0, "Priority", NULL, add_priority, 10},
    {0, "QOS", NULL, add_qos, 10},
    {0, "QOSRAW", NULL, add_nothing, 6},
    {0, "Reason", NULL, add_reason, 22},
    {0, "ReqCPUFreq", NULL, add_frequency, 10},
    {0, "ReqCPUFreqGov", NULL, add_frequency, 13},
    {0, "ReqCPUFreqMax", NULL, add_frequency, 13},
    {0, "ReqCPUFreqMin", NULL, add_frequency, 13},
    {0, "ReqCPUS", NULL, add_cpus, 8},
    {0, "ReqMem", NULL, add_memory_asked, 10},
    {0, "ReqNodes", NULL, add_nodes, 8},
    {0, "ReqTRES", NULL, add_tres_asked, 10},
    {0, "Reservation", NULL, add_reservation, 20},
    {0, "ReservationId", NULL, add_nothing, 8},
    {0, "Reserved", NULL, add_waited, 10},
    {0, "ResvCPU", NULL, add_waited_cpu, 10},
    {0, "ResvCPURAW", NULL, add_waited_cpu_raw, 10},
    {0, "Start", NULL, add_start, 19},
    {0, "State", NULL, add_state, 10},
    {0, "Submit", NULL, add_submit, 19},
    {0, "SubmitLine", NULL, add_submit_line, 20},
    {0, "Suspended", NULL, add_suspended, 10},
    {0, "SystemComment", NULL, add_nothing, 15},
    {0, "SystemCPU", NULL, add_cpu_of_system, 10},
    {0, "Timelimit", NULL, add_limit, 10},
    {0, "TimelimitRaw", NULL, add_limit_raw, 10},
    {0, "TotalCPU", NULL, add_cpu_used, 10},
    {0, "TRESUsageInAve", NULL, add_tres_in, 14},
    {0, "TRESUsageInMax", NULL, add_tres_in, 14},
    {0, "TRESUsageInMaxNode", NULL, add_nothing, 18},
    {0, "TRESUsageInMaxTask", NULL, add_nothing, 18},
    {0, "TRESUsageInMin", NULL, add_tres_in, 14},
    {0, "TRESUsageInMinNode", NULL, add_nothing, 18},
    {0, "TRESUsageInMinTask", NULL, add_nothing, 18},
    {0, "TRESUsageInTot", NULL, add_tres_in, 14},
    {0, "TRESUsageOutAve", NULL, add_tres_out, 15},
    {0, "TRESUsageOutMax", NULL, add_tres_out, 15},
    {0, "TRESUsageOutMaxNode", NULL, add_nothing, 19},
    {0, "TRESUsageOutMaxTask", NULL, add_nothing, 19},
    {0, "TRESUsageOutMin", NULL, add_tres_out, 15},
    {0, "TRESUsageOutMinNode", NULL, add_nothing, 19},
    {0, "TRESUsageOutMinTask", NULL, add_nothing, 19},
    {0, "TRESUsageOutTot", NULL, add_tres_out, 15},
    {0, "UID", NULL, add_uid, 6},
    {0, "User", NULL, add_user, 9},
    {0, "UserCPU", NULL, add_cpu_of_user, 10},
    {0, "WCKey", NULL, add_nothing, 10},
    {0, "WCKeyID", NULL, add_nothing, 10},
    {0, "WorkDir", NULL, add_work_dir, 20},
};
/* clang-format on */

const struct output_columns account_fields = {columns, ARRAY_SIZE(columns)};
