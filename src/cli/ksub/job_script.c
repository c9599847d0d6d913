/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/job_script.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"

#define LONGEST_DIRECTIVE 65536
#define SLURMS_PREFIX     "#SBATCH"

/* ---- Check ---- */

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

static bool
is_all_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_blank(text[i]))
            return false;
    return true;
}

/* Whether the first line ends with "\r" alone, so that the interpreter is not
 * found.
 */
static bool
has_lone_returns(const char *text, size_t length)
{
    const char *newline = memchr(text, '\n', length);
    const size_t first = newline != NULL ? (size_t)(newline - text) : length;
    const char *back = memchr(text, '\r', first);

    return back != NULL && back + 1 != newline;
}

int
job_script_refuse_large(struct error *err)
{
    return error_set(err, -EFBIG,
                     "the script is larger than %u MiB; keep the data in a file and let the script "
                     "read it",
                     JOB_SCRIPT_MAX >> 20);
}

int
job_script_check(const char *text, size_t length, struct error *err)
{
    if (length > JOB_SCRIPT_MAX)
        return job_script_refuse_large(err);
    if (is_all_blank(text, length))
        return error_set(err, -EINVAL, "the script is empty");
    if (length < 2 || memcmp(text, "#!", 2) != 0)
        return error_set(err, -EINVAL,
                         "this does not look like a batch script: the first line must "
                         "start with #! followed by the path to an interpreter, for "
                         "instance #!/bin/sh (to run a program, use --wrap 'COMMAND')");
    if (memchr(text, '\0', length) != NULL)
        return error_set(err, -EINVAL,
                         "the script contains NUL bytes, so it is a binary "
                         "file; run a program with --wrap 'COMMAND'");
    if (has_lone_returns(text, length))
        return error_set(err, -EINVAL,
                         "the script has line breaks of old Macs (\\r) instead of Unix ones "
                         "(\\n); convert it with mac2unix or tr '\\r' '\\n'");
    if (memmem(text, length, "\r\n", 2) != NULL)
        return error_set(err, -EINVAL,
                         "the script has DOS line breaks (\\r\\n) instead of "
                         "Unix ones (\\n); convert it with dos2unix or "
                         "sed -i 's/\\r$//'");
    return 0;
}

/* The length of the UTF-8 sequence that starts with `lead`; 0: it cannot start
 * one.
 */
static unsigned
sequence_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef)
        return 3;
    if (lead >= 0xf0 && lead <= 0xf4)
        return 4;
    return 0;
}

/* The limits of the second byte exclude overlong forms, surrogates and values
 * above U+10FFFF (RFC 3629, section 4).
 */
static bool
is_second(unsigned char lead, unsigned char second)
{
    unsigned char low = 0x80;
    unsigned char high = 0xbf;

    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    return second >= low && second <= high;
}

bool
job_script_is_utf8(const char *text, size_t length)
{
    const unsigned char *p = (const unsigned char *)text;
    const unsigned char *end = p + length;

    while (p < end) {
        unsigned n = sequence_length(*p);

        if (n == 0 || (size_t)(end - p) < n)
            return false;
        if (n > 1 && !is_second(p[0], p[1]))
            return false;
        for (unsigned i = 2; i < n; i++)
            if ((p[i] & 0xc0) != 0x80)
                return false;
        p += n;
    }
    return true;
}

/* ---- Directives ---- */

void
job_script_read(struct job_script_reader *reader, const char *prefix, const char *text,
                size_t length)
{
    reader->prefix = prefix;
    reader->at = text;
    reader->end = text + length;
    reader->line = 0;
}

/* The next line, without its newline; NULL at the end of the text. */
static const char *
next_line(struct job_script_reader *reader, size_t *ret_length)
{
    const char *line = reader->at;
    const char *newline;

    if (line >= reader->end)
        return NULL;
    newline = memchr(line, '\n', (size_t)(reader->end - line));
    *ret_length = (size_t)((newline != NULL ? newline : reader->end) - line);
    reader->at = newline != NULL ? newline + 1 : reader->end;
    reader->line++;
    return line;
}

