/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/scrontab_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cli/ksub/job_script.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define BLANKS    " \t"
#define DIRECTIVE "#SCRON"

/* Lines that were read since the last entry. */
struct table_reader {
    struct arena *arena;
    struct scrontab_table *table;
    struct strbuf text, options, environment;
    unsigned line;
    bool has_comment; /* behind the last #SCRON: it may be the entry */
};

static bool
is_directive(const char *line)
{
    const size_t n = strlen(DIRECTIVE);

    return strncmp(line, DIRECTIVE, n) == 0 && (line[n] == ' ' || line[n] == '\t');
}

/* The length of the name in "NAME=VALUE"; 0: it is none. */
static size_t
name_length(const char *line)
{
    size_t n = 0, end;

    if (!isalpha((unsigned char)line[0]) && line[0] != '_')
        return 0;
    while (isalnum((unsigned char)line[n]) || line[n] == '_')
        n++;
    end = n + strspn(line + n, BLANKS);
    return line[end] == '=' ? n : 0;
}

/* A variable, quoted for the shell. */
static void
add_variable(struct table_reader *r, const char *line, size_t name)
{
    const char *value = strchr(line, '=') + 1;
    size_t length;

    value += strspn(value, BLANKS);
    length = strlen(value);
    while (length > 0 && strchr(BLANKS "\r", value[length - 1]) != NULL)
        length--;
    if (length > 1 && (value[0] == '"' || value[0] == '\'') && value[length - 1] == value[0]) {
        value++;
        length -= 2;
    }
    strbuf_printf(&r->environment, "export %.*s='", (int)name, line);
    for (size_t i = 0; i < length; i++)
        if (value[i] == '\'')
            strbuf_add_text(&r->environment, "'\\''");
        else
            strbuf_add_char(&r->environment, value[i]);
    strbuf_add_text(&r->environment, "'\n");
}

/* The command behind the schedule; NULL: there is none. */
static const char *
find_command(const char *line)
{
    const unsigned fields = line[0] == '@' ? 1 : 5;
    const char *p = line;

    for (unsigned i = 0; i < fields; i++) {
        p += strcspn(p, BLANKS);
        if (*p == '\0')
            return NULL;
        p += strspn(p, BLANKS);
    }
    return *p != '\0' ? p : NULL;
}

static int
add_entry(struct table_reader *r, const char *line, struct error *err)
{
    struct scrontab_table *t = r->table;
    struct scrontab_entry *e = &t->entries[t->count];
    const char *command = find_command(line);
    const char *end = command;

    if (command == NULL)
        return error_set(err, -EINVAL,
                         "line %u: expected minute, hour, day, month and weekday, or a word such "
                         "as @daily, and a command: '%.80s'",
                         r->line, line);
    if (strncmp(line, "@reboot", 7) == 0)
        return error_set(err, -EINVAL, "line %u: @reboot is no time of a cluster", r->line);
    if (t->count == SCRONTAB_ENTRIES_MOST)
        return error_set(err, -E2BIG, "line %u: more than %d entries", r->line,
                         SCRONTAB_ENTRIES_MOST);
    while (end > line && strchr(BLANKS, end[-1]) != NULL)
        end--;
    *e = (struct scrontab_entry){
        .text = arena_strdup(r->arena, r->text.text),
        .environment = arena_strdup(r->arena, r->environment.length > 0 ? r->environment.text : ""),
        .schedule = arena_strndup(r->arena, line, (size_t)(end - line)),
        .command = arena_strdup(r->arena, command),
        .line = r->line,
    };
    if (job_script_split(r->options.length > 0 ? r->options.text : "", r->arena, &e->words,
                         &e->n_words, err)
        < 0)
        return error_wrap(err, -EINVAL, "line %u: " DIRECTIVE, r->line);
    t->count++;
    strbuf_truncate(&r->text, 0);
    strbuf_truncate(&r->options, 0);
    return 0;
}

static int
read_line(struct table_reader *r, const char *line, struct error *err)
{
    const char *p = line + strspn(line, BLANKS);
    const size_t name = name_length(p);

    strbuf_printf(&r->text, "%s\n", line);
    if (is_directive(p))
        strbuf_printf(&r->options, "%s ", p + strlen(DIRECTIVE));
    if (*p == '#')
        r->has_comment = !is_directive(p);
    else if (*p == '\0' || *p == '\r')
        return 0;
    else if (name > 0)
        add_variable(r, p, name);
    else
        return add_entry(r, p, err);
    return 0;
}

static int
end_table(struct table_reader *r, struct error *err)
{
    struct scrontab_table *t = r->table;

    if (r->options.length > 0 && !r->has_comment)
        return error_set(err, -EINVAL, "line %u: no entry follows the last " DIRECTIVE, r->line);
    if (t->count == 0 && r->text.length > 0 && strspn(r->text.text, BLANKS "\r\n") < r->text.length)
        return error_set(err, -EINVAL,
                         "there is no entry, and comments alone are not kept; 'scrontab -r' "
                         "removes the table");
    if (t->count > 0 && r->text.length > 0)
        t->entries[t->count - 1].text =
            arena_printf(r->arena, "%s%s", t->entries[t->count - 1].text, r->text.text);
    return 0;
}

int
scrontab_table_parse(const char *text, struct arena *arena, struct scrontab_table *ret,
                     struct error *err)
{
    struct table_reader r = {.arena = arena,
                             .table = ret,
                             .text = STRBUF_INIT,
                             .options = STRBUF_INIT,
                             .environment = STRBUF_INIT};
    char *rest = arena_strdup(arena, text);
    int result = 0;

    *ret = (struct scrontab_table){
        .entries = arena_new_array(arena, struct scrontab_entry, SCRONTAB_ENTRIES_MOST)};
    for (char *line; result == 0 && (line = strsep(&rest, "\n")) != NULL;) {
        if (rest == NULL && *line == '\0')
            break;
        r.line++;
        result = read_line(&r, line, err);
    }
    if (result == 0)
        result = end_table(&r, err);
    strbuf_fini(&r.text);
    strbuf_fini(&r.options);
    strbuf_fini(&r.environment);
    return result;
}

const char *
scrontab_table_job_name(const char *command, struct arena *arena)
{
    const char *word = arena_strndup(arena, command, strcspn(command, BLANKS ";|&<>"));
    const char *slash = strrchr(word, '/');

    if (slash != NULL && slash[1] != '\0')
        word = slash + 1;
    return *word != '\0' ? word : "cron";
}
