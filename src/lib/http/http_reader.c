/* SPDX-License-Identifier: Apache-2.0 */
/* Where an answer ends decides what the next one is. So two lengths, an unknown coding or a
 * malformed chunk are errors and not guesses; a lenient client behind a proxy can be made to
 * take one answer for another.
 */
#include "lib/http/http_reader.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include <event2/buffer.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"

enum { LARGEST_HEAD = 64 << 10, LONGEST_LINE = 256 };

static int
malformed(struct error *err, const char *what)
{
    return error_set(err, -EPROTO, "the answer is not HTTP/1.1: %s", what);
}

static void
forget_head(struct http_reader *r)
{
    free(r->text);
    free(r->headers);
    r->text = NULL;
    r->headers = NULL;
    r->n_headers = 0;
}

void
http_reader_fini(struct http_reader *r)
{
    forget_head(r);
}

void
http_reader_begin(struct http_reader *r, bool is_to_head)
{
    forget_head(r);
    r->state = HTTP_READER_HEAD;
    r->is_to_head = is_to_head;
    r->closes = r->is_chunked = false;
    r->left = 0;
    r->status = 0;
}

const char *
http_reader_header(const struct http_reader *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++)
        if (strcasecmp(r->headers[i].name, name) == 0)
            return r->headers[i].value;
    return NULL;
}

/* Splits the first line off *text in place; NULL at the end. */
static char *
next_line(char **text)
{
    char *line = *text;
    char *end = strstr(line, "\r\n");

    if (end == NULL)
        return NULL;
    *end = '\0';
    *text = end + 2;
    return line;
}

static int
parse_status(struct http_reader *r, const char *line, struct error *err)
{
    static const char version[] = "HTTP/1.";

    if (strncmp(line, version, sizeof(version) - 1) != 0 || strspn(line + 9, "0123456789") != 3
        || line[8] != ' ' || (line[12] != ' ' && line[12] != '\0'))
        return malformed(err, "no status line");
    r->status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + line[11] - '0';
    r->closes = line[7] == '0';
    return 0;
}

static int
parse_header(struct http_reader *r, char *line, size_t *capacity, struct error *err)
{
    char *colon = strchr(line, ':');
    char *value, *end;

    if (colon == NULL || colon == line || strcspn(line, " \t") < (size_t)(colon - line))
        return malformed(err, "a malformed header");
    *colon = '\0';
    value = colon + 1 + strspn(colon + 1, " \t");
    end = value + strlen(value);
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    xgrow(r->headers, r->n_headers, *capacity);
    r->headers[r->n_headers++] = (struct http_header){line, value};
    return 0;
}

static int
parse_length(const char *text, uint64_t *ret_length)
{
    uint64_t length = 0;
    size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 18 || text[digits] != '\0')
        return -EPROTO;
    for (; *text != '\0'; text++)
        length = length * 10 + (uint64_t)(*text - '0');
    *ret_length = length;
    return 0;
}

static size_t
count_headers(const struct http_reader *r, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < r->n_headers; i++)
        count += strcasecmp(r->headers[i].name, name) == 0;
    return count;
}

/* Determines from the head how the body ends. */
static int
choose_body(struct http_reader *r, struct error *err)
{
    const char *coding = http_reader_header(r, "Transfer-Encoding");
    const char *length = http_reader_header(r, "Content-Length");
    const char *connection = http_reader_header(r, "Connection");

    if (connection != NULL && strcasecmp(connection, "close") == 0)
        r->closes = true;
    if (connection != NULL && strcasecmp(connection, "keep-alive") == 0)
        r->closes = false;
    if (count_headers(r, "Content-Length") > 1 || count_headers(r, "Transfer-Encoding") > 1
        || (coding != NULL && length != NULL))
        return malformed(err, "contradicting lengths");
    if (coding != NULL && strcasecmp(coding, "chunked") != 0)
        return malformed(err, "an unknown transfer encoding");
    if (length != NULL && parse_length(length, &r->left) < 0)
        return malformed(err, "a malformed length");
    r->is_chunked = coding != NULL;
    if (r->is_to_head || r->status == 204 || r->status == 304 || (length != NULL && r->left == 0))
        r->state = HTTP_READER_DONE;
    else if (coding != NULL)
        r->state = HTTP_READER_CHUNK;
    else if (length != NULL)
        r->state = HTTP_READER_BODY;
    else
        r->state = HTTP_READER_UNTIL_CLOSE;
    if (r->state == HTTP_READER_UNTIL_CLOSE)
        r->closes = true;
    return 0;
}

static int
parse_head(struct http_reader *r, struct error *err)
{
    char *text = r->text;
    char *line = next_line(&text);
    size_t capacity = 0;
    int res = parse_status(r, line, err);

    while (res == 0 && (line = next_line(&text)) != NULL && line[0] != '\0')
        res = parse_header(r, line, &capacity, err);
    return res;
}

