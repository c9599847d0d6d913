/* SPDX-License-Identifier: Apache-2.0 */
/* control_nodes.c - update of nodes and partitions; create and delete of reservations */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/connect/connection.h"
#include "cli/kctl/verbs/nodes/cordon.h"
#include "cli/kctl/verbs/nodes/reservation_request.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/scontrol.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

/* "Reason=x" for the name "Reason": "x"; otherwise NULL. */
static const char *
value_of(const char *word, const char *name)
{
    const size_t length = strlen(name);

    return strncasecmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

/* Slurm's text for a refusal. */
static const char *
reason_of(int r, struct error *err, const char *missing)
{
    if (r == -EACCES || r == -EPERM)
        return "Invalid user id";
    if (r == -ENOENT)
        return missing;
    connection_advise(r, err);
    return slurm_client_reason(r, err);
}

static int
refuse_field(const char *word)
{
    fprintf(stderr, "Update of this parameter is not supported: %s\nRequest aborted\n", word);
    return 1;
}

/* ---- update NodeName= ---- */

static int
set_nodes(struct scontrol *c, const char *list, bool drains, const char *reason)
{
    const char **names = NULL;
    size_t count = 0;
    struct error err = {0};
    int r = hostlist_expand(c->client->arena, list, &names, &count, &err);

    c->client->kctl.is_silent = true;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = cordon_set(&c->client->kctl,
                       &(struct target_object){.kind = &node_kind, .name = names[i]}, drains,
                       reason, &err);
    if (r == 0)
        return 0;
    fprintf(stderr, "slurm_update error: %s\n", reason_of(r, &err, "Invalid node name specified"));
    return 1;
}

int
control_update_node(struct scontrol *c, int n_words, char **words)
{
    const char *nodes = NULL, *state = NULL, *reason = NULL;

    for (int i = 0; i < n_words; i++) {
        const char *value;

        if ((value = value_of(words[i], "NodeName")) != NULL)
            nodes = value;
        else if ((value = value_of(words[i], "State")) != NULL)
            state = value;
        else if ((value = value_of(words[i], "Reason")) != NULL)
            reason = value;
        else
            return refuse_field(words[i]);
    }
    if (nodes == NULL || state == NULL) {
        fputs("No changes specified\n", stderr);
        return 1;
    }
    if (strcasecmp(state, "RESUME") == 0 || strcasecmp(state, "IDLE") == 0
        || strcasecmp(state, "UNDRAIN") == 0)
        return set_nodes(c, nodes, false, NULL);
    if (strncasecmp(state, "DRAIN", 5) != 0 && strcasecmp(state, "FAIL") != 0) {
        slurm_client_error(
            c->client,
            "State=%s: Kiln has DRAIN and RESUME; 'kctl fence NODE' takes the jobs of a "
            "node that is dead",
            state);
        return 1;
    }
    if (reason == NULL || reason[0] == '\0') {
        fputs("You must specify a reason when DOWNING or DRAINING a node. Request denied\n",
              stderr);
        return 1;
    }
    return set_nodes(c, nodes, true, reason);
}

/* ---- update PartitionName= ---- */

static int
set_partition_field(struct scontrol *c, struct json *spec, const char *word)
{
    static const struct {
        const char *slurms, *ours;
    } states[] = {{"UP", "Up"}, {"DOWN", "Down"}, {"DRAIN", "Drain"}, {"INACTIVE", "Inactive"}};
    struct arena *arena = c->client->arena;
    const char *value;

    if ((value = value_of(word, "State")) != NULL) {
        for (size_t i = 0; i < ARRAY_SIZE(states); i++)
            if (strcasecmp(states[i].slurms, value) == 0) {
                json_set_string(arena, spec, "state", states[i].ours);
                return 0;
            }
        slurm_client_error(c->client,
                           "Invalid input: %s; acceptable State values are UP, DOWN, DRAIN and "
                           "INACTIVE",
                           word);
        return 1;
    }
    if ((value = value_of(word, "MaxTime")) != NULL
        || (value = value_of(word, "DefaultTime")) != NULL) {
        const bool is_none = strcasecmp(value, "UNLIMITED") == 0
                             || strcasecmp(value, "INFINITE") == 0
                             || strcasecmp(value, "NONE") == 0;

        json_set_string(arena, spec,
                        value_of(word, "MaxTime") != NULL ? "maximumTime" : "defaultTime",
                        is_none ? "" : value);
        return 0;
    }
    if ((value = value_of(word, "Default")) != NULL) {
        json_set_bool(arena, spec, "isDefault", strcasecmp(value, "YES") == 0);
        return 0;
    }
    if ((value = value_of(word, "MaxNodes")) != NULL) {
        json_set_int(arena, spec, "maximumNodes", atoll(value)); /* UNLIMITED is 0 */
        return 0;
    }
    if ((value = value_of(word, "PriorityTier")) != NULL) {
        json_set_int(arena, spec, "priorityTier", atoll(value));
        return 0;
    }
    return refuse_field(word);
}

int
control_update_partition(struct scontrol *c, int n_words, char **words)
{
    struct target_object partition = {.kind = &partition_kind};
    struct json *patch = json_object(c->client->arena);
    struct json *spec = json_make_object(c->client->arena, patch, "spec");
    struct error err = {0};
    int r;

    for (int i = 0; i < n_words; i++) {
        const char *name = value_of(words[i], "PartitionName");

        if (name != NULL)
            partition.name = name;
        else if (set_partition_field(c, spec, words[i]) != 0)
            return 1;
    }
    if (json_count(spec) == 0) {
        fputs("No changes specified\n", stderr);
        return 1;
    }
    r = kctl_patch(&c->client->kctl, &partition, patch, c->client->arena, NULL, &err);
    if (r == 0)
        return 0;
    fprintf(stderr, "slurm_update error: %s\n",
            reason_of(r, &err, "Invalid partition name specified"));
    return 1;
}

/* ---- Reservations ---- */

static int
read_flags(struct scontrol *c, struct reservation_request *request, const char *list)
{
    char *rest = arena_strdup(c->client->arena, list);
    char *flag;

    while ((flag = strsep(&rest, ",")) != NULL) {
        if (control_is(flag, "MAINT", 5))
            request->is_maintenance = true;
        else if (control_is(flag, "OVERLAP", 7))
            request->may_overlap = true;
        else if (control_is(flag, "DAILY", 5))
            request->recurrence = "Daily";
        else if (control_is(flag, "WEEKLY", 6))
            request->recurrence = "Weekly";
        else if (!control_is(flag, "IGNORE_JOBS", 6) && !control_is(flag, "SPEC_NODES", 4)) {
            slurm_client_error(
                c->client,
                "Flags=%s: Kiln's reservations have MAINT, OVERLAP, DAILY, WEEKLY and "
                "IGNORE_JOBS",
                flag);
            return 1;
        }
    }
    return 0;
}

static int
read_reservation(struct scontrol *c, struct reservation_request *request, const char *word)
{
    const struct {
        const char *name;
        const char **place;
    } texts[] = {
        {"ReservationName", &request->name}, {"Reservation", &request->name},
        {"StartTime", &request->start},      {"EndTime", &request->end},
        {"Duration", &request->duration},    {"Users", &request->users},
        {"User", &request->users},           {"Groups", &request->groups},
        {"Accounts", &request->accounts},    {"Account", &request->accounts},
        {"Nodes", &request->nodes},          {"Comment", &request->reason},
    };
    const char *value;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if ((value = value_of(word, texts[i].name)) != NULL) {
            *texts[i].place = value;
            return 0;
        }
    if ((value = value_of(word, "NodeCnt")) != NULL) {
        request->count = atoll(value);
        return 0;
    }
    if ((value = value_of(word, "Flags")) != NULL)
        return read_flags(c, request, value);
    slurm_client_error(c->client, "Unknown parameter %s.  No reservation created.", word);
    return 1;
}

static int
refuse_reservation(struct scontrol *c, const char *what)
{
    slurm_client_error(c->client, "%s  No reservation created.", what);
    return 1;
}

static int
create_reservation(struct scontrol *c, int n_words, char **words)
{
    struct reservation_request request = {0};
    struct error err = {0};
    int r;

    for (int i = 0; i < n_words; i++)
        if (read_reservation(c, &request, words[i]) != 0)
            return 1;
    if (request.start == NULL)
        return refuse_reservation(c, "A start time must be given.");
    if (request.end == NULL && request.duration == NULL)
        return refuse_reservation(c, "An end time or duration must be given.");
    if ((request.nodes != NULL) == (request.count > 0)
        || (request.nodes != NULL && strcasecmp(request.nodes, "ALL") == 0))
        return refuse_reservation(c, "Nodes with their names, or NodeCnt must be given.");
    if (request.name == NULL)
        return refuse_reservation(c, "ReservationName must be given.");
    if (request.users == NULL && request.groups == NULL && request.accounts == NULL
        && !request.is_maintenance)
        return refuse_reservation(c, "Users, Groups, Accounts or Flags=MAINT must be given.");
    if (request.duration != NULL && strcasecmp(request.duration, "UNLIMITED") == 0)
        request.duration = NULL;
    c->client->kctl.is_silent = true;
    r = reservation_request_send(&c->client->kctl, &request, c->client->arena, &err);
    if (r < 0) {
        fprintf(stderr, "Error creating the reservation: %s\n",
                reason_of(r, &err, "Requested nodes are not available"));
        return 1;
    }
    printf("Reservation created: %s\n", request.name);
    return 0;
}

/* Slurm adds and removes names ("Users=+ann"), which would need the list as it is now. */
static bool
has_sign(const char *list)
{
    return list != NULL
           && (strpbrk(list, "+-") == list || strstr(list, ",+") != NULL
               || strstr(list, ",-") != NULL);
}

int
control_update_reservation(struct scontrol *c, int n_words, char **words)
{
    struct reservation_request request = {0};
    struct error err = {0};
    int r;

    for (int i = 0; i < n_words; i++)
        if (read_reservation(c, &request, words[i]) != 0)
            return 1;
    if (request.name == NULL) {
        slurm_client_error(c->client, "ReservationName must be given.  No reservation update.");
        return 1;
    }
    if (request.recurrence != NULL || has_sign(request.users) || has_sign(request.groups)
        || has_sign(request.accounts)) {
        slurm_client_error(c->client, "%s  No reservation update.",
                           request.recurrence != NULL
                               ? "A reservation cannot become daily or weekly."
                               : "Give all names of the list, without + and -.");
        return 1;
    }
    c->client->kctl.is_silent = true;
    r = reservation_request_change(&c->client->kctl, &request, c->client->arena, &err);
    if (r == 0) {
        puts("Reservation updated.");
        return 0;
    }
    if (r == -ENODATA) {
        fputs("No changes specified\n", stderr);
        return 1;
    }
    fflush(stdout);
    fprintf(stderr, "Error updating the reservation: %s\nslurm_update error: %s\n",
            reason_of(r, &err, "Requested reservation is invalid"),
            reason_of(r, &err, "Requested reservation is invalid"));
    return 1;
}

int
control_create(struct scontrol *c, int n_words, char **words)
{
    if (n_words > 0 && control_is(words[0], "reservation", 3))
        return create_reservation(c, n_words - 1, words + 1);
    if (n_words > 0 && strncasecmp(words[0], "reservation", 11) == 0)
        return create_reservation(c, n_words, words);
    if (n_words == 0) {
        fputs("too few arguments for create keyword\n", stderr);
        return 1;
    }
    slurm_client_error(c->client,
                       "Kiln makes reservations by scontrol; partitions and nodes by 'kctl apply' "
                       "(kiln-tutorial(7))");
    return 1;
}

/* "delete reservation NAME", "delete reservation=NAME", "delete ReservationName=NAME", and the same
 * of partitions.
 */
int
control_delete(struct scontrol *c, int n_words, char **words)
{
    const char *equals = n_words > 0 ? strchr(words[0], '=') : NULL;
    const char *name = equals != NULL ? equals + 1 : n_words > 1 ? words[1] : NULL;
    const bool is_partition = n_words > 0 && strncasecmp(words[0], "part", 4) == 0;
    struct client_request request = {.verb = CLIENT_DELETE, .name = name};
    struct error err = {0};
    int r;

    if (name == NULL || (!is_partition && strncasecmp(words[0], "res", 3) != 0)) {
        fputs("too few arguments for delete keyword\n", stderr);
        return 1;
    }
    request.kind = is_partition ? &partition_kind : &reservation_kind;
    r = kctl_call(&c->client->kctl, &request, c->client->arena, NULL, &err);
    if (r == 0)
        return 0;
    fprintf(stderr, "%s %s: %s\n", is_partition ? "delete_partition" : "delete_reservation",
            words[0],
            reason_of(r, &err,
                      is_partition ? "Invalid partition name specified"
                                   : "Requested reservation is invalid"));
    return 1;
}
