/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_print.h"

#include <string.h>

#include "controller/history/history_reader_state.h"
#include "controller/history/history_values.h"
#include "lib/api/job/history_row.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US   INT64_C(1000000)
#define DAY_S       86400
#define NUMBER_SIZE 24
/* a member's name and punctuation; AT_ONCE bytes are readable */
#define HEAD_SIZE   40
#define AT_ONCE     32
#define WORD_MOST   128 /* longer words are copied with a check for room */

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
    [COLUMN_RSS] = "rss",
    [COLUMN_CACHE] = "cache",
    [COLUMN_GPUS] = "gpus",
    [COLUMN_GPU_MILLI] = "gpu_milli",
    [COLUMN_GPU_PEAK] = "gpu_peak",
    [COLUMN_GPU_MEMORY] = "gpu_memory",
    [COLUMN_NODES] = "nodes",
    [COLUMN_MEMBER] = "member",
    [COLUMN_ALLOCATION] = "allocation",
};

enum form {
    FORM_NUMBER,  /* omitted if 0 */
    FORM_MEASURE, /* omitted if NULL */
    FORM_WORD,
    FORM_TEXT,
    FORM_SECRET, /* a text that only the owner may read */
    FORM_TIME,
    FORM_UID,
    FORM_DIGEST, /* only the owner may read it */
    FORM_NAME,   /* the object's name if NULL */
    FORM_POD,    /* the name after that of the object, or all of it */
    FORM_POD_UID,
    FORM_FLAG,
};

/* The members in history_row_record's order, with the text before the value. */
#define MEMBER(name, form, column)                              \
    {                                                           \
        ",\"" name "\":", sizeof(name) + 3, FORM_##form, column \
    }
static const struct member {
    char head[HEAD_SIZE];
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
    MEMBER("rssBytes", MEASURE, COLUMN_RSS),
    MEMBER("cacheBytes", MEASURE, COLUMN_CACHE),
    MEMBER("gpus", MEASURE, COLUMN_GPUS),
    MEMBER("gpuMillis", MEASURE, COLUMN_GPU_MILLI),
    MEMBER("gpuPeakMemoryBytes", MEASURE, COLUMN_GPU_PEAK),
    MEMBER("gpuMemoryBytes", MEASURE, COLUMN_GPU_MEMORY),
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
    MEMBER("nodes", NUMBER, COLUMN_NODES),
    MEMBER("member", NUMBER, COLUMN_MEMBER),
    MEMBER("allocation", FLAG, COLUMN_ALLOCATION),
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

/* A row without its texts is shorter than this, so it is written without checks
 * for room.
 */
#define ROOM 4096

struct row_text {
    struct strbuf *out;
    char *at; /* end of what is written, within the room */
};

static void
open_room(struct row_text *t)
{
    t->at = strbuf_extend(t->out, ROOM);
}

static void
close_room(struct row_text *t)
{
    strbuf_truncate(t->out, (size_t)(t->at - t->out->text));
}

static inline void
put(struct row_text *t, const char *bytes, size_t length)
{
    memcpy(t->at, bytes, length);
    t->at += length;
}

/* For sources of which AT_ONCE bytes can be read: a copy of constant size needs
 * no call and no loop.
 */
static inline void
put_short(struct row_text *t, const char *bytes, size_t length)
{
    memcpy(t->at, bytes, AT_ONCE);
    t->at += length;
}

static void
add_number(int64_t n, struct row_text *t)
{
    static const char pairs[] = "00010203040506070809"
                                "10111213141516171819"
                                "20212223242526272829"
                                "30313233343536373839"
                                "40414243444546474849"
                                "50515253545556575859"
                                "60616263646566676869"
                                "70717273747576777879"
                                "80818283848586878889"
                                "90919293949596979899";
    char digits[NUMBER_SIZE + AT_ONCE];
    char *at = digits + NUMBER_SIZE;
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    for (; rest >= 10; rest /= 100) {
        at -= 2;
        memcpy(at, pairs + rest % 100 * 2, 2);
    }
    if (rest > 0 || at == digits + NUMBER_SIZE)
        *--at = (char)('0' + rest);
    if (n < 0)
        *--at = '-';
    put_short(t, at, (size_t)(digits + NUMBER_SIZE - at));
}

static void
add_text(const char *text, size_t length, struct row_text *t)
{
    close_room(t);
    json_print_string(text, length, t->out);
    open_room(t);
}

static void
put_two(char *at, int64_t n)
{
    at[0] = (char)('0' + n / 10);
    at[1] = (char)('0' + n % 10);
}

/* Most times of a row are on the same day as the one printed before. */
static void
add_time(struct history_reader *r, int64_t seconds, struct row_text *t)
{
    int64_t day = seconds / DAY_S, of_day = seconds % DAY_S;
    char *text = r->time_text + 1;

    if (of_day < 0)
        of_day += DAY_S, day--;
    if (r->time_text[0] == '\0' || day != r->time_day) {
        time_format(seconds * SECOND_US, false, text);
        r->time_text[0] = '"';
        text[strlen("2026-01-31T12:00:00Z")] = '"';
        r->time_day = day;
    }
    put_two(text + 11, of_day / 3600);
    put_two(text + 14, of_day / 60 % 60);
    put_two(text + 17, of_day % 60);
    put(t, r->time_text, strlen("\"2026-01-31T12:00:00Z\""));
}

static const char *
text_of(sqlite3_stmt *s, int column)
{
    return (const char *)sqlite3_column_text(s, column);
}

static bool
add_text_of(sqlite3_stmt *s, int column, struct row_text *t)
{
    const char *text = text_of(s, column);

    if (text == NULL || text[0] == '\0')
        return false;
    add_text(text, (size_t)sqlite3_column_bytes(s, column), t);
    return true;
}

static bool
add_word(struct history_reader *r, int64_t id, struct row_text *t)
{
    size_t length;
    const char *word = history_reader_printed_word(r, id, &length);

    if (word == NULL)
        return false;
    if (length <= WORD_MOST)
        put(t, word, length);
    else {
        close_room(t);
        strbuf_add(t->out, word, length);
        open_room(t);
    }
    return true;
}

static bool
add_pod(sqlite3_stmt *s, struct row_text *t)
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
    add_text(name.text, name.length, t);
    strbuf_fini(&name);
    return true;
}

