/* SPDX-License-Identifier: Apache-2.0 */
/* control_nodes.c - update of nodes and partitions; create and delete of reservations */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/connect/connection.h"
#include "cli/kctl/verbs/nodes/cordon.h"
#include "cli/kctl/verbs/nodes/reservation_request.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/reservation_names.h"
#include "cli/slurm_control/scontrol.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define FEATURE    "feature.kiln.hpc/"
#define MOST_TRIES 5 /* at a change that others make, too */

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
    if ((r == -EACCES || r == -EPERM) && strstr(err->text, " cannot ") != NULL)
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

enum node_change { NODE_DRAINS, NODE_RESUMES, NODE_HAS_REASON };

/* Slurm keeps a reason of any node; here it is why the node is drained. */
static int
set_node(struct scontrol *c, const char *name, enum node_change change, const char *reason,
         struct error *err)
{
    const struct target_object node = {.kind = &node_kind, .name = name};
    struct json *object = NULL;
    int r;

    if (change == NODE_HAS_REASON) {
        r = kctl_get(&c->client->kctl, &node, c->client->arena, &object, err);
        if (r < 0)
            return r;
        if (!json_is_true(json_get_path(object, "spec.unschedulable")))
            return error_set(err, -EINVAL,
                             "node %s is not drained, and has no reason; give State=DRAIN, too",
                             name);
    }
    return cordon_set(&c->client->kctl, &node, change != NODE_RESUMES, reason, err);
}

static int
set_nodes(struct scontrol *c, const char *list, enum node_change change, const char *reason)
{
    const char **names = NULL;
    size_t count = 0;
    struct error err = {0};
    int r = hostlist_expand(c->client->arena, list, &names, &count, &err);

    c->client->kctl.is_silent = true;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = set_node(c, names[i], change, reason, &err);
    if (r == 0)
        return 0;
    fprintf(stderr, "slurm_update error: %s\n", reason_of(r, &err, "Invalid node name specified"));
    return 1;
}

/* Written by people about a node; or NULL. */
struct node_notes {
    const char *comment, *features;
};

/* The labels of the features become these: others of them are taken away. */
static void
set_features(struct arena *arena, const struct json *node, struct json *labels, const char *list)
{
    const struct json *present = json_get_path(node, "metadata.labels");
    char *rest = arena_strdup(arena, list), *name;

    for (uint32_t i = 0; i < json_count(present); i++)
        if (strncmp(present->members[i].name, FEATURE, strlen(FEATURE)) == 0)
            json_set(arena, labels, present->members[i].name, json_null(arena));
    while ((name = strsep(&rest, ",")) != NULL)
        if (name[0] != '\0')
            json_set_string(arena, labels, arena_printf(arena, FEATURE "%s", name), "true");
}

static int
note_node(struct scontrol *c, const char *name, const struct node_notes *notes, struct error *err)
{
    struct arena *arena = c->client->arena;
    const struct target_object target = {.kind = &node_kind, .name = name};
    struct json *patch = json_object(arena), *meta = json_make_object(arena, patch, "metadata");
    struct json *node = NULL;
    int r = kctl_get(&c->client->kctl, &target, arena, &node, err);

    if (r < 0)
        return r;
    if (notes->features != NULL)
        set_features(arena, node, json_make_object(arena, meta, "labels"), notes->features);
    if (notes->comment != NULL)
        json_set(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_COMMENT,
                 notes->comment[0] != '\0' ? json_string(arena, notes->comment) : json_null(arena));
    return kctl_patch(&c->client->kctl, &target, patch, arena, NULL, err);
}

static int
note_nodes(struct scontrol *c, const char *list, const struct node_notes *notes)
{
    const char **names = NULL;
    size_t count = 0;
    struct error err = {0};
    int r = hostlist_expand(c->client->arena, list, &names, &count, &err);

    for (size_t i = 0; r == 0 && i < count; i++)
        r = note_node(c, names[i], notes, &err);
    if (r == 0)
        return 0;
    fprintf(stderr, "slurm_update error: %s\n", reason_of(r, &err, "Invalid node name specified"));
    return 1;
}

