/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/client/client.h"

#include <check.h>
#include <errno.h>

#include "lib/api/object/status.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(a_failed_reply_is_an_errno_with_the_words_of_the_server)
{
    static const struct {
        int code;
        const char *reason;
        int result;
    } cases[] = {
        {200, NULL, 0},
        {201, NULL, 0},
        {400, "BadRequest", -EINVAL},
        {401, "Unauthorized", -EACCES},
        {403, "Forbidden", -EACCES},
        {404, "NotFound", -ENOENT},
        {409, "AlreadyExists", -EEXIST},
        {409, "Conflict", -ESTALE},
        {410, "Expired", -ESTALE},
        {422, "Invalid", -EINVAL},
        {429, "TooManyRequests", -EAGAIN},
        {500, "InternalError", -EREMOTEIO},
        {503, "ServiceUnavailable", -EAGAIN},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct status status = {.message = "words", .reason = cases[i].reason};
        const struct client_reply reply = {.code = cases[i].code, .status = &status};
        struct error err = {0};

        ck_assert_int_eq(client_reply_error(&reply, &err), cases[i].result);
        if (cases[i].result < 0)
            ck_assert_str_eq(err.text, "words");
    }
}
END_TEST

START_TEST(a_page_that_is_no_status_is_still_its_code)
{
    const struct client_reply reply = {.code = 502};
    struct error err = {0};

    ck_assert_int_eq(client_reply_error(&reply, &err), -EREMOTEIO);
    ck_assert_str_eq(err.text, "the server answered with HTTP status 502");
}
END_TEST

START_TEST(a_socket_that_is_not_there_is_no_object_that_is_not_there)
{
    const struct error cause = {.code = -ENOENT, .text = "cannot reach"};
    const struct client_reply reply = {.error = &cause};
    struct error err = {0};

    ck_assert_int_eq(client_reply_error(&reply, &err), -EHOSTUNREACH);
    ck_assert_str_eq(err.text, "cannot reach");
}
END_TEST

SUITE("client", a_failed_reply_is_an_errno_with_the_words_of_the_server,
      a_page_that_is_no_status_is_still_its_code,
      a_socket_that_is_not_there_is_no_object_that_is_not_there)
