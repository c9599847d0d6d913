/* SPDX-License-Identifier: Apache-2.0 */
/* A list of ten thousand names has to fit into a line, and "n[1-10000]" of an attacker must
 * not become a billion names: products of brackets are counted before a name is made. Leading
 * zeros are part of a name (n08 is not n8), so ranges keep their width. Names sort by their
 * numbers and not as text, as people number racks and nodes.
 */
#include "lib/api/value/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define LONGEST_NAME 253 /* bytes, as for every name of an object */
#define MOST_DIGITS  9
#define MOST_PARTS   16 /* brackets in one name */

/* ---- From the short form to names ---- */

/* "04-7" of a bracket */
struct number_range {
    uint32_t first, last;
    int width;
};

/* A bracket, and the text before it; the last part of a name has only text. */
struct name_part {
    const char *text;
    size_t length;
    struct number_range *ranges;
    size_t n_ranges;
    size_t total; /* numbers in all ranges; 0: no bracket */
};

struct host_name {
    struct name_part parts[MOST_PARTS + 1];
    size_t n_parts;
    size_t total; /* names */
};

struct host_expansion {
    size_t most;
    struct arena *arena;
    const char *text; /* the whole list */
    const char *at;
    const char **names;
    size_t count, capacity;
    struct error *err;
};

static int
refuse_at(const struct host_expansion *e, const char *at, const char *problem)
{
    return error_set(e->err, -EINVAL,
                     "'%.60s%s' is not a list of nodes (such as n1,n[4-7]): %s at character %zu",
                     e->text, strlen(e->text) > 60 ? "..." : "", problem,
                     (size_t)(at - e->text) + 1);
}

static int
refuse_count(const struct host_expansion *e)
{
    return error_set(e->err, -E2BIG, "'%.60s%s' names more than %zu nodes", e->text,
                     strlen(e->text) > 60 ? "..." : "", e->most);
}

static int
read_number(struct host_expansion *e, uint32_t *ret_value, int *ret_width)
{
    const char *start = e->at;
    uint32_t value = 0;

    while (isdigit((unsigned char)*e->at) && e->at - start <= MOST_DIGITS)
        value = value * 10 + (uint32_t)(*e->at++ - '0');
    if (e->at == start)
        return refuse_at(e, e->at, "a number is missing");
    if (e->at - start > MOST_DIGITS)
        return refuse_at(e, start, "a number has too many digits");
    *ret_value = value;
    *ret_width = (int)(e->at - start);
    return 0;
}

/* Reads "4-7" or "4". */
static int
read_range(struct host_expansion *e, struct number_range *range)
{
    const char *start = e->at;
    int width;
    int r = read_number(e, &range->first, &range->width);

    if (r < 0)
        return r;
    range->last = range->first;
    if (*e->at != '-')
        return 0;
    e->at++;
    r = read_number(e, &range->last, &width);
    if (r < 0)
        return r;
    if (range->last < range->first)
        return refuse_at(e, start, "a range runs backwards");
    if (width < range->width || (e->at[-width] == '0' && width > range->width))
        return refuse_at(e, start, "a range's two ends have different numbers of leading zeros");
    return 0;
}

/* Reads the inside of a bracket, and the bracket that closes it. */
static int
read_bracket(struct host_expansion *e, struct name_part *part)
{
    const char *open = e->at - 1;
    size_t capacity = 1;

    for (const char *p = e->at; *p != '\0' && *p != ']'; p++)
        capacity += *p == ',';
    part->ranges = arena_new_array(e->arena, struct number_range, capacity);
    for (;;) {
        struct number_range *range = &part->ranges[part->n_ranges++];
        int r = read_range(e, range);

        if (r < 0)
            return r;
        part->total += (size_t)(range->last - range->first) + 1;
        if (part->total > e->most)
            return refuse_count(e);
        if (*e->at == ']') {
            e->at++;
            return 0;
        }
        if (*e->at == '\0')
            return refuse_at(e, open, "no ']' closes the '['");
        if (*e->at != ',')
            return refuse_at(e, e->at, "neither a number nor ',' nor ']'");
        e->at++;
    }
}

static bool
is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* Reads one name with its brackets, up to a comma or the end. */
static int
read_name(struct host_expansion *e, struct host_name *name)
{
    const char *start = e->at;

    *name = (struct host_name){.total = 1};
    for (;;) {
        struct name_part *part = &name->parts[name->n_parts++];
        int r;

        part->text = e->at;
        while (is_of_name(*e->at))
            e->at++;
        part->length = (size_t)(e->at - part->text);
        if (*e->at == ',' || *e->at == '\0')
            break;
        if (*e->at != '[')
            return refuse_at(
                e, e->at, *e->at == ']' ? "no '[' opens the ']'" : "a character that no name has");
        if (name->n_parts > MOST_PARTS)
            return refuse_at(e, e->at, "too many brackets in one name");
        e->at++;
        r = read_bracket(e, part);
        if (r < 0)
            return r;
        /* Both factors are at most HOSTLIST_MAX. */
        name->total *= part->total;
        if (name->total > e->most)
            return refuse_count(e);
    }
    if (e->at == start)
        return refuse_at(e, start, "a name is missing");
    return e->count + name->total > e->most ? refuse_count(e) : 0;
}

