/* SPDX-License-Identifier: Apache-2.0 */
/* placement FILE.jsonl.gz... - compares recorded answers of the kubelet's CPU,
 * memory, device and topology managers with the allocator's kubelet rules
 *
 * The machines are in topologies.jsonl.gz beside each file. Prints the
 * differences, a line for each theme, and at the end "N passed, N failed, N
 * skipped". Succeeds when nothing failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "testsuite/conformance/placing/placing.h"

#define THEMES   32
#define MACHINES 256

/* The family of a line is recognized by a member that only its lines have. */
static const struct family {
    const char *member;
    placing_fn *run;
} families[] = {
    {"level", assign_case},        {"request_milli", hints_case}, {"providers", merge_case},
    {"state_before", memory_case}, {"steps", admit_case},
};

struct theme {
    char name[64];
    unsigned passed, failed, skipped;
};

struct conformance_run {
    struct machine machines[MACHINES];
    unsigned n_machines;
    struct theme themes[THEMES];
    unsigned count;
    unsigned failures;
};

typedef void line_fn(struct conformance_run *t, const struct json *line);

static void
each_line(struct conformance_run *t, const char *path, line_fn *fn)
{
    CLEANUP_FREE char *command = xasprintf("exec gzip -dc '%s'", path);
    char *text = NULL;
    size_t size = 0;
    ssize_t n;
    FILE *f = popen(command, "r");

    while (f != NULL && (n = getline(&text, &size, f)) > 0) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct error err = {0};
        struct json *line = json_parse(arena, text, (size_t)n, NULL, &err);

        if (line == NULL) {
            printf("Bail out! %s: %s\n", path, err.text);
            exit(EXIT_FAILURE);
        }
        fn(t, line);
    }
    free(text);
    if (f == NULL || pclose(f) != 0) {
        printf("Bail out! cannot read %s\n", path);
        exit(EXIT_FAILURE);
    }
}

static const struct machine *
find_machine(const struct conformance_run *t, const char *name)
{
    for (unsigned i = 0; i < t->n_machines; i++)
        if (name != NULL && strcmp(t->machines[i].name, name) == 0)
            return &t->machines[i];
    return NULL;
}

static void
add_machine(struct conformance_run *t, const struct json *line)
{
    const struct json *cpus = json_get(line, "cpus");
    const char *name = json_get_text(line, "name");
    CLEANUP_FREE struct cpu_location *seats = xnew_array(struct cpu_location, json_count(cpus) + 1);
    struct machine *m = &t->machines[t->n_machines];

    if (find_machine(t, name) != NULL || t->n_machines == MACHINES)
        return;
    for (uint32_t i = 0; i < json_count(cpus); i++) {
        const struct json *c = json_at(cpus, i);

        seats[i] = (struct cpu_location){
            .cpu = (uint16_t)placing_int(c, "cpu"),
            .unit = {[LEVEL_CORE] = (uint16_t)placing_int(c, "core"),
                     [LEVEL_UNCORE] = (uint16_t)placing_int(c, "uncore"),
                     [LEVEL_NUMA] = (uint16_t)placing_int(c, "numa"),
                     [LEVEL_SOCKET] = (uint16_t)placing_int(c, "socket")},
        };
    }
    m->name = xstrdup(name);
    m->nodes = placing_mask(json_get(line, "numa_nodes"));
    m->distances = placing_distances(json_get(line, "distances"));
    m->layout = cpu_layout_new(seats, json_count(cpus), (unsigned)placing_int(line, "sockets"));
    t->n_machines++;
}

/* Finds the theme by the id without its number. */
static struct theme *
theme_of(struct conformance_run *t, const char *id)
{
    size_t length = strlen(id);
    char text[64];

    while (length > 0 && strchr("0123456789", id[length - 1]) != NULL)
        length--;
    if (length > 0 && id[length - 1] == '-')
        length--;
    snprintf(text, sizeof(text), "%.*s", (int)length, id);
    for (unsigned i = 0; i < t->count; i++)
        if (strcmp(t->themes[i].name, text) == 0)
            return &t->themes[i];
    if (t->count == THEMES)
        return &t->themes[THEMES - 1];
    memcpy(t->themes[t->count].name, text, sizeof(text));
    return &t->themes[t->count++];
}

static void
run_line(struct conformance_run *t, const struct json *line)
{
    const char *id = json_get_text(line, "id");
    const char *machine = json_get_text(line, "topology");
    struct placing p = {
        .id = id,
        .line = line,
        .machine = find_machine(t, machine),
        .is_loud = t->failures < 20 || getenv("VECTORS_ALL") != NULL,
    };
    placing_fn *run = NULL;
    struct theme *theme;

    if (id == NULL)
        return; /* a line of topologies.jsonl.gz itself */
    theme = theme_of(t, id);
    for (size_t i = 0; i < ARRAY_SIZE(families); i++)
        if (json_get(line, families[i].member) != NULL)
            run = families[i].run;
    if (run == NULL) {
        theme->skipped++;
        return;
    }
    if (machine != NULL && p.machine == NULL)
        placing_differs(&p, "there is no machine '%s'", machine);
    else
        run(&p);
    theme->passed += p.mismatches == 0;
    theme->failed += p.mismatches > 0;
    t->failures += p.mismatches > 0;
}

static void
run_file(struct conformance_run *t, const char *path)
{
    const char *slash = strrchr(path, '/');
    CLEANUP_FREE char *beside =
        xasprintf("%.*stopologies.jsonl.gz", slash != NULL ? (int)(slash + 1 - path) : 0, path);

    each_line(t, beside, add_machine);
    each_line(t, path, run_line);
}

static void
free_machines(struct conformance_run *t)
{
    for (unsigned i = 0; i < t->n_machines; i++) {
        free(t->machines[i].name);
        free(t->machines[i].distances);
        cpu_layout_free(t->machines[i].layout);
    }
}

int
main(int argc, char **argv)
{
    static struct conformance_run run;
    unsigned passed = 0, failed = 0, skipped = 0;

    for (int i = 1; i < argc; i++)
        run_file(&run, argv[i]);
    for (unsigned i = 0; i < run.count; i++) {
        const struct theme *t = &run.themes[i];

        printf("%s %u - %s: %u passed, %u failed, %u skipped\n", t->failed > 0 ? "not ok" : "ok",
               i + 1, t->name, t->passed, t->failed, t->skipped);
        passed += t->passed;
        failed += t->failed;
        skipped += t->skipped;
    }
    printf("1..%u\n", run.count);
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    free_machines(&run);
    return failed > 0 || argc < 2 ? EXIT_FAILURE : EXIT_SUCCESS;
}
