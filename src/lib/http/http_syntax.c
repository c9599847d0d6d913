/* SPDX-License-Identifier: Apache-2.0 */
/* A proxy and the server must agree where each request ends, or a client can hide a request
 * inside another's. Evhttp accepts much and does not remember what it has tolerated, so the
 * bytes themselves are checked before it sees them, after TLS (decision 91). It is a machine
 * that reads one byte at a time and skips bodies, so it keeps no text and costs little.
 */
#include "lib/http/http_syntax.h"

#include <ctype.h>
#include <string.h>

/* Digits of a length; a longer number might overflow. */
#define DIGITS_MAX 15

static bool
is_name_character(char c)
{
    return c != '\0' && (isalnum((unsigned char)c) || strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool
is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

/* --- the end of a head ---------------------------------------------------- */

/* A text of full size was truncated, so it is neither a length nor a coding. */
static void
keep(char *text, unsigned size, unsigned *length, char c)
{
    if (*length < size - 1)
        text[*length] = (char)tolower((unsigned char)c);
    if (*length < size)
        ++*length;
}

/* Readers on the way may choose different ones of two. */
static void
check_single(struct http_syntax *s)
{
    const struct {
        const char *name, *fault;
        bool *has;
    } rows[] = {
        {"host", "two Host headers", &s->has_host},
        {"content-length", "two Content-Length headers", &s->has_length},
        {"transfer-encoding", "two Transfer-Encoding headers", &s->has_coding},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(s->name, rows[i].name) != 0)
            continue;
        if (*rows[i].has)
            s->fault = rows[i].fault;
        *rows[i].has = true;
    }
}

static void
end_header(struct http_syntax *s)
{
    while (s->value_length > 0 && s->value_length < sizeof(s->value)
           && strchr(" \t", s->value[s->value_length - 1]) != NULL)
        s->value_length--;
    if (s->name_length >= sizeof(s->name) || s->is_trailer)
        return;
    s->name[s->name_length] = '\0';
    check_single(s);
    if (s->fault != NULL)
        return;
    if (strcmp(s->name, "transfer-encoding") == 0)
        s->is_chunked = s->value_length == strlen("chunked")
                        && memcmp(s->value, "chunked", s->value_length) == 0;
    if (strcmp(s->name, "content-length") != 0)
        return;
    s->left = 0;
    if (s->value_length == 0 || s->value_length > DIGITS_MAX)
        s->fault = "a Content-Length that is not a number";
    for (unsigned i = 0; s->fault == NULL && i < s->value_length; i++) {
        if (!isdigit((unsigned char)s->value[i]))
            s->fault = "a Content-Length that is not a number";
        else
            s->left = s->left * 10 + (uint64_t)(s->value[i] - '0');
    }
}

static void
end_head(struct http_syntax *s)
{
    uint64_t left = s->left;
    bool is_chunked = s->is_chunked && !s->is_trailer;
    bool has_body = !s->is_trailer && left > 0;

    *s = (struct http_syntax){0};
    if (is_chunked)
        s->state = HTTP_SYNTAX_CHUNK_SIZE;
    else if (has_body) {
        s->state = HTTP_SYNTAX_BODY;
        s->left = left;
    }
}

/* --- lines ---------------------------------------------------------------- */

static void
end_chunk_size(struct http_syntax *s)
{
    uint64_t left = s->left;
    bool has_digits = s->has_digits;

    *s = (struct http_syntax){0};
    if (!has_digits)
        s->fault = "an invalid chunk size";
    else if (left > 0) {
        s->state = HTTP_SYNTAX_CHUNK;
        s->left = left;
    } else {
        s->state = HTTP_SYNTAX_LINE_START;
        s->is_trailer = true;
    }
}

static void
end_line(struct http_syntax *s)
{
    switch (s->state) {
    case HTTP_SYNTAX_BEFORE:
        return;
    case HTTP_SYNTAX_FIRST_LINE:
    case HTTP_SYNTAX_VALUE:
        if (s->state == HTTP_SYNTAX_VALUE)
            end_header(s);
        s->state = HTTP_SYNTAX_LINE_START;
        s->name_length = s->value_length = 0;
        return;
    case HTTP_SYNTAX_LINE_START:
        end_head(s);
        return;
    case HTTP_SYNTAX_NAME:
        s->fault = "a header without a colon";
        return;
    case HTTP_SYNTAX_CHUNK_SIZE:
    case HTTP_SYNTAX_CHUNK_OPTION:
        end_chunk_size(s);
        return;
    case HTTP_SYNTAX_CHUNK_END:
        s->state = HTTP_SYNTAX_CHUNK_SIZE;
        s->left = 0;
        s->has_digits = false;
        return;
    case HTTP_SYNTAX_BODY:
    case HTTP_SYNTAX_CHUNK:
        return;
    }
}

static void
take_digit(struct http_syntax *s, char c)
{
    const char *digits = "0123456789abcdef";
    const char *digit = strchr(digits, tolower((unsigned char)c));

    if (s->has_digits && (c == ';' || c == ' ' || c == '\t'))
        s->state = HTTP_SYNTAX_CHUNK_OPTION;
    else if (c == '\0' || digit == NULL || s->left > UINT64_MAX >> 8)
        s->fault = "an invalid chunk size";
    else {
        s->left = s->left * 16 + (uint64_t)(digit - digits);
        s->has_digits = true;
    }
}

static void
begin_header(struct http_syntax *s, char c)
{
    if (c == ' ' || c == '\t')
        s->fault = "a folded header";
    else if (!is_name_character(c))
        s->fault = "an invalid header name";
    else {
        s->state = HTTP_SYNTAX_NAME;
        keep(s->name, sizeof(s->name), &s->name_length, c);
    }
}

static void
take(struct http_syntax *s, char c)
{
    if (is_control(c)) {
        s->fault = c == '\0' ? "a NUL character" : "a control character";
        return;
    }
    switch (s->state) {
    case HTTP_SYNTAX_BEFORE:
        s->state = HTTP_SYNTAX_FIRST_LINE;
        return;
    case HTTP_SYNTAX_LINE_START:
        begin_header(s, c);
        return;
    case HTTP_SYNTAX_NAME:
        if (c == ':')
            s->state = HTTP_SYNTAX_VALUE;
        else if (c == ' ' || c == '\t')
            s->fault = "a blank before the colon of a header";
        else if (!is_name_character(c))
            s->fault = "an invalid header name";
        else
            keep(s->name, sizeof(s->name), &s->name_length, c);
        return;
    case HTTP_SYNTAX_VALUE:
        if (s->value_length > 0 || (c != ' ' && c != '\t'))
            keep(s->value, sizeof(s->value), &s->value_length, c);
        return;
    case HTTP_SYNTAX_CHUNK_SIZE:
        take_digit(s, c);
        return;
    case HTTP_SYNTAX_CHUNK_END:
        s->fault = "a chunk that is longer than its size";
        return;
    default:
        return;
    }
}

uint64_t
http_syntax_passes(const struct http_syntax *s)
{
    if (s->fault != NULL)
        return UINT64_MAX;
    return s->state == HTTP_SYNTAX_BODY || s->state == HTTP_SYNTAX_CHUNK ? s->left : 0;
}

void
http_syntax_pass(struct http_syntax *s, uint64_t length)
{
    if (s->fault != NULL || length == 0)
        return;
    s->left -= length;
    if (s->left > 0)
        return;
    s->state = s->state == HTTP_SYNTAX_CHUNK ? HTTP_SYNTAX_CHUNK_END : HTTP_SYNTAX_BEFORE;
}

void
http_syntax_feed(struct http_syntax *s, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length && s->fault == NULL;) {
        uint64_t n = http_syntax_passes(s);
        char c = bytes[i];

        if (n > 0) {
            n = n < length - i ? n : length - i;
            http_syntax_pass(s, n);
            i += n;
            continue;
        }
        i++;
        if (s->has_cr != (c == '\n')) {
            s->fault = s->has_cr ? "a bare CR" : "a line that ends in a bare LF";
        } else if (c == '\n') {
            s->has_cr = false;
            end_line(s);
        } else if (c == '\r') {
            s->has_cr = true;
        } else {
            take(s, c);
        }
    }
}
