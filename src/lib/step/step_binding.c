/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs of a step are divided in the order in which tasks take them, so tasks that are
 * neighbours by rank are neighbours on the machine, which is what MPI programs assume. srun's
 * words change the order or widen the sets; none of them leaves the CPUs of the step, because
 * others run on the rest.
 */
#include "lib/step/step_binding.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/api/node/topology.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_distribution.h"

#define SETS_MOST BITSET_BITS

/* --- reading ---------------------------------------------------------------
 */

static int
parse_number(const char *word, struct bitset *set, struct error *err)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul(word, &end, 0);
    if (!isdigit((unsigned char)word[0]) || *end != '\0' || errno != 0 || n >= BITSET_BITS)
        return error_set(err, -EINVAL, "'%.40s' is no number from 0 to %u", word, BITSET_BITS - 1);
    bitset_add(set, (unsigned)n);
    return 0;
}

static int
parse_mask(const char *word, struct bitset *set, struct error *err)
{
    const char *digits = strncasecmp(word, "0x", 2) == 0 ? word + 2 : word;
    const size_t length = strlen(digits);

    if (length == 0 || length * 4 > BITSET_BITS
        || strspn(digits, "0123456789abcdefABCDEF") != length)
        return error_set(err, -EINVAL, "'%.40s' is no mask such as 0xF0", word);
    for (size_t i = 0; i < length; i++) {
        const char digit = digits[length - 1 - i];
        const unsigned value =
            (unsigned)(isdigit((unsigned char)digit) ? digit - '0'
                                                     : tolower((unsigned char)digit) - 'a' + 10);

        for (unsigned bit = 0; bit < 4; bit++)
            if ((value >> bit & 1) != 0)
                bitset_add(set, (unsigned)i * 4 + bit);
    }
    return bitset_is_empty(set) ? error_set(err, -EINVAL, "'%.40s' has no bit", word) : 0;
}

/* "0x3*4" is the same set for four tasks. */
static int
parse_times(char *word, unsigned *ret_times, struct error *err)
{
    char *star = strchr(word, '*'), *end;
    unsigned long n = 1;

    if (star != NULL) {
        *star++ = '\0';
        n = strtoul(star, &end, 10);
        if (!isdigit((unsigned char)star[0]) || *end != '\0' || n == 0 || n > SETS_MOST)
            return error_set(err, -EINVAL, "'*%.40s' is no number of tasks", star);
    }
    *ret_times = (unsigned)n;
    return 0;
}

static int
parse_sets(struct arena *arena, char *list, bool is_mask, struct step_binding *b, struct error *err)
{
    struct bitset *sets = arena_new_array(arena, struct bitset, SETS_MOST);
    char *word;

    while ((word = strsep(&list, ",")) != NULL) {
        struct bitset set = {0};
        unsigned times = 1;
        int r = parse_times(word, &times, err);

        if (r == 0)
            r = is_mask ? parse_mask(word, &set, err) : parse_number(word, &set, err);
        if (r < 0)
            return r;
        if (b->n_sets + times > SETS_MOST)
            return error_set(err, -EINVAL, "more than %u values", SETS_MOST);
        while (times-- > 0)
            sets[b->n_sets++] = set;
    }
    b->sets = sets;
    for (unsigned i = 0; i < b->n_sets && b->kind == STEP_BINDING_LIST; i++)
        bitset_or(&b->named, &sets[i]);
    return 0;
}

/* The kinds with a list, which is the rest of the text. */
static const struct {
    const char *word;
    enum step_binding_kind kind;
    bool is_mask;
} lists[] = {
    {"map_cpu:", STEP_BINDING_LIST, false},
    {"mask_cpu:", STEP_BINDING_LIST, true},
    {"map_ldom:", STEP_BINDING_LIST_LDOM, false},
    {"mask_ldom:", STEP_BINDING_LIST_LDOM, true},
};

