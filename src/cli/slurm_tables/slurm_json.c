/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/slurm_json.h"

#include <stdio.h>

#include "cli/slurm/slurm_client.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"

void
slurm_json_print(struct arena *arena, const char *name, struct json *value, bool is_yaml)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *all = json_object(arena), *meta = json_object(arena);
    struct json *plugin = json_object(arena), *slurm = json_object(arena);
    struct json *version = json_object(arena);

    json_set_string(arena, plugin, "type", "openapi/v0.0.38");
    json_set_string(arena, plugin, "name", "Slurm OpenAPI v0.0.38");
    json_set_int(arena, version, "major", 22);
    json_set_int(arena, version, "micro", 8);
    json_set_int(arena, version, "minor", 5);
    json_set(arena, slurm, "version", version);
    json_set_string(arena, slurm, "release", SLURM_CLIENT_RELEASE);
    json_set(arena, meta, "plugin", plugin);
    json_set(arena, meta, "Slurm", slurm);
    json_set(arena, all, "meta", meta);
    json_set(arena, all, "errors", json_array(arena));
    json_set(arena, all, name, value);
    if (is_yaml)
        yaml_print(all, &out);
    else {
        json_print_indented(all, &out);
        strbuf_add_char(&out, '\n');
    }
    fwrite(out.text, 1, out.length, stdout);
}
