/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/slurm_json.h"

#include <stdio.h>
#include <string.h>

#include "cli/slurm/slurm_client.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"

static struct json *
make_frame(struct arena *arena, const char *name, struct json *value)
{
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
    return all;
}

void
slurm_json_print(struct arena *arena, const char *name, struct json *value, bool is_yaml)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct json *all = make_frame(arena, name, value);

    if (is_yaml)
        yaml_print(all, &out);
    else {
        json_print_indented(all, &out);
        strbuf_add_char(&out, '\n');
    }
    fwrite(out.text, 1, out.length, stdout);
}

/* As deep as an item of the list is. */
#define INDENT 8

static void
print_item(const struct json *item, bool is_last, struct strbuf *text)
{
    strbuf_truncate(text, 0);
    json_print_indented(item, text);
    for (const char *line = text->text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        printf("%*s", INDENT, "");
        fwrite(line, 1, length, stdout);
        line += length + (line[length] == '\n');
        fputs(*line != '\0' ? "\n" : is_last ? "\n" : ",\n", stdout);
    }
}

void
slurm_json_print_rows(const char *name, size_t count, slurm_json_make_fn *make, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf frame = STRBUF_INIT, text = STRBUF_INIT;
    const char *list;

    json_print_indented(make_frame(arena, name, json_array(arena)), &frame);
    list = strrchr(frame.text, '[');
    if (count == 0 || list == NULL) {
        printf("%s\n", frame.text);
        return;
    }
    printf("%.*s[\n", (int)(list - frame.text), frame.text);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(arena_freep) struct arena *own = arena_new(0);

        print_item(make(context, i, own), i + 1 == count, &text);
    }
    printf("    %s\n", strchr(list, ']'));
}