/* Adds the number with this index of a bracket. */
static void
add_number(const struct name_part *part, size_t index, struct strbuf *out)
{
    const struct number_range *range = part->ranges;

    while (index > range->last - range->first) {
        index -= (size_t)(range->last - range->first) + 1;
        range++;
    }
    strbuf_printf(out, "%0*" PRIu32, range->width, range->first + (uint32_t)index);
}

static void
append(struct host_expansion *e, const char *name)
{
    if (e->count == e->capacity) {
        const char **names;

        e->capacity = e->capacity > 0 ? e->capacity * 2 : 16;
        names = arena_new_array(e->arena, const char *, e->capacity);
        if (e->count > 0)
            memcpy(names, e->names, e->count * sizeof(*names));
        e->names = names;
    }
    e->names[e->count++] = name;
}

/* Makes the names; the last bracket changes fastest. */
static int
make_names(struct host_expansion *e, const struct host_name *name, const char *start)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < name->total; i++) {
        size_t rest = i;
        size_t below = name->total;

        strbuf_truncate(&text, 0);
        for (size_t p = 0; p < name->n_parts; p++) {
            const struct name_part *part = &name->parts[p];

            strbuf_add(&text, part->text, part->length);
            if (part->total == 0)
                continue;
            below /= part->total;
            add_number(part, rest / below, &text);
            rest %= below;
        }
        if (text.length > LONGEST_NAME)
            return refuse_at(e, start, "a name is longer than 253 characters");
        append(e, arena_strdup(e->arena, text.text));
    }
    return 0;
}

struct indexed_name {
    const char *name;
    size_t index;
};

static int
compare_indexed(const void *a, const void *b)
{
    const struct indexed_name *x = a, *y = b;
    const int order = strcmp(x->name, y->name);

    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* Removes all but the first of equal names. */
static void
remove_repeated(struct host_expansion *e)
{
    CLEANUP_FREE struct indexed_name *sorted = xnew_array(struct indexed_name, e->count);
    size_t n = 0;

    for (size_t i = 0; i < e->count; i++)
        sorted[i] = (struct indexed_name){e->names[i], i};
    qsort(sorted, e->count, sizeof(*sorted), compare_indexed);
    for (size_t i = 1; i < e->count; i++)
        if (strcmp(sorted[i].name, sorted[i - 1].name) == 0)
            e->names[sorted[i].index] = NULL;
    for (size_t i = 0; i < e->count; i++)
        if (e->names[i] != NULL)
            e->names[n++] = e->names[i];
    e->count = n;
}

bool
hostlist_looks_like(const char *text)
{
    return strpbrk(text, "[],") != NULL;
}

int
hostlist_expand_few(struct arena *arena, const char *text, size_t most, const char ***ret_names,
                    size_t *ret_count, struct error *err)
{
    struct host_expansion e = {.most = most, .arena = arena, .text = text, .at = text, .err = err};

    if (strlen(text) > HOSTLIST_LONGEST)
        return error_set(err, -E2BIG, "a list of nodes is longer than %u bytes", HOSTLIST_LONGEST);
    for (;; e.at++) {
        const char *start = e.at;
        struct host_name name;
        int r = read_name(&e, &name);

        if (r == 0)
            r = make_names(&e, &name, start);
        if (r < 0)
            return r;
        if (*e.at == '\0')
            break;
    }
    remove_repeated(&e);
    *ret_names = e.names;
    *ret_count = e.count;
    return 0;
}

int
hostlist_expand(struct arena *arena, const char *text, const char ***ret_names, size_t *ret_count,
                struct error *err)
{
    return hostlist_expand_few(arena, text, HOSTLIST_MAX, ret_names, ret_count, err);
}

/* ---- From names to the short form ---- */

/* "rack1-n07.site": its last number (of a longer one, the last digits), with the
 * text before and after it
 */
struct split_name {
    const char *name;
    size_t stem, width; /* width 0: no number */
    uint32_t number;
};

static struct split_name
split(const char *name)
{
    struct split_name s = {.name = name};
    size_t end = strlen(name);

    while (end > 0 && !isdigit((unsigned char)name[end - 1]))
        end--;
    s.stem = end;
    while (s.stem > 0 && end - s.stem < MOST_DIGITS && isdigit((unsigned char)name[s.stem - 1]))
        s.stem--;
    s.width = end - s.stem;
    if (s.width > 0)
        for (size_t i = s.stem; i < end; i++)
            s.number = s.number * 10 + (uint32_t)(name[i] - '0');
    else
        s.stem = strlen(name);
    return s;
}

static const char *
after_number(const struct split_name *s)
{
    return s->name + s->stem + s->width;
}

static bool
are_siblings(const struct split_name *a, const struct split_name *b)
{
    return a->width > 0 && b->width > 0 && a->stem == b->stem
           && memcmp(a->name, b->name, a->stem) == 0
           && strcmp(after_number(a), after_number(b)) == 0;
}

/* By the text, but digits that both have at one place as numbers: rack9 is before
 * rack10. Texts that differ only in leading zeros are in the order of their
 * bytes.
 */
static int
compare_stems(const struct split_name *a, const struct split_name *b)
{
    const char *x = a->name, *y = b->name;
    const char *x_end = x + a->stem, *y_end = y + b->stem;
    const size_t shorter = a->stem < b->stem ? a->stem : b->stem;
    int order;

    while (x < x_end && y < y_end) {
        const char *x_number = x, *y_number = y;

        if (!isdigit((unsigned char)*x) || !isdigit((unsigned char)*y)) {
            if (*x != *y)
                return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
            x++, y++;
            continue;
        }
        while (x_number < x_end && *x_number == '0')
            x_number++;
        while (y_number < y_end && *y_number == '0')
            y_number++;
        for (x = x_number; x < x_end && isdigit((unsigned char)*x);)
            x++;
        for (y = y_number; y < y_end && isdigit((unsigned char)*y);)
            y++;
        if (x - x_number != y - y_number)
            return x - x_number < y - y_number ? -1 : 1;
        order = memcmp(x_number, y_number, (size_t)(x - x_number));
        if (order != 0)
            return order;
    }
    if (x < x_end || y < y_end)
        return x < x_end ? 1 : -1;
    order = memcmp(a->name, b->name, shorter);
    return order != 0 ? order : (a->stem > b->stem) - (a->stem < b->stem);
}

/* Siblings are next to each other, by number. */
static int
compare_split(const void *a, const void *b)
{
    const struct split_name *x = a, *y = b;
    int order;

    if (!are_siblings(x, y)) {
        order = compare_stems(x, y);
        if (order == 0)
            order = strcmp(after_number(x), after_number(y));
        return order != 0 ? order : (x->width > y->width) - (x->width < y->width);
    }
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->width > y->width) - (x->width < y->width);
}

