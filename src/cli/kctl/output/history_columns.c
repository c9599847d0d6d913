/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/history_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/grid.h"
#include "cli/print/human.h"
#include "cli/print/local_time.h"
#include "cli/print/sanitize_text.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define SECOND_US INT64_C(1000000)

#define MOST_TASKS 24 /* bytes of the list of tasks, in a table */

enum column_form {
    FORM_TEXT,
    FORM_NUMBER,
    FORM_TIME,
    FORM_BYTES,
    FORM_MILLI,   /* thousandths */
    FORM_SECONDS, /* a length of time */
    FORM_MICROS,
    FORM_JOB,     /* number; for a task also its task or index */
    FORM_ELAPSED, /* from start to end */
    FORM_WAITED,  /* from when it could start until its start */
    FORM_EXIT,
    FORM_GPUS, /* percent of the GPUs that were busy */
};

static const struct column {
    const char *name;
    const char *member;
    enum column_form form;
    struct grid_column style;
    bool is_usual;
} all[] = {
    {"id", "job", FORM_JOB, {"Job", false, 0, 0, false}, true},
    {"name", "name", FORM_TEXT, {"Name", false, 6, 5, false}, true},
    {"user", "user", FORM_TEXT, {"User", false, 4, 3, false}, true},
    {"account", "account", FORM_TEXT, {"Account", false, 4, 2, false}, true},
    {"partition", "partition", FORM_TEXT, {"Partition", false, 4, 2, false}, true},
    {"state", "state", FORM_TEXT, {"State", false, 0, 0, false}, true},
    {"attempt", "attempt", FORM_NUMBER, {"Attempt", true, 0, 1, false}, true},
    {"ended", "endTime", FORM_TIME, {"Ended", false, 0, 0, false}, true},
    {"elapsed", NULL, FORM_ELAPSED, {"Elapsed", true, 0, 0, false}, true},
    {"cpus", "cpuMillis", FORM_MILLI, {"CPUs", true, 0, 5, false}, true},
    {"node", "node", FORM_TEXT, {"Node", false, 6, 0, false}, true},
    {"exit", NULL, FORM_EXIT, {"Exit", true, 0, 0, false}, true},
    {"reason", "reason", FORM_TEXT, {"Reason", false, 8, 4, false}, true},
    {"uid", "uid", FORM_NUMBER, {"UID", true, 0, 0, false}, false},
    {"object", "object", FORM_TEXT, {"Object", false, 0, 0, false}, false},
    {"pod", "pod", FORM_TEXT, {"Pod", false, 0, 0, false}, false},
    {"submitted", "submitTime", FORM_TIME, {"Submitted", false, 0, 0, false}, false},
    {"eligible", "eligibleTime", FORM_TIME, {"Eligible", false, 0, 0, false}, false},
    {"started", "startTime", FORM_TIME, {"Started", false, 0, 0, false}, false},
    {"waited", NULL, FORM_WAITED, {"Waited", true, 0, 0, false}, false},
    {"limit", "timeLimitSeconds", FORM_SECONDS, {"Limit", true, 0, 0, false}, false},
    {"memory", "memoryBytes", FORM_BYTES, {"Memory", true, 0, 0, false}, false},
    {"peak", "peakMemoryBytes", FORM_BYTES, {"Peak", true, 0, 0, false}, false},
    {"rss", "rssBytes", FORM_BYTES, {"RSS", true, 0, 0, false}, false},
    {"cache", "cacheBytes", FORM_BYTES, {"Cache", true, 0, 0, false}, false},
    {"gpuutil", "gpuMillis", FORM_GPUS, {"GPU%", true, 0, 0, false}, false},
    {"gpupeak", "gpuPeakMemoryBytes", FORM_BYTES, {"GPU peak", true, 0, 0, false}, false},
    {"gpumemory", "gpuMemoryBytes", FORM_BYTES, {"GPU memory", true, 0, 0, false}, false},
    {"read", "readBytes", FORM_BYTES, {"Read", true, 0, 0, false}, false},
    {"written", "writtenBytes", FORM_BYTES, {"Written", true, 0, 0, false}, false},
    {"cputime", "cpuTimeMicros", FORM_MICROS, {"CPU time", true, 0, 0, false}, false},
    {"devices", "devices", FORM_TEXT, {"Devices", false, 0, 0, false}, false},
    {"signal", "signal", FORM_NUMBER, {"Signal", true, 0, 0, false}, false},
    {"by", "endedBy", FORM_TEXT, {"By", false, 0, 0, false}, false},
    {"message", "message", FORM_TEXT, {"Message", false, 20, 0, false}, false},
    {"script", "script", FORM_TEXT, {"Script", false, 0, 0, false}, false},
    {"index", "index", FORM_NUMBER, {"Index", true, 0, 0, false}, false},
    {"task", "task", FORM_NUMBER, {"Task", true, 0, 0, false}, false},
    {"lost", "lost", FORM_TEXT, {"Lost", false, 0, 0, false}, false},
};

