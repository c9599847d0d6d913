/* SPDX-License-Identifier: Apache-2.0 */
/* kctl update - changes the requests of jobs in place */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/verbs/jobs/job_request.h"
#include "cli/kctl/verbs/jobs/update_field.h"
#include "cli/values/gpu_request.h"
#include "cli/values/memory_size.h"
#include "cli/values/output_path.h"
#include "cli/values/time_expression.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/job_mail.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define MOST_NICE 2147483645 /* as in Slurm */

struct update_options {
    struct common_options common;
    struct job_choice choice;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    JOB_CHOICE_OPTIONS(struct update_options, choice),
};

static const struct option_table update_table = {
    .name = "kctl update",
    .usage = "[OPTION]... [job] JOB... FIELD=VALUE...\n"
             "[OPTION]... (--user NAME | --state STATE | ...) FIELD=VALUE...",
    .summary = "Change what jobs ask for; they keep their place in the queue.",
    OPTION_ROWS(rows),
    .more = "Fields of waiting jobs, in the syntax of ksub:\n"
            "  time=TIME          time limit: 90 (minutes), 2:00:00, 1-12, "
            "unlimited;\n"
            "                     of a job that runs, too: down by its owner, up "
            "by operators\n"
            "  ntasks=N           tasks; the CPUs are tasks times CPUs of each\n"
            "  cpus-per-task=N    CPUs of each task\n"
            "  mem=SIZE           memory: 512M, 4G\n"
            "  mem-per-cpu=SIZE   memory for each CPU\n"
            "  gpus=[MODEL:]N     GPUs; 0 for none\n"
            "  partition=NAME     the set of nodes it may go to, or A,B\n"
            "  reservation=NAME   the Reservation on whose nodes it runs, or "
            "none\n"
            "  nodelist=NAME      only this node, or none\n"
            "  exclude=LIST       none of these nodes: n1,n[3-5], or none\n"
            "  constraint=LIST    features or labels, as ksub -C; or none\n"
            "  output=PATH        its output file, with patterns as for ksub -o\n"
            "  error=PATH         a file for its standard error; none: the output\n"
            "  begin=TIME         not before then: now+1hour, 16:00, tomorrow, "
            "none\n"
            "  deadline=TIME      has ended by then, as for begin; none\n"
            "  dependency=LIST    other jobs come first: afterok:1041; empty for "
            "none\n"
            "  priority=VALUE     a class, or a number; raised by operators\n"
            "  nice=N             subtracted from the number of its class; below 0 by "
            "operators\n"
            "  qos=NAME           the priority class of this name, as sbatch -q\n"
            "  chdir=PATH         the directory it starts in\n"
            "Fields of every job that has not ended:\n"
            "  throttle=N         of an array: at most N tasks at once; 0 starts "
            "none,\n"
            "                     and 'none' is no limit\n"
            "  name=TEXT          its name (JobName)\n"
            "  requeue=yes|no     whether it starts again when its node is lost\n"
            "  comment=TEXT       a note, empty for none\n"
            "  mail-type=LIST     of which events mail is sent, as ksub; none\n"
            "  mail-user=LIST     where mail goes; none: to its user\n"
            "Slurm's names of these fields are known, too: TimeLimit, NumTasks, "
            "...\n"
            "\n"
            "Examples:\n"
            "  kctl update job 1042 time=2:00:00 partition=gpu\n"
            "  kctl update 10-20 mem=8G cpus-per-task=4\n"
            "  kctl update --name 'sweep*' --state Pending begin=16:00",
};

/* ---- The fields ---- */

/* A value that is parsed into the update. */
struct reading {
    const char *text;
    struct json *update;
    struct arena *arena;
    struct error *err;
};

static int
read_time(const struct reading *r)
{
    int64_t seconds;
    int result = duration_parse(r->text, &seconds, r->err);

    if (result == 0)
        json_set_int(r->arena, r->update, "timeLimitSeconds", seconds);
    return result;
}

