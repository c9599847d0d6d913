/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_control/cancel_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/account_list.h"
#include "cli/print/sanitize_text.h"
#include "cli/slurm/job_words.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_tables/job_choice.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"

/* The server lists so many bytes of an array's tasks; less than that is all of them. */
#define LIST_BYTES 900

struct choice {
    struct slurm_client *client;
    const struct cancel_filters *filters;
    struct slurm_job_choices named;
    const char **nodes; /* sorted */
    size_t n_nodes;
    struct cancel_words *words;
    int64_t last_job;     /* of which the words were added */
    const char *accounts; /* with all their names */
};

void
cancel_words_fini(struct cancel_words *words)
{
    free(words->items);
    *words = (struct cancel_words){.items = NULL};
}

/* ---- Filters ---- */

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool
is_on_node(const struct choice *c, const struct queue_row *row)
{
    const char **names;
    size_t count;

    if (c->n_nodes == 0)
        return true;
    if (queue_row_is_waiting(row)
        || hostlist_expand(c->client->arena, row->node, &names, &count, NULL) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (bsearch(&names[i], c->nodes, c->n_nodes, sizeof(*names), compare_names) != NULL)
            return true;
    return false;
}

static bool
is_text_wanted(const char *wanted, const char *text)
{
    return wanted == NULL || (text != NULL && strcmp(wanted, text) == 0);
}

static bool
is_named(const struct choice *c, int64_t id)
{
    for (size_t i = 0; i < c->named.count; i++)
        if (c->named.items[i].id == id)
            return true;
    return c->named.count == 0;
}

static bool
is_wanted(const struct choice *c, const struct queue_row *row)
{
    const struct cancel_filters *f = c->filters;

    return is_named(c, row->id) && is_text_wanted(f->name, row->name)
           && name_list_has(c->accounts, row->account)
           && (f->qos == NULL || is_text_wanted(f->qos, queue_row_qos(row)))
           && (f->reservation == NULL
               || is_text_wanted(f->reservation, queue_row_pod_text(row, "placement.reservation")))
           && is_on_node(c, row);
}

/* ---- Words ---- */

/* Whether the person wants this to be ended; anything but y is no. */
static bool
is_confirmed(const struct choice *c, const struct queue_row *row, const char *word)
{
    CLEANUP_FREE char *name = sanitize_text_dup(row->name);
    int answer, rest;

    if (!c->filters->is_interactive)
        return true;
    printf("Cancel job_id=%s name=%s partition=%s [y/n]? ", word, name, row->partition);
    fflush(stdout);
    answer = rest = getchar();
    while (rest != EOF && rest != '\n') /* what follows is no answer to the next question */
        rest = getchar();
    return answer == 'y' || answer == 'Y';
}

static void
add_word(struct choice *c, const struct queue_row *row, const char *word)
{
    struct cancel_words *w = c->words;

    if (!is_confirmed(c, row, word))
        return;
    xgrow(w->items, w->count, w->capacity);
    w->items[w->count++] = word;
}

/* All that was named of the job. */
static void
add_job(struct choice *c, const struct queue_row *row)
{
    const char *rest = c->filters->ids, *word;

    if (row->id == c->last_job)
        return;
    c->last_job = row->id;
    if (rest == NULL)
        add_word(c, row, arena_printf(c->client->arena, "%" PRId64, row->id));
    while (rest != NULL && (word = job_words_next(&rest, c->client->arena)) != NULL)
        if (strtoll(word, NULL, 10) == row->id)
            add_word(c, row, word);
}

/* The tasks that wait and were named, as ranges. */
static void
add_waiting_tasks(struct choice *c, const struct queue_row *row)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct task_list list;

    if (strlen(row->tasks) >= LIST_BYTES)
        c->words->is_cut = true;
    if (job_choices_have(&c->named, row->id, -1) || c->named.count == 0) {
        add_word(c, row, arena_printf(c->client->arena, "%" PRId64 "_[%s]", row->id, row->tasks));
        return;
    }
    if (task_list_parse(c->client->arena, row->tasks, &list, NULL) < 0)
        return;
    for (int64_t i = 0, task, last; i < list.total; i++) {
        last = task = task_list_at(&list, i);
        if (!job_choices_have(&c->named, row->id, task))
            continue;
        while (i + 1 < list.total && task_list_at(&list, i + 1) == last + 1
               && job_choices_have(&c->named, row->id, last + 1))
            last++, i++;
        strbuf_printf(&text, "%s%" PRId64, text.length > 0 ? "," : "", task);
        if (last > task)
            strbuf_printf(&text, "-%" PRId64, last);
    }
    if (text.length > 0)
        add_word(c, row, arena_printf(c->client->arena, "%" PRId64 "_[%s]", row->id, text.text));
}

static void
add_row(struct choice *c, const struct queue_row *row)
{
    const struct cancel_filters *f = c->filters;

    if (!is_wanted(c, row))
        return;
    if (f->states == 0 && f->nodes == NULL && !f->is_interactive)
        add_job(c, row);
    else if (row->tasks != NULL)
        add_waiting_tasks(c, row);
    else if (c->named.count > 0 && !job_choices_have(&c->named, row->id, row->task))
        return;
    else if (row->task >= 0)
        add_word(c, row,
                 arena_printf(c->client->arena, "%" PRId64 "_%" PRId64, row->id, row->task));
    else
        add_word(c, row, arena_printf(c->client->arena, "%" PRId64, row->id));
}

int
cancel_choice_find(struct slurm_client *client, const struct cancel_filters *filters,
                   struct cancel_words *ret_words, struct error *err)
{
    CLEANUP(queue_rows_fini) struct queue_rows rows = {0};
    struct choice c = {.client = client, .filters = filters, .words = ret_words};
    const struct queue_query query = {
        .need = filters->qos != NULL || filters->reservation != NULL ? QUEUE_NEEDS_JOB
                                                                     : QUEUE_NEEDS_METADATA,
        .states = filters->states != 0 ? filters->states : JOB_STATES_ACTIVE,
        .user = filters->user,
        .partition = filters->partition,
        .node = filters->nodes,
    };
    int r = 0;

    c.accounts = account_list_names(&client->kctl, filters->account, client->arena);
    if (filters->nodes != NULL)
        r = hostlist_expand(client->arena, filters->nodes, &c.nodes, &c.n_nodes, err);
    if (r == 0 && c.n_nodes > 0)
        qsort(c.nodes, c.n_nodes, sizeof(*c.nodes), compare_names);
    if (filters->ids != NULL)
        (void)job_choices_add(&c.named, client->arena, filters->ids);
    if (r == 0)
        r = queue_fetch(client, &query, client->arena, &rows, err);
    for (size_t i = 0; r == 0 && i < rows.count; i++)
        add_row(&c, &rows.items[i]);
    return r;
}
