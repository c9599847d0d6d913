/* SPDX-License-Identifier: Apache-2.0 */
/* A job of several nodes has a pod on each, and people ask for the job. The row of the attempt is
 * made when the last of its pods has a row: what they held and used is added up, which the table
 * of fields says; what it was and how it ended is that of the pod which decided it. That is pod
 * 0 or one that failed if the script runs on each node, and pod 0 if the others were only ended
 * with it: a script that has completed is not made a failure by a node that is lost later.
 *
 * Pods end hours apart, and a controller may be restarted in between, so the sum so far is in
 * the file, as JSON: a field that is added later needs no column there.
 */
#include "controller/history/history_attempts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/engine/sql.h"
#include "lib/api/job/history_row.h"
#include "lib/api/job/job_state.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

struct history_attempts {
    sqlite3_stmt *find, *put, *drop;
};

/* ---- Life ---- */

void
history_attempts_free(struct history_attempts *a)
{
    if (a == NULL)
        return;
    (void)sqlite3_finalize(a->find);
    (void)sqlite3_finalize(a->put);
    (void)sqlite3_finalize(a->drop);
    free(a);
}

int
history_attempts_new(sqlite3 *db, struct history_attempts **ret_attempts, struct error *err)
{
    struct history_attempts *a = xnew(struct history_attempts);
    int r = sql_prepare(db, "SELECT ended, row FROM open_attempts WHERE key = ?1", &a->find, err);

    if (r == 0)
        r = sql_prepare(db,
                        "INSERT INTO open_attempts VALUES (?1, ?2, ?3)"
                        " ON CONFLICT DO UPDATE SET ended = ?2, row = ?3",
                        &a->put, err);
    if (r == 0)
        r = sql_prepare(db, "DELETE FROM open_attempts WHERE key = ?1", &a->drop, err);
    if (r < 0) {
        history_attempts_free(a);
        return r;
    }
    *ret_attempts = a;
    return 0;
}

const char *
history_attempts_key(struct arena *arena, const struct history_row *row)
{
    return arena_printf(arena, "%s" HISTORY_ATTEMPT_KEY "%" PRId64, row->job_uid, row->attempt);
}

/* ---- The sum ---- */

static enum job_state_class
class_of(const struct history_row *row)
{
    return job_state_words(job_state_of_name(row->state))->class;
}

static int64_t
number_of(const int64_t *n)
{
    return n != NULL ? *n : 0;
}

/* The job controller ends the others of an attempt as a user does who cancels it. */
static bool
is_ended_for_another(const struct history_row *row)
{
    return job_state_of_name(row->state) == JOB_STATE_CANCELLED;
}

/* Whether `row` says how the attempt ended, and not the one that did until now. */
static bool
decides(const struct history_row *row, const struct history_row *until_now)
{
    const bool is_bad = class_of(row) == JOB_STATE_BAD_END;
    const bool was_bad = class_of(until_now) == JOB_STATE_BAD_END;
    const bool is_first = number_of(row->index) == 0, was_first = number_of(until_now->index) == 0;

    /* Once the script has completed on the first node, the other ends say nothing. */
    if (row->member == HISTORY_MEMBER_FIRST && was_first
        && class_of(until_now) == JOB_STATE_GOOD_END)
        return false;
    if (row->member == HISTORY_MEMBER_FIRST && is_first && class_of(row) == JOB_STATE_GOOD_END)
        return true;
    if (is_bad != was_bad)
        return is_bad;
    if (!is_bad && is_ended_for_another(row) != is_ended_for_another(until_now)
        && class_of(row) != JOB_STATE_GOOD_END && class_of(until_now) != JOB_STATE_GOOD_END)
        return is_ended_for_another(until_now);
    if (is_bad && number_of(row->exit_code) != number_of(until_now->exit_code))
        return number_of(row->exit_code) > number_of(until_now->exit_code);
    return is_first && !was_first;
}

static const int64_t *
add_numbers(struct arena *arena, const int64_t *a, const int64_t *b)
{
    const int64_t sum = number_of(a) + number_of(b);

    return a == NULL && b == NULL ? NULL : arena_memdup(arena, &sum, sizeof(sum));
}

/* Amounts and measures: the fields that the table says are summed. */
static void
add_fields(struct history_row *sum, struct arena *arena, const struct history_row *a,
           const struct history_row *b)
{
    for (unsigned i = 0; i < history_row_record.n_fields; i++) {
        const struct field *field = &history_row_record.fields[i];
        const void *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
        void *to = (char *)sum + field->offset;

        if (!field->column->is_summed)
            continue;
        if (field->type == FIELD_BOOL)
            *(bool *)to = *(const bool *)x || *(const bool *)y;
        else if ((field->flags & FIELD_OPTIONAL) != 0)
            *(const int64_t **)to =
                add_numbers(arena, *(const int64_t *const *)x, *(const int64_t *const *)y);
        else
            *(int64_t *)to = *(const int64_t *)x + *(const int64_t *)y;
    }
}