static int
read_count(const struct reading *r, const char *member)
{
    const size_t digits = strspn(r->text, "0123456789");

    if (digits == 0 || digits > 7 || r->text[digits] != '\0' || strtol(r->text, NULL, 10) == 0)
        return error_set(r->err, -EINVAL, "'%s' is not a number from 1 to 1000000", r->text);
    json_set_int(r->arena, r->update, member, strtol(r->text, NULL, 10));
    return 0;
}

static int
read_tasks(const struct reading *r)
{
    return read_count(r, "tasks");
}

static int
read_cpus(const struct reading *r)
{
    return read_count(r, "cpusPerTask");
}

static int
read_size(const struct reading *r, const char *member)
{
    int64_t bytes;
    int result = memory_size_parse(r->text, &bytes, r->err);

    if (result == 0)
        json_set_int(r->arena, r->update, member, bytes);
    return result;
}

static int
read_memory(const struct reading *r)
{
    return read_size(r, "memoryBytes");
}

static int
read_memory_per_cpu(const struct reading *r)
{
    return read_size(r, "memoryPerCPUBytes");
}

static int
read_gpus(const struct reading *r)
{
    struct gpu_request asked = {0};
    int result = strcmp(r->text, "0") == 0 ? 0 : gpu_request_parse(r->text, &asked, r->err);

    if (result < 0)
        return result;
    json_set_int(r->arena, r->update, "gpus", asked.count);
    json_set_string(r->arena, r->update, "gpuType", asked.model);
    return 0;
}

/* "none" sends an empty time. */
static int
read_moment(const struct reading *r, const char *member)
{
    char text[TIME_TEXT_SIZE] = "";
    int64_t at_us;
    int result = 0;

    if (strcmp(r->text, "none") != 0) {
        result = time_expression_parse(r->text, TIME_AHEAD, clock_real_us(&clock_system), &at_us,
                                       r->err);
        if (result == 0)
            time_format(at_us, false, text);
    }
    if (result == 0)
        json_set_string(r->arena, r->update, member, text);
    return result;
}

static int
read_begin(const struct reading *r)
{
    return read_moment(r, "beginTime");
}

static int
read_deadline(const struct reading *r)
{
    return read_moment(r, "deadline");
}

static int
read_text(const struct reading *r, const char *member)
{
    json_set_string(r->arena, r->update, member, r->text);
    return 0;
}

static int
read_partition(const struct reading *r)
{
    return read_text(r, "partition");
}

static int
read_reservation(const struct reading *r)
{
    json_set_string(r->arena, r->update, "reservation",
                    strcmp(r->text, "none") == 0 ? "" : r->text);
    return 0;
}

static int
read_name(const struct reading *r)
{
    return read_text(r, "name");
}

static int
read_comment(const struct reading *r)
{
    return read_text(r, "comment");
}

static int
read_priority(const struct reading *r)
{
    return job_request_set_priority(r->update, r->text, r->arena, r->err);
}

static int
read_nice(const struct reading *r)
{
    char *end;
    const long long nice = strtoll(r->text, &end, 10);

    if (end == r->text || *end != '\0' || nice < -MOST_NICE || nice > MOST_NICE)
        return error_set(r->err, -EINVAL, "'%s' is not a number from -%d to %d", r->text, MOST_NICE,
                         MOST_NICE);
    json_set_int(r->arena, r->update, "nice", nice);
    return 0;
}

/* Slurm's 0 means no limit; here 0 would start no task. */
static int
read_throttle(const struct reading *r)
{
    const size_t digits = strspn(r->text, "0123456789");
    int64_t throttle = -1;

    if (strcmp(r->text, "none") != 0) {
        if (digits == 0 || digits > 9 || r->text[digits] != '\0')
            return error_set(r->err, -EINVAL, "'%s' is neither a number of tasks nor none",
                             r->text);
        throttle = strtol(r->text, NULL, 10);
    }
    json_set_int(r->arena, r->update, "throttle", throttle);
    return 0;
}

static int
read_slurms_throttle(const struct reading *r)
{
    struct reading same = *r;

    if (strcmp(r->text, "0") == 0)
        same.text = "none";
    return read_throttle(&same);
}

