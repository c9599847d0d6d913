/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_step_request.c - any bytes as what krun sends about a step: the request, a file
 * of programs, a binding, a distribution and a pattern of file names; and as lines of
 * PMI-1 from its tasks
 *
 * The first byte says which. What is accepted must be the same after it was written and
 * read again, and must fit a node.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/step/byte_text.h"
#include "lib/step/pmi_server.h"
#include "lib/step/step_binding.h"
#include "lib/step/step_distribution.h"
#include "lib/step/step_environment.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_output_name.h"
#include "lib/step/step_programs.h"
#include "lib/step/step_request.h"
#include "testsuite/fuzz/fuzz.h"

static void
lay_out(struct arena *arena, const struct step_request *q)
{
    struct step_place places[2] = {{.name = "n1"}, {.name = "n2"}};
    struct step_layout layout;
    unsigned tasks = 0;

    places[0].cpus.words[0] = places[1].cpus.words[0] = 0xFFF;
    places[0].busy.words[0] = 0xF;
    places[0].gpus = places[1].gpus = 4;
    if (step_layout_make(arena, q, places, 2, &layout, NULL) < 0)
        return;
    for (unsigned i = 0; i < layout.n_nodes; i++) {
        tasks += layout.nodes[i].n_tasks;
        if (layout.nodes[i].n_tasks == 0
            || !bitset_contains(&places[layout.nodes[i].place].cpus, &layout.nodes[i].cpus))
            abort();
    }
    if (tasks != layout.n_tasks)
        abort();
    (void)step_environment_of_task(step_environment_new(arena, q, &layout, 0, "0"), 0, NULL);
}

static void
read_request(struct arena *arena, const char *text, size_t length)
{
    CLEANUP_STRBUF struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    struct step_request q, again;

    if (step_request_decode(arena, text, length, &q, NULL) < 0)
        return;
    step_request_encode(&q, &once);
    if (step_request_decode(arena, once.text, once.length, &again, NULL) < 0)
        abort();
    step_request_encode(&again, &twice);
    if (strcmp(once.text, twice.text) != 0)
        abort();
    lay_out(arena, &q);
}

static void
read_programs(struct arena *arena, const char *text)
{
    struct step_programs *programs;

    if (step_programs_parse(arena, text, 8, &programs, NULL) == 0)
        for (unsigned task = 0; task < 8; task++)
            if (step_programs_arguments(arena, programs, task, NULL, 0)[0] == NULL)
                abort();
}

static void
bind(struct arena *arena, const char *text)
{
    const struct step_distribution distribution = {.sockets = STEP_ORDER_CYCLIC};
    const struct bitset cpus = {{0xFF0}};
    struct step_binding binding;
    struct bitset sets[8];

    if (step_binding_parse(arena, text, &binding, NULL) < 0
        || step_binding_apply(&binding, &distribution, NULL, &cpus, 2, 8, sets, NULL) < 0)
        return;
    for (unsigned i = 0; i < 8; i++)
        if (!bitset_contains(&cpus, &sets[i]))
            abort();
}

static void
name_files(const char *text)
{
    const struct step_output_values values = {.node = "n1", .step_id = "0"};
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    (void)step_output_name_check(text, NULL);
    (void)step_output_name_scope(text);
    step_output_name_expand(text, &values, &out);
}

/* Lines of two clients in turn. */
static void
speak_pmi(const char *text)
{
    static unsigned tasks[] = {0, 1};
    struct step_layout_node node = {.name = "n1", .n_tasks = 2, .tasks = tasks};
    const struct step_layout layout = {.n_tasks = 2, .n_nodes = 1, .nodes = &node};
    CLEANUP(pmi_server_freep) struct pmi_server *server = pmi_server_new(&layout, 0);

    for (unsigned i = 0; *text != '\0'; i++) {
        CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;
        const size_t length = strcspn(text, "\n");

        if (pmi_server_take(server, i % 2, text, length, &answer) == PMI_BARRIER
            && !pmi_server_leave(server, 0, &answer) && !pmi_server_leave(server, 1, &answer))
            abort();
        text += length + (text[length] == '\n');
    }
    (void)pmi_server_end(server, 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct step_distribution distribution;
    CLEANUP_FREE char *text = NULL;

    if (length == 0)
        return 0;
    text = xstrndup((const char *)bytes + 1, length - 1);
    switch (bytes[0] % 7) {
    case 0:
        read_request(arena, text, strlen(text));
        break;
    case 1:
        read_programs(arena, text);
        break;
    case 2:
        bind(arena, text);
        break;
    case 3:
        name_files(text);
        break;
    case 4:
        if (strcmp(byte_text_decode(arena, byte_text_encode(arena, text)), text) != 0)
            abort();
        break;
    case 5:
        speak_pmi(text);
        break;
    default:
        (void)step_distribution_parse(text, &distribution, NULL);
    }
    return 0;
}
