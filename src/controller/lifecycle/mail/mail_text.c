/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/mail/mail_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "controller/lifecycle/mail/mail_due.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define SECOND_US  INT64_C(1000000)
#define NAME_SHOWN 200 /* bytes */
#define WORD_BYTES 42u /* of an encoded word (RFC 2047): with its frame at most 75 */

static const char *
annotation(const struct job *job, const char *name)
{
    const char *value = string_map_find(&job->meta.annotations, name);

    return value != NULL ? value : "";
}

/* Without line breaks and other control characters. */
static const char *
clean(const char *text, struct arena *arena)
{
    char *copy = arena_strndup(arena, text, strnlen(text, NAME_SHOWN));
    size_t length = strlen(copy);

    while (length > 0 && length == NAME_SHOWN && ((unsigned char)text[length] & 0xc0) == 0x80)
        copy[length--] = '\0'; /* not within a character */
    copy[length] = '\0';
    for (char *p = copy; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
    return copy;
}

/* ---- Headers ---- */

static void
add_base64(struct strbuf *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        const unsigned b = bytes[i], c = i + 1 < n ? bytes[i + 1] : 0,
                       d = i + 2 < n ? bytes[i + 2] : 0;

        strbuf_add_char(out, digits[b >> 2]);
        strbuf_add_char(out, digits[(b & 3) << 4 | c >> 4]);
        strbuf_add_char(out, i + 1 < n ? digits[(c & 15) << 2 | d >> 6] : '=');
        strbuf_add_char(out, i + 2 < n ? digits[d & 63] : '=');
    }
}

static bool
is_ascii(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

/* The words of the subject, encoded if they are not ASCII. */
static void
add_subject(struct strbuf *out, const char *text)
{
    strbuf_add_text(out, "Subject: ");
    if (is_ascii(text)) {
        strbuf_printf(out, "%s\n", text);
        return;
    }
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        n = left < WORD_BYTES ? left : WORD_BYTES;
        while (n > 1 && n < left && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--; /* a word has whole characters */
        strbuf_add_text(out, "=?UTF-8?B?");
        add_base64(out, (const unsigned char *)text, n);
        strbuf_add_text(out, n < left ? "?=\n " : "?=\n");
    }
}

static void
add_date(struct strbuf *out, int64_t now_us)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const time_t now = (time_t)(now_us / SECOND_US);
    struct tm utc = {0};

    gmtime_r(&now, &utc);
    strbuf_printf(out, "Date: %s, %d %s %d %02d:%02d:%02d +0000\n", days[utc.tm_wday], utc.tm_mday,
                  months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

/* ---- What has happened ---- */

static int64_t
run_time_s(const struct job *job)
{
    const struct job_run *run = job->status.last_run;

    if (run == NULL || run->started_at_us == 0 || run->finished_at_us < run->started_at_us)
        return -1;
    return (run->finished_at_us - run->started_at_us - run->frozen_us) / SECOND_US;
}

static void
add_duration(struct strbuf *out, int64_t s)
{
    if (s >= 86400)
        strbuf_printf(out, "%" PRId64 "-", s / 86400);
    strbuf_printf(out, "%02" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600 % 24, s / 60 % 60,
                  s % 60);
}

static const char *
describe(const struct mail_facts *f, const char *name, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct job *job = f->job;
    const enum job_state state = job_find_state(job);
    const bool is_array = job->spec.array != NULL;

    strbuf_printf(&text, "Kiln %sJob_id=%" PRId64 "%s Name=%s %s",
                  is_array && f->due->is_end ? "Array Summary " : "", job->status.id,
                  is_array ? "_*" : "", name, f->due->what);
    if (!f->due->is_end)
        return arena_strdup(arena, text.text);
    if (run_time_s(job) >= 0 && !is_array) {
        strbuf_add_text(&text, ", Run time ");
        add_duration(&text, run_time_s(job));
    }
    strbuf_printf(&text, ", %s", job_state_words(state)->long_code);
    if (is_array)
        strbuf_printf(&text, ", %" PRId64 " of %" PRId64 " tasks succeeded", job->status.succeeded,
                      job->spec.completions != NULL ? *job->spec.completions : 0);
    else if (job->status.exit_code != NULL)
        strbuf_printf(&text, ", ExitCode %" PRId64, *job->status.exit_code);
    return arena_strdup(arena, text.text);
}

static void
add_body(const struct mail_facts *f, const char *name, struct arena *arena, struct strbuf *out)
{
    const struct job *job = f->job;
    const struct job_run *run = job->status.last_run;
    const struct job_condition *failed = job_find_condition(job, "Failed");
    const char *account = annotation(job, ANNOTATION_ACCOUNT);

    strbuf_printf(out, "Job:       %" PRId64 " (%s)\n", job->status.id, name);
    strbuf_printf(out, "User:      %s, account %s\n",
                  clean(annotation(job, ANNOTATION_USER), arena),
                  account[0] != '\0' ? account : job->meta.namespace);
    strbuf_printf(out, "State:     %s\n", job_state_words(job_find_state(job))->name);
    if (run != NULL && run->node_name != NULL)
        strbuf_printf(out, "Node:      %s\n", clean(run->node_name, arena));
    if (job->status.exit_code != NULL)
        strbuf_printf(out, "Exit code: %" PRId64 "\n", *job->status.exit_code);
    if (job->status.failed_indexes != NULL && job->spec.array != NULL)
        strbuf_printf(out, "Failed:    %" PRId64 " task%s\n", job->status.failed,
                      job->status.failed == 1 ? "" : "s");
    if (failed != NULL && failed->message != NULL)
        strbuf_printf(out, "Because:   %s\n", clean(failed->message, arena));
    strbuf_printf(out,
                  "\n'kctl show %" PRId64 "' says more, and 'kctl efficiency %" PRId64
                  "' what it used.\n",
                  job->status.id, job->status.id);
    if (f->is_last)
        strbuf_add_text(out, "\nThere was more mail about your jobs than is sent in an hour: "
                             "further mail is left out for now.\n");
}

void
mail_text_write(const struct mail_facts *f, struct arena *arena, struct strbuf *out)
{
    const struct job *job = f->job;
    const char *name =
        clean(annotation(job, ANNOTATION_JOB_NAME)[0] != '\0' ? annotation(job, ANNOTATION_JOB_NAME)
                                                              : job->meta.name,
              arena);

    strbuf_add_text(out, "To: ");
    for (const char *p = f->address; *p != '\0'; p++)
        if (*p == ',')
            strbuf_add_text(out, ",\n ");
        else
            strbuf_add_char(out, *p);
    strbuf_add_char(out, '\n');
    add_subject(out, describe(f, name, arena));
    add_date(out, f->now_us);
    strbuf_printf(out, "Message-ID: <%s.%s@%s.kiln>\n", job->meta.uid, f->due->mark,
                  f->cluster != NULL ? f->cluster : "cluster");
    strbuf_add_text(out, "Auto-Submitted: auto-generated\nMIME-Version: 1.0\n"
                         "Content-Type: text/plain; charset=utf-8\n"
                         "Content-Transfer-Encoding: 8bit\n\n");
    add_body(f, name, arena, out);
}