_Static_assert(ARRAY_SIZE(all) <= HISTORY_COLUMNS_MOST, "-o all asks for each of them");

/* ---- Columns ---- */

static int
add_named(struct history_columns *c, const char *name, size_t length, struct error *err)
{
    const char *names[ARRAY_SIZE(all)];
    CLEANUP_FREE char *word = xstrndup(name, length);
    const char *near;

    for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
        names[i] = all[i].name;
        if (strcmp(all[i].name, word) != 0)
            continue;
        if (c->count == HISTORY_COLUMNS_MOST)
            return error_set(err, -EINVAL, "a table has %d columns at most", HISTORY_COLUMNS_MOST);
        c->items[c->count++] = i;
        return 0;
    }
    near = spelling_nearest(word, names, ARRAY_SIZE(names));
    return error_set(err, -EINVAL, "there is no column '%s'%s%s%s", word,
                     near != NULL ? " (did you mean '" : "",
                     near != NULL ? near : "; 'kctl history --help' lists all columns",
                     near != NULL ? "'?)" : "");
}

int
history_columns_parse(const char *text, struct history_columns *c, struct error *err)
{
    const bool is_all = text != NULL && strcmp(text, "all") == 0;

    *c = (struct history_columns){0};
    if (text == NULL || is_all) {
        for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
            if (is_all || all[i].is_usual)
                c->items[c->count++] = i;
        return 0;
    }
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        int r = add_named(c, text, length, err);

        if (r < 0)
            return r;
        text += length + (text[length] == ',');
    }
    return c->count > 0 ? 0 : error_set(err, -EINVAL, "which columns?");
}

/* ---- Cells ---- */

static int64_t
time_of(const struct json *row, const char *member)
{
    const char *text = json_get_text(row, member);
    int64_t us;

    return text != NULL && time_parse(text, &us) == 0 ? us : 0;
}

int64_t
history_columns_elapsed_us(const struct json *row)
{
    const int64_t start = time_of(row, "startTime");

    int64_t elapsed;

    if (start <= 0)
        return -1;
    elapsed = time_of(row, "endTime") - start - json_get_int(row, "frozenMicroseconds", 0);
    return elapsed > 0 ? elapsed : 0; /* times have whole seconds there */
}

int64_t
history_columns_memory_bytes(const struct json *row)
{
    return json_get_int(row, "rssBytes", json_get_int(row, "peakMemoryBytes", -1));
}

double
history_columns_gpu_percent(const struct json *row)
{
    const int64_t gpus = json_get_int(row, "gpus", 0);

    return gpus > 0 ? (double)json_get_int(row, "gpuMillis", 0) / 10 / (double)gpus : -1;
}

static int64_t
waited_us(const struct json *row)
{
    const int64_t start = time_of(row, "startTime");
    const int64_t wait = start - time_of(row, "eligibleTime");

    if (start == 0)
        return -1;
    return wait > 0 ? wait : 0;
}

/* "1-02:03:04", as in sacct. */
static void
add_length(int64_t us, struct strbuf *out)
{
    const int64_t s = us / SECOND_US;

    if (us < 0)
        return;
    if (s >= 86400)
        strbuf_printf(out, "%" PRId64 "-", s / 86400);
    strbuf_printf(out, "%02" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600 % 24, s / 60 % 60,
                  s % 60);
}

static void
add_milli(int64_t milli, struct strbuf *out)
{
    if (milli % 1000 == 0)
        strbuf_add_int(out, milli / 1000);
    else
        strbuf_printf(out, "%.2f", (double)milli / 1000);
}

/* A long list of tasks is cut at a comma. */
static void
add_job(const struct json *row, size_t most, struct strbuf *out)
{
    const int64_t job = json_get_int(row, "job", 0);
    const char *tasks = json_get_text(row, "tasks");

    if (job == 0)
        return;
    strbuf_add_int(out, job);
    if (json_get(row, "task") != NULL)
        strbuf_printf(out, "_%" PRId64, json_get_int(row, "task", 0));
    else if (json_get(row, "index") != NULL)
        strbuf_printf(out, "_%" PRId64, json_get_int(row, "index", 0));
    else if (tasks != NULL && strpbrk(tasks, ",-") == NULL)
        strbuf_printf(out, "_%s", tasks);
    else if (tasks != NULL) {
        size_t length = strlen(tasks);

        if (length > most) {
            length = most;
            while (length > 1 && tasks[length] != ',')
                length--;
        }
        strbuf_printf(out, tasks[length] != '\0' ? "_[%.*s,...]" : "_[%.*s]", (int)length, tasks);
    }
}

