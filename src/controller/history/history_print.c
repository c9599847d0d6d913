/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_print.h"

#include <string.h>

#include "controller/history/history_reader_state.h"
#include "controller/history/history_values.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US   INT64_C(1000000)
#define DAY_S       86400
#define NUMBER_SIZE 24

static const char *const names[COLUMN_COUNT] = {
    [COLUMN_ID] = "id",
    [COLUMN_END] = "end_at",
    [COLUMN_UID] = "uid",
    [COLUMN_USER] = "user",
    [COLUMN_ACCOUNT] = "account",
    [COLUMN_PARTITION] = "partition",
    [COLUMN_JOB] = "job",
    [COLUMN_JOB_UID] = "job_uid",
    [COLUMN_INDEX] = "idx",
    [COLUMN_ATTEMPT] = "attempt",
    [COLUMN_OBJECT] = "object",
    [COLUMN_NAME] = "name",
    [COLUMN_POD] = "pod",
    [COLUMN_KEY] = "key",
    [COLUMN_SUBMIT] = "submit_at",
    [COLUMN_ELIGIBLE] = "eligible_at",
    [COLUMN_START] = "start_at",
    [COLUMN_NODE] = "node",
    [COLUMN_CPU] = "cpu_milli",
    [COLUMN_MEMORY] = "memory",
    [COLUMN_DEVICES] = "devices",
    [COLUMN_TIME_LIMIT] = "time_limit",
    [COLUMN_CPU_USED] = "cpu_us",
    [COLUMN_PEAK] = "peak",
    [COLUMN_STATE] = "state",
    [COLUMN_EXIT_CODE] = "exit_code",
    [COLUMN_SIGNAL] = "signal",
    [COLUMN_ENDED_BY] = "ended_by",
    [COLUMN_REASON] = "reason",
    [COLUMN_MESSAGE] = "message",
    [COLUMN_SCRIPT] = "script",
    [COLUMN_REVISION] = "revision",
    [COLUMN_LOST] = "lost",
    [COLUMN_TASK] = "task",
    [COLUMN_FROZEN] = "frozen_us",
    [COLUMN_TASKS] = "tasks",
    [COLUMN_READ] = "read_bytes",
    [COLUMN_WRITTEN] = "written_bytes",
};

enum form {
    FORM_NUMBER,  /* nothing when 0 */
    FORM_MEASURE, /* nothing when NULL */
    FORM_WORD,
    FORM_TEXT,
    FORM_SECRET, /* a text that is the owner's alone */
    FORM_TIME,
    FORM_UID,
    FORM_DIGEST, /* the owner's alone */
    FORM_NAME,   /* the object's, where it has none */
    FORM_POD,    /* what follows the object's name, or the whole */
    FORM_POD_UID,
    FORM_FLAG,
};

/* As history_row_record has them, with what stands before the value. */
#define MEMBER(name, form, column)                              \
    {                                                           \
        ",\"" name "\":", sizeof(name) + 3, FORM_##form, column \
    }
