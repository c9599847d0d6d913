/* SPDX-License-Identifier: Apache-2.0 */
/* table_job.c - the columns of jobs, as upstream has them */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/request/view.h"
#include "controller/apiserver/table/table.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/value/selector.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

static const struct table_column columns[] = {
    TABLE_NAME,
    {"Status", "string", NULL, 0, "Its state in one word."},
    {"Completions", "string", NULL, 0, "Pods that succeeded, of those wanted."},
    {"Duration", "string", NULL, 0, "From its start to its end, or so far."},
    TABLE_AGE,
    {"Containers", "string", NULL, 1, "The names of its containers."},
    {"Images", "string", NULL, 1, "The images of its containers."},
    {"Selector", "string", NULL, 1, "The labels by which its pods are found."},
};

static bool
has_condition(const struct job *job, const char *type)
{
    for (unsigned i = 0; i < job->status.conditions.count; i++) {
        const struct job_condition *c = &job->status.conditions.items[i];

        if (strcmp(c->type, type) == 0 && strcmp(c->status, "True") == 0)
            return true;
    }
    return false;
}

static const char *
find_status(const struct job *job)
{
    if (has_condition(job, "Complete"))
        return "Complete";
    if (has_condition(job, "Failed"))
        return "Failed";
    if (job->meta.deleted_at_us != 0)
        return "Terminating";
    if (has_condition(job, "Suspended"))
        return "Suspended";
    if (has_condition(job, "FailureTarget"))
        return "FailureTarget";
    return "Running";
}

static void
format_completions(const struct job *job, struct strbuf *out)
{
    int64_t parallelism =
        job->spec.parallelism != NULL ? *job->spec.parallelism : 0;

    strbuf_printf(out, "%" PRId64, job->status.succeeded);
    if (job->spec.completions != NULL)
        strbuf_printf(out, "/%" PRId64, *job->spec.completions);
    else if (parallelism > 1)
        strbuf_printf(out, "/1 of %" PRId64, parallelism);
    else
        strbuf_add_text(out, "/1");
}

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* " in (a,b)", sorted. */
static void
format_values(const struct selector_requirement *r,
              const char *word,
              struct strbuf *out)
{
    const char **values = xnew_array(const char *, r->values.count + 1);

    for (unsigned i = 0; i < r->values.count; i++)
        values[i] = r->values.items[i];
    qsort(values, r->values.count, sizeof(*values), compare_texts);
    strbuf_printf(out, " %s (", word);
    for (unsigned i = 0; i < r->values.count; i++)
        strbuf_printf(out, "%s%s", i > 0 ? "," : "", values[i]);
    strbuf_add_char(out, ')');
    free(values);
}

/* A label, or else a requirement. */
struct part {
    const char *key;
    const struct string_entry *label;
    const struct selector_requirement *requirement;
};

static int
compare_parts(const void *a, const void *b)
{
    return strcmp(((const struct part *)a)->key, ((const struct part *)b)->key);
}

static void
format_part(const struct part *p, struct strbuf *out)
{
    const char *op = p->label == NULL ? p->requirement->operator_ : "";

    if (strcmp(op, "DoesNotExist") == 0)
        strbuf_add_char(out, '!');
    strbuf_add_text(out, p->key);
    if (p->label != NULL)
        strbuf_printf(out, "=%s", p->label->value);
    else if (strcmp(op, "In") == 0)
        format_values(p->requirement, "in", out);
    else if (strcmp(op, "NotIn") == 0)
        format_values(p->requirement, "notin", out);
}

/* All parts in the order of their keys. */
static void
format_selector(const struct label_selector *selector, struct strbuf *out)
{
    unsigned n_labels = selector != NULL ? selector->match_labels.count : 0;
    unsigned n =
        n_labels + (selector != NULL ? selector->match_expressions.count : 0);
    struct part *parts = xnew_array(struct part, n + 1);

    for (unsigned i = 0; i < n; i++) {
        if (i < n_labels) {
            parts[i].label = &selector->match_labels.items[i];
            parts[i].key = parts[i].label->key;
        } else {
            parts[i].requirement =
                &selector->match_expressions.items[i - n_labels];
            parts[i].key = parts[i].requirement->key;
        }
    }
    qsort(parts, n, sizeof(*parts), compare_parts);
    if (n == 0)
        strbuf_add_text(out, "<none>");
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            strbuf_add_char(out, ',');
        format_part(&parts[i], out);
    }
    free(parts);
}

static void
add_duration(struct table_row *row, const struct job *job)
{
    char text[TABLE_DURATION_SIZE] = "";
    int64_t end_us = job->status.completion_at_us != 0
                         ? job->status.completion_at_us
                         : row->view->now_us;

    if (job->status.start_at_us != 0)
        table_format_duration(end_us - job->status.start_at_us, text);
    table_cell(row, text);
}

static void
add_containers(struct table_row *row, const struct job *job)
{
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf images = STRBUF_INIT;

    for (unsigned i = 0; i < job->spec.template_.spec->containers.count; i++) {
        const struct container *c =
            &job->spec.template_.spec->containers.items[i];

        strbuf_printf(&names, "%s%s", i > 0 ? "," : "", c->name);
        strbuf_printf(&images,
                      "%s%s",
                      i > 0 ? "," : "",
                      c->image != NULL ? c->image : "");
    }
    table_cell(row, names.text);
    table_cell(row, images.text);
}

static void
add_cells(struct table_row *row, const struct object *object)
{
    const struct job *job = job_of(object);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    table_cell(row, job->meta.name);
    table_cell(row, find_status(job));
    format_completions(job, &text);
    table_cell(row, text.text);
    add_duration(row, job);
    table_cell_age(row, job->meta.created_at_us);
    add_containers(row, job);
    strbuf_truncate(&text, 0);
    format_selector(job->spec.selector, &text);
    table_cell(row, text.text);
}

const struct table job_table = {
    .kind = &job_kind,
    .columns = columns,
    .n_columns = ARRAY_SIZE(columns),
    .add_cells = add_cells,
};
