/* SPDX-License-Identifier: Apache-2.0 */
/* A hint about a script ("srun is called here", "this module is loaded") needs to know which
 * words are commands, and only a shell knows that for certain. This reads the grammar that
 * decides it, quotes, substitutions, here documents and case patterns, and expands nothing. A
 * wrong guess must not hide the rest of the script, so a here document without an end is
 * passed over only if an end exists, and the number of such searches is bounded: any bytes may
 * come.
 */
#include "cli/shell/shell_reader.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "cli/shell/shell_word.h"
#include "lib/base/macro.h"

#define DEEPEST        64
#define WORD_SIZE      128
#define MOST_DOCUMENTS 8
#define MOST_MISSED    64

/* Commands are in FRAME_COMMANDS (the script, or "(...)"), which includes those
 * of "`...`" and "$(...)".
 */
enum frame_kind {
    FRAME_COMMANDS,
    FRAME_BACKQUOTES,
    FRAME_LIST,      /* x=(a b), !(a|b): words that are no commands */
    FRAME_QUOTES,    /* "..." */
    FRAME_PARAMETER, /* ${...} */
    FRAME_SUM,       /* $((...)), ((...)) */
};

/* The meaning of the next word */
enum position {
    POSITION_COMMAND,
    POSITION_PREFIX,   /* an option of "env" or "timeout", or the command */
    POSITION_ARGUMENT, /* of no interest */
    POSITION_LOOKUP,   /* an argument of "which" */
    POSITION_FUNCTION, /* the name after "function" */
    POSITION_CASE,     /* between "case" and "in" */
    POSITION_PATTERN,
};

struct shell_frame {
    enum frame_kind kind;
    enum position position;
    unsigned cases;  /* open "case"s */
    unsigned parens; /* open in a sum */
    bool is_target;  /* the next word is the file of a redirection */
    bool may_query;  /* the prefix was "command" */
    /* The current word without quotes; what does not fit is left out */
    bool in_word;
    bool is_expanded; /* it contains a substitution */
    unsigned line;
    size_t n;
    char word[WORD_SIZE];
};

struct here_document {
    const char *delimiter;
    size_t length;
    bool has_tabs; /* <<- */
};

struct shell_reader {
    const char *at, *end;
    unsigned line;
    struct shell_frame frames[DEEPEST];
    size_t depth; /* frames[depth - 1] is the current one */
    struct here_document documents[MOST_DOCUMENTS];
    unsigned n_documents;
    unsigned n_missed; /* documents without an end: the search for it is costly */
    bool is_too_deep;
    shell_reader_fn *visit;
    void *context;
};

static struct shell_frame *
top(struct shell_reader *r)
{
    return &r->frames[r->depth - 1];
}

static char
next(const struct shell_reader *r, size_t n)
{
    return (size_t)(r->end - r->at) > n ? r->at[n] : '\0';
}

static bool
has_commands(const struct shell_frame *f)
{
    return f->kind <= FRAME_LIST;
}

static void
push(struct shell_reader *r, enum frame_kind kind)
{
    struct shell_frame *f;

    if (r->depth == DEEPEST) {
        r->is_too_deep = true;
        return;
    }
    f = &r->frames[r->depth++];
    memset(f, 0, offsetof(struct shell_frame, word));
    f->kind = kind;
    f->position = kind == FRAME_LIST ? POSITION_ARGUMENT : POSITION_COMMAND;
}

static void
pop(struct shell_reader *r)
{
    if (r->depth > 1)
        r->depth--;
}

/* ---- Words ---- */

static void
report(struct shell_reader *r, enum shell_part part, const struct shell_frame *f)
{
    if (!f->is_expanded)
        r->visit(part, f->word, f->n, f->line, r->context);
}

static bool
is_word(const struct shell_frame *f, const char *word)
{
    return strlen(word) == f->n && memcmp(f->word, word, f->n) == 0;
}

