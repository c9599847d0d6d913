/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

#define NANO        1000000000
#define NANO_DIGITS 9
#define MAX_DIGITS  39 /* digits of a 128-bit number */

static const __int128 max_nano = (__int128)(~(unsigned __int128)0 >> 1) / 1000 * 1000;

/* The parts of a text: sign, digits around the point, suffix. */
struct parts {
    bool negative;
    const char *whole; /* without leading zeros */
    size_t n_whole;
    const char *fraction;
    size_t n_fraction;
    const char *suffix;
};

static const struct suffix {
    const char *text;
    int exponent; /* of ten, or of two for binary suffixes */
    enum quantity_format format;
} suffixes[] = {
    {"n", -9, QUANTITY_DECIMAL_SI}, {"u", -6, QUANTITY_DECIMAL_SI}, {"m", -3, QUANTITY_DECIMAL_SI},
    {"", 0, QUANTITY_DECIMAL_SI},   {"k", 3, QUANTITY_DECIMAL_SI},  {"M", 6, QUANTITY_DECIMAL_SI},
    {"G", 9, QUANTITY_DECIMAL_SI},  {"T", 12, QUANTITY_DECIMAL_SI}, {"P", 15, QUANTITY_DECIMAL_SI},
    {"E", 18, QUANTITY_DECIMAL_SI}, {"Ki", 10, QUANTITY_BINARY_SI}, {"Mi", 20, QUANTITY_BINARY_SI},
    {"Gi", 30, QUANTITY_BINARY_SI}, {"Ti", 40, QUANTITY_BINARY_SI}, {"Pi", 50, QUANTITY_BINARY_SI},
    {"Ei", 60, QUANTITY_BINARY_SI},
};

static const char *const wrong_form = "quantities must match the regular expression "
                                      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char *const wrong_suffix = "unable to parse quantity's suffix";

static size_t
count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Returns NULL, or why the text is not a quantity. */
static const char *
take_apart(const char *text, struct parts *ret)
{
    const char *end;

    if (*text == '\0')
        return wrong_form;
    ret->negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    ret->n_whole = count_digits(text);
    ret->whole = text;
    text += ret->n_whole;
    ret->fraction = text;
    ret->n_fraction = 0;
    if (*text == '.') {
        ret->fraction = ++text;
        ret->n_fraction = count_digits(text);
        text += ret->n_fraction;
    }
    for (; ret->n_whole > 0 && *ret->whole == '0'; ret->n_whole--)
        ret->whole++;

    ret->suffix = text;
    end = text + strspn(text, "eEinumkKMGTP");
    if (*end == '-' || *end == '+')
        end++;
    end += count_digits(end);
    return *end == '\0' ? NULL : wrong_form;
}

/* False: not a suffix. Upstream uses the low 32 bits of an exponent; this
 * clamps the result to a value that is already out of range.
 */
static bool
read_suffix(const char *text, struct suffix *ret)
{
    int32_t exponent;
    long read;
    char *end;

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
        if (suffixes[i].text[0] == text[0] && strcmp(suffixes[i].text, text) == 0) {
            *ret = suffixes[i];
            return true;
        }
    if ((text[0] != 'e' && text[0] != 'E') || text[1] == '\0'
        || strchr("0123456789+-", text[1]) == NULL)
        return false;
    errno = 0;
    read = strtol(text + 1, &end, 10);
    if (end == text + 1 || *end != '\0' || errno != 0)
        return false;
    exponent = (int32_t)(uint32_t)read;
    exponent = exponent > 100000 ? 100000 : exponent;
    exponent = exponent < -100000 ? -100000 : exponent;
    *ret = (struct suffix){text, exponent, QUANTITY_DECIMAL_EXPONENT};
    return true;
}

/* The digit at a place in whole and fraction together; 0 beyond the end. */
static unsigned
digit_at(const struct parts *p, size_t i)
{
    if (i < p->n_whole)
        return (unsigned)(p->whole[i] - '0');
    i -= p->n_whole;
    return i < p->n_fraction ? (unsigned)(p->fraction[i] - '0') : 0;
}

static bool
is_all_zero(const struct parts *p)
{
    for (size_t i = 0; i < p->n_whole + p->n_fraction; i++)
        if (digit_at(p, i) != 0)
            return false;
    return true;
}

/* Digits times a power of ten; a part below 10^-9 is rounded up. */
static int
decimal_nano(const struct parts *p, int exponent, __int128 *ret)
{
    ssize_t wanted = (ssize_t)p->n_whole + exponent + NANO_DIGITS;
    size_t length = p->n_whole + p->n_fraction;
    unsigned __int128 nano = 0;
    size_t first = 0;

    if (is_all_zero(p)) {
        *ret = 0;
        return 0;
    }
    for (; digit_at(p, first) == 0; first++)
        continue;
    if (wanted - (ssize_t)first > MAX_DIGITS)
        return -ERANGE;
    for (ssize_t i = (ssize_t)first; i < wanted; i++)
        if (__builtin_mul_overflow(nano, 10, &nano)
            || __builtin_add_overflow(nano, digit_at(p, (size_t)i), &nano))
            return -ERANGE;
    for (size_t i = wanted > (ssize_t)first ? (size_t)wanted : first; i < length; i++)
        if (digit_at(p, i) != 0) {
            nano++;
            break;
        }
    if (nano > (unsigned __int128)max_nano)
        return -ERANGE;
    *ret = (__int128)nano;
    return 0;
}