static int
refuse_node_field(struct scontrol *c, const char *word)
{
    if (value_of(word, "ActiveFeatures") != NULL)
        slurm_client_error(c->client,
                           "a node has one list of features, and all of them are active: "
                           "AvailableFeatures=LIST");
    else if (value_of(word, "Weight") != NULL)
        slurm_client_error(c->client, "nodes have no weights: the scheduler takes the nodes on "
                                      "which the least is left over (kiln-scheduler.yaml(5))");
    return refuse_field(word);
}

int
control_update_node(struct scontrol *c, int n_words, char **words)
{
    const char *nodes = NULL, *state = NULL, *reason = NULL;
    struct node_notes notes = {0};
    bool has_notes;

    for (int i = 0; i < n_words; i++) {
        const char *value;

        if ((value = value_of(words[i], "NodeName")) != NULL)
            nodes = value;
        else if ((value = value_of(words[i], "State")) != NULL)
            state = value;
        else if ((value = value_of(words[i], "Reason")) != NULL)
            reason = value;
        else if ((value = value_of(words[i], "Comment")) != NULL)
            notes.comment = value;
        else if ((value = value_of(words[i], "Features")) != NULL
                 || (value = value_of(words[i], "AvailableFeatures")) != NULL)
            notes.features = value;
        else
            return refuse_node_field(c, words[i]);
    }
    has_notes = notes.comment != NULL || notes.features != NULL;
    if (nodes == NULL || (state == NULL && reason == NULL && !has_notes)) {
        fputs("No changes specified\n", stderr);
        return 1;
    }
    if (has_notes && note_nodes(c, nodes, &notes) != 0)
        return 1;
    if (state == NULL && reason == NULL)
        return 0;
    if (state == NULL)
        return set_nodes(c, nodes, NODE_HAS_REASON, reason);
    if (strcasecmp(state, "RESUME") == 0 || strcasecmp(state, "IDLE") == 0
        || strcasecmp(state, "UNDRAIN") == 0)
        return set_nodes(c, nodes, NODE_RESUMES, NULL);
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
    return set_nodes(c, nodes, NODE_DRAINS, reason);
}

/* ---- update PartitionName= ---- */

static int
refuse_value(struct scontrol *c, const char *word, const char *allowed)
{
    slurm_client_error(c->client, "Invalid input: %s; acceptable values are %s", word, allowed);
    return 1;
}

static bool
is_none(const char *value)
{
    return strcasecmp(value, "UNLIMITED") == 0 || strcasecmp(value, "INFINITE") == 0
           || strcasecmp(value, "NONE") == 0;
}

/* Two of Slurm's fields are one of Kiln's: a NO ends only what its own field has begun. */
#define LIFT "-"

/* A word of Slurm's that has another name in Kiln. */
struct partition_word {
    const char *field, *slurms; /* such as State, UP */
    const char *member, *ours;  /* such as state, Up */
};

static int
set_word(struct scontrol *c, struct json *spec, const char *word)
{
    static const struct partition_word words[] = {
        {"State", "UP", "state", "Up"},
        {"State", "DOWN", "state", "Down"},
        {"State", "DRAIN", "state", "Drain"},
        {"State", "INACTIVE", "state", "Inactive"},
        {"ExclusiveUser", "YES", "exclusive", "User"},
        {"ExclusiveUser", "NO", "exclusive", LIFT "User"},
        {"OverSubscribe", "EXCLUSIVE", "exclusive", "Node"},
        {"OverSubscribe", "NO", "exclusive", LIFT "Node"},
        {"Shared", "EXCLUSIVE", "exclusive", "Node"},
        {"Shared", "NO", "exclusive", LIFT "Node"},
        {"PreemptMode", "OFF", "preemptionMode", "Off"},
        {"PreemptMode", "CANCEL", "preemptionMode", "Cancel"},
        {"PreemptMode", "REQUEUE", "preemptionMode", "Requeue"},
        {"PreemptMode", "SUSPEND", "preemptionMode", "Suspend"},
    };
    CLEANUP_STRBUF struct strbuf allowed = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        const char *value = value_of(word, words[i].field);

        if (value == NULL)
            continue;
        if (strcasecmp(value, words[i].slurms) == 0) {
            json_set_string(c->client->arena, spec, words[i].member, words[i].ours);
            return 0;
        }
        strbuf_printf(&allowed, "%s%s", allowed.length > 0 ? ", " : "", words[i].slurms);
    }
    return allowed.length > 0 ? refuse_value(c, word, allowed.text) : refuse_field(word);
}