static void
end_command_word(struct shell_reader *r, struct shell_frame *f)
{
    const enum shell_word word = shell_word_find(f->word, f->n);

    if (word == SHELL_WORD_ASSIGNMENT || (word == SHELL_WORD_RESERVED && !f->is_expanded))
        return;
    f->position = POSITION_ARGUMENT;
    if (f->is_expanded)
        return;
    if (word == SHELL_WORD_CASE) {
        f->position = POSITION_CASE;
    } else if (word == SHELL_WORD_ESAC) {
        f->cases -= f->cases > 0;
    } else if (word == SHELL_WORD_FUNCTION) {
        f->position = POSITION_FUNCTION;
    } else {
        report(r, SHELL_COMMAND, f);
        f->may_query = is_word(f, "command");
        if (word == SHELL_WORD_LOOKUP)
            f->position = POSITION_LOOKUP;
        else if (word == SHELL_WORD_PREFIX)
            f->position = POSITION_PREFIX;
    }
}

/* Options, numbers (timeout 60) and assignments (env A=1) are passed over. */
static void
end_prefixed_word(struct shell_reader *r, struct shell_frame *f)
{
    if (f->may_query && (is_word(f, "-v") || is_word(f, "-V")))
        f->position = POSITION_LOOKUP;
    else if (f->is_expanded
             || (f->n > 0 && f->word[0] != '-' && !isdigit((unsigned char)f->word[0])))
        end_command_word(r, f);
}

static void
end_word(struct shell_reader *r)
{
    struct shell_frame *f = top(r);

    if (!f->in_word)
        return;
    f->in_word = false;
    if (f->is_target) {
        f->is_target = false;
        return;
    }
    switch (f->position) {
    case POSITION_COMMAND:
        end_command_word(r, f);
        break;
    case POSITION_PREFIX:
        end_prefixed_word(r, f);
        break;
    case POSITION_LOOKUP:
        report(r, SHELL_LOOKUP, f);
        break;
    case POSITION_FUNCTION:
        report(r, SHELL_LOOKUP, f);
        f->position = POSITION_COMMAND;
        break;
    case POSITION_CASE:
        if (is_word(f, "in")) {
            f->position = POSITION_PATTERN;
            f->cases++;
        }
        break;
    case POSITION_PATTERN:
        if (is_word(f, "esac")) {
            f->cases -= f->cases > 0;
            f->position = POSITION_ARGUMENT;
        }
        break;
    case POSITION_ARGUMENT:
        break;
    }
}

static void
begin_word(struct shell_reader *r)
{
    struct shell_frame *f = top(r);

    if (f->in_word)
        return;
    f->in_word = true;
    f->is_expanded = false;
    f->n = 0;
    f->line = r->line;
}

/* Adds to the word of the innermost list of commands. */
static void
add(struct shell_reader *r, char c)
{
    struct shell_frame *f = top(r);

    if (f->kind == FRAME_QUOTES && r->depth > 1)
        f--;
    if (has_commands(f) && f->n < WORD_SIZE)
        f->word[f->n++] = c;
}

/* ---- Here documents ---- */

static void
add_document(struct shell_reader *r)
{
    struct here_document d = {0};
    char quote = '\0';

    r->at += 2;
    if (next(r, 0) == '-') {
        d.has_tabs = true;
        r->at++;
    }
    while (next(r, 0) == ' ' || next(r, 0) == '\t')
        r->at++;
    if (next(r, 0) == '\'' || next(r, 0) == '"')
        quote = *r->at++;
    else if (next(r, 0) == '\\')
        r->at++;
    d.delimiter = r->at;
    while (r->at < r->end && *r->at != '\n'
           && (quote != '\0' ? *r->at != quote : strchr(" \t;&|<>()`\"'", *r->at) == NULL))
        r->at++;
    d.length = (size_t)(r->at - d.delimiter);
    if (quote != '\0' && next(r, 0) == quote)
        r->at++;
    if (d.length > 0 && r->n_documents < MOST_DOCUMENTS && r->n_missed < MOST_MISSED)
        r->documents[r->n_documents++] = d;
}

/* Passes over the document if it ends; a wrong guess must not hide the rest of
 * the script.
 */
static void
skip_document(struct shell_reader *r, const struct here_document *d)
{
    const char *p = r->at;
    unsigned line = r->line;

    while (p < r->end) {
        const char *newline = memchr(p, '\n', (size_t)(r->end - p));
        const char *stop = newline != NULL ? newline : r->end;

        while (d->has_tabs && p < stop && *p == '\t')
            p++;
        if ((size_t)(stop - p) == d->length && memcmp(p, d->delimiter, d->length) == 0) {
            r->at = newline != NULL ? newline + 1 : r->end;
            r->line = line + (newline != NULL);
            return;
        }
        p = stop + 1;
        line++;
    }
    r->n_missed++;
}

