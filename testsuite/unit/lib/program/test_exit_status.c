/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/exit_status.h"

#include <errno.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(every_result_has_the_status_the_manual_promises)
{
    static const struct {
        int result;
        int status;
    } cases[] = {
        {0, 0},           {-EINVAL, 1},  {-ENOENT, 66}, {-ECONNREFUSED, 69},
        {-ETIMEDOUT, 69}, {-ENOSPC, 74}, {-ESTALE, 75}, {-EBUSY, 75},
        {-EACCES, 77},    {-EPERM, 77},  {-E2BIG, 1},   {-ENOTSUP, 65},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_int_eq(exit_status_of(cases[i].result), cases[i].status);
}
END_TEST

SUITE("exit_status", every_result_has_the_status_the_manual_promises)
