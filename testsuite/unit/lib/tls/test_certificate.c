/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tls/certificate.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/tls/tls.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static const char *const names[] = {"head", "head.example.org", "::1"};

static void
make(const char *certificate, const char *key)
{
    struct error err = {0};

    ck_assert_msg(certificate_make(certificate, key, names, ARRAY_SIZE(names), &err) == 0, "%s",
                  err.text);
}

START_TEST(a_made_certificate_serves)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *certificate = xasprintf("%s/crt", dir);
    CLEANUP_FREE char *key = xasprintf("%s/key", dir);
    struct tls *tls = NULL;

    make(certificate, key);

    ck_assert_int_eq(tls_open(certificate, key, &tls, NULL), 0);
    tls_free(tls);
}
END_TEST

START_TEST(the_key_is_its_owners_alone)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *certificate = xasprintf("%s/crt", dir);
    CLEANUP_FREE char *key = xasprintf("%s/key", dir);
    struct stat status;

    make(certificate, key);

    ck_assert_int_eq(stat(key, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
}
END_TEST

START_TEST(another_ones_key_is_refused)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *certificate = xasprintf("%s/crt", dir);
    CLEANUP_FREE char *key = xasprintf("%s/key", dir);
    CLEANUP_FREE char *other = xasprintf("%s/other", dir);
    CLEANUP_FREE char *others_key = xasprintf("%s/other-key", dir);
    struct error err = {0};
    struct tls *tls = NULL;

    make(certificate, key);
    make(other, others_key);

    ck_assert_int_eq(tls_open(certificate, others_key, &tls, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "key values mismatch"));
    ck_assert_ptr_null(tls);
}
END_TEST

START_TEST(a_file_that_is_no_certificate_is_named)
{
    struct error err = {0};
    struct tls *tls = NULL;

    ck_assert_int_eq(tls_open("/nonexistent/crt", "/dev/null", &tls, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "'/nonexistent/crt'"));
}
END_TEST

START_TEST(a_certificate_has_the_names_that_it_was_made_with)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *certificate = xasprintf("%s/crt", dir);
    CLEANUP_FREE char *key = xasprintf("%s/key", dir);
    CLEANUP_STRBUF struct strbuf pem = STRBUF_INIT;

    make(certificate, key);
    ck_assert_int_eq(file_read(certificate, 1 << 16, &pem, NULL), 0);

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        ck_assert(certificate_has_name(pem.text, names[i]));
    ck_assert(!certificate_has_name(pem.text, "example.org"));
    ck_assert(!certificate_has_name(pem.text, "::2"));
    ck_assert(!certificate_has_name("no certificate", "head"));
}
END_TEST

SUITE("certificate", a_made_certificate_serves, the_key_is_its_owners_alone,
      another_ones_key_is_refused, a_file_that_is_no_certificate_is_named,
      a_certificate_has_the_names_that_it_was_made_with)
