/* SPDX-License-Identifier: Apache-2.0 */
/* job_list.h - the jobs of kctl jobs: rows of the server's table, sorted, cut
 * and printed in every form of -o
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct arena;
struct error;
struct job_list;
struct json;
struct strbuf;

enum job_list_form {
    JOB_LIST_TABLE,
    JOB_LIST_CSV,
    JOB_LIST_JSON,
    JOB_LIST_YAML,
    JOB_LIST_NAMES,
};

#define JOB_LIST_MAX_COLUMNS 32

struct job_list_style {
    enum job_list_form form;
    unsigned columns[JOB_LIST_MAX_COLUMNS]; /* indexes in the list of all */
    size_t n_columns;
    bool no_headings;
    bool has_colours;
    bool is_of_one; /* user, so that the user column is of little use */
    bool is_cut;    /* default columns, which may be left out or cut */
    unsigned width; /* of the terminal; 0: unlimited */
};

/* Parses -o: NULL, wide, json, yaml, name, csv, csv=LIST or a list of columns
 * such as "id,name,state". -EINVAL with the nearest existing name.
 */
int job_list_style_parse(const char *text, struct job_list_style *style, struct error *err);

/* A row, for callers that select rows. */
struct job_row {
    int64_t id;
    const char *tasks;  /* of an array, "1042_7", "1042_[57-99]"; or NULL */
    int64_t first_task; /* -1: no array, or all waiting tasks */
    int64_t submitted_at_us;
    int64_t ended_at_us; /* 0: not ended */
    const char *namespace;
    const char *account; /* the namespace as its site spells it */
    const char *name;    /* as its user gave it, not truncated */
    const char *state;
    const char *node;
    const struct json *cells;
    const struct json *object;
};

/* Life. The arena must outlive the list. */
void job_list_free(struct job_list *list);
struct job_list *job_list_new(struct arena *arena) OWNED_BY(job_list_free);
DEFINE_CLEANUP(struct job_list, job_list_free)

/* Add takes a Table and keeps the rows for which `is_wanted` returns
 * true. An array has one row for all waiting tasks, if any, and one for each
 * running task; with `by_objects` it has one row. Sort: by the time of
 * submission, oldest first. Keep_last keeps the last `count` rows; call it
 * after sort. Keep_last_ended keeps of the ended jobs only the `count` that ended
 * last.
 */
typedef bool job_row_fn(const struct job_row *row, void *context);
void job_list_add(struct job_list *list, const struct json *table, bool by_objects,
                  job_row_fn *is_wanted, void *context);
void job_list_sort(struct job_list *list);
void job_list_keep_last(struct job_list *list, size_t count);
void job_list_keep_last_ended(struct job_list *list, size_t count);

/* Signature: a text of a row that changes when its job does, for a watch.
 */
size_t job_list_count(const struct job_list *list);
const struct job_row *job_list_row(const struct job_list *list, size_t at);
const char *job_list_signature(const struct job_list *list, size_t at, struct arena *arena);

void job_list_print(const struct job_list *list, const struct job_list_style *style,
                    struct strbuf *out);
void job_list_print_row(const struct job_list *list, size_t at, const struct job_list_style *style,
                        struct strbuf *out);
