/* SPDX-License-Identifier: Apache-2.0 */
/* show_job.c - scontrol show job: every key of Slurm 22.05 in its place */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/connect/connection.h"
#include "cli/kctl/client/step_list.h"
#include "cli/slurm/job_words.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/step_cache.h"
#include "cli/slurm_control/record_text.h"
#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "cli/slurm_tables/queue_json.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/job_mail.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define POD "spec.template.spec."

struct job_record {
    struct scontrol *control;
    const struct queue_row *row;
    struct record_text text;
};

static const char *
or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : "(null)";
}

/* The value that squeue shows in this field of -O; `otherwise` for N/A and nothing. */
static const char *
field(const struct job_record *r, const char *name, const char *otherwise)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < queue_fields.count; i++)
        if (queue_fields.items[i].name != NULL
            && strcasecmp(queue_fields.items[i].name, name) == 0) {
            queue_fields.items[i].add(r->row, &out);
            break;
        }
    return out.length == 0 || strcmp(out.text, "N/A") == 0 || strcmp(out.text, "(null)") == 0
                   || strcmp(out.text, "NONE") == 0
               ? otherwise
               : arena_strdup(r->control->client->arena, out.text);
}

static const char *
length_of(const struct job_record *r, int64_t seconds)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    slurm_time_add_elapsed(seconds, &out);
    return arena_strdup(r->control->client->arena, out.text);
}

static const char *
memory_of(const struct job_record *r, int64_t bytes)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    slurm_words_add_memory(bytes, 0, &out);
    return arena_strdup(r->control->client->arena, out.text);
}

static void
add_identity(struct job_record *r)
{
    const struct queue_row *row = r->row;
    const int64_t gid = queue_row_gid(row);
    const struct group *group = gid >= 0 ? getgrgid((gid_t)gid) : NULL;

    record_text_add(&r->text, "JobId=%" PRId64 " ", row->id);
    if (row->tasks != NULL || row->task >= 0) {
        record_text_add(&r->text, "ArrayJobId=%" PRId64 " ArrayTaskId=%s ", row->id,
                        field(r, "ArrayTaskID", "N/A"));
        if (row->throttle > 0)
            record_text_add(&r->text, "ArrayTaskThrottle=%" PRId64 " ", row->throttle);
    }
    record_text_add(&r->text, "JobName=%s", row->name);
    record_text_line(&r->text);
    record_text_add(&r->text, "UserId=%s(%" PRId64 ") GroupId=%s(%" PRId64 ") MCS_label=N/A",
                    row->user, queue_row_uid(row),
                    group != NULL ? group->gr_name : field(r, "GroupID", "?"), gid);
    record_text_line(&r->text);
    record_text_add(&r->text, "Priority=%" PRId64 " Nice=%s Account=%s QOS=%s",
                    row->state == JOB_STATE_HELD ? INT64_C(0) : queue_row_priority(row),
                    field(r, "Nice", "0"), row->account, queue_row_qos(row));
    record_text_line(&r->text);
}

/* "3:0"; after a signal "0:9". */
static const char *
exit_of(const struct job_record *r)
{
    if (!queue_row_is_ended(r->row))
        return "0:0";
    if (r->row->signal > 0)
        return arena_printf(r->control->client->arena, "0:%" PRId64, r->row->signal);
    return arena_printf(r->control->client->arena, "%" PRId64 ":0", r->row->exit_code & 0xff);
}

/* The highest of its steps that have ended. */
static const char *
derived_exit_of(const struct job_record *r)
{
    struct arena *arena = r->control->client->arena;
    struct step_list list = step_list_make(arena);
    int64_t code = 0, signal = 0;

    if (queue_row_is_waiting(r->row)
        || step_list_add(&list, &r->control->client->kctl, r->row->id, NULL, false, NULL) < 0)
        return "0:0";
    for (uint32_t i = 0; i < json_count(list.items); i++) {
        const struct json *step = json_at(list.items, i);
        const int64_t its_signal = json_get_int(step, "signal", 0);
        const int64_t its_code = its_signal != 0 ? 0 : json_get_int(step, "exitCode", 0);

        if (step_cache_is_of_task(step, r->row->task)
            && (its_code > code || (its_code == code && its_signal > signal))) {
            code = its_code;
            signal = its_signal;
        }
    }
    return arena_printf(arena, "%" PRId64 ":%" PRId64, code, signal);
}