static void
add_text(const struct json *value, struct strbuf *out)
{
    if (json_text(value) != NULL)
        strbuf_add_text(out, json_text(value));
    else if (json_is_true(value))
        strbuf_add_text(out, "yes");
}

static void
add_for_people(const struct column *c, const struct json *row, struct strbuf *out)
{
    const struct json *value = c->member != NULL ? json_get(row, c->member) : NULL;
    char text[HUMAN_TEXT_SIZE];
    char when[LOCAL_TIME_SIZE];
    int64_t n = 0;

    (void)json_to_int(value, &n);
    switch (c->form) {
    case FORM_TIME:
        n = time_of(row, c->member);
        if (n > 0) {
            local_time_format(n, when);
            strbuf_add_text(out, when);
        }
        break;
    case FORM_BYTES:
        if (value != NULL) {
            human_bytes(n, text);
            strbuf_add_text(out, text);
        }
        break;
    case FORM_MILLI:
        /* a job that never started held nothing */
        if (value != NULL && json_get(row, "startTime") != NULL)
            add_milli(n, out);
        break;
    case FORM_SECONDS:
        if (value != NULL)
            add_length(n * SECOND_US, out);
        break;
    case FORM_MICROS:
        if (value != NULL)
            add_length(n, out);
        break;
    case FORM_JOB:
        add_job(row, MOST_TASKS, out);
        break;
    case FORM_ELAPSED:
        add_length(history_columns_elapsed_us(row), out);
        break;
    case FORM_WAITED:
        add_length(waited_us(row), out);
        break;
    case FORM_EXIT:
        if (json_get_int(row, "signal", 0) > 0)
            strbuf_printf(out, "0:%" PRId64, json_get_int(row, "signal", 0));
        else if (json_get(row, "exitCode") != NULL)
            strbuf_add_int(out, json_get_int(row, "exitCode", 0));
        break;
    case FORM_GPUS:
        if (history_columns_gpu_percent(row) >= 0)
            strbuf_printf(out, "%.2f", history_columns_gpu_percent(row));
        break;
    case FORM_NUMBER:
        if (value != NULL)
            strbuf_add_int(out, n);
        break;
    case FORM_TEXT:
        add_text(value, out);
        break;
    }
}

static void
add_for_programs(const struct column *c, const struct json *row, struct strbuf *out)
{
    const struct json *value = c->member != NULL ? json_get(row, c->member) : NULL;
    int64_t n = 0;

    (void)json_to_int(value, &n);
    switch (c->form) {
    case FORM_TIME:
        add_text(value, out);
        break;
    case FORM_JOB:
        add_job(row, INT_MAX, out);
        break;
    case FORM_ELAPSED:
        n = history_columns_elapsed_us(row);
        if (n >= 0)
            strbuf_add_int(out, n / SECOND_US);
        break;
    case FORM_WAITED:
        n = waited_us(row);
        if (n >= 0)
            strbuf_add_int(out, n / SECOND_US);
        break;
    case FORM_MICROS:
        if (value != NULL)
            strbuf_printf(out, "%.3f", (double)n / SECOND_US);
        break;
    case FORM_BYTES:
    case FORM_SECONDS:
        if (value != NULL)
            strbuf_add_int(out, n);
        break;
    default:
        add_for_people(c, row, out);
        break;
    }
}

void
history_columns_text(const char *name, const struct json *row, struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (strcmp(all[i].name, name) == 0)
            add_for_people(&all[i], row, out);
}

/* The members of a row that the column is made from. */
static const char *
members_of(const struct column *c)
{
    switch (c->form) {
    case FORM_JOB:
        return "job,task,index,tasks";
    case FORM_ELAPSED:
        return "startTime,endTime,frozenMicroseconds";
    case FORM_WAITED:
        return "startTime,eligibleTime";
    case FORM_EXIT:
        return "signal,exitCode";
    case FORM_GPUS:
        return "gpus,gpuMillis";
    case FORM_MILLI:
        return "cpuMillis,startTime";
    default:
        return c->member;
    }
}

void
history_columns_add_members(const struct history_columns *c, struct strbuf *out)
{
    for (size_t i = 0; i < c->count; i++)
        strbuf_printf(out, "%s%s", i > 0 ? "," : "", members_of(&all[c->items[i]]));
}

void
history_columns_add_to(const struct history_columns *c, struct grid *grid)
{
    for (size_t i = 0; i < c->count; i++)
        grid_add_styled(grid, &all[c->items[i]].style);
}