static const struct {
    const char *word;
    enum step_binding_kind kind;
} words[] = {
    {"none", STEP_BINDING_NONE},       {"no", STEP_BINDING_NONE},
    {"threads", STEP_BINDING_DEFAULT}, {"thread", STEP_BINDING_DEFAULT},
    {"cores", STEP_BINDING_CORES},     {"core", STEP_BINDING_CORES},
    {"sockets", STEP_BINDING_SOCKETS}, {"socket", STEP_BINDING_SOCKETS},
    {"ldoms", STEP_BINDING_LDOMS},     {"ldom", STEP_BINDING_LDOMS},
    {"rank", STEP_BINDING_RANK},       {"rank_ldom", STEP_BINDING_RANK_LDOM},
};

static int
parse_word(const char *word, struct step_binding *b, struct error *err)
{
    if (strcasecmp(word, "v") == 0 || strcasecmp(word, "verbose") == 0) {
        b->is_verbose = true;
        return 0;
    }
    if (strcasecmp(word, "q") == 0 || strcasecmp(word, "quiet") == 0) {
        b->is_verbose = false;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(word, words[i].word) == 0) {
            b->kind = words[i].kind;
            return 0;
        }
    return error_set(err, -EINVAL,
                     "'%.40s' is no binding; there are none, threads, cores, sockets, ldoms, rank, "
                     "rank_ldom, map_cpu:LIST, mask_cpu:LIST, map_ldom:LIST, mask_ldom:LIST, quiet "
                     "and verbose",
                     word);
}

int
step_binding_parse(struct arena *arena, const char *text, struct step_binding *ret_binding,
                   struct error *err)
{
    struct step_binding b = {0};
    char *rest = arena_strdup(arena, text != NULL ? text : "");
    int r = 0;

    while (r == 0 && rest != NULL && *rest != '\0') {
        size_t i = 0;

        while (i < ARRAY_SIZE(lists)
               && strncasecmp(rest, lists[i].word, strlen(lists[i].word)) != 0)
            i++;
        if (i < ARRAY_SIZE(lists)) {
            b.kind = lists[i].kind;
            r = parse_sets(arena, rest + strlen(lists[i].word), lists[i].is_mask, &b, err);
            break;
        }
        r = parse_word(strsep(&rest, ","), &b, err);
    }
    if (r == 0)
        *ret_binding = b;
    return r;
}

int
step_binding_check(const struct step_binding *b, const struct bitset *cpus, struct error *err)
{
    CLEANUP_STRBUF struct strbuf missing = STRBUF_INIT, present = STRBUF_INIT;
    struct bitset others = b->named;

    bitset_and_not(&others, cpus);
    if (bitset_is_empty(&others))
        return 0;
    cpuset_format(&others, &missing);
    cpuset_format(cpus, &present);
    return error_set(err, -ENOSPC,
                     "--cpu-bind names CPU %.200s, and the job has only the CPUs %.200s",
                     missing.text, present.text);
}

/* --- the CPUs of a step, in the order in which tasks take them --------------
 */

struct cpu_place {
    unsigned cpu, package, numa, core, thread;
};

struct cpu_list {
    struct cpu_place items[BITSET_BITS];
    unsigned count;
};