/* With quotes; a uid with its dashes. */
static void
add_hex(const unsigned char *bytes, size_t n, const char *prefix, struct row_text *t)
{
    static const char digits[] = "0123456789abcdef";
    char *at = t->at;

    *at++ = '"';
    at = stpcpy(at, prefix);
    for (size_t i = 0; i < n; i++) {
        if (n == HISTORY_UID_BYTES && (i == 4 || i == 6 || i == 8 || i == 10))
            *at++ = '-';
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at++ = '"';
    t->at = at;
}

/* A value of another form is stored as its text. */
static bool
add_packed(sqlite3_stmt *s, int column, size_t bytes, const char *prefix, struct row_text *t)
{
    if (sqlite3_column_type(s, column) != SQLITE_BLOB
        || sqlite3_column_bytes(s, column) != (int)bytes)
        return add_text_of(s, column, t);
    add_hex(sqlite3_column_blob(s, column), bytes, prefix, t);
    return true;
}

/* The key of an attempt of several nodes is no pod's uid. */
static bool
is_of_attempt(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_TEXT
           && strstr(text_of(s, column), HISTORY_ATTEMPT_KEY) != NULL;
}

static bool
add_uid(sqlite3_stmt *s, int column, struct row_text *t)
{
    return add_packed(s, column, HISTORY_UID_BYTES, "", t);
}

/* Returns false if there is no value; then nothing was added. */
static bool
add_value(struct history_reader *r, sqlite3_stmt *s, const struct member *m, bool is_own,
          struct row_text *t)
{
    const int column = (int)m->column;
    int64_t n;

    switch (m->form) {
    case FORM_NUMBER:
        n = sqlite3_column_int64(s, column);
        if (n == 0)
            return false;
        add_number(n, t);
        return true;
    case FORM_MEASURE:
        n = sqlite3_column_int64(s, column);
        if (n == 0 && sqlite3_column_type(s, column) == SQLITE_NULL)
            return false;
        add_number(n, t);
        return true;
    case FORM_WORD:
        return add_word(r, sqlite3_column_int64(s, column), t);
    case FORM_TEXT:
        return add_text_of(s, column, t);
    case FORM_SECRET:
        return is_own && add_text_of(s, column, t);
    case FORM_TIME:
        n = sqlite3_column_int64(s, column);
        if (n == 0)
            return false;
        add_time(r, n, t);
        return true;
    case FORM_UID:
        return add_uid(s, column, t);
    case FORM_DIGEST:
        return is_own && add_packed(s, column, HISTORY_DIGEST_BYTES, HISTORY_SHA256, t);
    case FORM_NAME:
        return add_text_of(s, COLUMN_NAME, t) || add_text_of(s, COLUMN_OBJECT, t);
    case FORM_POD:
        return add_pod(s, t);
    case FORM_POD_UID:
        return sqlite3_column_type(s, COLUMN_POD) != SQLITE_NULL && !is_of_attempt(s, column)
               && add_uid(s, column, t);
    case FORM_FLAG:
        if (sqlite3_column_int64(s, column) == 0)
            return false;
        put(t, "true", strlen("true"));
        return true;
    }
    return false;
}

void
history_print_row(struct history_reader *r, sqlite3_stmt *s, uint64_t wanted, bool is_own,
                  struct strbuf *out)
{
    struct row_text t = {.out = out};
    size_t first = 1; /* skips the comma before the first member */

    open_room(&t);
    *t.at++ = '{';
    for (unsigned i = 0; i < ARRAY_SIZE(members); i++) {
        const struct member *m = &members[i];

        if (wanted != 0 && (wanted & UINT64_C(1) << i) == 0)
            continue;
        put_short(&t, m->head + first, m->length - first);
        if (add_value(r, s, m, is_own, &t))
            first = 0;
        else
            t.at -= m->length - first;
    }
    *t.at++ = '}';
    close_room(&t);
}