static void
add_state(struct job_record *r)
{
    const struct queue_row *row = r->row;
    const char *restarts = field(r, "RestartCnt", "0");

    record_text_add(&r->text, "JobState=%s Reason=%s Dependency=%s",
                    slurm_words_state(row->state, false), row->reason,
                    field(r, "Dependency", "(null)"));
    record_text_line(&r->text);
    record_text_add(&r->text, "Requeue=%s Restarts=%s BatchFlag=%d Reboot=0 ExitCode=%s",
                    field(r, "Requeue", "0"), restarts, !queue_row_is_allocation(row), exit_of(r));
    record_text_line(&r->text);
    if (r->control->has_details) {
        record_text_add(&r->text, "DerivedExitCode=%s", derived_exit_of(r));
        record_text_line(&r->text);
    }
}

static void
add_times(struct job_record *r)
{
    const struct queue_row *row = r->row;
    const char *limit =
        row->limit_s > 0 ? length_of(r, (row->limit_s + 59) / 60 * 60) : "UNLIMITED";

    record_text_add(&r->text, "RunTime=%s TimeLimit=%s TimeMin=N/A", length_of(r, row->elapsed_s),
                    limit);
    record_text_line(&r->text);
    record_text_add(&r->text, "SubmitTime=%s EligibleTime=%s", field(r, "SubmitTime", "Unknown"),
                    field(r, "EligibleTime", "Unknown"));
    record_text_line(&r->text);
    record_text_add(&r->text, "AccrueTime=%s", field(r, "AccrueTime", "Unknown"));
    record_text_line(&r->text);
    record_text_add(&r->text, "StartTime=%s EndTime=%s Deadline=%s",
                    field(r, "StartTime", "Unknown"), field(r, "EndTime", "Unknown"),
                    field(r, "Deadline", "N/A"));
    record_text_line(&r->text);
    record_text_add(&r->text, "SuspendTime=None SecsPreSuspend=0 LastSchedEval=%s Scheduler=Main",
                    queue_row_is_waiting(row) ? "Unknown" : field(r, "StartTime", "Unknown"));
    record_text_line(&r->text);
}

static void
add_nodes(struct job_record *r)
{
    const struct queue_row *row = r->row;

    record_text_add(&r->text, "Partition=%s AllocNode:Sid=(null):0", row->partition);
    record_text_line(&r->text);
    record_text_add(&r->text, "ReqNodeList=%s ExcNodeList=%s",
                    or_null(queue_row_nodes_named(row, false, r->control->client->arena)),
                    or_null(queue_row_nodes_named(row, true, r->control->client->arena)));
    record_text_line(&r->text);
    record_text_add(&r->text, "NodeList=%s", queue_row_is_waiting(row) ? "" : row->node);
    record_text_line(&r->text);
    if (row->node[0] != '\0' && !queue_row_is_waiting(row)) {
        record_text_add(&r->text, "BatchHost=%s", field(r, "BatchHost", row->node));
        record_text_line(&r->text);
    }
}

/* Threads of each core: a number if the job asks for one. */
static const char *
threads_of(const struct job_record *r)
{
    const int64_t threads =
        json_get_int(json_get_path(r->row->object, POD "placement"), "threadsPerCore", 0);

    return threads > 0 ? arena_printf(r->control->client->arena, "%" PRId64, threads) : "*";
}

static void
add_resources(struct job_record *r)
{
    const struct queue_row *row = r->row;
    CLEANUP_STRBUF struct strbuf tres = STRBUF_INIT;
    const int64_t memory = queue_row_memory(row);
    const int64_t nodes = row->nodes > 0 ? row->nodes : 1;

    queue_row_add_tres(row, &tres);
    record_text_add(&r->text,
                    "NumNodes=%" PRId64 " NumCPUs=%" PRId64 " NumTasks=%" PRId64
                    " CPUs/Task=%" PRId64 " ReqB:S:C:T=0:0:*:%s",
                    nodes, row->cpus, queue_row_tasks_asked(row), queue_row_cpus_per_task(row),
                    threads_of(r));
    record_text_line(&r->text);
    record_text_add(&r->text, "TRES=%s", tres.length > 0 ? tres.text : "(null)");
    record_text_line(&r->text);
    record_text_add(&r->text, "Socks/Node=* NtasksPerN:B:S:C=%" PRId64 ":0:*:* CoreSpec=*",
                    queue_row_tasks_per_node(row));
    record_text_line(&r->text);
    if (r->control->has_details && row->node[0] != '\0') {
        const char *gres = field(r, "Gres", "(null)"), *model;

        if (strncmp(gres, "gres:", 5) == 0)
            gres = arena_printf(r->control->client->arena, "%.*s:%" PRId64,
                                (int)(strrchr(gres, ':') - gres) - 5, gres + 5,
                                queue_row_gpus(row, &model) * nodes);
        record_text_add(&r->text, "JOB_GRES=%s", gres);
        record_text_line(&r->text);
        control_add_job_nodes(r->control, row, &r->text);
    }
    record_text_add(&r->text, "MinCPUsNode=%" PRId64 " MinMemoryNode=%s MinTmpDiskNode=%s",
                    queue_row_cpus_per_task(row)
                        * (queue_row_tasks_per_node(row) > 0 ? queue_row_tasks_per_node(row) : 1),
                    memory_of(r, memory), field(r, "MinTmpDisk", "0"));
    record_text_line(&r->text);
}

