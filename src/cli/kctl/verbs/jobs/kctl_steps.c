/* SPDX-License-Identifier: Apache-2.0 */
/* kctl steps - lists the steps of jobs, what they used and how they ended
 *
 * A step is what one krun starts in a job. The data come from the controller, which gets
 * them from the agent of the job's first node, also while the job runs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/step_list.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/step_operand.h"
#include "cli/kctl/output/step_table.h"
#include "cli/kctl/verbs/jobs/job_owner.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/id_ranges.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST_JOBS 1000

struct steps_options {
    struct common_options common;
    const char *form;
    bool no_headings;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    NO_HEADERS_OPTION(struct steps_options),
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "table, wide (with the command), or json",
     .type = OPTION_TEXT,
     .offset = offsetof(struct steps_options, form)},
};

static const struct option_table table = {
    .name = "kctl steps",
    .usage = "[OPTION]... JOB|JOB_TASK|JOB.STEP...",
    .summary = "Show the steps of jobs, which krun started in them: of jobs that run and of "
               "jobs that ended, also of deleted ones.",
    OPTION_ROWS(rows),
    .more = "A step that has started or ended is shown after ten seconds at most.\n"
            "\n"
            "Examples:\n"
            "  kctl steps 1042\n"
            "  kctl steps -o wide 1042_7 1050-1060\n"
            "  kctl steps 1042.3\n"
            "  kctl steps -o json 1042",
};

enum steps_form { AS_TABLE, AS_WIDE, AS_JSON };

struct steps_call {
    struct kctl *kctl;
    struct arena *arena;
    struct step_list list;
    bool is_range; /* jobs of a range may be gone */
    bool is_any;   /* one of the jobs exists */
};

/* ---- Jobs without steps ---- */

static bool
note_row(const struct json *row, void *context)
{
    (void)row;
    *(bool *)context = true;
    return false;
}

static int
find_row(struct steps_call *c, int64_t id, const char *tasks, bool *ret_is_there, struct error *err)
{
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;

    history_query_add(&query, "job", arena_printf(c->arena, "%" PRId64, id));
    history_query_add(&query, "task", tasks);
    history_query_add(&query, "limit", "1");
    *ret_is_there = false;
    return c->is_range
               ? history_pages_visit(c->kctl, query.text, note_row, ret_is_there, err)
               : history_pages_visit_job(c->kctl, id, query.text, note_row, ret_is_there, err);
}

/* The server shows nobody else's steps, without a word. */
static int
check_owner(struct steps_call *c, const struct json *job, const char *words, struct error *err)
{
    struct json *self = NULL;
    const char *rank;
    int r;

    if (job_owner_is_self(job))
        return 0;
    r = kctl_ask(c->kctl, "/kiln/v1/whoami", c->arena, &self, err);
    rank = json_get_text(self, "rank");
    if (r < 0 || (rank != NULL && strcmp(rank, "administrator") == 0))
        return r;
    return error_set(err, -EACCES,
                     "%s is a job of %s; only the job's user and administrators see its steps",
                     words, job_owner_name(job));
}

static int
check_job(struct steps_call *c, const struct json *job, const char *operand, bool has_tasks,
          struct error *err)
{
    struct json *items = NULL;
    const char *words = arena_printf(c->arena, "job %s", operand);
    const char *state = json_path_text(job, "status.state");
    int r = check_owner(c, job, words, err);

    if (r == 0 && has_tasks)
        r = job_tasks_fetch(c->kctl, operand, c->arena, &items, err);
    if (r == 0)
        fprintf(stderr, "%s has no steps%s\n", words,
                state != NULL && strcmp(state, "Running") == 0
                    ? "; what krun or srun start in it is shown after ten seconds at most"
                    : "");
    return r;
}

/* Of a job without records: says so, or that there is no such job. */
static int
print_absence(struct steps_call *c, int64_t id, const struct task_list *tasks, struct error *err)
{
    const struct target_object everywhere = {.kind = &job_kind};
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const char *operand = arena_printf(c->arena, "%" PRId64, id);
    struct json *jobs = NULL;
    bool is_there = false;
    int r = kctl_list(c->kctl, &everywhere, NULL, arena_printf(c->arena, "status.id=%" PRId64, id),
                      c->arena, &jobs, err);

    if (tasks != NULL) {
        task_list_format(tasks, &list);
        operand = arena_printf(c->arena, tasks->total == 1 ? "%" PRId64 "_%s" : "%" PRId64 "_[%s]",
                               id, list.text);
    }
    if (r == 0 && json_count(jobs) > 0) {
        c->is_any = true;
        return check_job(c, json_at(jobs, 0), operand, tasks != NULL, err);
    }
    if (r == 0)
        r = find_row(c, id, tasks != NULL ? list.text : NULL, &is_there, err);
    c->is_any = c->is_any || is_there;
    if (r < 0 || (!is_there && c->is_range))
        return r;
    if (!is_there)
        return error_set(err, -ENOENT, "there is no job %s, and history has none that you may see",
                         operand);
    fprintf(stderr, "job %s has no steps\n", operand);
    return 0;
}

