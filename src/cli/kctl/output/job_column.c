/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/job_column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/kctl/output/job_list.h"
#include "cli/print/grid.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/meta.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/spelling.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static const struct job_column columns[] = {
    {"id", "ID", "ID", JOB_COLUMN_CELL, true, false, true, 0, 0},
    {"name", "NAME", "Name", JOB_COLUMN_NAME, false, false, true, 6, 0},
    {"user", "USER", "User", JOB_COLUMN_CELL, false, false, true, 4, 1},
    {"account", "ACCOUNT", NULL, JOB_COLUMN_ACCOUNT, false, true, false, 0, 0},
    {"partition", "PARTITION", "Partition", JOB_COLUMN_CELL, false, true, false, 0, 0},
    {"state", "STATE", "State", JOB_COLUMN_CELL, false, false, true, 0, 0},
    {"code", "ST", "State", JOB_COLUMN_CODE, false, true, false, 0, 0},
    {"timelimit", "TIME/LIMIT", "Time", JOB_COLUMN_TIME_AND_LIMIT, true, false, true, 0, 0},
    {"time", "TIME", "Time", JOB_COLUMN_CELL, true, false, false, 0, 0},
    {"limit", "LIMIT", "Limit", JOB_COLUMN_CELL, true, false, false, 0, 0},
    {"cpus", "CPUS", "CPUs", JOB_COLUMN_CELL, true, false, true, 0, 4},
    {"start", "START", "Start", JOB_COLUMN_START, false, false, true, 0, 2},
    {"where", "WHERE/WHY", "Node", JOB_COLUMN_WHERE, false, false, true, 12, 3},
    {"node", "NODE", "Node", JOB_COLUMN_CELL, false, false, false, 0, 0},
    {"reason", "REASON", "Reason", JOB_COLUMN_CELL, false, false, false, 0, 0},
    {"submitted", "SUBMITTED", NULL, JOB_COLUMN_SUBMITTED, false, true, false, 0, 0},
    {"started", "STARTED", "Started", JOB_COLUMN_POINT, false, true, false, 0, 0},
    {"ended", "ENDED", "Ended", JOB_COLUMN_POINT, false, true, false, 0, 0},
    {"exit", "EXIT", "Exit", JOB_COLUMN_CELL, true, true, false, 0, 0},
    {"priority", "PRIORITY", "Priority", JOB_COLUMN_CELL, true, false, false, 0, 0},
    {"attempts", "ATTEMPTS", "Attempts", JOB_COLUMN_CELL, true, false, false, 0, 0},
    {"age", "AGE", "Age", JOB_COLUMN_CELL, true, false, false, 0, 0},
    {"object", "OBJECT", "Object", JOB_COLUMN_CELL, false, false, false, 0, 0},
};

static void
choose(struct job_list_style *style, bool is_wide, bool is_all)
{
    style->n_columns = 0;
    for (unsigned i = 0; i < ARRAY_SIZE(columns); i++)
        if (is_all || columns[i].is_plain || (is_wide && columns[i].is_wide))
            style->columns[style->n_columns++] = i;
}

static int
refuse_column(const char *word, struct error *err)
{
    static const char *const forms[] = {"wide", "json", "yaml", "name", "csv"};
    const char *names[ARRAY_SIZE(columns) + ARRAY_SIZE(forms)];
    const char *near;
    size_t n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(columns); i++)
        names[n++] = columns[i].name;
    for (unsigned i = 0; i < ARRAY_SIZE(forms); i++)
        names[n++] = forms[i];
    near = spelling_nearest(word, names, n);
    if (near != NULL)
        return error_set(err, -EINVAL, "-o: there is no column '%s' (did you mean '%s'?)", word,
                         near);
    return error_set(err, -EINVAL,
                     "-o: there is no column '%s'; use wide, json, yaml, "
                     "name, csv, or a list of columns such as id,name,state "
                     "('kctl jobs --help' lists all columns)",
                     word);
}

static int
read_columns(const char *text, struct job_list_style *style, struct error *err)
{
    style->n_columns = 0;
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        char word[64];
        unsigned i = 0;

        memcpy(word, at, length < 63 ? length : 63);
        word[length < 63 ? length : 63] = '\0';
        while (i < ARRAY_SIZE(columns) && strcasecmp(columns[i].name, word) != 0)
            i++;
        if (i == ARRAY_SIZE(columns))
            return refuse_column(word, err);
        if (style->n_columns == JOB_LIST_MAX_COLUMNS)
            return error_set(err, -EINVAL, "-o: too many columns");
        style->columns[style->n_columns++] = i;
        if (at[length] == '\0')
            return 0;
        at += length + 1;
    }
}

int
job_list_style_parse(const char *text, struct job_list_style *style, struct error *err)
{
    style->form = JOB_LIST_TABLE;
    style->is_cut = text == NULL;
    choose(style, text != NULL && strcmp(text, "wide") == 0, false);
    if (text == NULL || strcmp(text, "wide") == 0)
        return 0;
    if (strcmp(text, "json") == 0)
        style->form = JOB_LIST_JSON;
    else if (strcmp(text, "yaml") == 0)
        style->form = JOB_LIST_YAML;
    else if (strcmp(text, "name") == 0)
        style->form = JOB_LIST_NAMES;
    else if (strcmp(text, "csv") == 0) {
        style->form = JOB_LIST_CSV;
        choose(style, true, true);
    } else if (strncmp(text, "csv=", 4) == 0) {
        style->form = JOB_LIST_CSV;
        return read_columns(text + 4, style, err);
    } else
        return read_columns(text, style, err);
    return 0;
}

unsigned
job_column_named(const char *name)
{
    unsigned i = 0;

    while (strcmp(columns[i].name, name) != 0)
        i++;
    return i;
}

const struct job_column *
job_column_at(unsigned place)
{
    return place < ARRAY_SIZE(columns) ? &columns[place] : NULL;
}
