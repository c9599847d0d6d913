/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/base/arena.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* Minutes; null: none. */
static struct json *
minutes_of(struct arena *arena, const struct json *spec, const char *name)
{
    const char *text = json_get_text(spec, name);
    int64_t seconds = 0;

    if (text == NULL || duration_parse(text, &seconds, NULL) < 0 || seconds == 0)
        return json_null(arena);
    return json_int(arena, (seconds + 59) / 60);
}

static void
set_list(struct arena *arena, struct json *out, const char *name, const struct json *names)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(names); i++)
        strbuf_printf(&text, "%s%s", i > 0 ? "," : "", json_text(json_at(names, i)));
    json_set_string(arena, out, name, text.text);
}

static struct json *
list_of_one(struct arena *arena, const char *text)
{
    struct json *list = json_array(arena);

    if (text != NULL)
        json_append(arena, list, json_string(arena, text));
    return list;
}

static const char *
state_of(const struct json *spec)
{
    static const char *const words[][2] = {
        {"Down", "DOWN"}, {"Drain", "DRAIN"}, {"Inactive", "INACTIVE"}};
    const char *state = json_get_text(spec, "state");

    for (size_t i = 0; state != NULL && i < ARRAY_SIZE(words); i++)
        if (strcmp(state, words[i][0]) == 0)
            return words[i][1];
    return "UP";
}

static const char *
preemption_of(const struct json *spec)
{
    static const char *const words[][2] = {
        {"Off", "disabled"}, {"Cancel", "cancel"}, {"Suspend", "suspend"}};
    const char *mode = json_get_text(spec, "preemptionMode");

    for (size_t i = 0; mode != NULL && i < ARRAY_SIZE(words); i++)
        if (strcmp(mode, words[i][0]) == 0)
            return words[i][1];
    return "requeue";
}

struct json *
control_partition_json(const struct json *partition, const struct partition_sum *sum,
                       struct arena *arena)
{
    /* Kiln has nothing of these. */
    static const char *const empty[] = {
        "allowed_allocation_nodes", "allowed_qos", "alternative", "billing_weights",
        "denied_accounts",          "denied_qos",  "qos",
    };
    const struct json *spec = json_get(partition, "spec");
    const int64_t most_nodes = json_get_int(spec, "maximumNodes", 0);
    struct json *out = json_object(arena);
    CLEANUP_STRBUF struct strbuf tres = STRBUF_INIT;
    int64_t grace = 0;

    if (json_get_text(spec, "graceTime") != NULL
        && duration_parse(json_get_text(spec, "graceTime"), &grace, NULL) < 0)
        grace = 0;
    for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
        json_set_string(arena, out, empty[i], "");
    json_set(arena, out, "flags",
             list_of_one(arena, json_is_true(json_get(spec, "isDefault")) ? "default" : NULL));
    json_set(arena, out, "preemption_mode", list_of_one(arena, preemption_of(spec)));
    set_list(arena, out, "allowed_accounts", json_get(spec, "allowedAccounts"));
    set_list(arena, out, "allowed_groups", json_get(spec, "allowedGroups"));
    json_set(arena, out, "default_memory_per_cpu", json_null(arena));
    json_set(arena, out, "default_time_limit", minutes_of(arena, spec, "defaultTime"));
    json_set_int(arena, out, "preemption_grace_time", grace);
    json_set_int(arena, out, "maximum_cpus_per_node", -1);
    json_set_int(arena, out, "maximum_memory_per_node", 0);
    json_set_int(arena, out, "maximum_nodes_per_job", most_nodes > 0 ? most_nodes : -1);
    json_set(arena, out, "max_time_limit", minutes_of(arena, spec, "maximumTime"));
    json_set_int(arena, out, "min nodes per job", 0);
    json_set_string(arena, out, "name", json_path_text(partition, "metadata.name"));
    json_set_string(arena, out, "nodes", sum->nodes != NULL ? sum->nodes : "");
    json_set(arena, out, "over_time_limit", json_null(arena));
    json_set_int(arena, out, "priority_job_factor", 1);
    json_set_int(arena, out, "priority_tier", json_get_int(spec, "priorityTier", 1));
    json_set_string(arena, out, "state", state_of(spec));
    json_set_int(arena, out, "total_cpus", sum->cpus);
    json_set_int(arena, out, "total_nodes", sum->count);
    slurm_words_add_tres(
        &(struct slurm_tres){
            .cpus = sum->cpus,
            .bytes = sum->bytes,
            .nodes = sum->count,
            .gpus = sum->gpus,
            .has_billing = true,
        },
        &tres);
    json_set_string(arena, out, "tres", tres.text);
    return out;
}
