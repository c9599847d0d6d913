/* SPDX-License-Identifier: Apache-2.0 */
/* history_columns.h - the columns of kctl history, for people, CSV and SWF
 *
 * Thread: any; rows are trees as returned by /kiln/v1/history.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct grid;
struct json;
struct strbuf;

#define HISTORY_COLUMNS_MOST 48

struct history_columns {
    unsigned items[HISTORY_COLUMNS_MOST]; /* indexes in the list of all */
    size_t count;
};

/* Parses "id,name,state"; NULL: the default columns; "all". -EINVAL with the
 * nearest existing name.
 */
int history_columns_parse(const char *text, struct history_columns *columns, struct error *err);

/* Adds the members of a row that these columns need: "job,state". */
void history_columns_add_members(const struct history_columns *columns, struct strbuf *out);

void history_columns_add_to(const struct history_columns *columns, struct grid *grid);
void history_columns_add_row(const struct history_columns *columns, const struct json *row,
                             struct grid *grid);

/* The text of that column, for people; nothing if the value is unknown. */
void history_columns_text(const char *name, const struct json *row, struct strbuf *out);

/* The memory that the processes used at most, without page cache where that is
 * known; -1: nothing is known.
 */
int64_t history_columns_memory_bytes(const struct json *row);

/* How busy its GPUs were on average; -1: it had none, or that is unknown. */
double history_columns_gpu_percent(const struct json *row);

/* From start to end; -1: the job never started. */
int64_t history_columns_elapsed_us(const struct json *row);

/* A line of CSV (RFC 4180), with numbers and times for programs: bytes,
 * seconds, RFC 3339 in UTC. A NULL row prints the heading.
 */
void history_columns_add_csv(const struct history_columns *columns, const struct json *row,
                             struct strbuf *out);

/* A line of the Standard Workload Format 2.2 (Feitelson): 18 numbers. Users,
 * accounts and partitions are numbered in the order in which they occur.
 */
struct history_swf;
void history_swf_free(struct history_swf *swf);
struct history_swf *history_swf_new(void);
void history_swf_add(struct history_swf *swf, const struct json *row, struct strbuf *out);
