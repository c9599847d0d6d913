/* SPDX-License-Identifier: Apache-2.0 */
/* Windows are computed and not listed: a reservation may recur each day for years. Days are
 * counted in the reservation's own time zone, so that the local hour stays the same when
 * clocks change; a day may then be an hour shorter, which is why the windows of a daily one
 * may be an hour less than a day at most.
 */
#include "lib/api/policy/node_reservation.h"

#include <string.h>

#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/api/policy/local_zone.h"
#include "lib/api/policy/partition.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/base/time_zone.h"
#include "lib/json/json.h"

#define SECOND_US    INT64_C(1000000)
#define DAY_S        INT64_C(86400)
#define YEAR_S       (366 * DAY_S)
#define LONGEST_S    (100 * YEAR_S)
#define REASON_MAX   200u
#define NAMES_MAX    120u /* bytes of names in a table */
#define MOST_NAMES   10000u
#define MOST_WINDOWS 1500u

/* The day on which summer time begins may be this much shorter. */
#define CHANGE_S INT64_C(3600)

/* clang-format off */
static const struct field node_reservation_spec_fields[] = {
    LIST(STRING, "nodes", node_reservation_spec, nodes, 0,
        HELP("Its nodes, by name.")),
    INT("nodeCount", node_reservation_spec, node_count, 0,
        HELP("The number of nodes, if Kiln chooses them.")),
    MAP(STRING, "nodeSelector", node_reservation_spec, node_selector, 0,
        HELP("The labels of the nodes that nodeCount is chosen from.")),
    LIST(STRING, "users", node_reservation_spec, users, 0,
        HELP("The users whose jobs may use it.")),
    LIST(STRING, "groups", node_reservation_spec, groups, 0,
        HELP("The Unix groups whose jobs may use it, beside users.")),
    LIST(STRING, "accounts", node_reservation_spec, accounts, 0,
        HELP("The accounts (namespaces) whose jobs may use it; without it, "
             "all.")),
    TIME("start", node_reservation_spec, start_us, REQUIRED,
        HELP("When it begins, the first time.")),
    STRING("duration", node_reservation_spec, duration, 0,
        HELP("How long it lasts: 4h, 1-00:00:00; without it and end: until it "
             "is deleted.")),
    TIME("end", node_reservation_spec, end_us, KEPT,
        HELP("When it ends, the first time, instead of a duration.")),
    STRING("recurrence", node_reservation_spec, recurrence, 0,
        ONE_OF("Daily", "Weekly"),
        HELP("It is repeated each day or each week, at the same local hour.")),
    STRING("timeZone", node_reservation_spec, time_zone, 0,
        HELP("The time zone of that hour: Europe/Berlin; the default is UTC.")),
    BOOL("maintenance", node_reservation_spec, is_maintenance, 0,
        HELP("Nobody may use its nodes; they are drained while it is active.")),
    BOOL("flexible", node_reservation_spec, is_flexible, 0,
        HELP("After its start its nodes take no other jobs, and it begins "
             "when the last of those has ended.")),
    TIME("deadline", node_reservation_spec, deadline_us, KEPT,
        HELP("When a flexible one should have begun; the jobs that may "
             "still run then are reported.")),
    BOOL("overlap", node_reservation_spec, may_overlap, 0,
        HELP("It may share nodes with another reservation at the same time.")),
    STRING("reason", node_reservation_spec, reason, 0,
        HELP("What it is for, for people.")),
};
static RECORD(node_reservation_spec, node_reservation_spec,
       "hpc.kiln.v1.ReservationSpec",
       HELP("Which nodes, for whom, and when."));

static const struct field node_reservation_status_fields[] = {
    STRING("state", node_reservation_status, state, 0,
        ONE_OF("Planned", "Active", "Ended"),
        HELP("Planned, Active or Ended.")),
    TIME("start", node_reservation_status, start_us, KEPT,
        HELP("When it began, or begins next.")),
    TIME("end", node_reservation_status, end_us, KEPT,
        HELP("When that time ends; without it, the end is unknown.")),
    TIME("begun", node_reservation_status, begun_us, KEPT,
        HELP("When the nodes of a flexible one became free.")),
    LIST(STRING, "nodes", node_reservation_status, nodes, 0,
        HELP("Its nodes.")),
    STRING("message", node_reservation_status, message, 0,
        HELP("What is wrong with it.")),
};
static RECORD(node_reservation_status, node_reservation_status,
       "hpc.kiln.v1.ReservationStatus",
       HELP("The state of a reservation."));

