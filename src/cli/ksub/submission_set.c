/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/submission_set.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ksub/accelerators.h"
#include "cli/ksub/array_request.h"
#include "cli/ksub/cron_submit.h"
#include "cli/ksub/job_environment.h"
#include "cli/ksub/node_constraints.h"
#include "cli/ksub/submission.h"
#include "cli/ksub/warning_signal.h"
#include "cli/values/memory_size.h"
#include "cli/values/output_path.h"
#include "cli/values/time_expression.h"
#include "lib/api/cron/cron_schedule.h"
#include "lib/api/job/job_dependency.h"
#include "lib/api/job/job_scheduling.h"
#include "lib/api/value/job_mail.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

int
submission_set_duration(const struct option_spec *option, const char *value, void *target,
                        struct error *err)
{
    int64_t *seconds = (int64_t *)((char *)target + option->offset);
    int r = duration_parse(value, seconds, err);

    if (r == 0 && option->offset == offsetof(struct submission, time_limit_s))
        ((struct submission *)target)->is_unlimited = *seconds == DURATION_UNLIMITED;
    return r;
}

/* --mem and --mem-per-cpu replace each other. */
int
submission_set_memory(const struct option_spec *option, const char *value, void *target,
                      struct error *err)
{
    struct submission *s = target;
    const bool per_cpu = option->offset == offsetof(struct submission, memory_per_cpu_bytes);
    int64_t bytes = 0;
    int r = memory_size_parse(value, &bytes, err);

    if (r < 0)
        return r;
    s->memory_bytes = per_cpu ? 0 : bytes;
    s->memory_per_cpu_bytes = per_cpu ? bytes : 0;
    return 0;
}

int
submission_set_array(UNUSED const struct option_spec *option, const char *value, void *target,
                     struct error *err)
{
    return array_request_parse(value, false, target, err);
}

int
submission_set_tmp(UNUSED const struct option_spec *option, const char *value, void *target,
                   struct error *err)
{
    struct submission *s = target;

    s->tmp_bytes = 0;
    if (strcmp(value, "0") == 0)
        return 0;
    return memory_size_parse(value, &s->tmp_bytes, err);
}

int
submission_set_cron(UNUSED const struct option_spec *option, const char *value, void *target,
                    struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct submission *s = target;
    struct cron_schedule schedule;
    int r;

    if (strstr(value, "TZ=") != NULL)
        return error_set(err, -EINVAL,
                         "'%s' contains a time zone; a schedule follows the "
                         "time zone of this machine, or TZ: TZ=Europe/Berlin "
                         "ksub --cron '0 3 * * *'",
                         value);
    r = cron_schedule_parse(cron_submit_schedule(value, arena), &schedule, err);
    if (r < 0 && cron_submit_explain(value, arena) != NULL)
        return error_set(err, r, "'%s' is not a schedule: %s", value,
                         cron_submit_explain(value, arena));
    if (r < 0)
        return error_wrap(err, r,
                          "'%s' is not a schedule such as '0 3 * * *' "
                          "(minute, hour, day, month, weekday) or @daily",
                          value);
    if (!cron_schedule_can_come(&schedule))
        return error_set(err, -EINVAL, "'%s' never occurs: none of its months has that day", value);
    s->cron = value;
    return 0;
}

int
submission_set_job_name(UNUSED const struct option_spec *option, const char *value, void *target,
                        struct error *err)
{
    struct submission *s = target;

    if (value[0] == '\0')
        return error_set(err, -EINVAL, "the name is empty");
    s->job_name = value;
    return 0;
}

/* Checked here, so that the error can name the line of the script. */
int
submission_set_constraint(const struct option_spec *option, const char *value, void *target,
                          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct submission alone = {.node_count = NODE_COUNT_UNKNOWN};
    int r;

    *(const char **)(void *)((char *)&alone + option->offset) = value;
    r = node_constraints_add(&alone, arena, json_object(arena), err);
    if (r == 0)
        *(const char **)(void *)((char *)target + option->offset) = value;
    return r;
}

/* The number at the beginning of the text, "2k" is 2048; 0: there is none. */
static int64_t
take_count(const char **text)
{
    int64_t count = 0;

    for (; **text >= '0' && **text <= '9'; ++*text)
        count = count < INT32_MAX ? count * 10 + (**text - '0') : count;
    if (count > 0 && **text != '\0' && strchr("kKmM", **text) != NULL)
        count *= *(*text)++ == 'k' || (*text)[-1] == 'K' ? 1024 : 1024 * 1024;
    return count;
}