static int
read_dependency(const struct reading *r)
{
    struct json *parsed;
    int result = job_dependency_parse(r->text, r->arena, &parsed, r->err);

    return result < 0 ? result : read_text(r, "dependency");
}

/* The names of the list, in Slurm's short form; "none" or nothing removes it. */
static int
read_nodes(const struct reading *r, const char *member)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char **names = NULL;
    size_t count = 0;
    int result = 0;

    if (r->text[0] != '\0' && strcmp(r->text, "none") != 0)
        result = hostlist_expand(r->arena, r->text, &names, &count, r->err);
    for (size_t i = 0; i < count; i++)
        strbuf_printf(&text, "%s%s", i > 0 ? "," : "", names[i]);
    if (result == 0)
        json_set_string(r->arena, r->update, member, text.length > 0 ? text.text : "");
    return result;
}

static int
read_nodelist(const struct reading *r)
{
    return read_nodes(r, "nodes");
}

static int
read_exclude(const struct reading *r)
{
    return read_nodes(r, "excludedNodes");
}

static int
read_constraint(const struct reading *r)
{
    json_set_string(r->arena, r->update, "constraint", strcmp(r->text, "none") == 0 ? "" : r->text);
    return 0;
}

static int
read_path(const struct reading *r, const char *member)
{
    int result = output_path_check(r->text, r->err);

    return result < 0 ? result : read_text(r, member);
}

static int
read_output(const struct reading *r)
{
    return read_path(r, "stdoutPath");
}

static int
read_error(const struct reading *r)
{
    if (r->text[0] == '\0' || strcmp(r->text, "none") == 0) {
        json_set_string(r->arena, r->update, "stderrPath", "");
        return 0;
    }
    return read_path(r, "stderrPath");
}

static int
read_directory(const struct reading *r)
{
    if (r->text[0] != '/')
        return error_set(r->err, -EINVAL, "'%s' is not a path that begins with /", r->text);
    return read_text(r, "workingDirectory");
}

static int
read_qos(const struct reading *r)
{
    return read_text(r, "qos");
}

static int
read_mail_type(const struct reading *r)
{
    unsigned events = 0;
    int result = job_mail_parse(r->text, &events, r->err);

    if (result == 0)
        json_set_string(r->arena, r->update, "mailType",
                        events != 0 ? job_mail_format(events, r->arena) : "");
    return result;
}

static int
read_mail_user(const struct reading *r)
{
    const bool is_none = r->text[0] == '\0' || strcmp(r->text, "none") == 0;
    int result = is_none ? 0 : job_mail_check_addresses(r->text, r->err);

    if (result == 0)
        json_set_string(r->arena, r->update, "mailUser", is_none ? "" : r->text);
    return result;
}

static int
read_requeue(const struct reading *r)
{
    static const char *const yes[] = {"yes", "1", "true", "on"};
    static const char *const no[] = {"no", "0", "false", "off"};

    for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
        if (strcasecmp(r->text, yes[i]) == 0 || strcasecmp(r->text, no[i]) == 0) {
            json_set_int(r->arena, r->update, "requeue", strcasecmp(r->text, yes[i]) == 0);
            return 0;
        }
    return error_set(r->err, -EINVAL, "'%s' is neither yes nor no", r->text);
}

static const struct update_field {
    const char *name;
    const char *slurms; /* Slurm's name; or NULL */
    int (*read)(const struct reading *reading);
} fields[] = {
    {"begin", "StartTime", read_begin},
    {"chdir", "WorkDir", read_directory},
    {"comment", "Comment", read_comment},
    {"constraint", "Features", read_constraint},
    {"cpus-per-task", "CPUsPerTask", read_cpus},
    {"deadline", "Deadline", read_deadline},
    {"dependency", "Dependency", read_dependency},
    {"error", "StdErr", read_error},
    {"exclude", "ExcNodeList", read_exclude},
    {"gpus", NULL, read_gpus},
    {"mail-type", "MailType", read_mail_type},
    {"mail-user", "MailUser", read_mail_user},
    {"mem", "MinMemoryNode", read_memory},
    {"mem-per-cpu", "MinMemoryCPU", read_memory_per_cpu},
    {"name", "JobName", read_name},
    {"nodelist", "ReqNodeList", read_nodelist},
    {"ntasks", "NumTasks", read_tasks},
    {"output", "StdOut", read_output},
    {"partition", "Partition", read_partition},
    {"nice", "Nice", read_nice},
    {"priority", "Priority", read_priority},
    {"qos", "QOS", read_qos},
    {"requeue", "Requeue", read_requeue},
    {"reservation", "ReservationName", read_reservation},
    {"throttle", NULL, read_throttle},
    {"time", "TimeLimit", read_time},
    {"ArrayTaskThrottle", "ArrayTaskThrottle", read_slurms_throttle},
};

