/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/reservation_table.h"

#include <stdio.h>
#include <string.h>

#include "cli/slurm/slurm_client.h"
#include "cli/slurm_tables/slurm_time.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define LEAST_WIDTH 9 /* of the names */

static const char *
name_of(const struct json *reservation)
{
    const char *name = json_path_text(reservation, "metadata.name");

    return name != NULL ? name : "";
}

static void
add_line(const struct json *reservation, int width, struct arena *arena)
{
    struct strbuf times[2] = {STRBUF_INIT, STRBUF_INIT};
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT, length = STRBUF_INIT;
    static const char *const members[] = {"status.start", "status.end"};
    const struct json *list = json_get_path(reservation, "status.nodes");
    const char **names = arena_new_array(arena, const char *, json_count(list) + 1);
    const char *state = json_path_text(reservation, "status.state");
    int64_t us[2] = {0};
    size_t count = 0;

    for (size_t i = 0; i < 2; i++) {
        const char *text = json_path_text(reservation, members[i]);

        if (text != NULL && time_parse(text, &us[i]) == 0)
            slurm_time_add(us[i], &times[i]);
        else
            strbuf_add_text(&times[i], "Unknown");
    }
    if (us[0] != 0 && us[1] != 0)
        slurm_time_add_elapsed((us[1] - us[0]) / 1000000, &length);
    else
        strbuf_add_text(&length, "UNLIMITED");
    for (uint32_t i = 0; i < json_count(list); i++)
        if (json_text(json_at(list, i)) != NULL)
            names[count++] = json_text(json_at(list, i));
    if (count > 0)
        hostlist_format(names, count, 0, &nodes);
    printf("%-*s  %8s  %19s  %19s  %11s  %s\n", width, name_of(reservation),
           state != NULL && strcmp(state, "Active") == 0 ? "ACTIVE" : "INACTIVE", times[0].text,
           times[1].text, length.text, nodes.text);
    for (size_t i = 0; i < 2; i++)
        strbuf_fini(&times[i]);
}

int
reservation_table_print(struct slurm_client *client, bool has_heading)
{
    const struct target_object all = {.kind = &reservation_kind};
    struct json *list = NULL;
    struct error err = {0};
    size_t width = LEAST_WIDTH;
    int r = kctl_list(&client->kctl, &all, NULL, NULL, client->arena, &list, &err);

    if (r < 0) {
        fprintf(stderr, "slurm_load_reservations: %s\n", slurm_client_reason(r, &err));
        return 1;
    }
    if (json_count(list) == 0) {
        puts("No reservations in the system");
        return slurm_client_end(client);
    }
    for (uint32_t i = 0; i < json_count(list); i++)
        if (strlen(name_of(json_at(list, i))) > width)
            width = strlen(name_of(json_at(list, i)));
    if (has_heading)
        printf("%-*s  %8s  %19s  %19s  %11s  %s\n", (int)width, "RESV_NAME", "STATE", "START_TIME",
               "END_TIME", "DURATION", "NODELIST");
    for (uint32_t i = 0; i < json_count(list); i++)
        add_line(json_at(list, i), (int)width, client->arena);
    return slurm_client_end(client);
}