static int
add_job(struct steps_call *c, int64_t id, const struct task_list *tasks, struct error *err)
{
    const uint32_t before = json_count(c->list.items) + json_count(c->list.omitted);
    int r = step_list_add(&c->list, c->kctl, id, tasks, false, err);

    if (r < 0)
        return r;
    if (json_count(c->list.items) + json_count(c->list.omitted) == before)
        return print_absence(c, id, tasks, err);
    c->is_any = true;
    return 0;
}

static int
pass_missing(int r, struct error *ret_missing, const struct error *err)
{
    if (r != -ENOENT && r != -EACCES)
        return r;
    if (ret_missing->code < 0)
        fprintf(stderr, "kctl: steps: %s\n", ret_missing->text);
    *ret_missing = *err;
    return 0;
}

/* Goes on after a job that does not exist; *ret_missing is about the last one. */
static int
add_all(struct steps_call *c, const struct id_ranges *named, struct error *ret_missing,
        struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < named->count; i++)
        for (int64_t id = named->items[i].first; r == 0 && id <= named->items[i].last; id++)
            r = pass_missing(add_job(c, id, NULL, err), ret_missing, err);
    for (size_t i = 0; r == 0 && i < named->n_elements; i++)
        r = pass_missing(add_job(c, named->elements[i].job, &named->elements[i].tasks, err),
                         ret_missing, err);
    if (r == 0 && !c->is_any && ret_missing->code == 0)
        (void)error_set(ret_missing, -ENOENT,
                        "there is none of these jobs, and history has none that you may see");
    return r;
}

static void
print_json(const struct step_list *list)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *tree = json_object(list->arena);

    json_set_string(list->arena, tree, "apiVersion", "kiln.hpc/v1");
    json_set_string(list->arena, tree, "kind", "StepList");
    json_set(list->arena, tree, "items", list->items);
    if (json_count(list->omitted) > 0)
        json_set(list->arena, json_make_object(list->arena, tree, "metadata"), "omitted",
                 list->omitted);
    json_print_indented(tree, &out);
    printf("%s\n", out.text);
}

static void
print_notes(const struct step_list *list)
{
    for (uint32_t i = 0; i < json_count(list->omitted); i++) {
        const struct json *o = json_at(list->omitted, i);

        fprintf(stderr, "Job %s had %" PRId64 " more steps, of which there are no records\n",
                step_table_job(list->arena, o), json_get_int(o, "steps", 0));
    }
}

/* ---- The verb ---- */

static int
parse_form(const char *text, enum steps_form *ret_form, struct error *err)
{
    if (text == NULL || strcmp(text, "table") == 0)
        *ret_form = AS_TABLE;
    else if (strcmp(text, "wide") == 0)
        *ret_form = AS_WIDE;
    else if (strcmp(text, "json") == 0)
        *ret_form = AS_JSON;
    else
        return error_set(err, -EINVAL, "--output: '%s' is not one of table, wide and json", text);
    return 0;
}

static int
steps_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
          struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct steps_options *o = options;
    struct steps_call c = {
        .kctl = kctl,
        .arena = arena,
        .list = step_list_make(arena),
        .is_range = job_operands_have_range(n_operands, operands),
    };
    struct id_ranges named = {0};
    struct error missing = {0};
    enum steps_form form = AS_TABLE;
    const bool is_any = n_operands > 0;
    struct json *single = NULL;
    int r = parse_form(o->form, &form, err);

    if (r == 0 && !is_any)
        r = error_set(err, -EINVAL, "give the job whose steps to show: kctl steps 1042");
    if (r == 0)
        r = step_operands_find(kctl, &n_operands, operands, arena, &single, err);
    for (uint32_t i = 0; r == 0 && i < json_count(single); i++)
        json_append(arena, c.list.items, json_at(single, i));
    if (r == 0 && n_operands > 0)
        r = job_operands_read_ids(n_operands, operands, MOST_JOBS, arena, &named, err);
    if (r == 0 && n_operands > 0)
        r = add_all(&c, &named, &missing, err);
    if (r < 0)
        return r;
    if (form == AS_JSON)
        print_json(&c.list);
    else
        step_table_print(c.list.items, form == AS_WIDE, !o->no_headings, arena);
    if (form != AS_JSON)
        print_notes(&c.list);
    fflush(stdout);
    return missing.code < 0 ? error_set(err, missing.code, "%s", missing.text) : 0;
}

const struct command steps_command = {
    .name = "steps",
    .options = &table,
    .options_size = sizeof(struct steps_options),
    .run = steps_run,
};
