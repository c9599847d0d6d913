/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/step_report.h"

#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/step_table.h"
#include "cli/print/human.h"
#include "cli/print/sanitize_text.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

static const char *
text_of(const struct json *step, const char *member)
{
    const char *text = json_get_text(step, member);

    return text != NULL ? text : "";
}

static bool
has_ended(const struct json *step)
{
    return json_get(step, "endTime") != NULL;
}

static const char *
length_of(struct arena *arena, int64_t seconds)
{
    char text[DURATION_BRIEF_SIZE];

    duration_format_brief(seconds, text);
    return arena_strdup(arena, text);
}

static const char *
elapsed_of(struct arena *arena, const struct json *step)
{
    const int64_t start = step_table_time(step, "startTime");
    const int64_t end =
        has_ended(step) ? step_table_time(step, "endTime") : clock_real_us(&clock_system);

    return length_of(arena, (end - start) / SECOND_US);
}

static const char *
ender_of(struct arena *arena, const struct json *step)
{
    const int64_t uid = json_get_int(step, "endedBy", -1);
    const struct passwd *user = uid >= 0 ? getpwuid((uid_t)uid) : NULL;

    if (uid < 0)
        return NULL;
    return user != NULL ? arena_strdup(arena, user->pw_name)
                        : arena_printf(arena, "uid %" PRId64, uid);
}

/* "Failed, exit code 3, the highest of its 2 tasks" */
static void
add_words(struct arena *arena, const struct json *step, struct strbuf *out)
{
    const char *state = text_of(step, "state"), *ender = ender_of(arena, step);
    const int64_t signal = json_get_int(step, "signal", 0), tasks = json_get_int(step, "tasks", 1);
    const char *name = signal > 0 ? sigabbrev_np((int)signal) : NULL;

    if (!has_ended(step)) {
        strbuf_add_text(out, ender != NULL ? "Ending" : state);
        if (ender != NULL)
            strbuf_printf(out, ": %s has cancelled it, and its tasks have not ended yet", ender);
        return;
    }
    strbuf_add_text(out, state);
    if (strcmp(state, "Completed") == 0)
        return;
    if (strcmp(state, "TimedOut") == 0 && json_get_int(step, "timeLimitSeconds", 0) > 0)
        strbuf_printf(out, ", over its own limit of %s",
                      length_of(arena, json_get_int(step, "timeLimitSeconds", 0)));
    else if (ender != NULL)
        strbuf_printf(out, " by %s", ender);
    else if (signal > 0)
        strbuf_printf(out, ", killed by signal %" PRId64 "%s%s%s", signal,
                      name != NULL ? " (SIG" : "", name != NULL ? name : "",
                      name != NULL ? ")" : "");
    else if (json_get(step, "exitCode") != NULL)
        strbuf_printf(
            out, ", exit code %" PRId64 "%s", json_get_int(step, "exitCode", 0),
            tasks > 1 ? arena_printf(arena, ", the highest of its %" PRId64 " tasks", tasks) : "");
}

static void
add_text(struct strbuf *out, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0')
        describe_output_add(out, 0, name, "%s", text);
}

static void
add_usage(struct arena *arena, const struct json *step, struct strbuf *out)
{
    char peak[HUMAN_TEXT_SIZE];

    if (json_get(step, "cpuUserMicros") != NULL)
        describe_output_add(out, 0, "CPU time", "%s (%s in programs, %s in the kernel)",
                            length_of(arena, (json_get_int(step, "cpuUserMicros", 0)
                                              + json_get_int(step, "cpuSystemMicros", 0))
                                                 / SECOND_US),
                            length_of(arena, json_get_int(step, "cpuUserMicros", 0) / SECOND_US),
                            length_of(arena, json_get_int(step, "cpuSystemMicros", 0) / SECOND_US));
    if (json_get(step, "peakMemoryBytes") == NULL)
        return;
    human_bytes(json_get_int(step, "peakMemoryBytes", 0), peak);
    describe_output_add(out, 0, "Peak memory", "%s of one process", peak);
}

static void
add_times(struct arena *arena, const struct json *step, struct strbuf *out)
{
    const int64_t limit = json_get_int(step, "timeLimitSeconds", 0);

    add_text(out, "Started", describe_output_local(arena, text_of(step, "startTime")));
    add_text(out, "Ended", describe_output_local(arena, text_of(step, "endTime")));
    describe_output_add(out, 0, "Time", "%s%s%s", elapsed_of(arena, step), limit > 0 ? " of " : "",
                        limit > 0 ? length_of(arena, limit) : "");
}

void
step_report_add(struct arena *arena, const struct json *step, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const char *job = step_table_job(arena, step);

    add_words(arena, step, &words);
    describe_output_add(out, 0, "Step", "%s (%s)", step_table_name(arena, step),
                        text_of(step, "name"));
    describe_output_add(out, 0, "User", "%s, account %s", text_of(step, "user"),
                        text_of(step, "account"));
    describe_output_add(out, 0, "State", "%s", words.text);
    if (has_ended(step) && json_get(step, "exitCode") != NULL)
        describe_output_add(out, 0, "Exit code", "%" PRId64, json_get_int(step, "exitCode", 0));
    add_text(out, "Command", text_of(step, "command"));
    add_text(out, "Started by", text_of(step, "submitLine"));
    add_times(arena, step, out);
    describe_output_add(out, 0, json_get_int(step, "nodeCount", 1) > 1 ? "Nodes" : "Node", "%s",
                        text_of(step, "nodes"));
    describe_output_add(out, 0, "Tasks", "%" PRId64 ", %" PRId64 " CPUs",
                        json_get_int(step, "tasks", 1), json_get_int(step, "cpus", 0));
    add_text(out, "Distribution", text_of(step, "distribution"));
    add_usage(arena, step, out);
    describe_output_add(out, 0, "Job", "%s%s; 'kctl show %s' shows it", job,
                        json_get_int(step, "attempt", 1) > 1 ? arena_printf(
                            arena, ", attempt %" PRId64, json_get_int(step, "attempt", 1))
                                                             : "",
                        job);
}

void
step_report_add_end(struct arena *arena, const struct json *step, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    CLEANUP_FREE char *clean = NULL;

    strbuf_printf(&words, "Step %s (%s): ", step_table_name(arena, step), text_of(step, "name"));
    add_words(arena, step, &words);
    strbuf_printf(&words, ", on %s, %s %s", text_of(step, "nodes"),
                  has_ended(step) ? "after" : "for", elapsed_of(arena, step));
    clean = sanitize_text_dup(words.text);
    strbuf_printf(out, "%s\n", clean);
}