int
hostlist_compare(const void *a, const void *b)
{
    const struct split_name x = split(*(const char *const *)a);
    const struct split_name y = split(*(const char *const *)b);

    return compare_split(&x, &y);
}

static int
digits_of(uint32_t number)
{
    int n = 1;

    for (; number >= 10; number /= 10)
        n++;
    return n;
}

/* Whether `s` is how a range that begins with `first` and has reached `last`
 * goes on: leading zeros are those of its beginning.
 */
static bool
goes_on(const struct split_name *first, const struct split_name *last, const struct split_name *s)
{
    const int digits = digits_of(s->number);

    return s->number == last->number + 1
           && (int)s->width == (digits > (int)first->width ? digits : (int)first->width);
}

/* Adds "n[1-3,7]-ib". */
static void
format_siblings(const struct split_name *names, size_t count, struct strbuf *out)
{
    strbuf_add(out, names[0].name, names[0].stem);
    for (size_t i = 0, n; i < count; i += n) {
        const struct split_name *last = &names[i];

        strbuf_add_char(out, i == 0 ? '[' : ',');
        strbuf_add(out, names[i].name + names[i].stem, names[i].width);
        for (n = 1; i + n < count && goes_on(&names[i], last, &names[i + n]); n++)
            last = &names[i + n];
        if (n == 1)
            continue;
        strbuf_add_char(out, '-');
        strbuf_add(out, last->name + last->stem, last->width);
    }
    strbuf_add_char(out, ']');
    strbuf_add_text(out, after_number(&names[0]));
}

static void
format_split(const struct split_name *names, size_t count, size_t most_bytes, struct strbuf *out)
{
    const size_t start = out->length;

    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && are_siblings(&names[i], &names[i + n]);)
            n++;
        if (i > 0)
            strbuf_add_char(out, ',');
        if (most_bytes > 0 && out->length - start > most_bytes) {
            strbuf_printf(out, "... (%zu more)", count - i);
            return;
        }
        if (n == 1)
            strbuf_add_text(out, names[i].name);
        else
            format_siblings(&names[i], n, out);
    }
}

void
hostlist_format(const char **names, size_t count, size_t most_bytes, struct strbuf *out)
{
    CLEANUP_FREE struct split_name *sorted = xnew_array(struct split_name, count + 1);

    for (size_t i = 0; i < count; i++)
        sorted[i] = split(names[i]);
    qsort(sorted, count, sizeof(*sorted), compare_split);
    for (size_t i = 0; i < count; i++)
        names[i] = sorted[i].name;
    format_split(sorted, count, most_bytes, out);
}

void
hostlist_format_in_order(const char *const *names, size_t count, struct strbuf *out)
{
    CLEANUP_FREE struct split_name *all = xnew_array(struct split_name, count + 1);

    for (size_t i = 0; i < count; i++)
        all[i] = split(names[i]);
    format_split(all, count, 0, out);
}
