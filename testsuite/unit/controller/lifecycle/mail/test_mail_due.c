/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/mail/mail_due.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "controller/lifecycle/mail/mail_text.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define SECOND_US INT64_C(1000000)
#define NOON_US   (INT64_C(1767268800) * SECOND_US) /* 2026-01-01T12:00:00Z */

static const struct object *
make(const char *annotations, const char *spec, const char *status)
{
    CLEANUP_FREE char *text = xasprintf(
        "{\"metadata\":{\"name\":\"job-17\",\"namespace\":\"default\",\"uid\":\"u\","
        "\"annotations\":{%s}},\"spec\":{%s\"template\":{\"spec\":{\"containers\":[{\"name\":"
        "\"main\"}]}}},\"status\":{\"id\":17,%s}}",
        annotations, spec, status);
    const struct object *job = NULL;
    struct error err = {0};

    ck_assert_msg(object_parse(&job_kind, text, strlen(text), &job, &err) == 0, "%s", err.text);
    return job;
}

#define RUNS "\"state\":\"Running\",\"attempts\":1,\"active\":1"
#define COMPLETED                                                                                \
    "\"state\":\"Completed\",\"attempts\":1,\"succeeded\":1,\"completionTime\":\"2026-01-01T11:" \
    "59:00Z\",\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]"
#define LAST_RUN                                            \
    ",\"lastRun\":{\"startedAt\":\"2026-01-01T11:58:51Z\"," \
    "\"finishedAt\":\"2026-01-01T11:59:00Z\"}"
#define FAILED(reason, state)                                                                   \
    "\"state\":\"" state "\",\"attempts\":1,\"failed\":1,\"conditions\":[{\"type\":\"Failed\"," \
    "\"status\":\"True\",\"reason\":\"" reason                                                  \
    "\",\"lastTransitionTime\":\"2026-01-01T11:59:00Z\""                                        \
    "}]"

START_TEST(mail_about_an_event_that_was_not_sent_is_due)
{
    static const struct {
        const char *types, *mailed, *status;
        const char *mark, *what; /* NULL: none is due */
    } cases[] = {
        {"ALL", "", "\"state\":\"Pending\"", NULL, NULL},
        {"ALL", "", RUNS, "BEGIN", "Began"},
        {"ALL", "BEGIN", RUNS, NULL, NULL},
        {"END", "", RUNS, NULL, NULL},
        {"NONE", "", COMPLETED, NULL, NULL},
        {"no such", "", COMPLETED, NULL, NULL},
        {"END", "", COMPLETED, "END_1", "Ended"},
        {"FAIL", "", COMPLETED, NULL, NULL},
        {"END", "END_1", COMPLETED, NULL, NULL},
        {"END", "XEND_1,END_10", COMPLETED, "END_1", "Ended"},
        {"FAIL", "", FAILED("BackoffLimitExceeded", "Failed"), "END_1", "Failed"},
        {"END", "", FAILED("BackoffLimitExceeded", "Failed"), "END_1", "Ended"},
        {"TIME_LIMIT", "", FAILED("DeadlineExceeded", "TimedOut"), "END_1", "Reached time limit"},
        {"INVALID_DEPEND", "", FAILED("DependencyNeverSatisfied", "Cancelled"), "END_1",
         "Invalid dependency"},
        {"FAIL", "", FAILED("DependencyNeverSatisfied", "Cancelled"), NULL, NULL},
        {"REQUEUE", "", "\"state\":\"Running\",\"attempts\":2,\"active\":1", "REQUEUE_2",
         "Requeued"},
        {"REQUEUE", "REQUEUE_2", "\"state\":\"Running\",\"attempts\":2,\"active\":1", NULL, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_FREE char *annotations =
            xasprintf("\"kiln.hpc/mail-type\":\"%s\",\"kiln.hpc/mailed\":\"%s\"", cases[i].types,
                      cases[i].mailed);
        const struct object *job = make(annotations, "", cases[i].status);
        const struct mail_run run = {0};
        struct mail_due due;
        int64_t after_us;
        bool is_due = mail_due_find(job_of(job), &run, NOON_US, &due, &after_us);

        ck_assert_msg(is_due == (cases[i].mark != NULL), "case %zu", i);
        if (is_due) {
            ck_assert_str_eq(due.mark, cases[i].mark);
            ck_assert_str_eq(due.what, cases[i].what);
        }
        object_unref(job);
    }
}
END_TEST

/* So that a controller that sends mail for the first time does not send that of a week. */
START_TEST(mail_about_an_old_event_is_not_sent)
{
    const struct object *job = make("\"kiln.hpc/mail-type\":\"END\"", "", COMPLETED);
    const struct mail_run run = {0};
    struct mail_due due;
    int64_t after_us;

    ck_assert(!mail_due_find(job_of(job), &run, NOON_US + MAIL_AGE_MOST_US, &due, &after_us));
    object_unref(job);
}
END_TEST

START_TEST(parts_of_the_limit_are_due_by_the_clock)
{
    static const struct {
        int64_t at_s;
        const char *mark;
        int64_t after_s;
    } cases[] = {
        {0, NULL, 50},
        {49, NULL, 1},
        {50, "TIME_LIMIT_50_1", 0},
        {91, "TIME_LIMIT_90_1", 0},
    };
    const struct object *job =
        make("\"kiln.hpc/mail-type\":\"TIME_LIMIT_50,TIME_LIMIT_90\"", "", RUNS);
    const struct mail_run run = {.began_us = NOON_US, .limit_us = 100 * SECOND_US};
    const struct mail_run unknown = {0};
    struct mail_due due;
    int64_t after_us;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool is_due =
            mail_due_find(job_of(job), &run, NOON_US + cases[i].at_s * SECOND_US, &due, &after_us);

        ck_assert_msg(is_due == (cases[i].mark != NULL), "case %zu", i);
        if (is_due)
            ck_assert_str_eq(due.mark, cases[i].mark);
        else
            ck_assert_int_eq(after_us, cases[i].after_s * SECOND_US);
    }
    /* Its pod is not known yet: it is looked at again. */
    ck_assert(!mail_due_find(job_of(job), &unknown, NOON_US, &due, &after_us));
    ck_assert_int_gt(after_us, 0);
    object_unref(job);
}
END_TEST

