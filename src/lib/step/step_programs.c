/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_programs.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define WORDS_MOST 4096u

struct program_line {
    struct task_list tasks; /* none: all others */
    const char **words;
    unsigned n_words;
    unsigned number; /* of the line in the file, from 1 */
};

struct step_programs {
    struct program_line *lines;
    unsigned n_lines, capacity;
    unsigned *line_of; /* by task: the index of its line */
    unsigned *offset;  /* by task: its place among the tasks of the line */
};

struct reader {
    struct arena *arena;
    const char *at;
    unsigned line;
    struct error *err;
};

/* Goes on to the next character, after continued lines, and returns it; 0 at the end of the line or text. */
static char
next_character(struct reader *r)
{
    while (r->at[0] == '\\' && r->at[1] == '\n') {
        r->at += 2;
        r->line++;
    }
    return r->at[0] == '\n' ? '\0' : r->at[0];
}

static void
skip_blanks(struct reader *r)
{
    while (next_character(r) == ' ' || next_character(r) == '\t' || next_character(r) == '\r')
        r->at++;
}

/* One word, without its quotes; NULL at the end of the line. -EINVAL: a quote is open. */
static int
read_word(struct reader *r, const char **ret_word)
{
    CLEANUP_STRBUF struct strbuf word = STRBUF_INIT;
    char quote = '\0', c;

    skip_blanks(r);
    *ret_word = NULL;
    if (next_character(r) == '\0')
        return 0;
    while ((c = next_character(r)) != '\0' && (quote != '\0' || !isspace((unsigned char)c))) {
        r->at++;
        if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
            continue;
        }
        if (c == quote && quote != '\0') {
            quote = '\0';
            continue;
        }
        if (c == '\\' && quote != '\'' && next_character(r) != '\0') {
            c = next_character(r);
            r->at++;
        }
        strbuf_add(&word, &c, 1);
    }
    if (quote != '\0')
        return error_set(r->err, -EINVAL, "line %u: a quote (%c) is not closed", r->line, quote);
    *ret_word = arena_strndup(r->arena, word.text != NULL ? word.text : "", word.length);
    return 0;
}

static int
read_words(struct reader *r, struct program_line *line)
{
    size_t capacity = 0;
    const char **words = NULL;
    const char *word = NULL;
    int status = 0;

    while (status == 0 && (status = read_word(r, &word)) == 0 && word != NULL) {
        xgrow(words, line->n_words, capacity);
        words[line->n_words++] = word;
        if (line->n_words > WORDS_MOST)
            status =
                error_set(r->err, -EINVAL, "line %u: more than %u words", line->number, WORDS_MOST);
    }
    if (status == 0 && line->n_words == 0)
        status =
            error_set(r->err, -EINVAL, "line %u: a program must follow the tasks", line->number);
    if (status == 0)
        line->words = arena_memdup(r->arena, words, line->n_words * sizeof(*words));
    free(words);
    return status;
}

static int
read_line(struct reader *r, struct step_programs *p)
{
    struct program_line line = {.number = r->line};
    struct error why = {0};
    const char *tasks;
    int status = read_word(r, &tasks);

    if (status < 0 || tasks == NULL)
        return status;
    if (strcmp(tasks, "*") != 0
        && (task_list_parse(r->arena, tasks, &line.tasks, &why) < 0 || line.tasks.total == 0))
        return error_set(r->err, -EINVAL, "line %u: '%.80s' names no tasks%s%.200s", line.number,
                         tasks, why.code != 0 ? ": " : "", why.text);
    status = read_words(r, &line);
    if (status < 0)
        return status;
    if (p->n_lines == p->capacity) {
        struct program_line *longer;

        p->capacity = p->capacity > 0 ? p->capacity * 2 : 16;
        longer = arena_new_array(r->arena, struct program_line, p->capacity);
        if (p->n_lines > 0)
            memcpy(longer, p->lines, p->n_lines * sizeof(*longer));
        p->lines = longer;
    }
    p->lines[p->n_lines++] = line;
    return 0;
}

#define NOBODY (~0u)

