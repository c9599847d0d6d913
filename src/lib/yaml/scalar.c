/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/yaml/scalar.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

static const struct {
    const char *text;
    enum scalar_type type;
} words[] = {
    {"", SCALAR_NULL},          {"~", SCALAR_NULL},         {"null", SCALAR_NULL},
    {"Null", SCALAR_NULL},      {"NULL", SCALAR_NULL},      {"y", SCALAR_TRUE},
    {"Y", SCALAR_TRUE},         {"yes", SCALAR_TRUE},       {"Yes", SCALAR_TRUE},
    {"YES", SCALAR_TRUE},       {"true", SCALAR_TRUE},      {"True", SCALAR_TRUE},
    {"TRUE", SCALAR_TRUE},      {"on", SCALAR_TRUE},        {"On", SCALAR_TRUE},
    {"ON", SCALAR_TRUE},        {"n", SCALAR_FALSE},        {"N", SCALAR_FALSE},
    {"no", SCALAR_FALSE},       {"No", SCALAR_FALSE},       {"NO", SCALAR_FALSE},
    {"false", SCALAR_FALSE},    {"False", SCALAR_FALSE},    {"FALSE", SCALAR_FALSE},
    {"off", SCALAR_FALSE},      {"Off", SCALAR_FALSE},      {"OFF", SCALAR_FALSE},
    {".nan", SCALAR_NOT_JSON},  {".NaN", SCALAR_NOT_JSON},  {".NAN", SCALAR_NOT_JSON},
    {".inf", SCALAR_NOT_JSON},  {".Inf", SCALAR_NOT_JSON},  {".INF", SCALAR_NOT_JSON},
    {"+.inf", SCALAR_NOT_JSON}, {"+.Inf", SCALAR_NOT_JSON}, {"+.INF", SCALAR_NOT_JSON},
    {"-.inf", SCALAR_NOT_JSON}, {"-.Inf", SCALAR_NOT_JSON}, {"-.INF", SCALAR_NOT_JSON},
};

static size_t
digits(const char *p)
{
    return strspn(p, "0123456789");
}

static bool
is_sign(char c)
{
    return c == '+' || c == '-';
}

/* [-+]?(.9+|9+(.9*)?)([eE][-+]?9+)? */
static bool
is_float(const char *p)
{
    size_t whole, part = 0;

    p += is_sign(*p);
    whole = digits(p);
    p += whole;
    if (*p == '.') {
        part = digits(p + 1);
        p += 1 + part;
    }
    if (whole + part == 0)
        return false;
    if (*p == 'e' || *p == 'E') {
        p += 1 + is_sign(p[1]);
        if (digits(p) == 0)
            return false;
        p += digits(p);
    }
    return *p == '\0';
}

/* The base given by a prefix; moves *p behind the prefix. */
static unsigned
base_of(const char **p)
{
    char second = (*p)[0] == '0' ? (char)tolower((unsigned char)(*p)[1]) : '\0';

    if (second == 'x' || second == 'b' || second == 'o') {
        *p += 2;
        return second == 'x' ? 16 : second == 'b' ? 2 : 8;
    }
    if (second == '\0')
        return 10;
    *p += 1;
    return 8;
}