/* Of a job with --switches only, as Slurm has it. Without a time it is the controller's. */
static void
add_switches(struct job_record *r)
{
    const struct json *switches = json_get_path(r->row->object, "spec.scheduling.switches");
    CLEANUP_STRBUF struct strbuf wait = STRBUF_INIT;

    if (switches == NULL)
        return;
    if (json_get(switches, "waitSeconds") != NULL) {
        strbuf_add_char(&wait, '@');
        slurm_time_add_elapsed(json_get_int(switches, "waitSeconds", 0), &wait);
    }
    record_text_add(&r->text, "Switches=%lld%s", (long long)json_get_int(switches, "most", 0),
                    wait.length > 0 ? wait.text : "");
    record_text_line(&r->text);
}

/* Its GPUs are those of each node, whichever option asked for them. */
static void
add_gpus(struct job_record *r)
{
    const char *gpus = field(r, "Gres", NULL);

    if (gpus == NULL)
        return;
    record_text_add(&r->text, "TresPerNode=%s", gpus);
    record_text_line(&r->text);
}

/* In Slurm's order. */
static void
add_mail(struct job_record *r)
{
    static const unsigned events[] = {
        JOB_MAIL_ARRAY_TASKS,   JOB_MAIL_INVALID_DEPEND, JOB_MAIL_BEGIN,
        JOB_MAIL_END,           JOB_MAIL_FAIL,           JOB_MAIL_REQUEUE,
        JOB_MAIL_STAGE_OUT,     JOB_MAIL_TIME_LIMIT_50,  JOB_MAIL_TIME_LIMIT_80,
        JOB_MAIL_TIME_LIMIT_90, JOB_MAIL_TIME_LIMIT,
    };
    const char *types = queue_row_annotation(r->row, ANNOTATION_MAIL_TYPE);
    const char *user = queue_row_annotation(r->row, ANNOTATION_MAIL_USER);
    const char *separator = "";
    unsigned wanted = 0;

    if (types == NULL || job_mail_parse(types, &wanted, NULL) < 0 || wanted == 0)
        return;
    record_text_add(&r->text,
                    "MailUser=%s MailType=", user != NULL && user[0] != '\0' ? user : r->row->user);
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        if ((wanted & events[i]) != 0) {
            record_text_add(&r->text, "%s%s", separator,
                            job_mail_format(events[i], r->control->client->arena));
            separator = ",";
        }
    record_text_line(&r->text);
}

static void
add_files(struct job_record *r)
{
    struct arena *arena = r->control->client->arena;

    record_text_add(&r->text, "StdErr=%s", queue_row_file(r->row, QUEUE_ROW_STDERR, arena));
    record_text_line(&r->text);
    record_text_add(&r->text, "StdIn=%s", queue_row_file(r->row, QUEUE_ROW_STDIN, arena));
    record_text_line(&r->text);
    record_text_add(&r->text, "StdOut=%s", queue_row_file(r->row, QUEUE_ROW_STDOUT, arena));
    record_text_line(&r->text);
}

