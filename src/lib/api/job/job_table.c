/* SPDX-License-Identifier: Apache-2.0 */
/* job_table.c - the columns of jobs, the same as upstream's */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/job/job_strategy.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/api/value/selector.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

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
    if (has_condition(job, "FailureTarget") || job_is_cancelled(job))
        return "FailureTarget";
    return "Running";
}

static void
add_status(struct table_row *row)
{
    table_cell(row, find_status(job_of(row->object)));
}

static void
add_completions(struct table_row *row)
{
    const struct job *job = job_of(row->object);
    int64_t parallelism = job->spec.parallelism != NULL ? *job->spec.parallelism : 0;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    strbuf_printf(&out, "%" PRId64, job->status.succeeded);
    if (job->spec.completions != NULL)
        strbuf_printf(&out, "/%" PRId64, *job->spec.completions);
    else if (parallelism > 1)
        strbuf_printf(&out, "/1 of %" PRId64, parallelism);
    else
        strbuf_add_text(&out, "/1");
    table_cell(row, out.text);
}

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Appends " in (a,b)" with sorted values. */
static void
format_values(const struct selector_requirement *r, const char *word, struct strbuf *out)
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

/* Either a label or a requirement. */
struct selector_term {
    const char *key;
    const struct string_entry *label;
    const struct selector_requirement *requirement;
};

static int
compare_parts(const void *a, const void *b)
{
    return strcmp(((const struct selector_term *)a)->key, ((const struct selector_term *)b)->key);
}

static void
format_part(const struct selector_term *p, struct strbuf *out)
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

/* All terms in the order of their keys. */
static void
add_selector(struct table_row *row)
{
    const struct label_selector *selector = job_of(row->object)->spec.selector;
    unsigned n_labels = selector != NULL ? selector->match_labels.count : 0;
    unsigned n = n_labels + (selector != NULL ? selector->match_expressions.count : 0);
    struct selector_term *parts = arena_new_array(row->arena, struct selector_term, n + 1);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (unsigned i = 0; i < n; i++) {
        if (i < n_labels) {
            parts[i].label = &selector->match_labels.items[i];
            parts[i].key = parts[i].label->key;
        } else {
            parts[i].requirement = &selector->match_expressions.items[i - n_labels];
            parts[i].key = parts[i].requirement->key;
        }
    }
    qsort(parts, n, sizeof(*parts), compare_parts);
    if (n == 0)
        strbuf_add_text(&out, "<none>");
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            strbuf_add_char(&out, ',');
        format_part(&parts[i], &out);
    }
    table_cell(row, out.text);
}

static void
add_duration(struct table_row *row)
{
    const struct job *job = job_of(row->object);
    char text[TABLE_DURATION_SIZE] = "";
    int64_t end_us = job->status.completion_at_us != 0 ? job->status.completion_at_us : row->now_us;

    if (job->status.start_at_us != 0)
        table_format_duration(end_us - job->status.start_at_us, text);
    table_cell(row, text);
}

static void
add_containers(struct table_row *row)
{
    const struct pod_spec *spec = job_of(row->object)->spec.template_.spec;
    CLEANUP_STRBUF struct strbuf names = STRBUF_INIT;

    for (unsigned i = 0; i < spec->containers.count; i++)
        strbuf_printf(&names, "%s%s", i > 0 ? "," : "", spec->containers.items[i].name);
    table_cell(row, names.text);
}

static void
add_images(struct table_row *row)
{
    const struct pod_spec *spec = job_of(row->object)->spec.template_.spec;
    CLEANUP_STRBUF struct strbuf images = STRBUF_INIT;

    for (unsigned i = 0; i < spec->containers.count; i++) {
        const char *image = spec->containers.items[i].image;

        strbuf_printf(&images, "%s%s", i > 0 ? "," : "", image != NULL ? image : "");
    }
    table_cell(row, images.text);
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Status", add_status, "Its state in one word."),
    COLUMN("Completions", add_completions,
        "Pods that succeeded, of those wanted."),
    COLUMN("Duration", add_duration, "From its start to its end, or so far."),
    TABLE_AGE,
    COLUMN("Containers", add_containers, "The names of its containers.", WIDE),
    COLUMN("Images", add_images, "The images of its containers.", WIDE),
    COLUMN("Selector", add_selector,
        "The labels by which its pods are found.", WIDE),
};
/* clang-format on */

const struct table job_table = {TABLE_COLUMNS(columns)};