/* Accepts "4", "4-4", and a range that starts with one, "1-4": one node. */
int
submission_set_node_count(UNUSED const struct option_spec *option, const char *value, void *target,
                          struct error *err)
{
    struct submission *s = target;
    const char *rest = value;
    const int64_t least = take_count(&rest);
    int64_t most = least;

    if (*rest == '-') {
        rest++;
        most = take_count(&rest);
    }
    if (*rest != '\0' || least == 0 || most < least)
        return error_set(err, -EINVAL, "'%s' is not a number of nodes", value);
    if (least > 1 && most > least)
        return error_set(err, -EOPNOTSUPP,
                         "'%s': the number of nodes of a job is fixed; give one number", value);
    if (least > JOB_GANG_MAX)
        return error_set(err, -ERANGE, "'%s': a job has at most %d nodes", value, JOB_GANG_MAX);
    s->node_count = least;
    return 0;
}

int
submission_set_moment(const struct option_spec *option, const char *value, void *target,
                      struct error *err)
{
    struct submission *s = target;
    int r = time_expression_parse(value, TIME_AHEAD, clock_real_us(&clock_system),
                                  (int64_t *)((char *)target + option->offset), err);

    if (r == 0 && option->offset == offsetof(struct submission, deadline_us))
        s->deadline_text = value;
    return r;
}

int
submission_set_order(struct submission *s, struct error *err)
{
    if (s->deadline_text == NULL || s->begin_at_us == 0)
        return 0;
    return time_expression_parse_after(s->deadline_text, clock_real_us(&clock_system),
                                       s->begin_at_us, &s->deadline_us, err);
}

/* Checked here, so that the error can name the line of the script. */
int
submission_set_dependency(UNUSED const struct option_spec *option, const char *value, void *target,
                          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct submission *s = target;
    struct json *parsed;
    int r = job_dependency_parse(value, arena, &parsed, err);

    if (r == 0)
        s->dependency = value[0] != '\0' ? value : NULL;
    return r;
}

int
submission_set_choice(const struct option_spec *option, const char *value, void *target,
                      struct error *err)
{
    const struct submission_choice *first = option->data;
    const char **place = (const char **)(void *)((char *)target + option->offset);
    char words[256] = "";

    for (const struct submission_choice *c = first; c->word != NULL; c++) {
        if (strcmp(c->word, value) == 0) {
            *place = c->meaning != NULL ? c->meaning : c->word;
            return 0;
        }
        if (c->meaning == NULL) {
            if (c != first)
                strcat(words, ", ");
            strcat(words, c->word);
        }
    }
    return error_set(err, -EINVAL, "'%s' is not one of %s", value, words);
}

int
submission_set_gpus(const struct option_spec *option, const char *value, void *target,
                    struct error *err)
{
    struct submission *s = target;
    int r = accelerators_parse_gpus(value, s, err);

    if (r == 0 && strcmp(option->name, "gpus") == 0)
        s->slurm.gpus = s->gpus;
    else if (r == 0)
        s->slurm.gpus_per_node = s->gpus;
    return r;
}

int
submission_set_gres(UNUSED const struct option_spec *option, const char *value, void *target,
                    struct error *err)
{
    return accelerators_parse_gres(value, target, err);
}

int
submission_set_hugepages(UNUSED const struct option_spec *option, const char *value, void *target,
                         struct error *err)
{
    return accelerators_parse_hugepages(value, target, err);
}

/* "2", "0.5", or "500m" as in Kubernetes. */
int
submission_set_shared(UNUSED const struct option_spec *option, const char *value, void *target,
                      struct error *err)
{
    struct submission *s = target;
    struct quantity cpus;
    int64_t mcpu;

    mcpu = quantity_parse(value, &cpus) < 0 ? 0 : quantity_text_milli(value);
    if (mcpu < 1 || mcpu > (int64_t)SUBMISSION_MOST_CPUS * 1000)
        return error_set(err, -EINVAL, "'%s' is not a number of CPUs such as 0.5 or 2", value);
    s->shared_mcpu = mcpu;
    return 0;
}

int
submission_set_open_mode(UNUSED const struct option_spec *option, const char *value, void *target,
                         struct error *err)
{
    struct submission *s = target;
    const size_t length = strlen(value);

