/* SPDX-License-Identifier: Apache-2.0 */
/* placing.h - recorded answers of the kubelet, case by case
 *
 * A case is a JSON object on one line; its members show its family. A runner
 * reports Kiln's different answers by placing_differs().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/allocator/kubelet/cpu_layout.h"
#include "lib/allocator/kubelet/cpu_manager.h"
#include "lib/allocator/kubelet/memory_manager.h"
#include "lib/allocator/kubelet/numa_hint.h"
#include "lib/base/bitset.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

struct machine {
    char *name;
    struct cpu_layout *layout;
    uint64_t nodes;
    uint16_t *distances;
};

struct placing {
    const char *id;
    const struct json *line;
    const struct machine *machine; /* NULL: the case has no machine */
    bool is_loud;
    unsigned mismatches;
};

void placing_differs(struct placing *p, const char *format, ...) PRINTF(2, 3);

/* The values of lines. These functions end the program on values that cannot be
 * read.
 */
void placing_cpus(const struct json *object, const char *name, struct bitset *ret_cpus);
uint64_t placing_int(const struct json *object, const char *name);
struct cpu_options placing_options(const struct json *list);
void placing_hints(const struct json *list, struct numa_hints *ret_hints);
enum hint_policy placing_policy(const char *name);
uint16_t *placing_distances(const struct json *rows);
unsigned placing_memory_type(const char *name);
const char *placing_memory_name(unsigned type);
void placing_memory_nodes(const struct json *list, struct memory_manager *l);
uint64_t placing_mask(const struct json *list);

void placing_check_cpus(struct placing *p, const char *what, const struct json *expected,
                        const struct bitset *cpus);
void placing_check_hints(struct placing *p, const char *what, const struct json *expected,
                         const struct numa_hints *hints);
void placing_check_text(struct placing *p, const char *what, const char *expected,
                        const char *found);

/* The runners. */
typedef void placing_fn(struct placing *p);
placing_fn assign_case, hints_case, merge_case, memory_case, admit_case;