static const struct field node_reservation_fields[] = {
    TYPE_META,
    METADATA(node_reservation),
    OBJECT_ROW("spec", node_reservation_spec, AT(node_reservation, spec),
        ALWAYS,
        HELP("Desired state.")),
    OBJECT_ROW("status", node_reservation_status,
        AT(node_reservation, status), ALWAYS,
        HELP("Current state; set only by the system.")),
};
RECORD(node_reservation, node_reservation, "hpc.kiln.v1.Reservation",
       HELP("Nodes that are reserved for some users, or for maintenance, "
            "for a time."));
/* clang-format on */

const struct node_reservation *
node_reservation_of(const struct object *object)
{
    return object->view;
}

unsigned
node_reservation_nodes(const struct node_reservation *r, const char *const **ret_names)
{
    if (r->spec.node_count == 0) {
        *ret_names = r->spec.nodes.items;
        return r->spec.nodes.count;
    }
    *ret_names = r->status.nodes.items;
    return r->status.nodes.count;
}

/* ---- Windows ---- */

/* The length of a window; INT64_MAX: unlimited. */
static int64_t
duration_of(const struct node_reservation *r)
{
    int64_t seconds = partition_time_s(r->spec.duration);

    if (r->spec.end_us > 0)
        return r->spec.end_us - r->spec.start_us;
    return seconds > 0 && seconds <= LONGEST_S ? seconds * SECOND_US : INT64_MAX;
}

static int64_t
later(int64_t from_us, int64_t by_us)
{
    return by_us < INT64_MAX - from_us ? from_us + by_us : INT64_MAX;
}

/* 0: the reservation does not recur. */
static int64_t
period_s(const struct node_reservation *r)
{
    const char *word = r->spec.recurrence;

    return !text_is_set(word) ? 0 : strcmp(word, "Weekly") == 0 ? 7 * DAY_S : DAY_S;
}

/* Counts days in the reservation's time zone, so that the local hour stays the
 * same.
 */
static bool
find_recurring(const struct node_reservation *r, int64_t at_us, struct reserved_window *ret_window)
{
    const struct time_zone *zone; /* UTC if the zone is gone */
    int64_t first_s = r->spec.start_us / SECOND_US, period = period_s(r);
    int64_t duration_us = duration_of(r), local_s, n;

    (void)local_zone_find(r->spec.time_zone, &zone);
    local_s = first_s + time_zone_offset_s(zone, first_s);
    n = (at_us - duration_us) / SECOND_US;
    n = n > first_s ? (n - first_s) / period - 1 : 0;
    for (n = n > 0 ? n : 0;; n++) {
        ret_window->from_us = local_zone_utc_s(zone, local_s + n * period) * SECOND_US;
        ret_window->until_us = later(ret_window->from_us, duration_us);
        if (ret_window->until_us > at_us)
            return true;
    }
}

bool
node_reservation_window(const struct node_reservation *r, int64_t at_us,
                        struct reserved_window *ret_window)
{
    if (period_s(r) > 0)
        return find_recurring(r, at_us, ret_window);
    *ret_window = (struct reserved_window){r->spec.start_us, INT64_MAX};
    if (r->spec.is_flexible && r->status.begun_us > 0)
        ret_window->from_us = r->status.begun_us;
    if (!r->spec.is_flexible || r->status.begun_us > 0)
        ret_window->until_us = later(ret_window->from_us, duration_of(r));
    return ret_window->until_us > at_us;
}

bool
node_reservation_meets(const struct node_reservation *r, int64_t from_us, int64_t until_us)
{
    struct reserved_window window;

    return node_reservation_window(r, from_us, &window) && window.from_us < until_us;
}

bool
node_reservation_meets_other(const struct node_reservation *a, const struct node_reservation *b,
                             int64_t at_us)
{
    int64_t last_us = later(at_us, YEAR_S * SECOND_US);
    struct reserved_window window = {at_us, at_us};

    for (unsigned i = 0; i < MOST_WINDOWS; i++) {
        if (!node_reservation_window(a, window.until_us, &window)
            || (i > 0 && window.from_us > last_us))
            return false;
        if (node_reservation_meets(b, window.from_us > at_us ? window.from_us : at_us,
                                   window.until_us))
            return true;
        if (window.until_us == INT64_MAX)
            return false;
    }
    return false;
}

/* ---- Rules ---- */

/* The first status is that of the admission rule. */
static void
prepare(struct arena *arena, struct json *reservation, const struct json *old)
{
    struct json *status = json_get(old != NULL ? old : reservation, "status");

    meta_prepare(arena, reservation, old);
    json_set(arena, reservation, "status", status != NULL ? status : json_object(arena));
}

