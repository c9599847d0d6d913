/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/queue_sort.h"

#include <stdlib.h>
#include <string.h>

#include "cli/slurm_tables/field_format.h"
#include "cli/slurm_tables/queue_fields.h"
#include "cli/slurm_tables/queue_row.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/base/strbuf.h"

static int
compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int64_t
number_of(char letter, const struct queue_row *row)
{
    switch (letter) {
    case 'C':
        return row->cpus;
    case 'D':
        return row->nodes;
    case 'e':
        return queue_row_end_us(row);
    case 'L':
        return row->limit_s > 0 ? row->limit_s - row->elapsed_s : INT64_MAX;
    case 'l':
        return row->limit_s > 0 ? row->limit_s : INT64_MAX;
    case 'M':
        return row->elapsed_s;
    case 'm':
        return queue_row_memory(row);
    case 'p':
    case 'Q':
        return queue_row_priority(row);
    case 'S':
        return queue_row_start_us(row) != 0 ? queue_row_start_us(row) : INT64_MAX;
    case 'U':
        return queue_row_uid(row);
    case 'V':
        return row->submit_us;
    default: /* F */
        return row->id;
    }
}

/* The fields that most lists are sorted by; NULL: another. */
static const char *
text_of(char letter, const struct queue_row *row)
{
    switch (letter) {
    case 'a':
        return row->account;
    case 'j':
        return row->name;
    case 'P':
        return row->partition;
    case 't':
        return slurm_words_state(row->state, true);
    case 'T':
        return slurm_words_state(row->state, false);
    case 'u':
        return row->user;
    default:
        return NULL;
    }
}

/* The tasks of an array one after the other, and behind them those that wait in one line. */
static int
compare_ids(const struct queue_row *a, const struct queue_row *b)
{
    const int64_t task_a = a->tasks != NULL ? INT64_MAX : a->task;
    const int64_t task_b = b->tasks != NULL ? INT64_MAX : b->task;

    return a->id != b->id ? compare_numbers(a->id, b->id) : compare_numbers(task_a, task_b);
}

/* "n1" of "n[1-3]", for strcmp. */
static void
keep_first_node(struct strbuf *nodes)
{
    char *bracket = strchr(nodes->text, '[');
    char *comma = strchr(nodes->text, ',');
    size_t length;

    if (comma != NULL && (bracket == NULL || comma < bracket))
        strbuf_truncate(nodes, (size_t)(comma - nodes->text));
    else if (bracket != NULL) {
        length = strcspn(bracket + 1, "-,]");
        memmove(bracket, bracket + 1, length);
        strbuf_truncate(nodes, (size_t)(bracket - nodes->text) + length);
    }
}

static int
compare_field(char letter, const struct queue_row *a, const struct queue_row *b)
{
    const struct output_column *column = field_format_letter(&queue_fields, letter);
    char room_a[128], room_b[128];
    struct strbuf text_a, text_b;
    int r;

    if (strchr("iA", letter) != NULL)
        return compare_ids(a, b);
    if (strchr("FCDeLlMmpQSUV", letter) != NULL)
        return compare_numbers(number_of(letter, a), number_of(letter, b));
    if (text_of(letter, a) != NULL)
        return strcmp(text_of(letter, a), text_of(letter, b));
    if (column == NULL)
        return 0;
    strbuf_init_in(&text_a, room_a, sizeof(room_a));
    strbuf_init_in(&text_b, room_b, sizeof(room_b));
    column->add(a, &text_a);
    column->add(b, &text_b);
    if (letter == 'N') {
        keep_first_node(&text_a);
        keep_first_node(&text_b);
    }
    r = strcmp(text_a.text, text_b.text);
    strbuf_fini(&text_a);
    strbuf_fini(&text_b);
    return r;
}

static const char *order; /* of -S, for qsort */

static int
compare(const void *a, const void *b)
{
    const struct queue_row *x = a, *y = b;
    int sign = 1;

    for (const char *at = order; *at != '\0'; at++) {
        int r;

        if (*at == ',' || *at == '#' || *at == '+' || *at == '-') {
            sign = *at == '-' ? -1 : 1;
            continue;
        }
        r = compare_field(*at, x, y);
        if (r != 0)
            return sign * r;
        sign = 1;
    }
    return compare_ids(x, y);
}

void
queue_sort_rows(struct queue_row *rows, size_t count, const char *letters)
{
    order = letters;
    if (count > 1)
        qsort(rows, count, sizeof(*rows), compare);
}

char
queue_sort_find_unknown(const char *letters)
{
    for (; *letters != '\0'; letters++)
        if (strchr("+-,#", *letters) == NULL
            && field_format_letter(&queue_fields, *letters) == NULL)
            return *letters;
    return '\0';
}

/* Members of rows, which the cells of the table have, the metadata, or the Job. */
static enum queue_need
letter_need(char letter)
{
    struct output_field field = {.column = field_format_letter(&queue_fields, letter)};

    if (strchr("iAFCDeLlMpQSjPtTu", letter) != NULL)
        return QUEUE_NEEDS_CELLS;
    if (strchr("aV", letter) != NULL)
        return QUEUE_NEEDS_METADATA;
    if (strchr("mU", letter) != NULL || field.column == NULL)
        return QUEUE_NEEDS_JOB;
    return queue_fields_need(&(struct output_format){.fields = &field, .count = 1});
}

enum queue_need
queue_sort_need(const char *letters, bool *ret_is_of_jobs)
{
    enum queue_need need = QUEUE_NEEDS_CELLS;

    *ret_is_of_jobs = false;
    for (; *letters != '\0'; letters++) {
        enum queue_need one;

        if (strchr("+-,#", *letters) != NULL)
            continue;
        one = letter_need(*letters);
        need = one > need ? one : need;
        if (one != QUEUE_NEEDS_CELLS && strchr("aV", *letters) == NULL)
            *ret_is_of_jobs = true;
    }
    return need;
}
