/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/spool.h"

#include <check.h>

#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

START_TEST(a_link_at_the_place_is_replaced_and_not_followed)
{
    struct test_pod p;
    CLEANUP_FREE char *target = NULL;
    CLEANUP_FREE char *path = NULL;
    struct stat st;

    test_pod_init(&p);
    test_pod_script(&p, "#!/bin/sh\n", 10);
    target = xasprintf("%s/target", p.work_dir);
    path = xasprintf("%s/script", p.state_dir);
    ck_assert_int_eq(file_write_atomic(target, 0644, "kept", 4, NULL), 0);
    ck_assert_int_eq(symlink(target, path), 0);

    ck_assert_int_eq(
        spool_script(path, p.script_fd, 10, (uid_t)p.order.uid, (gid_t)p.order.gid, NULL), 0);

    CLEANUP_FREE char *kept = test_pod_read(target);
    ck_assert_str_eq(kept, "kept");
    ck_assert_int_eq(lstat(path, &st), 0);
    ck_assert(S_ISREG(st.st_mode));
    ck_assert_uint_eq(st.st_mode & 07777, 0500);
    ck_assert_uint_eq(st.st_uid, p.order.uid);
    ck_assert_int_eq(st.st_size, 10);
    test_pod_fini(&p);
}
END_TEST

START_TEST(an_existing_directory_is_nobodys_tmpdir)
{
    struct test_pod p;
    struct error err = {0};

    test_pod_init(&p);

    ck_assert_int_eq(spool_directory(p.work_dir, (uid_t)p.order.uid, (gid_t)p.order.gid, &err),
                     -EEXIST);

    ck_assert_ptr_nonnull(strstr(err.text, p.work_dir));
    test_pod_fini(&p);
}
END_TEST

SUITE("spool", a_link_at_the_place_is_replaced_and_not_followed,
      an_existing_directory_is_nobodys_tmpdir)
