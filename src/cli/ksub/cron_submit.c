/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/cron_submit.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ksub/manifest.h"
#include "cli/ksub/submission.h"
#include "cli/print/local_time.h"
#include "lib/api/cron/cron_schedule.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/base/time_zone.h"
#include "lib/client/client.h"
#include "lib/client/sync_call.h"
#include "lib/json/json.h"

#define BASE_MAX      40
#define N_RANDOM      6
#define MOST_NUMBERED 9 /* names that are tried before a random one */
#define MOST_NAMES    12
#define SECOND_US     INT64_C(1000000)

/* "backup": the job's name as a DNS label; the next ones are "backup-2" to
 * "backup-9", and if these are all taken, "backup-bxkqtz".
 */
static const char *
make_name(const struct submission *s, unsigned attempt, struct arena *arena)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz";
    const char *from = submission_name(s);
    unsigned char bytes[N_RANDOM];
    char base[BASE_MAX + 1];
    char suffix[N_RANDOM + 2] = "";
    size_t length = 0;

    for (; *from != '\0' && *from != '.' && length < BASE_MAX; from++) {
        int c = tolower((unsigned char)*from);

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9' && length > 0))
            base[length++] = (char)c;
        else if (length > 0 && base[length - 1] != '-')
            base[length++] = '-';
    }
    while (length > 0 && base[length - 1] == '-')
        length--;
    base[length] = '\0';
    random_bytes(bytes, sizeof(bytes));
    if (attempt >= MOST_NUMBERED)
        suffix[0] = '-';
    for (unsigned i = 0; attempt >= MOST_NUMBERED && i < N_RANDOM; i++)
        suffix[i + 1] = letters[bytes[i] % (sizeof(letters) - 1)];
    if (attempt > 0 && attempt < MOST_NUMBERED)
        snprintf(suffix, sizeof(suffix), "-%u", attempt + 1);
    /* "job-7" means the job with that number. */
    return arena_printf(arena, "%s%s%s", strncmp(base, "job", 3) == 0 || length == 0 ? "cron-" : "",
                        length > 0 ? base : "job", suffix);
}

/* The name of this host's time zone, or NULL if it has none: from TZ, or from
 * the file that /etc/localtime links to.
 */
static const char *
find_zone(struct arena *arena)
{
    static const char folder[] = "/zoneinfo/";
    const char *name = getenv("TZ");
    CLEANUP(time_zone_freep) struct time_zone *zone = NULL;
    char path[512];
    ssize_t length;

    if (name != NULL && name[0] == ':')
        name++;
    if (name == NULL) {
        length = readlink("/etc/localtime", path, sizeof(path) - 1);
        if (length < 0)
            return NULL;
        path[length] = '\0';
        name = strstr(path, folder);
        if (name == NULL)
            return NULL;
        name += sizeof(folder) - 1;
    }
    return name[0] != '\0' && time_zone_open(name, &zone, NULL) == 0 ? arena_strdup(arena, name)
                                                                     : NULL;
}

/* Adds one item of the weekday field, such as "5-7" or "1-7/2", with its day 7
 * as 0.
 */
static void
add_weekdays(const char *item, size_t length, struct strbuf *out)
{
    int64_t from = 0, to = 0, step = 1;
    int used = 0;
    CLEANUP_FREE char *text = xasprintf("%.*s", (int)length, item);

    if (sscanf(text, "%1" SCNd64 "%n", &from, &used) == 1 && (size_t)used == length)
        to = from;
    else if (sscanf(text, "%1" SCNd64 "-%1" SCNd64 "%n", &from, &to, &used) != 2
             || ((size_t)used != length
                 && (sscanf(text + used, "/%1" SCNd64 "%n", &step, &used) != 1
                     || strchr(text, '/') + used != text + length)))
        to = 0;
    if (to != 7 || from > to || step < 1) {
        strbuf_add(out, item, length); /* no Sunday, or a mistake to be reported */
        return;
    }
    for (int64_t day = from; day <= to; day += step)
        strbuf_printf(out, "%s%" PRId64, day > from ? "," : "", day % 7);
}

const char *
cron_submit_schedule(const char *text, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char *p = text + strspn(text, " \t");
    const char *field = p;

    if (*p == '@')
        return text;
    for (unsigned i = 0; i < 4; i++) {
        field += strcspn(field, " \t");
        field += strspn(field, " \t");
    }
    strbuf_add(&out, text, (size_t)(field - text));
    while (*field != '\0' && strchr(" \t", *field) == NULL) {
        const size_t length = strcspn(field, ", \t");

        add_weekdays(field, length, &out);
        field += length;
        if (*field == ',')
            strbuf_add_char(&out, *field++);
    }
    strbuf_add_text(&out, field);
    return arena_strdup(arena, out.text);
}

