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
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/step_list.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/output/step_table.h"
#include "lib/api/value/id_ranges.h"
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
    .usage = "[OPTION]... JOB|JOB_TASK...",
    .summary = "Show the steps of jobs, which krun started in them: of jobs that run and of "
               "jobs that ended, also of deleted ones.",
    OPTION_ROWS(rows),
    .more = "A step that has started or ended is shown after ten seconds at most.\n"
            "\n"
            "Examples:\n"
            "  kctl steps 1042\n"
            "  kctl steps -o wide 1042_7 1050-1060\n"
            "  kctl steps -o json 1042",
};

enum steps_form { AS_TABLE, AS_WIDE, AS_JSON };

static int
add_all(struct kctl *kctl, const struct id_ranges *named, struct step_list *list, struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < named->count; i++)
        for (int64_t id = named->items[i].first; r == 0 && id <= named->items[i].last; id++)
            r = step_list_add(list, kctl, id, NULL, false, err);
    for (size_t i = 0; r == 0 && i < named->n_elements; i++)
        r = step_list_add(list, kctl, named->elements[i].job, &named->elements[i].tasks, false,
                          err);
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
    if (json_count(list->items) == 0)
        fprintf(stderr, "No steps are recorded. A step is what krun (or srun) starts in a job; it "
                        "is recorded on nodes whose agent is of this release, and shown to the "
                        "job's owner\n");
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
    struct step_list list = step_list_make(arena);
    struct id_ranges named = {0};
    enum steps_form form = AS_TABLE;
    int r = parse_form(o->form, &form, err);

    if (r == 0 && n_operands == 0)
        r = error_set(err, -EINVAL, "give the job whose steps to show: kctl steps 1042");
    if (r == 0)
        r = job_operands_read_ids(n_operands, operands, MOST_JOBS, arena, &named, err);
    if (r == 0)
        r = add_all(kctl, &named, &list, err);
    if (r < 0)
        return r;
    if (form == AS_JSON)
        print_json(&list);
    else
        step_table_print(list.items, form == AS_WIDE, !o->no_headings, arena);
    if (form != AS_JSON)
        print_notes(&list);
    return 0;
}

const struct command steps_command = {
    .name = "steps",
    .options = &table,
    .options_size = sizeof(struct steps_options),
    .run = steps_run,
};
