/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect/call_retry.h"

#include <check.h>
#include <errno.h>

#include "lib/base/error.h"
#include "testsuite/lib/suite.h"

/* Whether a second attempt follows after a patience of a microsecond. */
static bool
goes_on(const char *server, int r, int64_t takeover_us)
{
    struct call_retry retry = {
        .program = "squeue",
        .server = server,
        .patience_us = 1,
        .takeover_us = takeover_us,
    };
    struct error err = {0};

    ck_assert(call_retry_end(&retry, r, true, &err));
    return call_retry_end(&retry, r, true, &err);
}

START_TEST(a_command_waits_longer_where_another_controller_may_take_over)
{
    ck_assert(!goes_on("http://head:6820", -ECONNREFUSED, INT64_MAX));
    ck_assert(goes_on("http://head1:6820,head2:6820", -ECONNREFUSED, INT64_MAX));
    ck_assert(!goes_on("http://head1:6820,head2:6820", -ECONNREFUSED, 0));
    ck_assert(goes_on("http://head:6820", -EHOSTDOWN, INT64_MAX));
}
END_TEST

START_TEST(an_error_that_is_an_answer_is_not_repeated)
{
    struct call_retry retry = {.program = "squeue", .server = "http://head:6820"};
    struct error err = {0};

    ck_assert(!call_retry_end(&retry, -ENOTSUP, true, &err));
    ck_assert(!call_retry_end(&retry, -ECONNRESET, false, &err));
}
END_TEST

SUITE("call_retry", a_command_waits_longer_where_another_controller_may_take_over,
      an_error_that_is_an_answer_is_not_repeated)
