/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/version/version.h"

#include <check.h>

#include "testsuite/lib/suite.h"

/* A commit is linked to programs only, so that another one links no test again. */
START_TEST(a_test_has_the_release_alone)
{
    ck_assert_str_eq(version_text(), PACKAGE_VERSION);
    ck_assert_str_eq(version_commit(), "");
}
END_TEST

SUITE("version", a_test_has_the_release_alone)