/* Returns 1 if the head was complete. */
static int
take_head(struct http_reader *r, struct evbuffer *input, struct error *err)
{
    struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
    size_t length;
    int res;

    if (end.pos < 0)
        return evbuffer_get_length(input) > LARGEST_HEAD ? malformed(err, "its header does not end")
                                                         : 0;
    length = (size_t)end.pos + 4;
    if (length > LARGEST_HEAD)
        return malformed(err, "its header is too long");
    r->text = xmalloc(length + 1);
    evbuffer_remove(input, r->text, length);
    r->text[length] = '\0';
    if (strlen(r->text) != length)
        return malformed(err, "a NUL character in its header");
    res = parse_head(r, err);
    if (res < 0)
        return res;
    if (r->status / 100 == 1) { /* 100 Continue and other interim answers */
        http_reader_begin(r, r->is_to_head);
        return 1;
    }
    res = choose_body(r, err);
    if (res == 0)
        res = r->on_head(r->arg);
    return res < 0 ? res : 1;
}

static int
hand_on(struct http_reader *r, struct evbuffer *input, uint64_t most)
{
    while (most > 0 && evbuffer_get_length(input) > 0) {
        struct evbuffer_iovec piece;
        size_t length;
        int res;

        evbuffer_peek(input, -1, NULL, &piece, 1);
        length = piece.iov_len < most ? piece.iov_len : (size_t)most;
        res = r->on_body(piece.iov_base, length, r->arg);
        if (res < 0)
            return res;
        evbuffer_drain(input, length);
        most -= length;
        r->left -= r->left < length ? r->left : length;
    }
    return 0;
}

static int
take_body(struct http_reader *r, struct evbuffer *input)
{
    int res = hand_on(r, input, r->left);

    if (res < 0 || r->left > 0)
        return res;
    r->state = r->is_chunked ? HTTP_READER_CHUNK_END : HTTP_READER_DONE;
    return 1;
}

/* Copies one line to `out`, without its end; returns 1, or 0 if the line is
 * incomplete.
 */
static int
take_line(struct evbuffer *input, char out[LONGEST_LINE], struct error *err)
{
    struct evbuffer_ptr end = evbuffer_search_eol(input, NULL, NULL, EVBUFFER_EOL_CRLF_STRICT);

    if (end.pos >= LONGEST_LINE || (end.pos < 0 && evbuffer_get_length(input) > LONGEST_LINE))
        return malformed(err, "a chunk header that is too long");
    if (end.pos < 0)
        return 0;
    evbuffer_remove(input, out, (size_t)end.pos);
    out[end.pos] = '\0';
    evbuffer_drain(input, 2);
    return 1;
}

static int
parse_chunk_size(const char *line, uint64_t *ret_size)
{
    size_t digits = strspn(line, "0123456789abcdefABCDEF");

    if (digits == 0 || digits > 15
        || (line[digits] != '\0' && line[digits] != ';' && line[digits] != ' '))
        return -EPROTO;
    *ret_size = strtoull(line, NULL, 16);
    return 0;
}

static int
take_chunk_line(struct http_reader *r, struct evbuffer *input, struct error *err)
{
    char line[LONGEST_LINE];
    int res = take_line(input, line, err);

    if (res <= 0)
        return res;
    switch (r->state) {
    case HTTP_READER_CHUNK:
        if (parse_chunk_size(line, &r->left) < 0)
            return malformed(err, "a malformed chunk");
        r->state = r->left > 0 ? HTTP_READER_BODY : HTTP_READER_TRAILER;
        return 1;
    case HTTP_READER_CHUNK_END:
        if (line[0] != '\0')
            return malformed(err, "a chunk longer than its size");
        r->state = HTTP_READER_CHUNK;
        return 1;
    default: /* ignore trailers */
        if (line[0] == '\0')
            r->state = HTTP_READER_DONE;
        return 1;
    }
}

int
http_reader_read(struct http_reader *r, struct evbuffer *input, struct error *err)
{
    int res = 1;

    while (res > 0 && r->state != HTTP_READER_DONE)
        switch (r->state) {
        case HTTP_READER_HEAD:
            res = take_head(r, input, err);
            break;
        case HTTP_READER_BODY:
            res = take_body(r, input);
            break;
        case HTTP_READER_UNTIL_CLOSE:
            res = hand_on(r, input, UINT64_MAX);
            break;
        default:
            res = take_chunk_line(r, input, err);
            break;
        }
    return res < 0 ? res : 0;
}

int
http_reader_close(struct http_reader *r)
{
    if (r->state == HTTP_READER_UNTIL_CLOSE)
        r->state = HTTP_READER_DONE;
    return r->state == HTTP_READER_DONE ? 0 : -EPIPE;
}
