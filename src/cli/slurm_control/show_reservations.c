/* SPDX-License-Identifier: Apache-2.0 */
/* show_reservations.c - scontrol show reservation */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/record_text.h"
#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/slurm_time.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static const char *
or_else(const char *text, const char *otherwise)
{
    return text != NULL && text[0] != '\0' ? text : otherwise;
}

static const char *
time_of(struct scontrol *c, const char *text)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    int64_t us;

    if (text == NULL || time_parse(text, &us) < 0)
        return "Unknown";
    slurm_time_add(us, &out);
    return arena_strdup(c->client->arena, out.text);
}

/* "a,b" */
static const char *
names_of(struct scontrol *c, const struct json *list)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(list); i++)
        strbuf_printf(&out, "%s%s", i > 0 ? "," : "", or_else(json_text(json_at(list, i)), ""));
    return out.length > 0 ? arena_strdup(c->client->arena, out.text) : "(null)";
}

/* Of a list of names, as /kiln/v1/nodes has the nodes. */
struct core_count {
    int64_t cores, cpus;
};

static struct core_count
count_cores(const struct json *nodes, const struct json *names)
{
    struct core_count sum = {0};

    for (uint32_t k = 0; k < json_count(names); k++)
        for (uint32_t i = 0; i < json_count(nodes); i++)
            if (strcmp(or_else(json_get_text(json_at(nodes, i), "name"), ""),
                       or_else(json_text(json_at(names, k)), ""))
                == 0) {
                sum.cpus += json_get_int(json_at(nodes, i), "cpus", 0);
                sum.cores += json_get_int(json_at(nodes, i), "cores",
                                          json_get_int(json_at(nodes, i), "cpus", 0));
            }
    return sum;
}

static void
print_reservation(struct scontrol *c, const struct json *reservation, const struct json *all)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT, nodes = STRBUF_INIT;
    struct record_text t = {.out = &out, .is_oneline = c->is_oneline};
    const struct json *spec = json_get(reservation, "spec");
    const struct json *status = json_get(reservation, "status");
    const struct json *list = json_get(status, "nodes");
    const char **names = arena_new_array(c->client->arena, const char *, json_count(list) + 1);
    const char *state = or_else(json_get_text(status, "state"), "");
    const struct core_count sum = count_cores(all, list);
    int64_t start = 0, end = 0;

    for (uint32_t i = 0; i < json_count(list); i++)
        names[i] = or_else(json_text(json_at(list, i)), "");
    if (json_count(list) > 0)
        hostlist_format(names, json_count(list), 0, &nodes);
    record_text_add(&t, "ReservationName=%s StartTime=%s EndTime=%s Duration=",
                    or_else(json_path_text(reservation, "metadata.name"), ""),
                    time_of(c, json_get_text(status, "start")),
                    time_of(c, json_get_text(status, "end")));
    if (time_parse(or_else(json_get_text(status, "start"), ""), &start) == 0
        && time_parse(or_else(json_get_text(status, "end"), ""), &end) == 0)
        slurm_time_add_elapsed((end - start) / 1000000, &out);
    else
        record_text_add(&t, "UNLIMITED");
    record_text_line(&t);
    record_text_add(&t,
                    "Nodes=%s NodeCnt=%u CoreCnt=%" PRId64
                    " Features=(null) PartitionName=(null) Flags=%s%s",
                    nodes.length > 0 ? nodes.text : "(null)", json_count(list), sum.cores,
                    json_is_true(json_get(spec, "maintenance")) ? "MAINT," : "",
                    json_count(json_get(spec, "nodes")) > 0 ? "SPEC_NODES" : "");
    record_text_line(&t);
    if (sum.cpus > 0)
        record_text_add(&t, "TRES=cpu=%" PRId64, sum.cpus);
    else
        record_text_add(&t, "TRES=(null)");
    record_text_line(&t);
    record_text_add(&t,
                    "Users=%s Groups=%s Accounts=%s Licenses=(null) State=%s BurstBuffer=(null) "
                    "Watts=n/a",
                    names_of(c, json_get(spec, "users")), names_of(c, json_get(spec, "groups")),
                    names_of(c, json_get(spec, "accounts")),
                    strcmp(state, "Active") == 0 ? "ACTIVE" : "INACTIVE");
    record_text_line(&t);
    record_text_add(&t, "MaxStartDelay=(null)");
    record_text_end(&t);
    fwrite(out.text, 1, out.length, stdout);
}

int
control_show_reservation(struct scontrol *c, int n_words, char **words)
{
    const struct target_object all = {.kind = &reservation_kind};
    struct json *list = NULL, *answer = NULL;
    struct error err = {0};
    bool is_found = false;
    int r = kctl_list(&c->client->kctl, &all, NULL, NULL, c->client->arena, &list, &err);

    if (r == 0)
        r = kctl_ask(&c->client->kctl, "/kiln/v1/nodes", c->client->arena, &answer, &err);
    if (r < 0) {
        connection_advise(r, &err);
        fprintf(stderr, "slurm_load_reservations error: %s\n", slurm_client_reason(r, &err));
        return 1;
    }
    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *name = or_else(json_path_text(json_at(list, i), "metadata.name"), "");

        if (n_words > 0 && strcmp(words[0], name) != 0)
            continue;
        print_reservation(c, json_at(list, i), json_get(answer, "nodes"));
        is_found = true;
    }
    if (is_found)
        return 0;
    if (n_words == 0)
        puts("No reservations in the system");
    else
        printf("Reservation %s not found\n", words[0]);
    return n_words == 0 ? 0 : 1;
}
