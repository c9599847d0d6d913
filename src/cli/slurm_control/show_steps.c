/* SPDX-License-Identifier: Apache-2.0 */
/* show_steps.c - scontrol show step: the script of a running job, what other programs start in
 * it, and its numbered steps
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "cli/slurm/job_words.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/step_cache.h"
#include "cli/slurm_control/record_text.h"
#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define RUNNING                                                         \
    (JOB_STATE_BIT(JOB_STATE_RUNNING) | JOB_STATE_BIT(JOB_STATE_FROZEN) \
     | JOB_STATE_BIT(JOB_STATE_UNKNOWN) | JOB_STATE_BIT(JOB_STATE_ENDING))

static void
print_step(struct scontrol *c, const struct queue_row *step)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT, start = STRBUF_INIT;
    struct record_text t = {.out = &out, .is_oneline = c->is_oneline};
    const bool is_numbered = step->steps[0] >= '0' && step->steps[0] <= '9';
    const char *host;

    slurm_time_add(step->start_us, &start);
    record_text_add(&t, "StepId=");
    queue_row_add_id(step, &out);
    record_text_add(&t, " UserId=%" PRId64 " StartTime=%s TimeLimit=", queue_row_uid(step),
                    start.text);
    if (step->limit_s > 0)
        slurm_time_add_elapsed(queue_row_limit_s(step), &out);
    else
        strbuf_add_text(&out, "UNLIMITED");
    record_text_line(&t);
    record_text_add(&t, "State=RUNNING Partition=%s NodeList=%s", step->partition, step->node);
    record_text_line(&t);
    record_text_add(&t,
                    "Nodes=%" PRId64 " CPUs=%" PRId64 " Tasks=%" PRId64 " Name=%s "
                    "Network=(null)",
                    step->nodes, is_numbered ? step->cpus : 0, step->step_tasks, step->name);
    record_text_line(&t);
    if (is_numbered)
        record_text_add(&t, "TRES=cpu=%" PRId64 ",node=%" PRId64, step->cpus, step->nodes);
    else
        record_text_add(&t, "TRES=(null)");
    record_text_line(&t);
    record_text_add(&t, "ResvPorts=(null)");
    record_text_line(&t);
    record_text_add(&t, "CPUFreqReq=Default");
    if (is_numbered) {
        strbuf_add_text(&out, " Dist=");
        slurm_words_add_layout(json_get_text(step->record, "distribution"), step->step_tasks,
                               step->nodes, &out);
    }
    record_text_line(&t);
    host = json_get_text(step->record, "host");
    record_text_add(&t, "SrunHost:Pid=%s:%" PRId64, host != NULL ? host : "(null)",
                    json_get_int(step->record, "hostPid", 0));
    record_text_end(&t);
    fwrite(out.text, 1, out.length, stdout);
}

/* The steps of a job, or the one of that name; returns how many these were. */
static size_t
print_steps(struct scontrol *c, struct step_cache *cache, const struct queue_row *row,
            const char *name)
{
    static const char *const names[] = {"extern", "batch"};
    struct arena *arena = c->client->arena;
    const struct json *records = step_cache_find(cache, c->client, row->id, true);
    size_t shown = 0;

    for (size_t k = 0; k < ARRAY_SIZE(names); k++)
        if ((name == NULL || strcmp(name, names[k]) == 0)
            && (names[k][0] == 'e' || !queue_row_is_allocation(row))) {
            const struct queue_row step = queue_row_step(row, names[k], arena);

            print_step(c, &step);
            shown++;
        }
    for (uint32_t i = 0; i < json_count(records); i++) {
        const struct queue_row step = queue_row_numbered_step(row, json_at(records, i), arena);

        if (!step_cache_is_of_task(json_at(records, i), row->task)
            || (name != NULL && strcmp(name, step.steps) != 0))
            continue;
        print_step(c, &step);
        shown++;
    }
    return shown;
}

static int
fail(int r, struct error *err)
{
    connection_advise(r, err);
    fprintf(stderr, "slurm_get_job_steps error: %s\n", slurm_client_reason(r, err));
    return 1;
}

/* "17", "17_4", "17.batch", "17.0" */
int
control_show_steps(struct scontrol *c, int n_words, char **words)
{
    const char *word = n_words > 0 && words[0][0] != '\0' ? words[0] : NULL;
    const char *name = word != NULL ? strchr(word, '.') : NULL;
    const char *job =
        word != NULL ? arena_strndup(c->client->arena, word, strcspn(word, ".")) : NULL;
    const char *task = job != NULL ? strchr(job, '_') : NULL;
    const struct queue_query query = {.need = QUEUE_NEEDS_JOB, .states = RUNNING};
    struct queue_rows rows = {0};
    struct step_cache cache = {0};
    struct error err = {0};
    size_t shown = 0;
    int r;

    if (job != NULL && !job_words_is_job(job)) {
        fprintf(stderr, "Invalid job step id specified: %s\n", word);
        return 1;
    }
    r = job != NULL ? queue_fetch_job(c->client, &query, atoll(job), c->client->arena, &rows, &err)
                    : queue_fetch(c->client, &query, c->client->arena, &rows, &err);
    for (size_t i = 0; i < rows.count; i++)
        if (task == NULL || rows.items[i].task == atoll(task + 1))
            shown += print_steps(c, &cache, &rows.items[i], name != NULL ? name + 1 : NULL);
    queue_rows_fini(&rows);
    if (r < 0 && r != -ENOENT)
        return fail(r, &err);
    if (shown == 0 && word != NULL) /* of a job, a point without a name, as in Slurm */
        printf("Job step %s%s not found\n", word, name != NULL ? "" : ".");
    else if (shown == 0)
        puts("No job steps in the system");
    return shown > 0 || word == NULL ? 0 : 1;
}