/* ---- Quotes and substitutions ---- */

/* Reads '...' or, with escapes, $'...'; `at` is behind the first quote. */
static void
read_single_quotes(struct shell_reader *r, bool has_escapes)
{
    while (r->at < r->end && *r->at != '\'') {
        if (has_escapes && *r->at == '\\' && r->at + 1 < r->end)
            r->at++;
        r->line += *r->at == '\n';
        add(r, *r->at++);
    }
    r->at += r->at < r->end;
}

static void
read_dollar(struct shell_reader *r, bool is_quoted)
{
    struct shell_frame *f = top(r);

    if (f->kind == FRAME_QUOTES && r->depth > 1)
        f--;
    r->at++;
    if (next(r, 0) == '(' && next(r, 1) == '(') {
        r->at += 2;
        f->is_expanded = true;
        push(r, FRAME_SUM);
    } else if (next(r, 0) == '(') {
        r->at++;
        f->is_expanded = true;
        push(r, FRAME_COMMANDS);
    } else if (next(r, 0) == '{') {
        r->at++;
        f->is_expanded = true;
        push(r, FRAME_PARAMETER);
    } else if (next(r, 0) == '\'' && !is_quoted) {
        r->at++;
        read_single_quotes(r, true);
    } else {
        f->is_expanded = f->is_expanded || isalnum((unsigned char)next(r, 0)) || next(r, 0) == '_';
        r->at += next(r, 0) == '#' || next(r, 0) == '$'; /* "$#" is no comment */
    }
}

static void
read_escape(struct shell_reader *r)
{
    r->at++;
    if (r->at == r->end)
        return;
    if (*r->at == '\n') {
        r->line++;
        r->at++;
        return;
    }
    if (has_commands(top(r)))
        begin_word(r);
    add(r, *r->at++);
}

/* A character of "...", ${...} or ((...)). */
static void
read_inside(struct shell_reader *r)
{
    struct shell_frame *f = top(r);
    const char c = *r->at;

    if (c == '\\') {
        read_escape(r);
    } else if (c == '$') {
        read_dollar(r, f->kind == FRAME_QUOTES);
    } else if (c == '`') {
        r->at++;
        push(r, FRAME_BACKQUOTES);
    } else if (c == '"') {
        r->at++;
        if (f->kind == FRAME_QUOTES)
            pop(r);
        else
            push(r, FRAME_QUOTES);
    } else if (c == '\'' && f->kind == FRAME_PARAMETER && f[-1].kind != FRAME_QUOTES) {
        r->at++;
        read_single_quotes(r, false);
    } else {
        if (c == '}' && f->kind == FRAME_PARAMETER)
            pop(r);
        else if (c == '(' && f->kind == FRAME_SUM)
            f->parens++;
        else if (c == ')' && f->kind == FRAME_SUM && f->parens > 0)
            f->parens--;
        else if (c == ')' && f->kind == FRAME_SUM) {
            r->at += next(r, 1) == ')';
            pop(r);
        } else {
            add(r, c);
        }
        r->line += c == '\n';
        r->at++;
    }
}

/* ---- Commands ---- */

static void
end_command(struct shell_reader *r)
{
    struct shell_frame *f = top(r);

    end_word(r);
    f->is_target = false;
    if (f->kind != FRAME_LIST && f->position != POSITION_PATTERN && f->position != POSITION_CASE)
        f->position = POSITION_COMMAND;
}

/* 2>&1, &>file, >>file, <file, <<END, <<<text, <(command) */
static void
read_redirection(struct shell_reader *r)
{
    struct shell_frame *f = top(r);
    const char c = *r->at;

    if (f->in_word && strspn(f->word, "0123456789") >= f->n)
        f->in_word = false; /* the number of a file descriptor */
    end_word(r);
    if (next(r, 1) == '(') {
        begin_word(r);
        f->is_expanded = true;
        r->at += 2;
        push(r, FRAME_COMMANDS);
        return;
    }
    if (c == '<' && next(r, 1) == '<' && next(r, 2) != '<') {
        add_document(r);
        return;
    }
    while (next(r, 0) == c)
        r->at++;
    if (next(r, 0) == '&' || next(r, 0) == '|' || next(r, 0) == '>')
        r->at++;
    f->is_target = true;
}