static int
compare_blocks(const void *a, const void *b)
{
    const struct cpu_place *x = a, *y = b;

    if (x->package != y->package)
        return x->package < y->package ? -1 : 1;
    if (x->numa != y->numa)
        return x->numa < y->numa ? -1 : 1;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* One thread of each core of the socket before the second ones. */
static int
compare_threads(const void *a, const void *b)
{
    const struct cpu_place *x = a, *y = b;

    if (x->package == y->package && x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return compare_blocks(a, b);
}

static struct cpu_place
place_of(const struct topology *t, unsigned cpu)
{
    if (t == NULL || cpu >= t->n_pu || !bitset_has(&t->pus, cpu))
        return (struct cpu_place){.cpu = cpu, .core = cpu};
    return (struct cpu_place){
        .cpu = cpu,
        .package = t->pu[cpu].package,
        .numa = t->pu[cpu].numa,
        .core = t->pu[cpu].core,
    };
}

static void
list_cpus(const struct topology *t, const struct bitset *cpus, bool cycles_cores,
          struct cpu_list *list)
{
    list->count = 0;
    bitset_foreach(cpu, cpus) list->items[list->count++] = place_of(t, cpu);
    qsort(list->items, list->count, sizeof(list->items[0]), compare_blocks);
    for (unsigned i = 1; i < list->count; i++)
        if (list->items[i].core == list->items[i - 1].core)
            list->items[i].thread = list->items[i - 1].thread + 1;
    if (cycles_cores)
        qsort(list->items, list->count, sizeof(list->items[0]), compare_threads);
}

/* The socket from which the next CPUs are taken, in turn; of sockets without free CPUs,
 * the next one.
 */
static unsigned
find_in_turn(const struct cpu_list *list, const bool *taken, unsigned package, bool must_be_other)
{
    unsigned best = list->count, lowest = list->count;

    for (unsigned i = 0; i < list->count; i++) {
        if (taken[i])
            continue;
        if (lowest == list->count || list->items[i].package < list->items[lowest].package)
            lowest = i;
        if ((must_be_other ? list->items[i].package > package : list->items[i].package >= package)
            && (best == list->count || list->items[i].package < list->items[best].package))
            best = i;
    }
    return best < list->count ? best : lowest;
}

/* Each task takes from the next socket (cyclic), or each CPU (fcyclic). */
static void
take_in_turns(const struct cpu_list *list, enum step_order order, unsigned cpus_per_task,
              unsigned n_tasks, struct bitset *sets)
{
    bool taken[BITSET_BITS] = {false};
    unsigned n_taken = 0, package = 0;

    for (unsigned task = 0; task < n_tasks; task++)
        for (unsigned i = 0; i < cpus_per_task; i++) {
            const bool changes = (task > 0 || i > 0) && (order == STEP_ORDER_FCYCLIC || i == 0);
            unsigned at;

            if (n_taken == list->count) {
                memset(taken, 0, sizeof(taken));
                n_taken = 0;
            }
            at = find_in_turn(list, taken, package, changes);
            taken[at] = true;
            n_taken++;
            package = list->items[at].package;
            bitset_add(&sets[task], list->items[at].cpu);
        }
}

static void
take_in_blocks(const struct cpu_list *list, unsigned cpus_per_task, unsigned n_tasks,
               struct bitset *sets)
{
    unsigned next = 0;

    for (unsigned task = 0; task < n_tasks; task++)
        for (unsigned i = 0; i < cpus_per_task; i++)
            bitset_add(&sets[task], list->items[next++ % list->count].cpu);
}

/* --- bindings --------------------------------------------------------------
 */

static unsigned
group_of(const struct cpu_place *place, enum step_binding_kind kind)
{
    return kind == STEP_BINDING_SOCKETS ? place->package
           : kind == STEP_BINDING_LDOMS ? place->numa
                                        : place->core;
}

/* Numbers of cores, packages and NUMA nodes are below those of CPUs. */
static void
widen(const struct cpu_list *list, enum step_binding_kind kind, struct bitset *set)
{
    struct bitset groups = {0};

    for (unsigned i = 0; i < list->count; i++)
        if (bitset_has(set, list->items[i].cpu))
            bitset_add(&groups, group_of(&list->items[i], kind) % BITSET_BITS);
    for (unsigned i = 0; i < list->count; i++)
        if (bitset_has(&groups, group_of(&list->items[i], kind) % BITSET_BITS))
            bitset_add(set, list->items[i].cpu);
}

/* The CPUs of the step in that NUMA node. */
static struct bitset
find_in_numa(const struct topology *t, const struct cpu_list *list, unsigned os_index)
{
    struct bitset set = {0};

    for (unsigned i = 0; i < list->count; i++) {
        const unsigned numa = list->items[i].numa;

        if ((t != NULL && numa < t->n_numa ? t->numa[numa].os_index : 0) == os_index)
            bitset_add(&set, list->items[i].cpu);
    }
    return set;
}

static int
set_numa(const struct step_binding *b, const struct topology *t, const struct cpu_list *list,
         unsigned task, struct bitset *set, struct error *err)
{
    bitset_foreach(numa, &b->sets[task % b->n_sets])
    {
        const struct bitset more = find_in_numa(t, list, numa);

        bitset_or(set, &more);
    }
    if (bitset_is_empty(set))
        return error_set(err, -ENOSPC,
                         "--cpu-bind: the step has no CPU of the NUMA node of task %u", task);
    return 0;
}

/* The n-th NUMA node that has CPUs of the step, modulo their number. */
static struct bitset
find_ranked_numa(const struct topology *t, const struct cpu_list *list, unsigned n)
{
    struct bitset nodes = {0};
    unsigned count = 0;

    for (unsigned i = 0; i < list->count; i++)
        bitset_add(&nodes, t != NULL && list->items[i].numa < t->n_numa
                               ? t->numa[list->items[i].numa].os_index
                               : 0);
    n %= bitset_count(&nodes);
    bitset_foreach(numa, &nodes) if (count++ == n) return find_in_numa(t, list, numa);
    return (struct bitset){0};
}

static unsigned
find_ranked_cpu(const struct bitset *cpus, unsigned n)
{
    unsigned count = 0;

    n %= bitset_count(cpus);
    bitset_foreach(cpu, cpus) if (count++ == n) return cpu;
    return 0;
}

/* The sets are empty, or have the CPUs of the default. */
static int
bind_task(const struct step_binding *b, const struct topology *t, const struct bitset *cpus,
          const struct cpu_list *list, unsigned task, struct bitset *set, struct error *err)
{
    switch (b->kind) {
    case STEP_BINDING_DEFAULT:
        return 0;
    case STEP_BINDING_NONE:
        *set = *cpus;
        return 0;
    case STEP_BINDING_CORES:
    case STEP_BINDING_SOCKETS:
    case STEP_BINDING_LDOMS:
        widen(list, b->kind, set);
        return 0;
    case STEP_BINDING_RANK:
        *set = (struct bitset){0};
        bitset_add(set, find_ranked_cpu(cpus, task));
        return 0;
    case STEP_BINDING_RANK_LDOM:
        *set = find_ranked_numa(t, list, task);
        return 0;
    case STEP_BINDING_LIST:
        *set = b->sets[task % b->n_sets];
        bitset_and(set, cpus);
        return 0;
    case STEP_BINDING_LIST_LDOM:
        *set = (struct bitset){0};
        return set_numa(b, t, list, task, set, err);
    }
    return 0;
}

int
step_binding_apply(const struct step_binding *binding, const struct step_distribution *distribution,
                   const struct topology *topology, const struct bitset *cpus,
                   unsigned cpus_per_task, unsigned n_tasks, struct bitset *sets, struct error *err)
{
    CLEANUP_FREE struct cpu_list *list = xnew(struct cpu_list);
    const enum step_order order = distribution->sockets;
    int r = 0;

    memset(sets, 0, n_tasks * sizeof(*sets));
    list_cpus(topology, cpus,
              distribution->cores == STEP_ORDER_CYCLIC || distribution->cores == STEP_ORDER_FCYCLIC,
              list);
    if (list->count == 0)
        return error_set(err, -ENOSPC, "the step has no CPU here");
    if (cpus_per_task == 0)
        for (unsigned task = 0; task < n_tasks; task++)
            sets[task] = *cpus;
    else if (order == STEP_ORDER_CYCLIC || order == STEP_ORDER_FCYCLIC)
        take_in_turns(list, order, cpus_per_task, n_tasks, sets);
    else
        take_in_blocks(list, cpus_per_task, n_tasks, sets);
    for (unsigned task = 0; task < n_tasks && r == 0; task++)
        r = bind_task(binding, topology, cpus, list, task, &sets[task], err);
    return r;
}

void
step_binding_format_mask(const struct bitset *set, struct strbuf *out)
{
    unsigned digit = BITSET_BITS / 4;

    while (digit > 1 && (set->words[(digit - 1) / 16] >> ((digit - 1) % 16 * 4) & 0xF) == 0)
        digit--;
    strbuf_add_text(out, "0x");
    while (digit-- > 0)
        strbuf_printf(out, "%X", (unsigned)(set->words[digit / 16] >> (digit % 16 * 4) & 0xF));
}
