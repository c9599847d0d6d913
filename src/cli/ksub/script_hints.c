/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/script_hints.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/ksub/job_script.h"
#include "cli/ksub/path_hints.h"
#include "cli/ksub/submission.h"
#include "cli/ksub/submission_input.h"
#include "cli/shell/shell_reader.h"
#include "cli/shell/shell_word.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define MOST_SHOWN 60

static size_t
skip_blanks(const char *text, size_t length)
{
    size_t i = 0;

    while (i < length && (text[i] == ' ' || text[i] == '\t'))
        i++;
    return i;
}

static const char *
end_of_line(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));

    return newline != NULL ? newline : end;
}

/* ---- Directives that are not read ---- */

struct unread {
    const char *script;
    const char *prefix; /* "#KSUB" */
    size_t header;      /* bytes before the first command */
    unsigned command;   /* line of the first command */
    unsigned n_late, n_comments;
    unsigned late, comment; /* the first line of each */
    const char *written;    /* of `comment`: "# KSUB" */
    size_t written_length;
};

/* The length of "# KSUB" in "# KSUB -c 4", however it is written; 0: the line
 * does not contain the word, followed by an option.
 */
static size_t
find_word(const struct unread *u, const char *line, size_t length)
{
    const char *word = u->prefix + 1;
    const size_t n = strlen(word);
    size_t at = skip_blanks(line, length), end, option;

    if (at == length || line[at] != '#')
        return 0;
    at++;
    at += skip_blanks(line + at, length - at);
    if (length - at <= n || strncasecmp(line + at, word, n) != 0)
        return 0;
    end = at + n;
    option = end + (line[end] == ':' || line[end] == '=');
    option += skip_blanks(line + option, length - option);
    return length - option >= 2 && line[option] == '-'
                   && (line[option + 1] == '-' || isalpha((unsigned char)line[option + 1]))
               ? end
               : 0;
}

static void
check_comment(struct unread *u, const char *line, size_t length, unsigned number)
{
    const size_t end = find_word(u, line, length);
    const bool is_late = (size_t)(line - u->script) >= u->header;

    if (end == 0)
        return;
    if (is_late && job_script_is_directive(u->prefix, line, length)) {
        u->late = u->n_late++ == 0 ? number : u->late;
    } else if (!is_late && !job_script_is_directive(u->prefix, line, length)) {
        if (u->n_comments++ > 0)
            return;
        u->comment = number;
        u->written = line;
        u->written_length = end;
    }
}

static void
note_comment(enum shell_part part, const char *text, size_t length, unsigned line, void *context)
{
    struct unread *u = context;
    const char *start = text;

    if (part != SHELL_COMMENT)
        return;
    while (start > u->script && (start[-1] == ' ' || start[-1] == '\t'))
        start--;
    if (start == u->script || start[-1] == '\n')
        check_comment(u, start, length + (size_t)(text - start), line);
}

static void
check_lines(struct unread *u, const char *end)
{
    unsigned number = 0;

    for (const char *line = u->script; line < end;) {
        const char *stop = end_of_line(line, end);

        check_comment(u, line, (size_t)(stop - line), ++number);
        line = stop + 1;
    }
}

static unsigned
count_lines(const char *text, size_t length)
{
    unsigned n = 0;

    for (size_t i = 0; i < length; i++)
        n += text[i] == '\n';
    return n;
}

static void
add_number_of_others(unsigned n, struct strbuf *out)
{
    if (n > 1)
        strbuf_printf(out, ", and so in %u more line%s", n - 1, n > 2 ? "s" : "");
    strbuf_add_char(out, '\n');
}

void
script_hints_add(const char *script, size_t length, const char *prefix, const char *name,
                 struct strbuf *out)
{
    struct unread u = {.script = script, .prefix = prefix};

