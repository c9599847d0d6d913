/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics are updated where time matters and read once in half a minute, so an update is a few
 * atomic operations without the lock, and formatting does the work. A reader may see one half
 * of two updates that belong together; only within a histogram must sum and count agree, which
 * is why the count is the sum of the buckets.
 */
#include "lib/base/metric.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

enum type {
    COUNTER,
    GAUGE,
    HISTOGRAM,
};

static const char *const type_names[] = {
    [COUNTER] = "counter",
    [GAUGE] = "gauge",
    [HISTOGRAM] = "histogram",
};

struct metric {
    struct metric_family *family;
    char *labels; /* formatted: a="x",b="y" */
    metric_read_fn read;
    void *read_context;
    _Atomic uint64_t count;      /* of a counter */
    _Atomic uint64_t value;      /* bits of a double: a gauge's value, a
                                 * histogram's sum */
    _Atomic uint64_t last, most; /* of a histogram: bits of doubles, not formatted */
    _Atomic uint64_t buckets[];  /* of a histogram: n_bounds + 1, not
                                 * cumulative */
};

struct metric_family {
    struct metric_registry *registry;
    enum type type;
    char *name;
    char *help;
    char *label_names[METRIC_MAX_LABELS];
    size_t n_labels;
    double *bounds;
    size_t n_bounds;
    struct metric **series; /* sorted by labels */
    size_t n_series;
    size_t capacity;
};

struct metric_registry {
    pthread_mutex_t lock;
    struct metric_family **families; /* sorted by name */
    size_t n_families;
    size_t capacity;
};

static void NORETURN
mistake(const char *name, const char *what)
{
    fprintf(stderr, "metric '%s': %s\n", name, what);
    abort();
}

struct metric_registry *
metric_registry_new(void)
{
    struct metric_registry *registry = xnew(struct metric_registry);

    pthread_mutex_init(&registry->lock, NULL);
    return registry;
}

static void
free_family(struct metric_family *family)
{
    for (size_t i = 0; i < family->n_series; i++) {
        free(family->series[i]->labels);
        free(family->series[i]);
    }
    for (size_t i = 0; i < family->n_labels; i++)
        free(family->label_names[i]);
    free(family->series);
    free(family->bounds);
    free(family->name);
    free(family->help);
    free(family);
}

void
metric_registry_free(struct metric_registry *registry)
{
    if (registry == NULL)
        return;
    for (size_t i = 0; i < registry->n_families; i++)
        free_family(registry->families[i]);
    free(registry->families);
    pthread_mutex_destroy(&registry->lock);
    free(registry);
}

static bool
is_name(const char *name, size_t length)
{
    static const char allowed[] = "0123456789_:"
                                  "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return length > 0 && (*name < '0' || *name > '9') && strspn(name, allowed) >= length;
}

static void
split_labels(struct metric_family *family, const char *labels)
{
    while (labels != NULL && *labels != '\0') {
        size_t length = strcspn(labels, ",");

        if (family->n_labels == METRIC_MAX_LABELS)
            mistake(family->name, "too many labels");
        if (!is_name(labels, length))
            mistake(family->name, "not the name of a label");
        family->label_names[family->n_labels++] = xstrndup(labels, length);
        labels += length + (labels[length] == ',');
    }
}