/* A comma or a space in a name would make two names of it. */
static void
check_names(struct causes *c, const struct json *spec, const char *field)
{
    const struct json *list = json_get(spec, field);
    CHECK_TEXTS(seen);

    if (json_count(list) > MOST_NAMES)
        causes_add(c, CAUSE_TOO_MANY, field, NULL, "must have at most %u names", MOST_NAMES);
    for (uint32_t i = 0; i < json_count(list) && i < MOST_NAMES; i++) {
        const char *text = json_text(json_at(list, i));
        unsigned at = causes_enter_index(c, field, i);

        if (!text_is_set(text) || strpbrk(text, ", @\t\n") != NULL)
            causes_add(c, CAUSE_INVALID, "", json_at(list, i),
                       "must be a name, without @, commas and spaces");
        else if (!check_texts_add(&seen, text))
            causes_add(c, CAUSE_DUPLICATE, "", json_at(list, i), "%s", "");
        causes_leave(c, at);
    }
}

static void
check_nodes(struct causes *c, const struct json *spec)
{
    bool has_names = json_count(json_get(spec, "nodes")) > 0;
    int64_t count = json_get_int(spec, "nodeCount", 0);

    check_names(c, spec, "nodes");
    check_range(c, spec, "nodeCount", 0, MOST_NAMES);
    check_labels(c, spec, "nodeSelector");
    if (has_names == (count > 0))
        causes_add(c, CAUSE_INVALID, "nodes", NULL, "must list nodes, or set nodeCount instead");
    if (count == 0 && json_count(json_get(spec, "nodeSelector")) > 0)
        causes_add(c, CAUSE_INVALID, "nodeSelector", json_get(spec, "nodeSelector"),
                   "requires nodeCount");
}

static void
check_users(struct causes *c, const struct json *spec)
{
    bool has_any = json_count(json_get(spec, "users")) > 0
                   || json_count(json_get(spec, "groups")) > 0
                   || json_count(json_get(spec, "accounts")) > 0;

    check_names(c, spec, "users");
    check_names(c, spec, "groups");
    check_names(c, spec, "accounts");
    if (has_any == json_is_true(json_get(spec, "maintenance")))
        causes_add(c, CAUSE_INVALID, "users", NULL,
                   has_any ? "must be empty, and so must groups and accounts: "
                             "nobody uses nodes under maintenance"
                           : "must list who may use it (or list groups or "
                             "accounts), or set maintenance to true");
}

static int64_t
read_time(const struct json *spec, const char *name)
{
    int64_t us;

    return time_parse(check_text(spec, name), &us) == 0 ? us : 0;
}

/* The duration; 0: unlimited; -1: invalid. */
static int64_t
check_duration(struct causes *c, const struct json *spec)
{
    const char *duration = check_text(spec, "duration");
    int64_t seconds = partition_time_s(duration);
    int64_t start_us = read_time(spec, "start");
    int64_t end_us = read_time(spec, "end");

    if (check_is_set(spec, "end") && check_is_set(spec, "duration")) {
        causes_add(c, CAUSE_INVALID, "end", json_get(spec, "end"),
                   "must not be set together with duration");
        return -1;
    }
    if (seconds < 0 || seconds > LONGEST_S
        || (seconds == 0 && *duration != '\0' && strcmp(duration, "none") != 0)) {
        causes_add(c, CAUSE_INVALID, "duration", json_get(spec, "duration"),
                   "must be a time such as 90m, 4h, 4:00:00 or 1-00:00:00, "
                   "above 0");
        return -1;
    }
    if (!check_is_set(spec, "end"))
        return seconds;
    if (end_us <= start_us) {
        causes_add(c, CAUSE_INVALID, "end", json_get(spec, "end"), "must be after start");
        return -1;
    }
    return (end_us - start_us + SECOND_US - 1) / SECOND_US;
}

static void
check_recurrence(struct causes *c, const struct json *spec, int64_t duration_s)
{
    const char *word = check_text(spec, "recurrence");
    const char *zone = check_text(spec, "timeZone");
    const struct time_zone *there;
    int64_t most_s = (strcmp(word, "Weekly") == 0 ? 7 * DAY_S : DAY_S) - CHANGE_S;

    if (!local_zone_find(zone, &there))
        causes_add(c, CAUSE_INVALID, "timeZone", json_get(spec, "timeZone"),
                   "must be a time zone of the controller's machine, such as "
                   "Europe/Berlin or UTC");
    if (*word == '\0')
        return;
    check_one_of(c, spec, "recurrence", CHECK_VALUES("Daily", "Weekly"));
    if (duration_s == 0 || duration_s > most_s)
        causes_add(c, CAUSE_INVALID, "duration", json_get(spec, "duration"),
                   "is required, and at most %s, because the reservation is "
                   "repeated",
                   most_s > DAY_S ? "6-23:00:00" : "23:00:00");
    if (json_is_true(json_get(spec, "flexible")))
        causes_add(c, CAUSE_INVALID, "flexible", json_get(spec, "flexible"),
                   "must be false, because the reservation is repeated at a "
                   "fixed hour");
}