void
history_columns_add_row(const struct history_columns *c, const struct json *row, struct grid *grid)
{
    struct strbuf cells[HISTORY_COLUMNS_MOST];
    const char *texts[HISTORY_COLUMNS_MOST];

    for (size_t i = 0; i < c->count; i++) {
        strbuf_init(&cells[i]);
        add_for_people(&all[c->items[i]], row, &cells[i]);
        texts[i] = cells[i].text;
    }
    grid_add_row(grid, texts);
    for (size_t i = 0; i < c->count; i++)
        strbuf_fini(&cells[i]);
}

void
history_columns_add_csv(const struct history_columns *c, const struct json *row, struct strbuf *out)
{
    char room[256];
    struct strbuf cell;

    strbuf_init_in(&cell, room, sizeof(room));
    for (size_t i = 0; i < c->count; i++) {
        strbuf_truncate(&cell, 0);
        if (row != NULL)
            add_for_programs(&all[c->items[i]], row, &cell);
        else
            strbuf_add_text(&cell, all[c->items[i]].name);
        if (i > 0)
            strbuf_add_char(out, ',');
        sanitize_text_add_csv(cell.text, out);
    }
    strbuf_fini(&cell);
    strbuf_add_char(out, '\n');
}

/* ---- SWF ---- */

struct history_swf {
    struct map *numbers; /* "user alice" to a number */
    intptr_t next[3];
    int64_t first_us; /* submission time that others are relative to */
};

struct history_swf *
history_swf_new(void)
{
    struct history_swf *swf = xnew(struct history_swf);

    swf->numbers = map_new();
    return swf;
}

void
history_swf_free(struct history_swf *swf)
{
    if (swf == NULL)
        return;
    map_free(swf->numbers);
    free(swf);
}

static int64_t
number_of(struct history_swf *swf, unsigned which, const struct json *row, const char *member)
{
    const char *word = json_get_text(row, member);
    CLEANUP_FREE char *key = NULL;
    void *known;

    if (word == NULL)
        return -1;
    key = xasprintf("%u %s", which, word);
    known = map_find(swf->numbers, key);
    if (known == NULL) {
        known = (void *)++swf->next[which];
        (void)map_put(swf->numbers, key, known);
    }
    return (intptr_t)known;
}

/* Codes of SWF: 0 failed, 1 completed, 5 cancelled. */
static int
status_of(const char *state)
{
    if (state != NULL && strcmp(state, "Completed") == 0)
        return 1;
    return state != NULL && strcmp(state, "Cancelled") == 0 ? 5 : 0;
}

static int64_t
seconds_or_none(int64_t us)
{
    return us >= 0 ? us / SECOND_US : -1;
}

void
history_swf_add(struct history_swf *swf, const struct json *row, struct strbuf *out)
{
    const int64_t submit = time_of(row, "submitTime");
    const int64_t start = time_of(row, "startTime");
    const int64_t cpus = (json_get_int(row, "cpuMillis", 0) + 999) / 1000;
    const int64_t used = json_get_int(row, "cpuTimeMicros", -1);
    const int64_t peak = json_get_int(row, "peakMemoryBytes", -1);
    const int64_t memory = json_get_int(row, "memoryBytes", 0);
    const int64_t limit = json_get_int(row, "timeLimitSeconds", -1);
    const int64_t per = cpus > 0 ? cpus : 1;

    if (swf->first_us == 0) {
        swf->first_us = submit;
        strbuf_printf(out,
                      "; Version: 2.2\n; UnixStartTime: %" PRId64 "\n"
                      "; Note: from kctl history; memory in KiB per CPU; "
                      "rows in the order of their end\n",
                      submit / SECOND_US);
    }
    strbuf_printf(out, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                  json_get_int(row, "job", 0), (submit - swf->first_us) / SECOND_US,
                  start > 0 ? seconds_or_none(start - submit) : -1,
                  seconds_or_none(history_columns_elapsed_us(row)), cpus);
    if (used >= 0)
        strbuf_printf(out, " %.2f", (double)used / SECOND_US / (double)per);
    else
        strbuf_add_text(out, " -1");
    strbuf_printf(out,
                  " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d"
                  " %" PRId64 " %" PRId64 " -1 -1 %" PRId64 " -1 -1\n",
                  peak >= 0 ? peak / 1024 / per : -1, cpus, limit,
                  memory > 0 ? memory / 1024 / per : -1, status_of(json_get_text(row, "state")),
                  number_of(swf, 0, row, "user"), number_of(swf, 1, row, "account"),
                  number_of(swf, 2, row, "partition"));
}
