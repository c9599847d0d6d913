/* SPDX-License-Identifier: Apache-2.0 */
/* reading.c - reads values of lines, and compares results with them */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/conformance/placing/placing.h"

static void NORETURN
give_up(const char *what)
{
    printf("Bail out! %s\n", what);
    exit(EXIT_FAILURE);
}

void
placing_differs(struct placing *p, const char *format, ...)
{
    va_list args;

    p->mismatches++;
    if (!p->is_loud)
        return;
    printf("# %s: ", p->id);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

void
placing_cpus(const struct json *object, const char *name, struct bitset *ret_cpus)
{
    const char *text = json_get_text(object, name);

    memset(ret_cpus, 0, sizeof(*ret_cpus));
    if (text != NULL && cpuset_parse(text, ret_cpus, NULL) < 0)
        give_up("a list of CPUs cannot be read");
}

uint64_t
placing_int(const struct json *object, const char *name)
{
    int64_t value = json_get_int(object, name, -1);

    if (value < 0)
        give_up("a number is missing");
    return (uint64_t)value;
}

struct cpu_options
placing_options(const struct json *list)
{
    struct cpu_options options = {0};

    for (uint32_t i = 0; i < json_count(list); i++)
        if (!cpu_options_add(&options, json_text(json_at(list, i))))
            give_up("there is an option that is not known");
    return options;
}

void
placing_hints(const struct json *list, struct numa_hints *ret_hints)
{
    *ret_hints = (struct numa_hints){.is_anything = !json_is(list, JSON_ARRAY)};
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *pair = json_at(list, i);
        int64_t nodes = 0, preferred = 0;
        bool is_any = json_is(json_at(pair, 0), JSON_NULL);

        json_to_int(json_at(pair, 0), &nodes);
        if (json_is(json_at(pair, 1), JSON_BOOL))
            preferred = json_is_true(json_at(pair, 1));
        else
            json_to_int(json_at(pair, 1), &preferred);
        numa_hints_add(ret_hints, (uint64_t)nodes, preferred != 0);
        ret_hints->items[i].is_any = is_any;
    }
}

enum hint_policy
placing_policy(const char *name)
{
    static const char *const names[] = {
        [HINT_NONE] = "none",
        [HINT_BEST_EFFORT] = "best-effort",
        [HINT_RESTRICTED] = "restricted",
        [HINT_SINGLE] = "single-numa-node",
    };

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        if (name != NULL && strcmp(names[i], name) == 0)
            return (enum hint_policy)i;
    give_up("there is a policy that is not known");
}

uint16_t *
placing_distances(const struct json *rows)
{
    uint32_t n = json_count(rows);
    uint16_t *distances = xnew_array(uint16_t, n * n + 1);

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            int64_t value = 0;

            json_to_int(json_at(json_at(rows, i), k), &value);
            distances[i * n + k] = (uint16_t)value;
        }
    return distances;
}

static const char *const memory_names[MEMORY_TYPES] = {
    "memory",
    "hugepages-2Mi",
    "hugepages-1Gi",
    "hugepages-64Ki",
};

unsigned
placing_memory_type(const char *name)
{
    for (unsigned i = 0; i < MEMORY_TYPES; i++)
        if (name != NULL && strcmp(memory_names[i], name) == 0)
            return i;
    give_up("there is a type of memory that is not known");
}

const char *
placing_memory_name(unsigned type)
{
    return memory_names[type];
}

/* Memory of huge pages is not counted as plain memory. */
void
placing_memory_nodes(const struct json *list, struct memory_manager *l)
{
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json *node = json_at(list, i);
        const struct json *huge = json_get(node, "hugepages");
        uint16_t id = (uint16_t)placing_int(node, "id");
        uint64_t plain = placing_int(node, "total") - placing_int(node, "reserved");
        struct memory_node *n;

        memory_manager_add_node(l, id);
        n = memory_manager_find(l, id);
        for (uint32_t k = 0; k < json_count(huge); k++) {
            const struct json *h = json_at(huge, k);
            uint64_t bytes = placing_int(h, "page_kib") * 1024 * placing_int(h, "pages");
            struct memory_cell *cell = &n->cells[placing_memory_type(json_get_text(h, "type"))];

            plain -= bytes;
            cell->allocatable = bytes - (uint64_t)json_get_int(h, "reserved", 0);
            cell->free = cell->allocatable;
        }
        n->cells[0] = (struct memory_cell){.allocatable = plain, .free = plain};
    }
}

uint64_t
placing_mask(const struct json *list)
{
    uint64_t mask = 0;

    for (uint32_t i = 0; i < json_count(list); i++) {
        int64_t id = 0;

        json_to_int(json_at(list, i), &id);
        mask |= UINT64_C(1) << id;
    }
    return mask;
}

void
placing_check_cpus(struct placing *p, const char *what, const struct json *expected,
                   const struct bitset *cpus)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *list = json_text(expected);
    struct bitset wanted = {0};

    if (list != NULL)
        cpuset_parse(list, &wanted, NULL);
    if (bitset_equals(&wanted, cpus))
        return;
    cpuset_format(cpus, &text);
    placing_differs(p, "%s: %s, not %s", what, text.text != NULL ? text.text : "none",
                    list != NULL ? list : "none");
}

void
placing_check_hints(struct placing *p, const char *what, const struct json *expected,
                    const struct numa_hints *hints)
{
    CLEANUP(numa_hints_fini) struct numa_hints wanted = {0};

    placing_hints(expected, &wanted);
    if (wanted.is_anything != hints->is_anything || wanted.count != hints->count) {
        placing_differs(p, "%s: %u hints, not %u", what, hints->count, wanted.count);
        return;
    }
    for (unsigned i = 0; i < wanted.count; i++)
        if (wanted.items[i].nodes != hints->items[i].nodes
            || wanted.items[i].is_preferred != hints->items[i].is_preferred) {
            placing_differs(p, "%s: hint %u is [%llu, %d], not [%llu, %d]", what, i,
                            (unsigned long long)hints->items[i].nodes, hints->items[i].is_preferred,
                            (unsigned long long)wanted.items[i].nodes,
                            wanted.items[i].is_preferred);
            return;
        }
}

void
placing_check_text(struct placing *p, const char *what, const char *expected, const char *found)
{
    const char *wanted = expected != NULL ? expected : "";

    if (strcmp(wanted, found) != 0)
        placing_differs(p, "%s: '%s', not '%s'", what, found, wanted);
}