START_TEST(marks_add_up_within_a_bound)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *marks = "BEGIN";

    for (unsigned i = 0; i < 200; i++) {
        CLEANUP_FREE char *annotation = xasprintf("\"kiln.hpc/mailed\":\"%s\"", marks);
        CLEANUP_FREE char *mark = xasprintf("REQUEUE_%u", i);
        const struct object *job = make(annotation, "", RUNS);

        marks = mail_due_add_mark(job_of(job), mark, arena);
        object_unref(job);
    }
    ck_assert_uint_lt(strlen(marks), 700);
    ck_assert(strstr(marks, "REQUEUE_198,REQUEUE_199") != NULL);
}
END_TEST

/* No text of a user begins a line of the headers. */
START_TEST(a_name_is_no_header)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object *job =
        make("\"kiln.hpc/job-name\":\"a\\r\\nBcc: x@y\\n\\nbody\",\"kiln.hpc/user\":\"ann\"", "",
             COMPLETED);
    const struct mail_due due = {.mark = "END_1", .what = "Ended", .is_end = true};
    char *end;

    mail_text_write(&(struct mail_facts){.job = job_of(job),
                                         .due = &due,
                                         .address = "a@b,c@d",
                                         .cluster = "test",
                                         .now_us = NOON_US},
                    arena, &text);
    static const char *const headers =
        "To: a@b,\n c@d\nSubject: Kiln Job_id=17 Name=a??Bcc: x@y??body Ended, COMPLETED\n"
        "Date: Thu, 1 Jan 2026 12:00:00 +0000\nMessage-ID: <u.END_1@test.kiln>\n";

    ck_assert_msg(strncmp(text.text, headers, strlen(headers)) == 0, "%s", text.text);
    end = strstr(text.text, "\n\n");
    ck_assert(end != NULL);
    *end = '\0';
    ck_assert(strstr(text.text, "\nBcc") == NULL);
    object_unref(job);
}
END_TEST

/* A short job may have ended before the mail about its begin is written. */
START_TEST(mail_about_the_begin_has_no_words_of_the_end)
{
    static const struct {
        const char *mailed, *subject;
    } cases[] = {
        {"", "Subject: Kiln Job_id=17 Name=my Began\n"},
        {"BEGIN", "Subject: Kiln Job_id=17 Name=my Ended, Run time 00:00:09, COMPLETED\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        CLEANUP_FREE char *annotations = xasprintf(
            "\"kiln.hpc/mail-type\":\"BEGIN,END\",\"kiln.hpc/job-name\":\"my\",\"kiln.hpc/"
            "mailed\":\"%s\"",
            cases[i].mailed);
        CLEANUP(object_unrefp) const struct object *job = make(annotations, "", COMPLETED LAST_RUN);
        const struct mail_run run = {0};
        struct mail_due due;
        int64_t after_us;

        ck_assert(mail_due_find(job_of(job), &run, NOON_US, &due, &after_us));
        mail_text_write(&(struct mail_facts){.job = job_of(job), .due = &due, .address = "a"},
                        arena, &text);
        ck_assert_msg(strstr(text.text, cases[i].subject) != NULL, "%s", text.text);
    }
}
END_TEST

START_TEST(a_subject_in_other_letters_is_in_encoded_words)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct object *job = make(
        "\"kiln.hpc/job-name\":\"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc"
        "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\"",
        "", COMPLETED);
    const struct mail_due due = {.mark = "END_1", .what = "Ended", .is_end = true};
    char *rest, *line;

    mail_text_write(&(struct mail_facts){.job = job_of(job), .due = &due, .address = "a"}, arena,
                    &text);
    rest = text.text;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        ck_assert_uint_le(strlen(line), 84);
        for (const char *p = line; *p != '\0'; p++)
            ck_assert_msg((unsigned char)*p < 0x80, "%s", line);
    }
    object_unref(job);
}
END_TEST

START_TEST(only_parts_of_the_limit_need_the_pods)
{
    static const struct {
        const char *types;
        bool needs_run;
    } cases[] = {
        {"ALL", false},
        {"END,FAIL,TIME_LIMIT", false},
        {"END,TIME_LIMIT_80", true},
        {"TIME_LIMIT_50", true},
        {"no such", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_FREE char *annotations = xasprintf("\"kiln.hpc/mail-type\":\"%s\"", cases[i].types);
        CLEANUP(object_unrefp) const struct object *job = make(annotations, "", RUNS);

        ck_assert_int_eq(mail_due_needs_run(job_of(job)), cases[i].needs_run);
    }
}
END_TEST

SUITE("mail_due", mail_about_an_event_that_was_not_sent_is_due, mail_about_an_old_event_is_not_sent,
      parts_of_the_limit_are_due_by_the_clock, only_parts_of_the_limit_need_the_pods,
      marks_add_up_within_a_bound, a_name_is_no_header,
      mail_about_the_begin_has_no_words_of_the_end, a_subject_in_other_letters_is_in_encoded_words)