static const struct member {
    const char *head;
    size_t length;
    enum form form;
    enum history_column column;
} members[] = {
    MEMBER("id", NUMBER, COLUMN_ID),
    MEMBER("user", WORD, COLUMN_USER),
    MEMBER("uid", NUMBER, COLUMN_UID),
    MEMBER("account", WORD, COLUMN_ACCOUNT),
    MEMBER("partition", WORD, COLUMN_PARTITION),
    MEMBER("job", NUMBER, COLUMN_JOB),
    MEMBER("jobUid", UID, COLUMN_JOB_UID),
    MEMBER("object", TEXT, COLUMN_OBJECT),
    MEMBER("name", NAME, COLUMN_NAME),
    MEMBER("pod", POD, COLUMN_POD),
    MEMBER("podUid", POD_UID, COLUMN_KEY),
    MEMBER("index", MEASURE, COLUMN_INDEX),
    MEMBER("task", MEASURE, COLUMN_TASK),
    MEMBER("tasks", TEXT, COLUMN_TASKS),
    MEMBER("attempt", NUMBER, COLUMN_ATTEMPT),
    MEMBER("submitTime", TIME, COLUMN_SUBMIT),
    MEMBER("eligibleTime", TIME, COLUMN_ELIGIBLE),
    MEMBER("startTime", TIME, COLUMN_START),
    MEMBER("endTime", TIME, COLUMN_END),
    MEMBER("frozenMicroseconds", NUMBER, COLUMN_FROZEN),
    MEMBER("node", WORD, COLUMN_NODE),
    MEMBER("cpuMillis", NUMBER, COLUMN_CPU),
    MEMBER("memoryBytes", NUMBER, COLUMN_MEMORY),
    MEMBER("devices", WORD, COLUMN_DEVICES),
    MEMBER("timeLimitSeconds", NUMBER, COLUMN_TIME_LIMIT),
    MEMBER("cpuTimeMicros", MEASURE, COLUMN_CPU_USED),
    MEMBER("peakMemoryBytes", MEASURE, COLUMN_PEAK),
    MEMBER("readBytes", MEASURE, COLUMN_READ),
    MEMBER("writtenBytes", MEASURE, COLUMN_WRITTEN),
    MEMBER("state", WORD, COLUMN_STATE),
    MEMBER("exitCode", MEASURE, COLUMN_EXIT_CODE),
    MEMBER("signal", NUMBER, COLUMN_SIGNAL),
    MEMBER("endedBy", WORD, COLUMN_ENDED_BY),
    MEMBER("reason", WORD, COLUMN_REASON),
    MEMBER("message", SECRET, COLUMN_MESSAGE),
    MEMBER("script", DIGEST, COLUMN_SCRIPT),
    MEMBER("revision", NUMBER, COLUMN_REVISION),
    MEMBER("lost", FLAG, COLUMN_LOST),
};

/* ---- The statement ---- */

uint64_t
history_print_columns(uint64_t wanted)
{
    uint64_t columns = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(members); i++) {
        if (wanted != 0 && (wanted & UINT64_C(1) << i) == 0)
            continue;
        columns |= COLUMN_BIT(members[i].column);
        if (members[i].form == FORM_NAME || members[i].form == FORM_POD)
            columns |= COLUMN_BIT(COLUMN_OBJECT);
        if (members[i].form == FORM_POD_UID)
            columns |= COLUMN_BIT(COLUMN_POD);
    }
    return columns;
}

void
history_print_select(uint64_t columns, struct strbuf *sql)
{
    for (unsigned i = 0; i < COLUMN_COUNT; i++)
        if ((columns & COLUMN_BIT(i)) != 0)
            strbuf_printf(sql, "%sa.%s", i > 0 ? ", " : "", names[i]);
        else
            strbuf_add_text(sql, i > 0 ? ", NULL" : "NULL");
}

/* ---- Values ---- */

static void
add_number(int64_t n, struct strbuf *out)
{
    char digits[NUMBER_SIZE];
    char *at = digits + sizeof(digits);
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (n < 0)
        *--at = '-';
    strbuf_add(out, at, (size_t)(digits + sizeof(digits) - at));
}

static void
add_text(const char *text, struct strbuf *out)
{
    json_print_string(text, strlen(text), out);
}

static void
put_two(char *at, int64_t n)
{
    at[0] = (char)('0' + n / 10);
    at[1] = (char)('0' + n % 10);
}

/* Most times of a row are of the day of the one before. */
static void
add_time(struct history_reader *r, int64_t seconds, struct strbuf *out)
{
    int64_t day = seconds / DAY_S, of_day = seconds % DAY_S;
    char *text = r->time_text + 1;

    if (of_day < 0)
        of_day += DAY_S, day--;
    if (r->time_text[0] == '\0' || day != r->time_day) {
        time_format(seconds * SECOND_US, false, text);
        r->time_text[0] = '"';
        r->time_day = day;
    }
    put_two(text + 11, of_day / 3600);
    put_two(text + 14, of_day / 60 % 60);
    put_two(text + 17, of_day % 60);
    strbuf_add(out, r->time_text, strlen("\"2026-01-31T12:00:00Z"));
    strbuf_add_char(out, '"');
}