/* "4", or a word for no limit, which removes the member, for which *ret_number is -1. */
static int
read_number(struct scontrol *c, const char *word, const char *value, int64_t *ret_number)
{
    const size_t digits = strspn(value, "0123456789");

    if (digits > 0 && digits < 10 && value[digits] == '\0') {
        *ret_number = atoll(value);
        return 0;
    }
    *ret_number = -1;
    return is_none(value) ? 0 : refuse_value(c, word, "numbers and UNLIMITED");
}

static int
set_number(struct scontrol *c, struct json *spec, const char *word, const char *value,
           const char *member)
{
    struct arena *arena = c->client->arena;
    int64_t number;

    if (read_number(c, word, value, &number) != 0)
        return 1;
    if (number < 0)
        json_set(arena, spec, member, json_null(arena));
    else if (strcmp(member, "graceTime") == 0)
        json_set_string(arena, spec, member, arena_printf(arena, "%" PRId64 "s", number));
    else if (strcmp(member, "defaultMemoryPerCPU") == 0 && number == 0) /* 0 is no default */
        json_set(arena, spec, member, json_null(arena));
    else if (strcmp(member, "defaultMemoryPerCPU") == 0) /* MB */
        json_set_string(arena, spec, member, arena_printf(arena, "%" PRId64 "Mi", number));
    else
        json_set_int(arena, spec, member, number);
    return 0;
}

/* "ALL" and nothing allow everybody. */
static void
set_names(struct scontrol *c, struct json *spec, const char *member, const char *list)
{
    struct arena *arena = c->client->arena;
    struct json *names = json_array(arena);
    char *rest = arena_strdup(arena, list), *name;

    while ((name = strsep(&rest, ",")) != NULL)
        if (name[0] != '\0' && strcasecmp(name, "ALL") != 0)
            json_append(arena, names, json_string(arena, name));
    json_set(arena, spec, member, json_count(names) > 0 ? names : json_null(arena));
}

static int
set_partition_field(struct scontrol *c, struct json *spec, const char *word)
{
    static const struct {
        const char *slurms, *ours;
    } numbers[] = {{"MaxNodes", "maximumNodes"},
                   {"PriorityTier", "priorityTier"},
                   {"GraceTime", "graceTime"},
                   {"DefMemPerCPU", "defaultMemoryPerCPU"}},
      times[] = {{"MaxTime", "maximumTime"}, {"DefaultTime", "defaultTime"}},
      names[] = {{"AllowAccounts", "allowedAccounts"}, {"AllowGroups", "allowedGroups"}};
    struct arena *arena = c->client->arena;
    const char *value;

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if ((value = value_of(word, numbers[i].slurms)) != NULL)
            return set_number(c, spec, word, value, numbers[i].ours);
    for (size_t i = 0; i < ARRAY_SIZE(times); i++)
        if ((value = value_of(word, times[i].slurms)) != NULL) {
            json_set_string(arena, spec, times[i].ours, is_none(value) ? "" : value);
            return 0;
        }
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if ((value = value_of(word, names[i].slurms)) != NULL) {
            set_names(c, spec, names[i].ours, value);
            return 0;
        }
    if ((value = value_of(word, "Default")) != NULL) {
        const bool is_yes = strcasecmp(value, "YES") == 0;

        json_set_bool(arena, spec, "isDefault", is_yes);
        return is_yes || strcasecmp(value, "NO") == 0 ? 0 : refuse_value(c, word, "YES and NO");
    }
    if (value_of(word, "Nodes") != NULL) {
        slurm_client_error(c->client,
                           "the nodes of a partition are those with its labels: 'kctl label node "
                           "NAME KEY=VALUE' (spec.selector in 'kctl get partition NAME -o yaml')");
        return refuse_field(word);
    }
    return set_word(c, spec, word);
}

/* Replaces "-User" by null, or by what the partition has. */
static int
lift(struct scontrol *c, const struct target_object *partition, struct json *spec,
     struct error *err)
{
    struct arena *arena = c->client->arena;
    const char *given = json_get_text(spec, "exclusive"), *has;
    struct json *object = NULL;
    int r;

