/* SPDX-License-Identifier: Apache-2.0 */
/* history_print.h - prints a row of the file as JSON, from its columns
 *
 * The members are those of history_row_record, in its order; a question names
 * them as bits. A column that no member needs is not read.
 *
 * Thread:  the reader's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

struct history_reader;
struct strbuf;

/* In the order of the statement's columns. */
enum history_column {
    COLUMN_ID,
    COLUMN_END,
    COLUMN_UID,
    COLUMN_USER,
    COLUMN_ACCOUNT,
    COLUMN_PARTITION,
    COLUMN_JOB,
    COLUMN_JOB_UID,
    COLUMN_INDEX,
    COLUMN_ATTEMPT,
    COLUMN_OBJECT,
    COLUMN_NAME,
    COLUMN_POD,
    COLUMN_KEY,
    COLUMN_SUBMIT,
    COLUMN_ELIGIBLE,
    COLUMN_START,
    COLUMN_NODE,
    COLUMN_CPU,
    COLUMN_MEMORY,
    COLUMN_DEVICES,
    COLUMN_TIME_LIMIT,
    COLUMN_CPU_USED,
    COLUMN_PEAK,
    COLUMN_STATE,
    COLUMN_EXIT_CODE,
    COLUMN_SIGNAL,
    COLUMN_ENDED_BY,
    COLUMN_REASON,
    COLUMN_MESSAGE,
    COLUMN_SCRIPT,
    COLUMN_REVISION,
    COLUMN_LOST,
    COLUMN_TASK,
    COLUMN_FROZEN,
    COLUMN_TASKS,
    COLUMN_READ,
    COLUMN_WRITTEN,
    COLUMN_RSS,
    COLUMN_CACHE,
    COLUMN_GPUS,
    COLUMN_GPU_MILLI,
    COLUMN_GPU_PEAK,
    COLUMN_GPU_MEMORY,
    COLUMN_NODES,
    COLUMN_MEMBER,
    COLUMN_ALLOCATION,
    COLUMN_COUNT
};
#define COLUMN_BIT(column) (UINT64_C(1) << (column))

/* A question for the number only. */
#define HISTORY_MEMBER_ID UINT64_C(1)

/* Columns: the columns that those members need (0: all members). Select adds
 * the list of a SELECT from `attempts AS a`, with NULL for columns that are not
 * needed.
 */
uint64_t history_print_columns(uint64_t members);
void history_print_select(uint64_t columns, struct strbuf *sql);

/* Adds the statement's row as an object, as record_encode and json_print would.
 * If the row is not the asker's own, members that only the owner may read are
 * left out.
 */
void history_print_row(struct history_reader *reader, sqlite3_stmt *s, uint64_t members,
                       bool is_own, struct strbuf *out);