static void
add_rest(struct job_record *r)
{
    const char *features = queue_row_features(r->row, r->control->client->arena);
    const char *reservation = json_path_text(r->row->object, POD "placement.reservation");
    const char *comment = queue_row_annotation(r->row, ANNOTATION_COMMENT);

    record_text_add(&r->text, "Features=%s DelayBoot=00:00:00", or_null(features));
    record_text_line(&r->text);
    if (reservation != NULL && reservation[0] != '\0') {
        record_text_add(&r->text, "Reservation=%s", reservation);
        record_text_line(&r->text);
    }
    record_text_add(&r->text, "OverSubscribe=%s Contiguous=0 Licenses=(null) Network=(null)",
                    json_is_true(json_get_path(r->row->object, POD "placement.wholeNode")) ? "NO"
                                                                                           : "OK");
    record_text_line(&r->text);
    record_text_add(&r->text, "Command=%s",
                    or_null(queue_row_command(r->row, r->control->client->arena)));
    record_text_line(&r->text);
    record_text_add(&r->text, "WorkDir=%s", field(r, "WorkDir", "(null)"));
    record_text_line(&r->text);
    if (comment != NULL) {
        record_text_add(&r->text, "Comment=%s ", comment);
        record_text_line(&r->text);
    }
    if (!queue_row_is_allocation(r->row))
        add_files(r);
    add_switches(r);
    record_text_add(&r->text, "Power=");
    record_text_line(&r->text);
    add_gpus(r);
    add_mail(r);
}

static void
print_row(struct scontrol *c, const struct queue_row *row)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct job_record r = {
        .control = c,
        .row = row,
        .text = {.out = &out, .is_oneline = c->is_oneline},
    };

    if (c->json != NULL) {
        json_append(c->client->arena, c->json, queue_json(row, c->client->arena));
        return;
    }
    add_identity(&r);
    add_state(&r);
    add_times(&r);
    add_nodes(&r);
    add_resources(&r);
    add_rest(&r);
    record_text_end(&r.text);
    fwrite(out.text, 1, out.length, stdout);
}

/* Whether the row is one of the tasks that were named; of a row with several waiting tasks, whether
 * it has one of them.
 */
static bool
is_named(struct scontrol *c, const struct queue_row *row, const char *tasks)
{
    struct task_list list;
    size_t length;

    if (tasks == NULL)
        return true;
    tasks += *tasks == '[';
    length = strcspn(tasks, "]%");
    if (task_list_parse(c->client->arena, arena_strndup(c->client->arena, tasks, length), &list,
                        NULL)
        < 0)
        return false;
    return row->task >= 0 && task_list_index(&list, row->task) >= 0;
}

static int
fail(const char *words, int r, struct error *err)
{
    if (r == -ENOENT) {
        fprintf(stderr, "%s: Invalid job id specified\n", words);
        return 1;
    }
    connection_advise(r, err);
    fprintf(stderr, "%s: %s\n", words, slurm_client_reason(r, err));
    return 1;
}

static int
show_one(struct scontrol *c, const char *word)
{
    struct queue_rows rows = {0};
    const char *underscore = strchr(word, '_');
    const struct queue_query query = {
        .need = QUEUE_NEEDS_JOB,
        .states = ~UINT32_C(0),
        .has_all_tasks = underscore != NULL,
    };
    struct error err = {0};
    size_t shown = 0;
    int r;

    if (!job_words_is_job(word)) {
        fputs("scontrol_print_job error: Invalid job id specified\n", stderr);
        return 1;
    }
    r = queue_fetch_job(c->client, &query, atoll(word), c->client->arena, &rows, &err);
    for (size_t i = 0; r == 0 && i < rows.count; i++)
        if (is_named(c, &rows.items[i], underscore != NULL ? underscore + 1 : NULL)) {
            print_row(c, &rows.items[i]);
            shown++;
        }
    queue_rows_fini(&rows);
    if (r < 0)
        return c->is_quiet && r == -ENOENT ? 1 : fail("slurm_load_jobs error", r, &err);
    if (shown > 0)
        return 0;
    printf("Job %s not found\n", word);
    return 1;
}

int
control_show_job(struct scontrol *c, int n_words, char **words)
{
    static const struct queue_query query = {.need = QUEUE_NEEDS_JOB, .states = ~UINT32_C(0)};
    struct queue_rows rows = {0};
    struct error err = {0};
    int r;

    if (n_words > 0 && words[0][0] != '\0') {
        const char *list = words[0];
        const char *word;
        int status = 0;

        while ((word = job_words_next(&list, c->client->arena)) != NULL)
            if (show_one(c, word) != 0)
                status = 1;
        return status;
    }
    r = queue_fetch(c->client, &query, c->client->arena, &rows, &err);
    for (size_t i = 0; r == 0 && i < rows.count; i++)
        print_row(c, &rows.items[i]);
    if (r == 0 && rows.count == 0 && !c->is_quiet)
        puts("No jobs in the system");
    queue_rows_fini(&rows);
    return r < 0 ? fail("slurm_load_jobs error", r, &err) : 0;
}