static void
read_open(struct shell_reader *r)
{
    struct shell_frame *f = top(r);
    const char *p = r->at + 1;

    while (p < r->end && (*p == ' ' || *p == '\t'))
        p++;
    if (f->position == POSITION_PATTERN) {
        r->at++;
        return;
    }
    if (p < r->end && *p == ')' && f->kind != FRAME_LIST
        && (f->in_word || f->position == POSITION_ARGUMENT || f->position == POSITION_COMMAND)) {
        /* NAME() defines a function; NAME () was already told as a command. */
        f->in_word = false;
        report(r, SHELL_LOOKUP, f);
        f->position = POSITION_COMMAND;
        r->at = p + 1;
        return;
    }
    if (next(r, 1) == '(' && (!f->in_word || f->position == POSITION_ARGUMENT)) {
        r->at += 2;
        push(r, FRAME_SUM);
        return;
    }
    r->at++;
    if (f->in_word || f->position != POSITION_COMMAND) {
        begin_word(r);
        push(r, FRAME_LIST);
        return;
    }
    f->position = POSITION_ARGUMENT;
    push(r, FRAME_COMMANDS);
}

static void
read_close(struct shell_reader *r)
{
    struct shell_frame *f = top(r);

    end_word(r);
    r->at++;
    if (f->cases > 0 || r->depth == 1 || f->kind == FRAME_BACKQUOTES)
        f->position = POSITION_COMMAND; /* behind a pattern */
    else
        pop(r);
}

static void
read_separator(struct shell_reader *r)
{
    struct shell_frame *f = top(r);
    const char c = *r->at;

    if (c == '&' && next(r, 1) == '>') {
        r->at++;
        read_redirection(r);
        return;
    }
    end_command(r);
    r->at++;
    if (c == ';' && f->cases > 0 && (next(r, 0) == ';' || next(r, 0) == '&')) {
        r->at++;
        f->position = POSITION_PATTERN;
    }
    if (c != '\n')
        return;
    r->line++;
    for (unsigned i = 0; i < r->n_documents; i++)
        skip_document(r, &r->documents[i]);
    r->n_documents = 0;
}

static void
read_comment(struct shell_reader *r)
{
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const char *stop = newline != NULL ? newline : r->end;

    r->visit(SHELL_COMMENT, r->at, (size_t)(stop - r->at), r->line, r->context);
    r->at = stop;
}

static void
read_backquote(struct shell_reader *r)
{
    struct shell_frame *f = top(r);

    r->at++;
    if (f->kind == FRAME_BACKQUOTES) {
        end_word(r);
        pop(r);
        return;
    }
    begin_word(r);
    f->is_expanded = true;
    push(r, FRAME_BACKQUOTES);
}

static void
read_quotes(struct shell_reader *r)
{
    const bool is_single = *r->at++ == '\'';

    begin_word(r);
    if (is_single)
        read_single_quotes(r, false);
    else
        push(r, FRAME_QUOTES);
}

static void
read_command_character(struct shell_reader *r)
{
    const char c = *r->at;

    if (c == '\\') {
        read_escape(r);
    } else if (c == '\'' || c == '"') {
        read_quotes(r);
    } else if (c == '$') {
        begin_word(r);
        read_dollar(r, false);
    } else if (c == '`') {
        read_backquote(r);
    } else if (c == ' ' || c == '\t') {
        end_word(r);
        r->at++;
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
        read_separator(r);
    } else if (c == '<' || c == '>') {
        read_redirection(r);
    } else if (c == '(') {
        read_open(r);
    } else if (c == ')') {
        read_close(r);
    } else if (c == '#' && !top(r)->in_word) {
        read_comment(r);
    } else {
        begin_word(r);
        add(r, c);
        r->at++;
    }
}

void
shell_reader_visit(const char *script, size_t length, shell_reader_fn *visit, void *context)
{
    struct shell_reader r;

    r.at = script;
    r.end = script + length;
    r.line = 1;
    r.depth = 0;
    r.n_documents = r.n_missed = 0;
    r.is_too_deep = false;
    r.visit = visit;
    r.context = context;
    push(&r, FRAME_COMMANDS);
    while (r.at < r.end && !r.is_too_deep)
        if (has_commands(top(&r)))
            read_command_character(&r);
        else
            read_inside(&r);
    if (has_commands(top(&r)))
        end_word(&r);
}
