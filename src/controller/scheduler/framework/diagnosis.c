/* SPDX-License-Identifier: Apache-2.0 */
/* Answers are kept as numbers by node and become text only when somebody reads them: a full
 * cluster rejects far more pods than anybody asks about. The totals are counted here unless
 * the search has kept them already (answer_counts.h). The text is that of upstream's FitError,
 * with the reasons sorted as text.
 */
#include "controller/scheduler/framework/diagnosis.h"

#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

struct answer
diagnosis_answer(const struct diagnosis *d, const struct node_view *node)
{
    struct answer a = d->answers[node->slot];

    return a.verdict == VERDICT_OK ? d->absent : a;
}

/* How many nodes gave a reason; a node may give several. */
struct reason_count {
    const char *text;
    size_t length;
    unsigned nodes;
    /* Of the line, in the text of all lines */
    size_t begin;
    /* "3 Insufficient cpu"; the lines are sorted as text */
    const char *line;
};

struct reason_counts {
    struct reason_count *items;
    unsigned count, capacity;
};

static void
count_line(struct reason_counts *c, const char *text, size_t length, unsigned nodes)
{
    for (unsigned i = 0; i < c->count; i++)
        if (c->items[i].length == length && memcmp(c->items[i].text, text, length) == 0) {
            c->items[i].nodes += nodes;
            return;
        }
    xgrow(c->items, c->count, c->capacity);
    c->items[c->count++] = (struct reason_count){.text = text, .length = length, .nodes = nodes};
}

static void
count_reason(struct reason_counts *c, const char *text, unsigned nodes)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");

        count_line(c, text, length, nodes);
        text += length + (text[length] != '\0');
    }
}

static int
compare_reason_counts(const void *a, const void *b)
{
    const struct reason_count *ta = a, *tb = b;

    return strcmp(ta->line, tb->line);
}

void
diagnosis_counts_fini(struct diagnosis_counts *counts)
{
    free(counts->items);
    *counts = (struct diagnosis_counts){0};
}

/* Counts by reason number first, because ten thousand nodes give few reasons.
 */
static struct diagnosis_counts
count_nodes(const struct diagnosis *d, const struct string_ids *reasons)
{
    size_t n = string_ids_count(reasons);
    struct diagnosis_counts counts = {
        .items = xnew_array(struct reason_nodes, n + 1),
    };

    for (uint32_t i = 0; i < d->snapshot->n_nodes; i++) {
        const struct node_view *node = d->snapshot->nodes[i];
        struct answer a = diagnosis_answer(d, node);

        if (a.reason == STRING_ID_NONE)
            continue;
        if (counts.items[a.reason].nodes++ == 0)
            counts.items[a.reason].first = node;
    }
    for (size_t i = 0; i < n; i++)
        if (counts.items[i].nodes > 0) {
            counts.items[counts.count] = counts.items[i];
            counts.items[counts.count++].reason = (uint32_t)i;
        }
    return counts;
}

struct diagnosis_counts
diagnosis_count(const struct diagnosis *d, const struct string_ids *reasons)
{
    struct diagnosis_counts counts = {0};

    if (d->prefilter_reason != STRING_ID_NONE)
        return counts;
    if (d->totals == NULL)
        return count_nodes(d, reasons);
    counts.count = d->totals->counts.count;
    counts.items = xnew_array(struct reason_nodes, counts.count + 1);
    memcpy(counts.items, d->totals->counts.items, counts.count * sizeof(*counts.items));
    return counts;
}

static void
format_reason_counts(struct reason_counts *c, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf lines = STRBUF_INIT;

    for (unsigned i = 0; i < c->count; i++) {
        c->items[i].begin = lines.length;
        strbuf_add_int(&lines, c->items[i].nodes);
        strbuf_add_char(&lines, ' ');
        strbuf_add(&lines, c->items[i].text, c->items[i].length);
        strbuf_add_char(&lines, '\0');
    }
    for (unsigned i = 0; i < c->count; i++)
        c->items[i].line = lines.text + c->items[i].begin;
    if (c->count > 1)
        qsort(c->items, c->count, sizeof(*c->items), compare_reason_counts);
    for (unsigned i = 0; i < c->count; i++) {
        strbuf_add_text(out, i == 0 ? ": " : ", ");
        strbuf_add_text(out, c->items[i].line);
    }
    strbuf_add_char(out, '.');
}

void
diagnosis_format_counts(const struct diagnosis *d, const struct diagnosis_counts *counts,
                        const struct string_ids *reasons, struct strbuf *out)
{
    struct reason_counts c = {0};

    if (d->snapshot->n_nodes == 0) {
        strbuf_add_text(out, "no nodes available to schedule pods");
        return;
    }
    strbuf_add_text(out, "0/");
    strbuf_add_int(out, d->snapshot->n_nodes);
    strbuf_add_text(out, " nodes are available");
    if (d->prefilter_reason != STRING_ID_NONE) {
        strbuf_printf(out, ": %s.",
                      d->prefilter_words != NULL ? d->prefilter_words
                                                 : string_ids_text(reasons, d->prefilter_reason));
        return;
    }
    for (unsigned i = 0; i < counts->count; i++)
        count_reason(&c, string_ids_text(reasons, counts->items[i].reason), counts->items[i].nodes);
    format_reason_counts(&c, out);
    free(c.items);
}

void
diagnosis_format(const struct diagnosis *d, const struct string_ids *reasons, struct strbuf *out)
{
    struct diagnosis_counts counts = diagnosis_count(d, reasons);

    diagnosis_format_counts(d, &counts, reasons, out);
    diagnosis_counts_fini(&counts);
}