/* Digits times a power of two; capped at 64 bits. */
static __int128
binary_nano(const struct parts *p, int exponent)
{
    unsigned __int128 whole = 0, fraction = 0;
    unsigned __int128 unit = (unsigned __int128)1 << exponent;
    bool more = false;

    for (size_t i = 0; i < p->n_whole && whole <= INT64_MAX; i++)
        whole = whole * 10 + digit_at(p, i);
    for (size_t i = 0; i < 18; i++)
        fraction = fraction * 10 + digit_at(p, p->n_whole + i);
    for (size_t i = 18; i < p->n_fraction; i++)
        more = more || p->fraction[i] != '0';
    fraction *= unit;
    fraction = fraction / NANO + (fraction % NANO != 0 || more);
    if (whole > INT64_MAX / unit || whole * unit + fraction / NANO >= INT64_MAX)
        return (__int128)INT64_MAX * NANO;
    return (__int128)(whole * unit * NANO + fraction);
}

/* Parses the usual form: a whole number of few digits, with a suffix that keeps
 * it within 64 bits. False: the general code must parse it.
 */
static bool
easy_nano(const struct parts *p, const struct suffix *suffix, __int128 *ret)
{
    bool is_binary = suffix->format == QUANTITY_BINARY_SI;
    int64_t whole = 0, unit = 1;

    if (p->n_fraction > 0 || p->n_whole > 9 || suffix->exponent > (is_binary ? 30 : 9)
        || suffix->exponent < -NANO_DIGITS)
        return false;
    for (size_t i = 0; i < p->n_whole; i++)
        whole = whole * 10 + (p->whole[i] - '0');
    if (is_binary) {
        *ret = ((__int128)whole << suffix->exponent) * NANO;
        return true;
    }
    for (int i = -NANO_DIGITS; i < suffix->exponent; i++)
        unit *= 10;
    *ret = (__int128)whole * unit;
    return true;
}

/* Upstream keeps the text of a number that its fast path takes for canonical,
 * which includes "+5" and "007"; clients read back what they wrote.
 */
static bool
keeps_its_text(const struct parts *p, const struct suffix *suffix)
{
    size_t length = p->n_whole + p->n_fraction;
    int scale = suffix->exponent - (int)p->n_fraction;
    int64_t last_digits = 0;

    if (p->n_whole == 0 || length > 18)
        return false;
    for (size_t i = length > 3 ? length - 3 : 0; i < length; i++)
        last_digits = last_digits * 10 + digit_at(p, i);
    if (suffix->format == QUANTITY_BINARY_SI)
        return p->n_fraction == 0 && last_digits % 8 != 0
               && 15 - (int)length - suffix->exponent * 3 / 10 - 1 >= 0;
    return scale >= -NANO_DIGITS && scale % 3 == 0 && (length < 3 || last_digits != 0);
}

static int
parse(const char *text, struct quantity *ret, bool *ret_keeps_text, const char **ret_why)
{
    struct parts p;
    struct suffix suffix;
    struct quantity q = {0};
    int r = 0;

    *ret_why = take_apart(text, &p);
    if (*ret_why == NULL && !read_suffix(p.suffix, &suffix))
        *ret_why = wrong_suffix;
    if (*ret_why != NULL)
        return -EINVAL;
    q.format = suffix.format;
    if (easy_nano(&p, &suffix, &q.nano))
        r = 0;
    else if (suffix.format == QUANTITY_BINARY_SI)
        q.nano = binary_nano(&p, suffix.exponent);
    else
        r = decimal_nano(&p, suffix.exponent, &q.nano);
    if (r < 0) {
        *ret_why = "the quantity is too large";
        return r;
    }
    if (q.format == QUANTITY_BINARY_SI && q.nano > 0 && q.nano < NANO)
        q.format = QUANTITY_DECIMAL_SI;
    if (p.negative)
        q.nano = -q.nano;
    *ret_keeps_text = keeps_its_text(&p, &suffix);
    *ret = q;
    return 0;
}

int
quantity_parse(const char *text, struct quantity *ret_quantity)
{
    const char *why;
    bool keeps_text;

    return parse(text, ret_quantity, &keeps_text, &why);
}

