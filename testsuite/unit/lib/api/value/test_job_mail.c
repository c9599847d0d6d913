/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/job_mail.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

START_TEST(words_of_events_add_up)
{
    static const struct {
        const char *text, *events; /* NULL: a mistake */
    } cases[] = {
        {"END", "END"},
        {"begin,End,FAIL", "BEGIN,END,FAIL"},
        {"ALL", "BEGIN,END,FAIL,REQUEUE,INVALID_DEPEND"},
        {"ALL,TIME_LIMIT_80", "BEGIN,END,FAIL,REQUEUE,INVALID_DEPEND,TIME_LIMIT_80"},
        {"END,NONE", "NONE"},
        {"TIME_LIMIT", "TIME_LIMIT"},
        {"ENDE", NULL},
        {"END,", NULL},
        {"", NULL},
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        unsigned events = 0;
        int r = job_mail_parse(cases[i].text, &events, NULL);

        ck_assert_msg(r == (cases[i].events != NULL ? 0 : -EINVAL), "%s", cases[i].text);
        if (r == 0)
            ck_assert_str_eq(job_mail_format(events, arena), cases[i].events);
    }
}
END_TEST

/* An address is an argument of a program and a part of a header. */
START_TEST(an_address_is_nothing_else)
{
    static const char *const good[] = {"ann", "ann@example.org", "first.last+tag@uni-x.example",
                                       "a@b.c,d@e.f"};
    static const char *const bad[] = {
        "",     "-oQ/tmp", "<a@b>",   "a b@c",  "a@b\nBcc: x@y", "a@@b",  "a@",          "a@b,",
        ",a@b", "a@b;rm",  "\"a\"@b", "a@b,-t", "a@\xc3\xbc",    "|prog", "a,b,c,d,e,f",
    };
    char wide[300];

    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        ck_assert_msg(job_mail_check_addresses(good[i], NULL) == 0, "%s", good[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ck_assert_msg(job_mail_check_addresses(bad[i], NULL) == -EINVAL, "%s", bad[i]);
    memset(wide, 'a', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    ck_assert_int_eq(job_mail_check_addresses(wide, NULL), -EINVAL);
}
END_TEST

SUITE("job_mail", words_of_events_add_up, an_address_is_nothing_else)