/* The index of the family with this name, or where it should be inserted. */
static size_t
place_of(const struct metric_registry *registry, const char *name)
{
    size_t low = 0;
    size_t high = registry->n_families;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (strcmp(registry->families[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct metric_family *
add_family(struct metric_registry *registry, size_t at, enum type type, const char *name)
{
    struct metric_family *family = xnew(struct metric_family);

    xgrow(registry->families, registry->n_families, registry->capacity);
    memmove(registry->families + at + 1, registry->families + at,
            (registry->n_families - at) * sizeof(*registry->families));
    registry->families[at] = family;
    registry->n_families++;
    family->registry = registry;
    family->type = type;
    family->name = xstrdup(name);
    return family;
}

static struct metric_family *
family_of(struct metric_registry *registry, enum type type, const char *name, const char *help,
          const char *labels)
{
    struct metric_family *family;
    size_t at;

    if (!is_name(name, strlen(name)))
        mistake(name, "not the name of a metric");
    pthread_mutex_lock(&registry->lock);
    at = place_of(registry, name);
    family = at < registry->n_families ? registry->families[at] : NULL;
    if (family == NULL || strcmp(family->name, name) != 0) {
        family = add_family(registry, at, type, name);
        family->help = xstrdup(help);
        split_labels(family, labels);
    } else if (family->type != type) {
        mistake(name, "registered as two types");
    }
    pthread_mutex_unlock(&registry->lock);
    return family;
}

struct metric_family *
metric_counter(struct metric_registry *registry, const char *name, const char *help,
               const char *labels)
{
    return family_of(registry, COUNTER, name, help, labels);
}

struct metric_family *
metric_gauge(struct metric_registry *registry, const char *name, const char *help,
             const char *labels)
{
    return family_of(registry, GAUGE, name, help, labels);
}

struct metric_family *
metric_histogram(struct metric_registry *registry, const char *name, const char *help,
                 const char *labels, const double *bounds, size_t n_bounds)
{
    struct metric_family *family = family_of(registry, HISTOGRAM, name, help, labels);

    pthread_mutex_lock(&registry->lock);
    if (family->bounds == NULL) {
        family->bounds = xmemdup(bounds, n_bounds * sizeof(*bounds));
        family->n_bounds = n_bounds;
    } else if (family->n_bounds != n_bounds) {
        mistake(name, "registered with two different lists of bounds");
    }
    pthread_mutex_unlock(&registry->lock);
    return family;
}

void
metric_exponential_bounds(double start, double factor, double *ret_bounds, size_t n_bounds)
{
    for (size_t i = 0; i < n_bounds; i++, start *= factor)
        ret_bounds[i] = start;
}

static void
add_escaped(struct strbuf *out, const char *text, bool quotes)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\' || (quotes && *text == '"'))
            strbuf_add_char(out, '\\');
        if (*text == '\n')
            strbuf_add_text(out, "\\n");
        else
            strbuf_add_char(out, *text);
    }
}

/* a="x",b="y": identifies the series, and is the text that is written. */
static void
add_labels(const struct metric_family *family, const char *const *values, struct strbuf *out)
{
    size_t n = 0;

    for (; values[n] != NULL && n < family->n_labels; n++) {
        if (n > 0)
            strbuf_add_char(out, ',');
        strbuf_add_text(out, family->label_names[n]);
        strbuf_add(out, "=\"", 2);
        if (strpbrk(values[n], "\\\"\n") == NULL)
            strbuf_add_text(out, values[n]);
        else
            add_escaped(out, values[n], true);
        strbuf_add_char(out, '"');
    }
    if (n < family->n_labels || values[n] != NULL)
        mistake(family->name, "other labels than at its registration");
}

static struct metric *
add_series(struct metric_family *family, size_t at, const char *labels)
{
    size_t n_buckets = family->type == HISTOGRAM ? family->n_bounds + 1 : 0;
    struct metric *metric = xcalloc(1, sizeof(*metric) + n_buckets * sizeof(metric->buckets[0]));

    xgrow(family->series, family->n_series, family->capacity);
    memmove(family->series + at + 1, family->series + at,
            (family->n_series - at) * sizeof(*family->series));
    family->series[at] = metric;
    family->n_series++;
    metric->family = family;
    metric->labels = xstrdup(labels);
    return metric;
}

struct metric *
metric_series_of(struct metric_family *family, const char *const *values)
{
    char room[256];
    CLEANUP_STRBUF struct strbuf labels;
    struct metric *metric;
    size_t low = 0;
    size_t high;

    strbuf_init_in(&labels, room, sizeof(room));
    add_labels(family, values, &labels);
    pthread_mutex_lock(&family->registry->lock);
    high = family->n_series;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (strcmp(family->series[middle]->labels, labels.text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    metric = low < family->n_series ? family->series[low] : NULL;
    if (metric == NULL || strcmp(metric->labels, labels.text) != 0)
        metric = add_series(family, low, labels.text);
    pthread_mutex_unlock(&family->registry->lock);
    return metric;
}

static uint64_t
bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double
double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

void
metric_count(struct metric *metric, uint64_t by)
{
    atomic_fetch_add_explicit(&metric->count, by, memory_order_relaxed);
}

void
metric_set(struct metric *metric, double value)
{
    atomic_store_explicit(&metric->value, bits_of(value), memory_order_relaxed);
}

void
metric_add(struct metric *metric, double by)
{
    uint64_t old = atomic_load_explicit(&metric->value, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(&metric->value, &old,
                                                  bits_of(double_of(old) + by),
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void
metric_observe(struct metric *metric, double value)
{
    const struct metric_family *family = metric->family;
    size_t low = 0;
    size_t high = family->n_bounds;

    /* The first bound that is not below the value; NaN goes to the last bucket.
     */
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (value <= family->bounds[middle])
            high = middle;
        else
            low = middle + 1;
    }
    atomic_fetch_add_explicit(&metric->buckets[low], 1, memory_order_relaxed);
    metric_add(metric, value);
    atomic_store_explicit(&metric->last, bits_of(value), memory_order_relaxed);
    if (value > double_of(atomic_load_explicit(&metric->most, memory_order_relaxed)))
        atomic_store_explicit(&metric->most, bits_of(value), memory_order_relaxed);
}

void
metric_read(struct metric *metric, metric_read_fn read, void *context)
{
    pthread_mutex_lock(&metric->family->registry->lock);
    metric->read = read;
    metric->read_context = context;
    pthread_mutex_unlock(&metric->family->registry->lock);
}

static double
value_of(const struct metric *metric)
{
    double total = 0;

    if (metric->read != NULL)
        return metric->read(metric->read_context);
    switch (metric->family->type) {
    case COUNTER:
        return (double)atomic_load_explicit(&metric->count, memory_order_relaxed);
    case GAUGE:
        return double_of(atomic_load_explicit(&metric->value, memory_order_relaxed));
    case HISTOGRAM:
        for (size_t i = 0; i <= metric->family->n_bounds; i++)
            total += (double)atomic_load_explicit(&metric->buckets[i], memory_order_relaxed);
        return total;
    }
    return 0;
}

/* Writes the fewest digits that read back as the same number. */
static void
add_number(struct strbuf *out, double value)
{
    char text[32];

    if (isnan(value)) {
        strbuf_add_text(out, "NaN");
        return;
    }
    if (isinf(value)) {
        strbuf_add_text(out, value > 0 ? "+Inf" : "-Inf");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (bits_of(strtod(text, NULL)) == bits_of(value))
            break;
    }
    strbuf_add_text(out, text);
}

/* name_suffix{labels,le="bound"} value; a NaN bound means no "le" label. */
static void
add_line(struct strbuf *out, const struct metric *metric, const char *suffix, double bound,
         double value)
{
    strbuf_printf(out, "%s%s", metric->family->name, suffix);
    if (*metric->labels != '\0' || !isnan(bound)) {
        strbuf_printf(out, "{%s", metric->labels);
        if (!isnan(bound)) {
            if (*metric->labels != '\0')
                strbuf_add_char(out, ',');
            strbuf_add_text(out, "le=\"");
            add_number(out, bound);
            strbuf_add_char(out, '"');
        }
        strbuf_add_char(out, '}');
    }
    strbuf_add_char(out, ' ');
    add_number(out, value);
    strbuf_add_char(out, '\n');
}

/* The count is the sum of the buckets, so that both agree while other threads
 * count.
 */
static void
add_histogram(struct strbuf *out, const struct metric *metric)
{
    const struct metric_family *family = metric->family;
    uint64_t total = 0;

    for (size_t i = 0; i <= family->n_bounds; i++) {
        total += atomic_load_explicit(&metric->buckets[i], memory_order_relaxed);
        add_line(out, metric, "_bucket",
                 i < family->n_bounds ? family->bounds[i] : (double)INFINITY, (double)total);
    }
    add_line(out, metric, "_sum", (double)NAN,
             double_of(atomic_load_explicit(&metric->value, memory_order_relaxed)));
    add_line(out, metric, "_count", (double)NAN, (double)total);
}

void
metric_format(struct metric_registry *registry, struct strbuf *out)
{
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->n_families; i++) {
        const struct metric_family *family = registry->families[i];

        if (family->n_series == 0)
            continue;
        strbuf_printf(out, "# HELP %s ", family->name);
        add_escaped(out, family->help, false);
        strbuf_printf(out, "\n# TYPE %s %s\n", family->name, type_names[family->type]);
        for (size_t j = 0; j < family->n_series; j++)
            if (family->type == HISTOGRAM)
                add_histogram(out, family->series[j]);
            else
                add_line(out, family->series[j], "", (double)NAN, value_of(family->series[j]));
    }
    pthread_mutex_unlock(&registry->lock);
}

static void
add_totals(const struct metric *m, size_t n_buckets, struct metric_totals *totals)
{
    const double most = double_of(atomic_load_explicit(&m->most, memory_order_relaxed));

    for (size_t i = 0; i < n_buckets; i++)
        totals->count += atomic_load_explicit(&m->buckets[i], memory_order_relaxed);
    totals->sum += double_of(atomic_load_explicit(&m->value, memory_order_relaxed));
    totals->last = double_of(atomic_load_explicit(&m->last, memory_order_relaxed));
    if (most > totals->most)
        totals->most = most;
}

bool
metric_find_totals(struct metric_registry *registry, const char *name, struct metric_totals *ret)
{
    const struct metric_family *family;
    bool is_found;
    size_t at;

    *ret = (struct metric_totals){0};
    pthread_mutex_lock(&registry->lock);
    at = place_of(registry, name);
    family = at < registry->n_families ? registry->families[at] : NULL;
    is_found = family != NULL && family->type == HISTOGRAM && strcmp(family->name, name) == 0;
    for (size_t i = 0; is_found && i < family->n_series; i++)
        add_totals(family->series[i], family->n_bounds + 1, ret);
    pthread_mutex_unlock(&registry->lock);
    return is_found;
}