int
quantity_canonicalize(struct arena *arena, struct json *value, struct error *err)
{
    char text[QUANTITY_TEXT_SIZE];
    const char *trimmed;
    struct quantity q;
    const char *why;
    bool keeps_text;
    size_t n = value->count;
    const char *start = value->text;
    int r;

    for (; n > 0 && isspace((unsigned char)*start); n--)
        start++;
    for (; n > 0 && isspace((unsigned char)start[n - 1]); n--)
        continue;
    trimmed = n == value->count ? start : json_string_n(arena, start, n)->text;
    r = parse(trimmed, &q, &keeps_text, &why);
    if (r < 0)
        return error_set(err, r, "'%s': %s", trimmed, why);
    if (!keeps_text) {
        quantity_format(&q, text);
        trimmed = text;
    }
    if (value->type != JSON_STRING || strcmp(trimmed, value->text) != 0)
        *value = *json_string(arena, trimmed);
    return 0;
}

/* --- text ----------------------------------------------------------------- */

static void
print_number(__int128 n, char out[QUANTITY_TEXT_SIZE])
{
    char digits[48];
    size_t at = sizeof(digits);
    unsigned __int128 rest = n < 0 ? -(unsigned __int128)n : (unsigned __int128)n;

    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest > 0);
    if (n < 0)
        digits[--at] = '-';
    memcpy(out, digits + at, sizeof(digits) - at);
}

static void
add_suffix(int exponent, enum quantity_format format, char *out)
{
    size_t used = strlen(out);

    if (format == QUANTITY_DECIMAL_EXPONENT) {
        if (exponent != 0)
            snprintf(out + used, QUANTITY_TEXT_SIZE - used, "e%d", exponent);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
        if (suffixes[i].format == format && suffixes[i].exponent == exponent)
            memcpy(out + used, suffixes[i].text, strlen(suffixes[i].text) + 1);
}

static void
format_decimal(const struct quantity *q, enum quantity_format format, char out[QUANTITY_TEXT_SIZE])
{
    __int128 n = q->nano;
    int exponent = -NANO_DIGITS;
    int most = format == QUANTITY_DECIMAL_EXPONENT ? MAX_DIGITS : 18;

    for (; n % 1000 == 0 && exponent < most; exponent += 3)
        n /= 1000;
    print_number(n, out);
    add_suffix(exponent, format, out);
}

static void
format_binary(const struct quantity *q, char out[QUANTITY_TEXT_SIZE])
{
    __int128 n = q->nano / NANO;
    int exponent = 0;

    for (; n % 1024 == 0 && exponent < 60; exponent += 10)
        n /= 1024;
    print_number(n, out);
    if (exponent > 0)
        add_suffix(exponent, QUANTITY_BINARY_SI, out);
}

void
quantity_format(const struct quantity *q, char out[QUANTITY_TEXT_SIZE])
{
    const __int128 small = (__int128)1024 * NANO;

    if (q->nano == 0)
        snprintf(out, QUANTITY_TEXT_SIZE, "0");
    else if (q->format != QUANTITY_BINARY_SI)
        format_decimal(q, q->format, out);
    else if ((q->nano > -small && q->nano < small) || q->nano % NANO != 0)
        format_decimal(q, QUANTITY_DECIMAL_SI, out);
    else
        format_binary(q, out);
}

/* --- numbers -------------------------------------------------------------- */

static int64_t
rounded(__int128 nano, __int128 unit)
{
    __int128 n = nano / unit;

    if (nano % unit != 0)
        n += nano > 0 ? 1 : -1;
    if (n > INT64_MAX)
        return INT64_MAX;
    return n < INT64_MIN ? INT64_MIN : (int64_t)n;
}

int64_t
quantity_value(const struct quantity *q)
{
    return rounded(q->nano, NANO);
}

int64_t
quantity_milli_value(const struct quantity *q)
{
    return rounded(q->nano, NANO / 1000);
}

int64_t
quantity_text_value(const char *text)
{
    struct quantity q;

    if (text == NULL || quantity_parse(text, &q) < 0)
        return 0;
    return quantity_value(&q);
}

int64_t
quantity_text_milli(const char *text)
{
    struct quantity q;

    if (text == NULL || quantity_parse(text, &q) < 0)
        return 0;
    return quantity_milli_value(&q);
}

struct quantity
quantity_of(int64_t value, enum quantity_format format)
{
    return (struct quantity){(__int128)value * NANO, format};
}

void
quantity_add(struct quantity *q, const struct quantity *other)
{
    if (q->nano == 0)
        q->format = other->format;
    if (__builtin_add_overflow(q->nano, other->nano, &q->nano))
        q->nano = other->nano > 0 ? max_nano : -max_nano;
}

void
quantity_subtract(struct quantity *q, const struct quantity *other)
{
    struct quantity negative = {-other->nano, other->format};

    quantity_add(q, &negative);
}

int
quantity_sign(const struct quantity *q)
{
    return (q->nano > 0) - (q->nano < 0);
}

int
quantity_compare(const struct quantity *a, const struct quantity *b)
{
    return (a->nano > b->nano) - (a->nano < b->nano);
}