    u.header = job_script_header_length(script, length);
    u.command = count_lines(script, u.header) + 1;
    if (shell_word_is_of_shell(script, length))
        shell_reader_visit(script, length, note_comment, &u);
    else
        check_lines(&u, script + length);
    if (u.n_comments > 0) {
        strbuf_printf(out,
                      "%s:%u: '%.*s' begins a comment and is not read; a directive begins with "
                      "%s in the first column",
                      name, u.comment, (int)u.written_length, u.written, prefix);
        add_number_of_others(u.n_comments, out);
    }
    if (u.n_late > 0) {
        strbuf_printf(out,
                      "%s:%u: %s is not read here, because it is after the first command (line "
                      "%u)",
                      name, u.late, prefix, u.command);
        add_number_of_others(u.n_late, out);
    }
}

/* ---- Other schedulers ---- */

struct family {
    const char *scheduler, *prefix;
    bool needs_blank;          /* between the prefix and the option */
    const char *const *asking; /* options that ask for something that the job
                                * would not get; NULL: all */
    const char *const *known;  /* other options; NULL: any */
};

static const char *const pbs_asking[] = {"-J", "-W", "-l", "-q", "-t", NULL};
static const char *const sge_asking[] = {"-hold_jid", "-l", "-pe", "-q", "-t", "-tc", NULL};
/* "#$ -x ..." is also how a plain comment may begin. */
static const char *const sge_known[] = {
    "-A",      "-C",  "-M",       "-N",     "-P",       "-R",       "-S",      "-V",
    "-a",      "-ac", "-ar",      "-b",     "-binding", "-c",       "-ckpt",   "-clear",
    "-cwd",    "-dc", "-display", "-dl",    "-e",       "-h",       "-hard",   "-hold_jid_ad",
    "-i",      "-j",  "-js",      "-jsv",   "-m",       "-masterq", "-notify", "-now",
    "-o",      "-p",  "-r",       "-shell", "-soft",    "-sync",    "-terse",  "-v",
    "-verify", "-w",  "-wd",      NULL};
static const char *const lsf_asking[] = {"-M", "-R", "-W",   "-app", "-gpu", "-m",
                                         "-n", "-q", "-sla", "-w",   "-x",   NULL};
static const char *const pjm_asking[] = {"-L", "--mpi", "--rsc-list", NULL};
static const char *const oar_asking[] = {"--array", "--resource", "-a", "-l", "-q", NULL};

static const struct family families[] = {
    {"PBS", "#PBS", true, pbs_asking, NULL},   {"Grid Engine", "#$", false, sge_asking, sge_known},
    {"LSF", "#BSUB", true, lsf_asking, NULL},  {"Flux", "#FLUX:", false, NULL, NULL},
    {"Flux", "#flux:", false, NULL, NULL},     {"Flux", "# FLUX:", false, NULL, NULL},
    {"Flux", "# flux:", false, NULL, NULL},    {"Flux", "#FLUX", true, NULL, NULL},
    {"Moab", "#MSUB", true, pbs_asking, NULL}, {"Cobalt", "#COBALT", true, NULL, NULL},
    {"PJM", "#PJM", true, pjm_asking, NULL},   {"OAR", "#OAR", true, oar_asking, NULL},
    {"OAR", "# OAR", true, oar_asking, NULL},
};

static bool
has_option(const char *const *options, const char *word, size_t length)
{
    for (; *options != NULL; options++)
        if (strlen(*options) == length && memcmp(*options, word, length) == 0)
            return true;
    return false;
}

static size_t
word_length(const char *text, size_t length)
{
    size_t n = 0;

    while (n < length && strchr(" \t=\r", text[n]) == NULL)
        n++;
    return n;
}

/* An LSF array is in the name: -J "name[1-100]". */
static bool
is_asking(const struct family *f, const char *option, size_t length)
{
    const size_t n = word_length(option, length);

    if (f->asking == NULL || has_option(f->asking, option, n))
        return true;
    return f->asking == lsf_asking && n == 2 && memcmp(option, "-J", 2) == 0
           && memchr(option, '[', length) != NULL;
}