/* Reads one word, without its quotes, to *to. */
static int
take_word(const char **at, const char *end, bool is_slurms, char **to, struct error *err)
{
    const char *p = *at;
    char *out = *to;
    char quote = '\0';

    for (; p < end && (quote != '\0' || !is_blank(*p)); p++) {
        if (*p == quote) {
            quote = '\0';
        } else if (*p == '#' && quote == '\0' && is_slurms) {
            break;
        } else if (quote == '\0' && (*p == '"' || *p == '\'')) {
            quote = *p;
        } else if (*p == '\\' && is_slurms) {
            if (p + 1 < end)
                *out++ = *++p;
        } else if (*p == '\\' && quote != '\'' && p + 1 < end) {
            *out++ = *++p;
        } else {
            *out++ = *p;
        }
    }
    if (quote != '\0')
        return error_set(err, -EINVAL, "a quote (%c) is not closed", quote);
    *out++ = '\0';
    *at = p;
    *to = out;
    return 0;
}

static int
split(struct arena *arena, const char *p, const char *end, bool is_slurms, char ***ret_words,
      size_t *ret_count, struct error *err)
{
    const size_t length = (size_t)(end - p);
    char **words;
    char *out; /* a word with its NUL is not longer than the word with its
                * space */
    size_t count = 0;

    if (length > LONGEST_DIRECTIVE)
        return error_set(err, -EINVAL, "the directive is too long");
    words = arena_new_array(arena, char *, length / 2 + 2);
    out = arena_alloc(arena, length + 1);
    for (;;) {
        int r;

        while (p < end && is_blank(*p))
            p++;
        /* A backslash at the end joins no lines: the next one has a prefix of its own. */
        if (p == end || *p == '#' || (is_slurms && *p == '\\' && p + 1 == end))
            break;
        words[count++] = out;
        r = take_word(&p, end, is_slurms, &out, err);
        if (r < 0)
            return r;
    }
    words[count] = NULL;
    *ret_words = words;
    *ret_count = count;
    return 0;
}

int
job_script_split(const char *text, struct arena *arena, char ***ret_words, size_t *ret_count,
                 struct error *err)
{
    return split(arena, text, text + strlen(text), false, ret_words, ret_count, err);
}

bool
job_script_is_directive(const char *prefix, const char *line, size_t length)
{
    const size_t n = strlen(prefix);

    /* Slurm reads all that follows, so "#SBATCHES" is a mistake. */
    if (strcmp(prefix, SLURMS_PREFIX) == 0)
        return length >= n && memcmp(line, prefix, n) == 0;
    return length > n && memcmp(line, prefix, n) == 0 && (is_blank(line[n]) || line[n] == '-');
}

static bool
is_comment(const char *line, size_t length)
{
    size_t i = 0;

    while (i < length && is_blank(line[i]))
        i++;
    return i == length || line[i] == '#';
}

size_t
job_script_header_length(const char *text, size_t length)
{
    struct job_script_reader reader;
    const char *line;
    size_t n = 0;

    job_script_read(&reader, "", text, length);
    while ((line = next_line(&reader, &n)) != NULL)
        if (!is_comment(line, n))
            return (size_t)(line - text);
    return length;
}

int
job_script_next(struct job_script_reader *reader, struct arena *arena, char ***ret_words,
                size_t *ret_count, struct error *err)
{
    /* In Slurm a '#' within a word begins a comment, too, and a backslash counts in all quotes. */
    const bool is_slurms = strcmp(reader->prefix, SLURMS_PREFIX) == 0;
    const char *line;
    size_t length = 0;

    while ((line = next_line(reader, &length)) != NULL) {
        if (!is_comment(line, length)) {
            reader->at = reader->end;
            return 0;
        }
        if (!job_script_is_directive(reader->prefix, line, length))
            continue;
        if (split(arena, line + strlen(reader->prefix), line + length, is_slurms, ret_words,
                  ret_count, err)
            < 0)
            return -EINVAL;
        return 1;
    }
    return 0;
}