    if (given == NULL || strncmp(given, LIFT, strlen(LIFT)) != 0)
        return 0;
    r = kctl_get(&c->client->kctl, partition, arena, &object, err);
    if (r < 0)
        return r;
    has = json_path_text(object, "spec.exclusive");
    if (has == NULL || strcmp(has, given + strlen(LIFT)) == 0)
        json_set(arena, spec, "exclusive", json_null(arena));
    else
        json_set_string(arena, spec, "exclusive", has);
    return 0;
}

static int
set_default(struct scontrol *c, const struct target_object *partition, bool is_default,
            struct error *err)
{
    struct json *patch = json_object(c->client->arena);

    json_set_bool(c->client->arena, json_make_object(c->client->arena, patch, "spec"), "isDefault",
                  is_default);
    return kctl_patch(&c->client->kctl, partition, patch, c->client->arena, NULL, err);
}

/* Slurm moves the mark: in Kiln the other partition gives it up first, and has it again if this one
 * cannot have it. *ret_other: its name, if there is one.
 */
static int
take_default(struct scontrol *c, const char *name, const char **ret_other, struct error *err)
{
    struct target_object other = {.kind = &partition_kind};
    struct json *all = NULL;
    int r = kctl_list(&c->client->kctl, &other, NULL, NULL, c->client->arena, &all, err);

    for (uint32_t i = 0; r == 0 && i < json_count(all); i++) {
        other.name = json_path_text(json_at(all, i), "metadata.name");
        if (other.name == NULL || strcmp(other.name, name) == 0
            || !json_is_true(json_get_path(json_at(all, i), "spec.isDefault")))
            continue;
        r = set_default(c, &other, false, err);
        if (r == 0)
            *ret_other = other.name;
    }
    return r;
}

int
control_update_partition(struct scontrol *c, int n_words, char **words)
{
    struct target_object partition = {.kind = &partition_kind}, former = partition;
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
    if (partition.name == NULL)
        partition.name = "";
    r = lift(c, &partition, spec, &err);
    if (r == 0 && json_is_true(json_get(spec, "isDefault")))
        r = take_default(c, partition.name, &former.name, &err);
    if (r == 0)
        r = kctl_patch(&c->client->kctl, &partition, patch, c->client->arena, NULL, &err);
    if (r == 0)
        return 0;
    if (former.name != NULL)
        set_default(c, &former, true, NULL);
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

/* Names that are added to lists need the lists as they are, which others may change meanwhile. */
static int
change_reservation(struct scontrol *c, const struct reservation_request *request, struct error *err)
{
    int r = -ESTALE;

    for (unsigned i = 0; r == -ESTALE && i < MOST_TRIES; i++) {
        struct reservation_request whole = *request;

        r = reservation_names_settle(&c->client->kctl, &whole, c->client->arena, err);
        if (r == 0)
            r = reservation_request_change(&c->client->kctl, &whole, c->client->arena, err);
    }
    return r;
}

int
control_update_reservation(struct scontrol *c, int n_words, char **words)
{
    struct reservation_request request = {0};
    struct error err = {0};
    int r;

    for (int i = 0; i < n_words; i++) {
        const char *word = reservation_names_spell(c->client->arena, words[i]);

        if (word == NULL) {
            slurm_client_error(c->client,
                               "The +=/-= notation is not supported when updating %.*s.  No "
                               "reservation update.",
                               (int)strcspn(words[i], "+-="), words[i]);
            fputs("slurm_update error: No error\n", stderr);
            return 1;
        }
        if (read_reservation(c, &request, word) != 0)
            return 1;
    }
    if (request.name == NULL) {
        slurm_client_error(c->client, "ReservationName must be given.  No reservation update.");
        return 1;
    }
    if (request.recurrence != NULL) {
        slurm_client_error(c->client,
                           "A reservation cannot become daily or weekly.  No reservation update.");
        return 1;
    }
    c->client->kctl.is_silent = true;
    r = change_reservation(c, &request, &err);
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
        if (n_words == 0)
            fputs("too few arguments for delete keyword\n", stderr);
        else if (equals != NULL)
            fprintf(stderr, "Invalid deletion entity: %s\n", words[0]);
        else
            slurm_client_error(c->client,
                               "Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'");
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