    if (length > 0 && strncmp(value, "append", length) == 0)
        s->open_mode = "append";
    else if (length > 0 && strncmp(value, "truncate", length) == 0)
        s->open_mode = "truncate";
    else
        return error_set(err, -EINVAL, "'%s' is neither append nor truncate", value);
    return 0;
}

int
submission_set_path(const struct option_spec *option, const char *value, void *target,
                    struct error *err)
{
    const char **place = (const char **)(void *)((char *)target + option->offset);
    int r = output_path_check(value, err);

    if (r < 0)
        return r;
    if (option->offset == offsetof(struct submission, output))
        submission_set_output(target, value);
    else
        *place = value;
    return 0;
}

void
submission_set_output(struct submission *s, const char *value)
{
    if (strcmp(value, "json") == 0 || strcmp(value, "yaml") == 0)
        s->format = value;
    else
        s->output_before = value;
    s->output = value;
}

int
submission_set_priority(UNUSED const struct option_spec *option, const char *value, void *target,
                        struct error *err)
{
    struct submission *s = target;
    char *end;
    long number;

    errno = 0;
    number = strtol(value, &end, 10);
    if (end != value && *end == '\0') {
        if (errno != 0 || number > INT32_MAX || number < INT32_MIN)
            return error_set(err, -ERANGE, "'%s' is too large", value);
        s->priority_value = number;
        s->priority = &s->priority_value;
        s->priority_class = NULL;
        return 0;
    }
    if (value[0] == '\0')
        return error_set(err, -EINVAL, "expected a number, or the name of a priority class");
    s->priority_class = value;
    s->priority = NULL;
    return 0;
}

/* Checked here, so that the error can name the line of the script. */
int
submission_set_export(UNUSED const struct option_spec *option, const char *value, void *target,
                      struct error *err)
{
    struct submission *s = target;
    int r = job_environment_check(value, err);

    if (r == 0)
        s->exported = value;
    return r;
}

int
submission_set_signal(UNUSED const struct option_spec *option, const char *value, void *target,
                      struct error *err)
{
    struct submission *s = target;
    int r = warning_signal_parse(value, &s->signal, err);

    if (r == 0)
        s->has_signal = true;
    return r;
}

/* "N[@TIME]" */
int
submission_set_switches(UNUSED const struct option_spec *option, const char *value, void *target,
                        struct error *err)
{
    struct submission *s = target;
    char *end;
    int64_t wait_s = -1;
    long long count;

    errno = 0;
    count = strtoll(value, &end, 10);
    if (end == value || count < 1 || count > INT32_MAX || errno != 0
        || (*end != '\0' && *end != '@'))
        return error_set(err, -EINVAL,
                         "'%s' is no number of switches: 1, or 1@10 to wait at most ten minutes "
                         "for nodes of one switch",
                         value);
    if (*end == '@') {
        int r = duration_parse(end + 1, &wait_s, err);

        if (r < 0)
            return r;
        if (wait_s == DURATION_UNLIMITED)
            wait_s = -1;
    }
    s->switches = count;
    s->switch_wait_s = wait_s;
    return 0;
}

int
submission_set_no_requeue(UNUSED const struct option_spec *option, UNUSED const char *value,
                          void *target, UNUSED struct error *err)
{
    struct submission *s = target;

    s->requeue = false;
    return 0;
}

static void
note_once(struct submission_sbatch *b, const char *name)
{
    for (unsigned i = 0; i < b->n_notes; i++)
        if (b->notes[i] == name)
            return;
    if (b->n_notes < ARRAY_SIZE(b->notes))
        b->notes[b->n_notes++] = name;
}

/* Several --mail-type add up, as in Slurm. */
int
submission_set_mail(UNUSED const struct option_spec *option, const char *value, void *target,
                    struct error *err)
{
    static const char tasks[] = "mail-type (ARRAY_TASKS: there is one mail for an array)";
    struct submission *s = target;
    int r = job_mail_parse(value, &s->mail_events, err);

    if (r == 0 && (s->mail_events & JOB_MAIL_ARRAY_TASKS))
        note_once(&s->slurm, tasks);
    return r;
}

int
submission_set_mail_user(UNUSED const struct option_spec *option, const char *value, void *target,
                         struct error *err)
{
    int r = job_mail_check_addresses(value, err);

    if (r == 0)
        ((struct submission *)target)->mail_user = value;
    return r;
}
