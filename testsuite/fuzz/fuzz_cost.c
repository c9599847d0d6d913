/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cost.c - any bytes as an object of the given kind; its CPU and memory
 * per byte are bounded, and when one of its lists or maps is grown, the cost
 * stays in proportion to the length
 *
 * Sanitizers make everything several times slower, so the bounds are loose:
 * they find costs of another order.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "testsuite/fuzz/fuzz.h"
#include "testsuite/lib/growth.h"

#define CPU_US_LEAST   200000
#define CPU_US_A_BYTE  100
#define MEMORY_LEAST   (1u << 20)
#define MEMORY_A_BYTE  1500
#define ITEMS          1500
#define CONTAINERS_MAX 40

/* FNV-1a: the input alone decides which list or map is grown. */
static uint32_t
mix(const uint8_t *bytes, size_t length)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    uint32_t choice = mix(bytes, length);
    unsigned which = choice / 2 % CONTAINERS_MAX;
    const struct kind *kind;
    struct growth_cost cost;
    struct json *tree;

    tree = json_parse(arena, (const char *)bytes, length, NULL, NULL);
    kind = json_get_text(tree, "kind") != NULL ? kind_find_any_name(json_get_text(tree, "kind"))
                                               : NULL;
    if (kind == NULL)
        return 0;
    cost = growth_measure(kind, tree);
    if (cost.cpu_us > CPU_US_LEAST + CPU_US_A_BYTE * length
        || cost.bytes > MEMORY_LEAST + MEMORY_A_BYTE * length) {
        fprintf(stderr, "%zu bytes cost %llu us and %zu bytes of memory\n", length,
                (unsigned long long)cost.cpu_us, cost.bytes);
        abort();
    }
    if (which > 0 && growth_is_steep(kind, tree, which, ITEMS, choice & 1)) {
        fprintf(stderr, "list or map %u grows too dear\n", which);
        abort();
    }
    return 0;
}