/* "a/b=2" and "a/b=1,c/d=1" are "a/b=3,c/d=1". */
static const char *
add_devices(struct arena *arena, const char *a, const char *b)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    char *copy, *item, *rest = NULL;

    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    for (const char *at = a; *at != '\0';) {
        const size_t length = strcspn(at, "="), whole = strcspn(at, ",");
        int64_t count = strtoll(at + (length < whole ? length + 1 : whole), NULL, 10);
        const char *same = b;

        while (*same != '\0' && (strncmp(same, at, length) != 0 || same[length] != '=')) {
            same += strcspn(same, ",");
            same += *same == ',';
        }
        if (*same != '\0')
            count += strtoll(same + length + 1, NULL, 10);
        strbuf_printf(&out, "%s%.*s=%" PRId64, out.length > 0 ? "," : "", (int)length, at, count);
        at += whole + (at[whole] == ',');
    }
    copy = arena_strdup(arena, b);
    while ((item = strtok_r(copy, ",", &rest)) != NULL) {
        const size_t length = strcspn(item, "=");
        const char *at = a;

        copy = NULL;
        while (*at != '\0' && (strncmp(at, item, length) != 0 || at[length] != '=')) {
            at += strcspn(at, ",");
            at += *at == ',';
        }
        if (*at == '\0')
            strbuf_printf(&out, ",%s", item);
    }
    return arena_strdup(arena, out.text);
}

static const char *
add_node(struct arena *arena, const char *nodes, const char *node)
{
    if (nodes == NULL || node == NULL || node[0] == '\0')
        return nodes != NULL ? nodes : node;
    return arena_printf(arena, "%s,%s", nodes, node);
}

/* Adds a pod's row to the sum; all of its zero at first. */
static void
add_pod(struct history_row *sum, struct arena *arena, const struct history_row *pod)
{
    const struct history_row before = *sum;
    const bool is_each = pod->member == HISTORY_MEMBER_EACH;

    if (before.member == 0) {
        *sum = *pod;
        return;
    }
    if (decides(pod, &before))
        *sum = *pod;
    if (is_each && before.start_at_us > 0 && pod->start_at_us > 0)
        sum->start_at_us =
            before.start_at_us < pod->start_at_us ? before.start_at_us : pod->start_at_us;
    if (is_each)
        sum->end_at_us = before.end_at_us > pod->end_at_us ? before.end_at_us : pod->end_at_us;
    sum->node = add_node(arena, before.node, pod->node);
    sum->devices = add_devices(arena, before.devices, pod->devices);
    add_fields(sum, arena, &before, pod);
    sum->revision = before.revision > pod->revision ? before.revision : pod->revision;
}

/* All pods are there. The nodes were a list in no order. */
static void
finish(struct history_row *sum, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const char **names = NULL;
    size_t count = 0;

    if (sum->node != NULL && hostlist_expand(arena, sum->node, &names, &count, NULL) == 0) {
        hostlist_format(names, count, 0, &list);
        sum->node = arena_strdup(arena, list.text);
    }
    sum->pod_uid = history_attempts_key(arena, sum);
    sum->index = NULL;
    sum->member = 0;
}

/* ---- Sums so far ---- */

/* The sum so far, and of how many pods. */
static int64_t
read_open(struct history_attempts *a, const char *key, struct arena *arena, struct history_row *sum)
{
    struct json *tree = NULL;
    int64_t ended = 0;

    (void)sqlite3_bind_text(a->find, 1, key, -1, SQLITE_STATIC);
    if (sqlite3_step(a->find) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(a->find, 1);

        ended = sqlite3_column_int64(a->find, 0);
        tree = text != NULL ? json_parse(arena, arena_strdup(arena, text), strlen(text), NULL, NULL)
                            : NULL;
    }
    (void)sqlite3_reset(a->find);
    if (tree == NULL || record_normalize(&history_row_record, arena, tree, NULL, NULL) < 0)
        return 0;
    record_decode(&history_row_record, arena, tree, sum);
    return ended;
}

static int
write_open(struct history_attempts *a, const char *key, int64_t ended, struct arena *arena,
           const struct history_row *sum, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    json_print(record_encode(&history_row_record, arena, sum), &text);
    (void)sqlite3_bind_text(a->put, 1, key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(a->put, 2, ended);
    (void)sqlite3_bind_text(a->put, 3, text.text, -1, SQLITE_STATIC);
    return sql_run(a->put, err);
}

int
history_attempts_add(struct history_attempts *a, struct arena *arena, const struct history_row *row,
                     struct history_row *ret_whole, struct error *err)
{
    const char *key = history_attempts_key(arena, row);
    struct history_row sum = {0};
    const int64_t ended = read_open(a, key, arena, &sum) + 1;
    int r;

    add_pod(&sum, arena, row);
    if (ended < row->nodes)
        return write_open(a, key, ended, arena, &sum, err);
    (void)sqlite3_bind_text(a->drop, 1, key, -1, SQLITE_STATIC);
    r = sql_run(a->drop, err);
    if (r < 0)
        return r;
    finish(&sum, arena);
    *ret_whole = sum;
    return 1;
}