static int
assign_line(struct step_programs *p, unsigned index, unsigned n_tasks, struct error *err)
{
    const struct program_line *line = &p->lines[index];
    const struct task_list *list = &line->tasks;

    for (size_t i = 0; i < list->count; i++)
        if (list->ranges[i].last >= n_tasks)
            return error_set(err, -EINVAL, "line %u: there is no task %lld; the step has %u task%s",
                             line->number, (long long)list->ranges[i].last, n_tasks,
                             n_tasks == 1 ? "" : "s");
    for (int64_t i = 0; i < list->total; i++) {
        const unsigned task = (unsigned)task_list_at(list, i);

        if (p->line_of[task] != NOBODY)
            return error_set(err, -EINVAL, "line %u: task %u already has a program, in line %u",
                             line->number, task, p->lines[p->line_of[task]].number);
        p->line_of[task] = index;
        p->offset[task] = (unsigned)i;
    }
    return 0;
}

static int
assign_others(struct step_programs *p, unsigned n_tasks, struct error *err)
{
    unsigned others = p->n_lines, count = 0;

    for (unsigned i = 0; i < p->n_lines; i++) {
        if (p->lines[i].tasks.total > 0)
            continue;
        if (others < p->n_lines)
            return error_set(err, -EINVAL, "line %u: line %u already has all other tasks",
                             p->lines[i].number, p->lines[others].number);
        others = i;
    }
    for (unsigned task = 0; task < n_tasks; task++) {
        if (p->line_of[task] != NOBODY)
            continue;
        if (others == p->n_lines)
            return error_set(err, -EINVAL, "No executable program specified for this task: %u",
                             task);
        p->line_of[task] = others;
        p->offset[task] = count++;
    }
    return 0;
}

int
step_programs_parse(struct arena *arena, const char *text, unsigned n_tasks,
                    struct step_programs **ret_programs, struct error *err)
{
    struct step_programs *p = arena_alloc(arena, sizeof(*p));
    struct reader r = {.arena = arena, .at = text, .line = 1, .err = err};
    int status = 0;

    if (strlen(text) > STEP_PROGRAMS_BYTES_MOST)
        return error_set(err, -EINVAL, "the file has more than %u bytes", STEP_PROGRAMS_BYTES_MOST);
    while (status == 0 && r.at[0] != '\0') {
        if (r.at[0] == '#')
            r.at += strcspn(r.at, "\n");
        else
            status = read_line(&r, p);
        if (status == 0 && r.at[0] == '\n') {
            r.at++;
            r.line++;
        }
    }
    if (status < 0)
        return status;
    p->line_of = arena_new_array(arena, unsigned, n_tasks);
    p->offset = arena_new_array(arena, unsigned, n_tasks);
    for (unsigned task = 0; task < n_tasks; task++)
        p->line_of[task] = NOBODY;
    for (unsigned i = 0; i < p->n_lines && status == 0; i++)
        status = assign_line(p, i, n_tasks, err);
    if (status == 0)
        status = assign_others(p, n_tasks, err);
    if (status == 0)
        *ret_programs = p;
    return status;
}

static const char *
replace(struct arena *arena, const char *word, unsigned task, unsigned offset)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char *percent;

    if (strstr(word, "%t") == NULL && strstr(word, "%o") == NULL)
        return word;
    while ((percent = strchr(word, '%')) != NULL) {
        strbuf_add(&out, word, (size_t)(percent - word));
        if (percent[1] == 't' || percent[1] == 'o') {
            strbuf_printf(&out, "%u", percent[1] == 't' ? task : offset);
            word = percent + 2;
        } else {
            strbuf_add_text(&out, "%");
            word = percent + 1;
        }
    }
    strbuf_add_text(&out, word);
    return arena_strndup(arena, out.text, out.length);
}

const char **
step_programs_arguments(struct arena *arena, const struct step_programs *programs, unsigned task,
                        const char *const *more, unsigned n_more)
{
    const struct program_line *line = &programs->lines[programs->line_of[task]];
    const char **words = arena_new_array(arena, const char *, (size_t)line->n_words + n_more + 1);

    for (unsigned i = 0; i < line->n_words; i++)
        words[i] = replace(arena, line->words[i], task, programs->offset[task]);
    for (unsigned i = 0; i < n_more; i++)
        words[line->n_words + i] = more[i];
    return words;
}
