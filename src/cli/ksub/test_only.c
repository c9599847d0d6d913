/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/test_only.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/ksub/manifest.h"
#include "cli/ksub/submission.h"
#include "cli/print/local_time.h"
#include "cli/values/memory_size.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/client/client.h"
#include "lib/client/sync_call.h"
#include "lib/json/json.h"

static void
print_shape(const struct submission *s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int64_t bytes = submission_memory(s);

    strbuf_printf(&text, "The controller would accept job '%s': ", submission_name(s));
    if (s->shared_mcpu > 0)
        strbuf_printf(&text, "%g shared CPUs on one node", (double)s->shared_mcpu / 1000);
    else if (s->node_count > 1)
        strbuf_printf(&text, "%" PRId64 " CPU%s on each of %" PRId64 " nodes", submission_cpus(s),
                      submission_cpus(s) == 1 ? "" : "s", s->node_count);
    else
        strbuf_printf(&text, "%" PRId64 " CPU%s on one node", submission_cpus(s),
                      submission_cpus(s) == 1 ? "" : "s");
    if (bytes > 0) {
        strbuf_add_text(&text, ", ");
        memory_size_format(bytes, &text);
        strbuf_add_text(&text, "B of memory");
    }
    strbuf_add_text(&text, ", time limit ");
    duration_format(s->time_limit_s, &text);
    printf("%s.\n", text.text);
}

int
test_only_ask(const struct submission *s, struct client *client, const struct json *manifest,
              struct arena *arena, const struct json **ret_why, struct error *err)
{
    CLEANUP_SYNC_CALL struct sync_call call = {0};
    struct arena *of_call = arena_new(0);
    const struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &job_kind,
        .namespace = manifest_namespace(s),
        .body = json_dup(of_call, manifest),
        .query = "dryRun=All&why=true",
        .raw = true,
    };

    int r = sync_call_run(client, of_call, &request, &call, err);

    if (r == 0)
        *ret_why = json_parse(arena, call.text, call.length, NULL, NULL);
    return r;
}

static void
print_smaller(const struct json *all)
{
    for (uint32_t i = 0; i < json_count(all); i++) {
        const char *words = json_get_text(json_at(all, i), "message");

        if (words != NULL && words[0] != '\0')
            printf("%c%s.\n", toupper((unsigned char)words[0]), words + 1);
    }
}

/* The scheduler's answer is for now, but the job waits until its begin time. */
static void
print_begin(int64_t begin_at_us, const struct json *why, const char *message, struct strbuf *out)
{
    const char *chance = json_path_text(why, "start.chance");
    const char *node = json_path_text(why, "start.node");
    const char *from = json_path_text(why, "start.from");
    char begin[LOCAL_TIME_SIZE];
    int64_t from_us = 0;

    local_time_format(begin_at_us, begin);
    if (from != NULL)
        time_parse(from, &from_us);
    if (node != NULL && strcmp(chance, "Now") == 0)
        strbuf_printf(out,
                      "it could start at %s (--begin), if the free resources "
                      "are then the same as now, on %s",
                      begin, node);
    else if (node != NULL && from_us > 0 && from_us <= begin_at_us)
        strbuf_printf(out,
                      "it could start at %s (--begin), on %s, which is "
                      "expected to have room from %s on",
                      begin, node, from);
    else if (from_us > begin_at_us)
        strbuf_printf(out, "%s, after its --begin", message);
    else
        strbuf_printf(out, "%s; not before %s (--begin)", message, begin);
}

/* The quota refuses the job's pod until other jobs have ended; nobody knows when
 * that will be.
 */
static void
print_quota(const struct json *why, struct strbuf *out)
{
    const char *message = json_path_text(why, "quota.message");

    if (message != NULL)
        strbuf_printf(out, "; but it would wait until its quota has room: %s", message);
}

int
test_only_print(const struct submission *s, struct client *client, const struct json *manifest,
                struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT, local = STRBUF_INIT;
    const struct json *why = NULL;
    const bool begins_later = s->begin_at_us > clock_real_us(&clock_system);
    const char *chance, *message;
    int r = test_only_ask(s, client, manifest, arena, &why, err);

    if (r < 0)
        return r;
    chance = json_path_text(why, "start.chance");
    message = json_path_text(why, "start.message");
    if (message == NULL)
        message = json_path_text(why, "cause.message");
    if (message == NULL || message[0] == '\0')
        return error_set(err, -EPROTO, "the controller's answer contains no message");
    if (chance == NULL || strcmp(chance, "Never") == 0)
        return error_set(err, -ENODEV, "%.800s", message);
    print_shape(s);
    if (begins_later)
        print_begin(s->begin_at_us, why, message, &text);
    else
        strbuf_add_text(&text, message);
    if (s->dependency != NULL && s->dependency[0] != '\0')
        strbuf_add_text(&text, "; but only after the jobs of --dependency");
    print_quota(why, &text);
    if (s->hold)
        strbuf_add_text(&text, "; it is held and waits for 'kctl release'");
    local_time_add_text(text.text, &local);
    printf("%c%s.\n", toupper((unsigned char)local.text[0]), local.text + 1);
    if (!begins_later) /* these are requests that could start now */
        print_smaller(json_get(why, "smaller"));
    return 0;
}
