/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/nearest_nodes.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/kctl/output/describe_output.h"
#include "cli/print/human.h"
#include "lib/json/json.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

static void
format_cpus(int64_t mcpu, char out[HUMAN_TEXT_SIZE])
{
    if (mcpu % 1000 == 0)
        snprintf(out, HUMAN_TEXT_SIZE, "%lld", (long long)mcpu / 1000);
    else
        snprintf(out, HUMAN_TEXT_SIZE, "%.1f", (double)mcpu / 1000);
}

static void
print_room(const struct json *node, bool is_first, struct strbuf *out)
{
    char cpus[HUMAN_TEXT_SIZE], all_cpus[HUMAN_TEXT_SIZE];
    char memory[HUMAN_TEXT_SIZE], all_memory[HUMAN_TEXT_SIZE];

    format_cpus(json_get_int(node, "freeMilliCPU", 0), cpus);
    format_cpus(json_get_int(node, "milliCPU", 0), all_cpus);
    human_bytes(json_get_int(node, "freeMemory", 0), memory);
    human_bytes(json_get_int(node, "memory", 0), all_memory);
    describe_output_add(out, 2, is_first ? "Nearest" : "",
                        "%s has %s of %s CPUs and %s of %s of memory free",
                        json_get_text(node, "node"), cpus, all_cpus, memory, all_memory);
}

static void
print_nearest(const struct json *why, bool is_plain, struct strbuf *out)
{
    const struct json *nearest = json_get(why, "nearest");

    for (uint32_t i = 0; i < json_count(nearest); i++) {
        const struct json *node = json_at(nearest, i);

        if (is_plain)
            print_room(node, i == 0, out);
        else
            describe_output_add(out, 2, i == 0 ? "Nearest" : "", "%s %s",
                                json_get_text(node, "node"), json_get_text(node, "message"));
    }
}

/* Uses the options of ksub. */
static void
print_fits(const struct json *why, struct strbuf *out)
{
    const struct json *fits = json_get(why, "wouldFit");

    for (uint32_t i = 0; i < json_count(fits); i++) {
        const struct json *fit = json_at(fits, i);
        long long nodes = (long long)json_get_int(fit, "nodes", 0);
        int64_t bytes = json_get_int(fit, "memory", 0);
        char option[64];

        if (bytes > 0)
            snprintf(option, sizeof(option), bytes % GIB == 0 ? "--mem %lldG" : "--mem %lldM",
                     (long long)(bytes % GIB == 0 ? bytes / GIB : bytes / MIB));
        else
            snprintf(option, sizeof(option), "-c %lld",
                     (long long)json_get_int(fit, "milliCPU", 0) / 1000);
        describe_output_add(out, 2, i == 0 ? "Would fit" : "", "on %lld node%s with %s or less",
                            nodes, nodes == 1 ? "" : "s", option);
    }
}

void
nearest_nodes_describe(const struct json *why, struct strbuf *out)
{
    const char *needs = json_get_text(why, "needs");

    if (needs != NULL)
        describe_output_add(out, 2, "Needs", "%s", needs);
    print_nearest(why, json_is_true(json_get(why, "isPlain")), out);
    print_fits(why, out);
}