/* Up to 64 bits, in the bases of Go's literals. */
static bool
read_int(const char *p, struct strbuf *number)
{
    bool is_negative = *p == '-';
    uint64_t value = 0;
    unsigned base;

    p += is_sign(*p);
    base = base_of(&p);
    if (*p == '\0')
        return false;
    for (; *p != '\0'; p++) {
        unsigned digit = isdigit((unsigned char)*p) ? (unsigned)(*p - '0')
                         : isxdigit((unsigned char)*p)
                             ? (unsigned)(tolower((unsigned char)*p) - 'a') + 10
                             : base;

        if (digit >= base || __builtin_mul_overflow(value, base, &value)
            || __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (is_negative && value > (uint64_t)INT64_MAX + 1)
        return false;
    strbuf_printf(number, "%s%" PRIu64, is_negative && value != 0 ? "-" : "", value);
    return true;
}

/* JSON has no ".5", "1." and "+1", and no integer with an exponent. A number
 * too large for 64 bits keeps its digits.
 */
static bool
read_float(const char *text, struct strbuf *number)
{
    double value;

    if (!is_float(text))
        return false;
    value = strtod(text, NULL);
    if (isinf(value))
        return false;
    text += *text == '+';
    if (text[strspn(text, "-0123456789")] == '\0') {
        bool is_negative = *text == '-';

        text += is_negative;
        text += strspn(text, "0");
        strbuf_printf(number, "%s%s", is_negative && *text != '\0' ? "-" : "",
                      *text != '\0' ? text : "0");
        return true;
    }
    if (value == floor(value) && fabs(value) < 1e21) {
        strbuf_printf(number, "%.0f", value + 0.0);
        return true;
    }
    for (int precision = 15; precision <= 17; precision++) {
        strbuf_truncate(number, 0);
        strbuf_printf(number, "%.*g", precision, value);
        if (!(strtod(number->text, NULL) < value) && !(strtod(number->text, NULL) > value))
            break;
    }
    return true;
}

static enum scalar_type
resolve_number(const char *text, size_t length, struct strbuf *number)
{
    CLEANUP_STRBUF struct strbuf plain = STRBUF_INIT;

    for (size_t i = 0; i < length; i++)
        if (text[i] != '_' || *text == '.')
            strbuf_add_char(&plain, text[i]);
    if (*text != '.' && read_int(plain.text, number))
        return SCALAR_INT;
    if (read_float(plain.text, number))
        return SCALAR_FLOAT;
    return SCALAR_STRING;
}

enum scalar_type
scalar_resolve(const char *text, size_t length, struct strbuf *number)
{
    strbuf_truncate(number, 0);
    if (memchr(text, '\0', length) != NULL)
        return SCALAR_STRING;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strlen(words[i].text) == length && memcmp(words[i].text, text, length) == 0)
            return words[i].type;
    if (isdigit((unsigned char)*text) || is_sign(*text) || *text == '.')
        return resolve_number(text, length, number);
    return SCALAR_STRING;
}

/* One or two digits within limits, followed by `after`. */
static const char *
read_part(const char *p, unsigned least, unsigned most, const char *after)
{
    size_t n = digits(p);
    unsigned value = n == 0 || n > 2 ? UINT32_MAX
                     : n == 1        ? (unsigned)(p[0] - '0')
                                     : (unsigned)((p[0] - '0') * 10 + p[1] - '0');

    if (value < least || value > most || strncmp(p + n, after, strlen(after)) != 0)
        return NULL;
    return p + n + strlen(after);
}

static bool
is_zone(const char *p)
{
    if (strcmp(p, "Z") == 0)
        return true;
    if (!is_sign(*p))
        return false;
    p = read_part(p + 1, 0, 24, ":");
    return p != NULL && digits(p) == 2 && p[2] == '\0';
}

/* 2024-1-2, 2024-01-02T03:04:05.6Z, 2024-01-02 03:04:05 */
static bool
is_time(const char *p)
{
    bool has_zone;

    if (digits(p) != 4 || p[4] != '-')
        return false;
    p = read_part(p + 5, 1, 12, "-");
    p = p != NULL ? read_part(p, 1, 31, "") : NULL;
    if (p == NULL || *p == '\0')
        return p != NULL;
    has_zone = *p == 'T' || *p == 't';
    if (!has_zone && *p != ' ')
        return false;
    p = read_part(p + 1, 0, 23, ":");
    p = p != NULL ? read_part(p, 0, 59, ":") : NULL;
    p = p != NULL ? read_part(p, 0, 59, "") : NULL;
    if (p == NULL)
        return false;
    if (*p == '.' && digits(p + 1) > 0)
        p += 1 + digits(p + 1);
    return has_zone ? is_zone(p) : *p == '\0';
}

/* 190:20:30.15 of YAML 1.1 */
static bool
is_base60(const char *p)
{
    size_t parts = 0;

    p += is_sign(*p);
    if (!isdigit((unsigned char)*p))
        return false;
    p += strspn(p, "0123456789_");
    for (; *p == ':'; parts++) {
        size_t n = digits(p + 1);

        if (n == 0 || n > 2 || (n == 2 && p[1] > '5'))
            return false;
        p += 1 + n;
    }
    if (*p == '.')
        p += 1 + strspn(p + 1, "0123456789_");
    return parts > 0 && *p == '\0';
}

bool
scalar_is_plain_string(const char *text, size_t length)
{
    CLEANUP_STRBUF struct strbuf number = STRBUF_INIT;

    return scalar_resolve(text, length, &number) == SCALAR_STRING && !is_time(text)
           && !is_base60(text) && strcmp(text, "<<") != 0;
}