static const struct family *
find_family(const char *line, size_t length, size_t *ret_option)
{
    for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
        const struct family *f = &families[i];
        const size_t n = strlen(f->prefix);
        size_t at;

        if (length <= n || memcmp(line, f->prefix, n) != 0)
            continue;
        at = n + skip_blanks(line + n, length - n);
        if ((f->needs_blank && at == n) || length - at < 2 || line[at] != '-')
            continue;
        if (f->known != NULL) {
            const size_t option = word_length(line + at, length - at);

            if (!has_option(f->asking, line + at, option)
                && !has_option(f->known, line + at, option))
                continue;
        }
        *ret_option = at;
        return f;
    }
    return NULL;
}

/* Looks at each option of the line, and notes the first that asks. */
static void
find_asking(const struct family *f, const char *line, size_t length, size_t at, unsigned number,
            struct script_hints_foreign *ret)
{
    while (at < length && ret->asking == 0) {
        const size_t blanks = skip_blanks(line + at, length - at);

        at += blanks;
        if (at < length && line[at] == '-' && is_asking(f, line + at, length - at)) {
            ret->asking = number;
            ret->option = line + at;
            ret->option_length = length - at < MOST_SHOWN ? length - at : MOST_SHOWN;
        }
        while (at < length && line[at] != ' ' && line[at] != '\t')
            at++;
    }
}

void
script_hints_find_foreign(const char *script, size_t length, struct script_hints_foreign *ret)
{
    const char *end = script + job_script_header_length(script, length);
    unsigned number = 0;

    memset(ret, 0, sizeof(*ret));
    for (const char *line = script; line < end;) {
        const char *stop = end_of_line(line, end);
        const size_t n = (size_t)(stop - line);
        size_t option = 0;
        const struct family *f = find_family(line, n, &option);

        number++;
        line = stop + 1;
        if (f == NULL || (ret->count > 0 && strcmp(f->scheduler, ret->scheduler) != 0))
            continue;
        if (ret->count++ == 0) {
            ret->scheduler = f->scheduler;
            ret->prefix = f->prefix;
            ret->first = number;
        }
        find_asking(f, stop - n, n, option, number, ret);
    }
}

void
script_hints_add_foreign(const struct script_hints_foreign *found, const char *name,
                         bool has_defaults, struct strbuf *out)
{
    const bool is_told = found->asking > 0 && has_defaults;

    strbuf_printf(out, "%s:%u: %u %s line%s for %s %s not read", name,
                  is_told ? found->asking : found->first, found->count, found->prefix,
                  found->count == 1 ? "" : "s", found->scheduler, found->count == 1 ? "is" : "are");
    if (is_told)
        strbuf_printf(out, ": the job has the defaults, not what is asked for there (%.*s)",
                      (int)found->option_length, found->option);
    strbuf_add_char(out, '\n');
}

/* ---- Output ---- */

static void
print_lines(const char *program, const struct strbuf *lines)
{
    for (const char *line = lines->text; lines->length > 0 && *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        fprintf(stderr, "%s: %.*s\n", program, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void
script_hints_print(const struct submission_input *input)
{
    const struct submission *s = &input->submission;
    const char *name = submission_script(s);
    const char *plural = input->n_foreign == 1 ? "" : "s";
    CLEANUP_STRBUF struct strbuf missing = STRBUF_INIT;

    if (s->quiet)
        return;
    if (input->n_foreign > 0 && !input->reads_foreign && !s->no_sbatch)
        fprintf(stderr,
                "%s: %s: ignored %u #SBATCH line%s, because there are #KSUB "
                "lines; --sbatch reads them\n",
                input->program, name, input->n_foreign, plural);
    if (input->reads_foreign && !s->sbatch)
        fprintf(stderr,
                "%s: %s: read %u #SBATCH line%s as sbatch does; --no-sbatch "
                "ignores them\n",
                input->program, name, input->n_foreign, plural);
    print_lines(input->program, &input->hints);
    path_hints_add(s, &missing);
    print_lines(input->program, &missing);
    if (s->slurm.n_notes > 0)
        fprintf(stderr, "%s: options without effect here: ", input->program);
    for (unsigned i = 0; i < s->slurm.n_notes; i++)
        fprintf(stderr, "%s--%s%s", i == 0 ? "" : ", ", s->slurm.notes[i],
                i + 1 == s->slurm.n_notes ? "\n" : "");
}