static const char *
text_of(sqlite3_stmt *s, int column)
{
    return (const char *)sqlite3_column_text(s, column);
}

static bool
add_text_of(sqlite3_stmt *s, int column, struct strbuf *out)
{
    const char *text = text_of(s, column);

    if (text == NULL || text[0] == '\0')
        return false;
    add_text(text, out);
    return true;
}

static bool
add_word(struct history_reader *r, int64_t id, struct strbuf *out)
{
    const char *word = history_reader_word(r, id);

    if (word == NULL)
        return false;
    add_text(word, out);
    return true;
}

static bool
add_pod(sqlite3_stmt *s, struct strbuf *out)
{
    char room[512];
    struct strbuf name;
    const char *pod = text_of(s, COLUMN_POD);

    if (pod == NULL)
        return false;
    strbuf_init_in(&name, room, sizeof(room));
    if (pod[0] == '-')
        strbuf_add_text(&name, text_of(s, COLUMN_OBJECT));
    strbuf_add_text(&name, pod);
    json_print_string(name.text, name.length, out);
    strbuf_fini(&name);
    return true;
}

/* False: nothing was added, since there is no value. */
static bool
add_value(struct history_reader *r,
          sqlite3_stmt *s,
          const struct member *m,
          bool is_own,
          struct strbuf *out)
{
    const int column = (int)m->column;

    switch (m->form) {
    case FORM_NUMBER:
        if (sqlite3_column_int64(s, column) == 0)
            return false;
        add_number(sqlite3_column_int64(s, column), out);
        return true;
    case FORM_MEASURE:
        if (sqlite3_column_type(s, column) == SQLITE_NULL)
            return false;
        add_number(sqlite3_column_int64(s, column), out);
        return true;
    case FORM_WORD:
        return add_word(r, sqlite3_column_int64(s, column), out);
    case FORM_TEXT:
        return add_text_of(s, column, out);
    case FORM_SECRET:
        return is_own && add_text_of(s, column, out);
    case FORM_TIME:
        if (sqlite3_column_int64(s, column) == 0)
            return false;
        add_time(r, sqlite3_column_int64(s, column), out);
        return true;
    case FORM_UID:
        return history_add_uid(s, column, out);
    case FORM_DIGEST:
        return is_own && history_add_digest(s, column, out);
    case FORM_NAME:
        return add_text_of(s, COLUMN_NAME, out)
               || add_text_of(s, COLUMN_OBJECT, out);
    case FORM_POD:
        return add_pod(s, out);
    case FORM_POD_UID:
        return sqlite3_column_type(s, COLUMN_POD) != SQLITE_NULL
               && history_add_uid(s, column, out);
    case FORM_FLAG:
        if (sqlite3_column_int64(s, column) == 0)
            return false;
        strbuf_add_text(out, "true");
        return true;
    }
    return false;
}

void
history_print_row(struct history_reader *r,
                  sqlite3_stmt *s,
                  uint64_t wanted,
                  bool is_own,
                  struct strbuf *out)
{
    size_t first = 1; /* the comma before the first is left out */

    strbuf_add_char(out, '{');
    for (unsigned i = 0; i < ARRAY_SIZE(members); i++) {
        const size_t before = out->length;

        if (wanted != 0 && (wanted & UINT64_C(1) << i) == 0)
            continue;
        strbuf_add(out, members[i].head + first, members[i].length - first);
        if (add_value(r, s, &members[i], is_own, out))
            first = 0;
        else
            strbuf_truncate(out, before);
    }
    strbuf_add_char(out, '}');
}
