/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/node_group.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static const struct {
    const char *kiln;
    struct node_state idle, busy; /* without and with jobs */
} states[] = {
    {"Idle",
     {"idle", "idle", "idle", 2, true, false, true},
     {"mix", "mixed", "mixed", 5, true, true, true}},
    {"Mixed",
     {"mix", "mixed", "mixed", 5, true, true, true},
     {"mix", "mixed", "mixed", 5, true, true, true}},
    {"Full",
     {"alloc", "allocated", "allocated", 3, true, true, true},
     {"alloc", "allocated", "allocated", 3, true, true, true}},
    {"Draining",
     {"drain", "drained", "idle+drain", 18, false, false, true},
     {"drng", "draining", "mixed+drain", 21, false, true, true}},
    {"Down",
     {"down", "down", "down", 1, false, false, true},
     {"down", "down", "down", 1, false, false, true}},
    {"Silent",
     {"down*", "down*", "down+not_responding", 33, false, false, false},
     {"down*", "down*", "down+not_responding", 33, false, false, false}},
};

/* Kiln's other states: nodes that take no jobs for now are drained. */
static const struct {
    const char *state, *like;
} others[] = {
    {"Drained", "Draining"}, {"Tainted", "Draining"}, {"Faulty", "Draining"},
    {"New", "Down"},         {"Fenced", "Down"},
};

const struct node_state *
node_state_of(const struct json *summary)
{
    const char *word = json_get_text(summary, "state");
    const bool is_busy = json_get_int(summary, "pods", 0) > 0;

    for (size_t i = 0; word != NULL && i < ARRAY_SIZE(others); i++)
        if (strcmp(others[i].state, word) == 0)
            word = others[i].like;
    for (size_t i = 0; word != NULL && i < ARRAY_SIZE(states); i++)
        if (strcmp(states[i].kiln, word) == 0)
            return is_busy ? &states[i].busy : &states[i].idle;
    return &states[4].idle; /* one of a later release */
}

/* The beginning of a state is enough, and the first one that has it counts. NULL: there is none. */
static const char *
find_state(const char *word, size_t length)
{
    static const char *const known[] = {
        "unknown",    "down",          "idle",         "allocated",  "alloc",       "mixed",
        "mix",        "future",        "drain",        "drained",    "draining",    "drng",
        "no_respond", "reserved",      "resv",         "perfctrs",   "cloud",       "completing",
        "comp",       "powering_down", "powered_down", "power_down", "powering_up", "power_up",
        "fail",       "maint",         "reboot",       "planned",    "plnd",        "npc",
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strlen(known[i]) == length && strncasecmp(known[i], word, length) == 0)
            return known[i];
    for (size_t i = 0; i < ARRAY_SIZE(known) && length > 0; i++)
        if (strncasecmp(known[i], word, length) == 0)
            return known[i];
    return NULL;
}

bool
node_state_is(const struct node_state *state, const char *text, size_t given)
{
    static const struct {
        const char *word, *state;
    } words[] = {
        {"alloc", "allocated"}, {"mix", "mixed"},     {"drng", "draining"},
        {"drain", "draining"},  {"drain", "drained"}, {"no_respond", "down*"},
        {"down", "down*"},      {"alloc", "mixed"},   {"allocated", "mixed"},
        {"idle", "drained"},
    };
    const char *word = find_state(text, given);
    const size_t length = word != NULL ? strlen(word) : 0;

    if (word == NULL)
        return false;
    if (strlen(state->whole) == length && strncasecmp(state->whole, word, length) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strlen(words[i].word) == length && strncasecmp(words[i].word, word, length) == 0
            && strcmp(words[i].state, state->whole) == 0)
            return true;
    return false;
}

bool
node_state_exists(const char *word, size_t length)
{
    return find_state(word, length) != NULL;
}

static void
widen(struct node_range *range, int64_t value, bool is_first)
{
    if (is_first || value < range->least)
        range->least = value;
    if (is_first || value > range->most)
        range->most = value;
    range->sum += value;
}

void
node_group_add(struct node_group *g, const struct json *node)
{
    const char *name = json_get_text(node, "name");
    const struct node_state *state = node_state_of(node);
    const int64_t cpus = json_get_int(node, "cpus", 0);
    const int64_t used = json_get_int(node, "cpusUsed", 0);
    const bool is_first = g->n_names == 0;

    /* Nodes come in the order of their names. */
    if (name == NULL || (!is_first && strcmp(g->names[g->n_names - 1], name) == 0))
        return;
    xgrow(g->names, g->n_names, g->capacity);
    g->names[g->n_names++] = name;
    if (is_first) {
        g->node = node;
        g->state = state;
    }
    g->nodes.total++;
    if (state->is_allocated)
        g->nodes.allocated++;
    else if (state->is_open)
        g->nodes.idle++;
    else
        g->nodes.other++;
    g->cpus.total += cpus;
    if (state->is_allocated)
        g->cpus.allocated += used;
    if (state->is_open)
        g->cpus.idle += cpus - used;
    else
        g->cpus.other += state->is_allocated ? cpus - used : cpus;
    widen(&g->cpus_of_node, cpus, is_first);
    widen(&g->memory, json_get_int(node, "memory", 0) >> 20, is_first);
    widen(&g->memory_used, json_get_int(node, "memoryUsed", 0) >> 20, is_first);
}

void
node_group_fini(struct node_group *group)
{
    free(group->names);
}

const char *
node_group_partition(const struct node_group *group)
{
    const char *name = json_path_text(group->partition, "metadata.name");

    return name != NULL ? name : "n/a";
}

const char *
node_group_text(const struct node_group *group, const char *path)
{
    const char *text = json_path_text(group->partition, path);

    return text != NULL ? text : "";
}
