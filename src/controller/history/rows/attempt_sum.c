/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/rows/attempt_sum.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/job/history_row.h"
#include "lib/api/job/job_state.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/record.h"

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

void
attempt_sum_add(struct history_row *sum, struct arena *arena, const struct history_row *pod)
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

void
attempt_sum_finish(struct history_row *sum, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const char **names = NULL;
    size_t count = 0;

    if (sum->node != NULL && hostlist_expand(arena, sum->node, &names, &count, NULL) == 0) {
        hostlist_format(names, count, 0, &list);
        sum->node = arena_strdup(arena, list.text);
    }
    sum->pod_uid =
        arena_printf(arena, "%s" HISTORY_ATTEMPT_KEY "%" PRId64, sum->job_uid, sum->attempt);
    sum->index = NULL;
    sum->member = 0;
}