static const struct update_field *
find_field(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcmp(fields[i].name, name) == 0
            || (fields[i].slurms != NULL && strcasecmp(fields[i].slurms, name) == 0))
            return &fields[i];
    return NULL;
}

static int
refuse_field(const char *name, struct error *err)
{
    const char *names[ARRAY_SIZE(fields)];
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT;
    const char *near;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        names[i] = fields[i].name;
        strbuf_printf(&all, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    near = spelling_nearest(name, names, ARRAY_SIZE(names));
    if (near != NULL)
        return error_set(err, -ENOKEY, "'%s' is not a field of a job (did you mean '%s'?)", name,
                         near);
    return error_set(err, -ENOKEY,
                     "'%s' is not a field of a job that can be changed; these "
                     "can: %s",
                     name, all.text);
}

/* ---- The command ---- */

int
update_field_read(const char *operand, struct json *update, struct arena *arena, struct error *err)
{
    const char *equals = strchr(operand, '=');
    const char *name = arena_strndup(arena, operand, (size_t)(equals - operand));
    const struct update_field *f = find_field(name);
    const struct reading reading = {equals + 1, update, arena, err};
    const uint32_t had = json_count(update);
    int r;

    if (f == NULL)
        return refuse_field(name, err);
    if (equals[1] == '\0' && f->read != read_comment && f->read != read_dependency
        && f->read != read_reservation && f->read != read_nodelist && f->read != read_exclude
        && f->read != read_constraint && f->read != read_error && f->read != read_mail_user)
        return error_set(err, -EINVAL, "%s: a value is required", name);
    r = f->read(&reading);
    if (r < 0)
        return error_wrap(err, r, "%s", name);
    if (json_count(update) == had)
        return error_set(err, -EEXIST, "%s is given twice", name);
    return 0;
}

/* Jobs stay in their order; "JobId=7" is one, as in Slurm's scontrol. */
static int
read_operands(struct job_choice *choice, int n_operands, char **operands, struct json *update,
              struct arena *arena, struct error *err)
{
    static const char id[] = "jobid=";
    int r = 0;

    choice->operands = arena_new_array(arena, char *, (size_t)n_operands + 1);
    for (int i = 0; r == 0 && i < n_operands; i++)
        if (strncasecmp(operands[i], id, strlen(id)) == 0)
            choice->operands[choice->n_operands++] = operands[i] + strlen(id);
        else if (strchr(operands[i], '=') != NULL)
            r = update_field_read(operands[i], update, arena, err);
        else
            choice->operands[choice->n_operands++] = operands[i];
    if (r == 0 && json_count(update) == 0)
        return error_set(err, -EINVAL,
                         "nothing to change; give fields such as "
                         "time=2:00:00 or partition=gpu");
    return r == -ENOKEY || r == -EEXIST ? -EINVAL : r; /* wrong usage */
}

static int
run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    static const struct job_request request = {.action = "update"};
    const struct update_options *o = options;
    struct job_choice choice = o->choice;
    struct json *body = json_object(arena);
    int r = read_operands(&choice, n_operands, operands, json_make_object(arena, body, "update"),
                          arena, err);

    if (r == 0)
        r = job_request_choose(kctl, &choice, body, arena, err);
    if (r < 0)
        return r;
    return job_request_send(kctl, &request, &choice, body, arena, err);
}

const struct command update_command = {
    .name = "update",
    .options = &update_table,
    .options_size = sizeof(struct update_options),
    .run = run,
};
