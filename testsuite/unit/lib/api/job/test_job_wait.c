/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_wait.h"

#include <check.h>
#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(quotas_are_told_with_what_is_used_of_them)
{
    static const struct {
        const char *refusal, *code, *words;
    } refusals[] = {
        {"pods \"job-1-0\" is forbidden: exceeded quota: chem, requested: "
         "requests.cpu=2, used: requests.cpu=4, limited: requests.cpu=4",
         "AssocGrpCpuLimit", "quota chem: 4 CPUs used of 4"},
        {"exceeded quota: chem, requested: memory=1Gi,pods=1, used: "
         "memory=63Gi,pods=2, limited: memory=64Gi,pods=2",
         "AssocGrpMemLimit", "quota chem: 63Gi of memory used of 64Gi"},
        {"exceeded quota: chem, requested: pods=1, used: pods=10, limited: "
         "pods=10",
         "AssocGrpJobsLimit", "quota chem: 10 pods used of 10"},
        {"exceeded quota: chem, requested: requests.kiln.hpc/gpu=1, used: "
         "requests.kiln.hpc/gpu=2, limited: requests.kiln.hpc/gpu=2",
         "AssocGrpGRES", "quota chem: 2 requests.kiln.hpc/gpu used of 2"},
        {"exceeded quota: small, requested: requests.cpu=2, used: "
         "requests.cpu=0, limited: requests.cpu=1500m",
         "AssocGrpCpuLimit", "quota small: 2 CPUs wanted, it has 1500m in all"},
        {"exceeded quota: small, requested: memory=2Gi,pods=1, used: "
         "memory=512Mi,pods=2, limited: memory=1Gi,pods=2",
         "AssocGrpMemLimit", "quota small: 2Gi of memory wanted, it has 1Gi in all"},
        {"exceeded quota: small, requested: pods=1,requests.cpu=2, used: "
         "pods=3,requests.cpu=0, limited: pods=3,requests.cpu=1",
         "AssocGrpCpuLimit", "quota small: 2 CPUs wanted, it has 1 in all"},
        {"exceeded quota: none, requested: pods=1, used: pods=0, limited: "
         "pods=0",
         "AssocGrpJobsLimit", "quota none: 1 pods wanted, it has 0 in all"},
        {"exceeded quota: odd, requested: pods, used: pods=0, limited: pods=0", "Other",
         "exceeded quota: odd, requested: pods, used: pods=0, limited: pods=0"},
        {"exceeded quota: something of another form", "Other",
         "exceeded quota: something of another form"},
        {"admission is down\nsecond line", "Other", "admission is down"},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(refusals); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        enum job_reason reason = job_wait_format_refusal(refusals[i].refusal, &out);

        ck_assert_str_eq(out.text, refusals[i].words);
        ck_assert_str_eq(job_reason_name(reason), refusals[i].code);
    }
}
END_TEST

START_TEST(words_are_cut_at_a_character)
{
    CLEANUP_STRBUF struct strbuf long_words = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    strbuf_add_char(&long_words, 'x');
    for (unsigned i = 0; i < 200; i++)
        strbuf_add_text(&long_words, "\xc3\xa9");
    (void)job_wait_format_refusal(long_words.text, &out);
    ck_assert_uint_le(out.length, 303);
    ck_assert_str_eq(out.text + out.length - 5, "\xc3\xa9...");
}
END_TEST

START_TEST(a_refusal_is_told_as_a_whole_or_cut_behind_a_word)
{
    static const char whole[] =
        "Partition: partition gpu takes no jobs of account chemistry: it is for "
        "biology, physics and mathematics, as the committee of the cluster has "
        "said on its page";
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    (void)job_wait_format_refusal(whole, &out);
    ck_assert_str_eq(out.text, whole);

    for (unsigned i = 0; i < 100; i++)
        strbuf_add_text(&words, "words, ");
    strbuf_truncate(&out, 0);
    (void)job_wait_format_refusal(words.text, &out);
    ck_assert_uint_le(out.length, 303);
    ck_assert_str_eq(out.text + out.length - 9, " words...");
}
END_TEST

/* Who may not run there reads which right is missing, and to whom it is given. */
START_TEST(a_missing_right_is_told_as_a_whole)
{
    static const char whole[] =
        "not allowed: account chemistry may not use partition gpu; it is for the accounts "
        "biology, physics and mathematics, of which you may use none; ask the operators";
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct job_wait wait = {.kind = WAIT_WORDS, .what = whole, .reason = JOB_REASON_NOT_ALLOWED};

    (void)job_wait_format(&wait, NULL, &out);
    ck_assert_str_eq(out.text, whole);

    strbuf_truncate(&out, 0);
    wait.reason = JOB_REASON_OTHER;
    (void)job_wait_format(&wait, NULL, &out);
    ck_assert_uint_le(out.length, 123);
}
END_TEST

SUITE("api/job_wait", quotas_are_told_with_what_is_used_of_them, words_are_cut_at_a_character,
      a_refusal_is_told_as_a_whole_or_cut_behind_a_word, a_missing_right_is_told_as_a_whole)