const char *
cron_submit_explain(const char *text, struct arena *arena)
{
    static const struct {
        const char *name, *range, *before, *after;
    } fields[] = {
        {"minute", "0-59", "", " * * * *"},
        {"hour", "0-23", "* ", " * * *"},
        {"day of the month", "1-31", "* * ", " * *"},
        {"month", "1-12 or jan-dec", "* * * ", " *"},
        {"weekday", "0-7 (0 and 7 are Sunday) or sun-sat", "* * * * ", ""},
    };
    char *words[ARRAY_SIZE(fields)];
    char *rest = NULL;
    size_t n = 0;

    for (char *word = strtok_r(arena_strdup(arena, text), " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (n == ARRAY_SIZE(fields))
            return NULL;
        words[n++] = word;
    }
    for (size_t i = 0; n == ARRAY_SIZE(fields) && i < n; i++) {
        const char *alone =
            arena_printf(arena, "%s%s%s", fields[i].before, words[i], fields[i].after);
        struct cron_schedule schedule;

        if (cron_schedule_parse(cron_submit_schedule(alone, arena), &schedule, NULL) < 0)
            return arena_printf(arena,
                                "the %s '%s' is not in %s, nor a list, range or step of "
                                "these (1,15; 1-5; */10)",
                                fields[i].name, words[i], fields[i].range);
    }
    return NULL;
}

struct json *
cron_submit_manifest(const struct submission *s, const struct json *job, struct arena *arena)
{
    struct json *cron_job = json_object(arena);
    struct json *meta = json_make_object(arena, cron_job, "metadata");
    struct json *spec = json_make_object(arena, cron_job, "spec");
    struct json *template = json_object(arena);
    struct json *annotations = json_dup(arena, json_get_path(job, "metadata.annotations"));
    const char *zone = find_zone(arena);

    json_set_string(arena, cron_job, "apiVersion", cron_job_kind.api_version);
    json_set_string(arena, cron_job, "kind", cron_job_kind.name);
    json_set_string(arena, meta, "name", make_name(s, 0, arena));
    json_set_string(arena, meta, "namespace", manifest_namespace(s));
    json_set_string(arena, json_make_object(arena, meta, "annotations"), ANNOTATION_JOB_NAME,
                    submission_name(s));
    json_set_string(arena, spec, "schedule", cron_submit_schedule(s->cron, arena));
    if (zone != NULL)
        json_set_string(arena, spec, "timeZone", zone);
    json_set_string(arena, spec, "concurrencyPolicy", "Forbid");
    json_set(arena, json_make_object(arena, template, "metadata"), "annotations", annotations);
    json_set(arena, template, "spec", json_dup(arena, json_get(job, "spec")));
    json_set(arena, spec, "jobTemplate", template);
    return cron_job;
}

static void
print_times(const char *schedule_text, const char *name, const char *zone_name)
{
    CLEANUP(time_zone_freep) struct time_zone *zone = NULL;
    struct cron_schedule schedule;
    char next[LOCAL_TIME_SIZE] = "never";
    int64_t next_s = 0;

    if (zone_name != NULL && time_zone_open(zone_name, &zone, NULL) == 0
        && cron_schedule_parse(schedule_text, &schedule, NULL) == 0)
        next_s = cron_schedule_next_s(&schedule, zone, clock_real_us(&clock_system) / SECOND_US);
    if (next_s != 0)
        local_time_format(next_s * SECOND_US, next);
    if (zone_name != NULL)
        printf("Submitted recurring job %s, next at %s (%s)\n", name, next, zone_name);
    else
        printf("Submitted recurring job %s, by the controller's clock\n", name);
    printf("'kctl cancel %s' cancels it, 'kctl jobs --cron' shows it\n", name);
}

int
cron_submit_run(const struct submission *s, struct client *client, const struct json *manifest,
                struct error *err)
{
    CLEANUP_SYNC_CALL struct sync_call call = {0};
    CLEANUP(arena_freep) struct arena *names = arena_new(0);
    const char *first = json_path_text(manifest, "metadata.name");
    const char *name = first;
    int r = 0;

    for (unsigned attempt = 0; attempt < MOST_NAMES; attempt++) {
        struct arena *arena = arena_new(0);
        struct json *body = json_dup(arena, manifest);
        const struct client_request request = {
            .verb = CLIENT_CREATE,
            .kind = &cron_job_kind,
            .namespace = manifest_namespace(s),
            .body = body,
            .query = "fieldValidation=Strict",
        };

        if (attempt > 0)
            name = make_name(s, attempt, names);
        json_set_string(arena, json_make_object(arena, body, "metadata"), "name", name);
        sync_call_fini(&call);
        *err = (struct error){0};
        r = sync_call_run(client, arena, &request, &call, err);
        if (call.code != 409)
            break;
    }
    if (r < 0 && call.code == 0)
        return error_wrap(err, r,
                          "no answer came, and it may have been submitted "
                          "('kctl get cronjob %s' shows whether it was)",
                          name);
    if (r < 0)
        return r;
    if (name != first)
        fprintf(stderr, "ksub: there is a CronJob %s already; this one is %s\n", first, name);
    if (s->parsable)
        printf("%s\n", name);
    else if (!s->quiet)
        print_times(json_path_text(manifest, "spec.schedule"), name,
                    json_path_text(manifest, "spec.timeZone"));
    fflush(stdout);
    return 0;
}
