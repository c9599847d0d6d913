/* SPDX-License-Identifier: Apache-2.0 */
/* show_steps.c - scontrol show step: the script of a running job, and what other programs start
 * in it
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "cli/slurm/job_words.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/record_text.h"
#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "cli/slurm_tables/slurm_time.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define RUNNING                                                         \
    (JOB_STATE_BIT(JOB_STATE_RUNNING) | JOB_STATE_BIT(JOB_STATE_FROZEN) \
     | JOB_STATE_BIT(JOB_STATE_UNKNOWN) | JOB_STATE_BIT(JOB_STATE_ENDING))

/* The script runs on the first node. */
static const char *
first_node(struct scontrol *c, const char *nodes)
{
    const char **names = NULL;
    size_t count = 0;

    return hostlist_expand(c->client->arena, nodes, &names, &count, NULL) < 0 || count == 0
               ? nodes
               : names[0];
}

static void
print_step(struct scontrol *c, const struct queue_row *row, const char *name)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT, start = STRBUF_INIT;
    struct record_text t = {.out = &out, .is_oneline = c->is_oneline};
    const bool is_script = strcmp(name, "batch") == 0;
    const int64_t nodes = is_script || row->nodes < 1 ? 1 : row->nodes;
    struct queue_row step = *row;

    step.steps = name;
    slurm_time_add(row->start_us, &start);
    record_text_add(&t, "StepId=");
    queue_row_add_id(&step, &out);
    record_text_add(&t, " UserId=%" PRId64 " StartTime=%s TimeLimit=UNLIMITED", queue_row_uid(row),
                    start.text);
    record_text_line(&t);
    record_text_add(&t, "State=RUNNING Partition=%s NodeList=%s", row->partition,
                    is_script ? first_node(c, row->node) : row->node);
    record_text_line(&t);
    record_text_add(&t, "Nodes=%" PRId64 " CPUs=0 Tasks=%" PRId64 " Name=%s Network=(null)", nodes,
                    nodes, name);
    record_text_line(&t);
    record_text_add(&t, "TRES=(null)");
    record_text_line(&t);
    record_text_add(&t, "ResvPorts=(null)");
    record_text_line(&t);
    record_text_add(&t, "CPUFreqReq=Default");
    record_text_line(&t);
    record_text_add(&t, "SrunHost:Pid=(null):0");
    record_text_end(&t);
    fwrite(out.text, 1, out.length, stdout);
}

static int
fail(int r, struct error *err)
{
    connection_advise(r, err);
    fprintf(stderr, "slurm_get_job_steps error: %s\n", slurm_client_reason(r, err));
    return 1;
}

/* "17", "17_4", "17.batch" */
int
control_show_steps(struct scontrol *c, int n_words, char **words)
{
    static const char *const names[] = {"extern", "batch"};
    const char *word = n_words > 0 && words[0][0] != '\0' ? words[0] : NULL;
    const char *name = word != NULL ? strchr(word, '.') : NULL;
    const char *job =
        word != NULL ? arena_strndup(c->client->arena, word, strcspn(word, ".")) : NULL;
    const char *task = job != NULL ? strchr(job, '_') : NULL;
    const struct queue_query query = {.need = QUEUE_NEEDS_JOB, .states = RUNNING};
    struct queue_rows rows = {0};
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
        for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
            if ((task != NULL && rows.items[i].task != atoll(task + 1))
                || (name != NULL && strcmp(name + 1, names[k]) != 0))
                continue;
            print_step(c, &rows.items[i], names[k]);
            shown++;
        }
    queue_rows_fini(&rows);
    if (r < 0 && r != -ENOENT)
        return fail(r, &err);
    if (shown == 0 && name != NULL)
        printf("Job step %s not found\n", word);
    else if (shown == 0)
        puts("No job steps in the system");
    return shown > 0 || word == NULL ? 0 : 1;
}