static void
check_deadline(struct causes *c, const struct json *spec)
{
    if (!check_is_set(spec, "deadline"))
        return;
    if (!json_is_true(json_get(spec, "flexible")))
        causes_add(c, CAUSE_INVALID, "deadline", json_get(spec, "deadline"),
                   "requires flexible: other reservations begin at their "
                   "start");
    else if (read_time(spec, "deadline") < read_time(spec, "start"))
        causes_add(c, CAUSE_INVALID, "deadline", json_get(spec, "deadline"),
                   "must not be before start");
}

static void
check_start(struct causes *c, const struct json *spec)
{
    int64_t start_us = read_time(spec, "start");

    if (!check_is_set(spec, "start"))
        causes_add(c, CAUSE_REQUIRED, "start", NULL, "is required");
    else if (start_us <= 0 || start_us > 200 * YEAR_S * SECOND_US)
        causes_add(c, CAUSE_INVALID, "start", json_get(spec, "start"),
                   "must be a time between 1970 and 2170");
}

static void
validate(struct causes *c, const struct json *reservation, const struct json *old)
{
    const struct json *spec = json_get(reservation, "spec");
    int64_t duration_s;
    unsigned at;

    meta_check(c, &reservation_kind, NAME_LABEL_VALUE, reservation, old);
    at = causes_enter(c, "spec");
    check_nodes(c, spec);
    check_users(c, spec);
    check_start(c, spec);
    check_deadline(c, spec);
    duration_s = check_duration(c, spec);
    if (duration_s >= 0)
        check_recurrence(c, spec, duration_s);
    check_line(c, spec, "reason", REASON_MAX);
    if (old != NULL
        && json_is_true(json_get(spec, "maintenance"))
               != json_is_true(json_get_path(old, "spec.maintenance")))
        causes_add(c, CAUSE_INVALID, "maintenance", json_get(spec, "maintenance"),
                   "cannot be changed; create another reservation");
    causes_leave(c, at);
}

/* ---- Table ---- */

static void
add_state(struct table_row *row)
{
    table_cell(row, node_reservation_of(row->object)->status.state);
}

static void
add_time(struct table_row *row, int64_t us)
{
    char text[TIME_TEXT_SIZE] = "";

    if (us > 0)
        time_format(us, false, text);
    table_cell(row, text);
}

static void
add_start(struct table_row *row)
{
    const struct node_reservation *r = node_reservation_of(row->object);

    add_time(row, r->status.start_us > 0 ? r->status.start_us : r->spec.start_us);
}

static void
add_end(struct table_row *row)
{
    add_time(row, node_reservation_of(row->object)->status.end_us);
}

static void
add_nodes(struct table_row *row)
{
    const struct node_reservation *r = node_reservation_of(row->object);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char *const *names;
    unsigned count = node_reservation_nodes(r, &names);

    CLEANUP_FREE const char **sorted = xnew_array(const char *, count + 1);

    for (unsigned i = 0; i < count; i++)
        sorted[i] = names[i];
    hostlist_format(sorted, count, NAMES_MAX, &out);
    table_cell(row, out.text != NULL ? out.text : "");
}

static void
add_message(struct table_row *row)
{
    const struct node_reservation *r = node_reservation_of(row->object);

    table_cell(row, text_is_set(r->status.message) ? r->status.message : r->spec.reason);
}

/* clang-format off */
static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("State", add_state, "Planned, Active or Ended."),
    COLUMN("Start", add_start, "When it began, or begins next."),
    COLUMN("End", add_end, "When that time ends."),
    COLUMN("Nodes", add_nodes, "Its nodes."),
    TABLE_AGE,
    COLUMN("Message", add_message, "What is wrong with it, or what it is for.",
        WIDE),
};
static const struct table table = {TABLE_COLUMNS(columns)};
/* clang-format on */

const struct kind reservation_kind = {
    .group = "kiln.hpc",
    .version = "v1",
    .api_version = "kiln.hpc/v1",
    .name = "Reservation",
    .list_name = "ReservationList",
    .plural = "reservations",
    .singular = "reservation",
    .flags = KIND_UNCONDITIONAL_UPDATE | KIND_GENERATION | KIND_KILN | KIND_HAS_STATUS,
    .record = &node_reservation_record,
    .prepare = prepare,
    .validate = validate,
    .table = &table,
};
