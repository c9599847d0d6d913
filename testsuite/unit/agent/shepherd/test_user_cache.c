/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/user_cache.h"

#include <check.h>

#include "agent/shepherd/user_account.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/agent/shepherd/test_pod.h"

static char *
open_roster(struct test_pod *p)
{
    struct user_account *root = NULL;
    char *directory;

    test_pod_init(p);
    directory = xasprintf("%s/users", p->run_dir);
    ck_assert_int_eq(user_account_find(0, 0, &root, NULL), 0);
    user_cache_put(directory, 0, root);
    user_account_free(root);
    return directory;
}

START_TEST(a_user_who_was_looked_up_is_found_again)
{
    struct test_pod p;
    CLEANUP_FREE char *directory = open_roster(&p);
    struct user_account *asked = NULL;
    struct user_account *kept = NULL;
    struct stat st;

    ck_assert_int_eq(user_account_find(0, 0, &asked, NULL), 0);
    ck_assert_int_eq(user_cache_find(directory, 0, 0, &kept), 0);

    ck_assert_str_eq(kept->name, asked->name);
    ck_assert_str_eq(kept->home, asked->home);
    ck_assert_str_eq(kept->shell, asked->shell);
    ck_assert_int_eq(kept->n_groups, asked->n_groups);
    ck_assert_int_eq(memcmp(kept->groups, asked->groups, sizeof(gid_t) * (size_t)asked->n_groups),
                     0);
    ck_assert_int_eq(stat(directory, &st), 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0700);
    user_account_free(asked);
    user_account_free(kept);
    test_pod_fini(&p);
}
END_TEST

START_TEST(an_old_entry_is_asked_for_anew)
{
    struct test_pod p;
    CLEANUP_FREE char *directory = open_roster(&p);
    CLEANUP_FREE char *path = xasprintf("%s/0-0", directory);
    struct user_account *kept = NULL;
    struct timespec times[2] = {{.tv_sec = time(NULL) - USER_CACHE_SECONDS - 1}};

    times[1] = times[0];
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    ck_assert_int_eq(user_cache_find(directory, 0, 0, &kept), -ENOENT);

    times[1].tv_sec = times[0].tv_sec = time(NULL) + 100;
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    ck_assert_int_eq(user_cache_find(directory, 0, 0, &kept), -ENOENT);
    test_pod_fini(&p);
}
END_TEST

START_TEST(an_entry_that_makes_no_sense_is_asked_for_anew)
{
    static const char *const texts[] = {
        "",
        "kiln-person 1\nend=0:\n",
        "kiln-person 1\nname=1:x\nhome=1:/\nshell=1:s\ngid=1:0\nend=0:\n",
        "kiln-person 1\nname=1:x\nhome=1:/\nshell=1:s\ngid=1:0\ngroup=2:-1\nend=0:\n",
        "kiln-person 1\nname=1:x\nname=1:y\nhome=1:/\nshell=1:s\n"
        "gid=1:0\ngroup=1:0\nend=0:\n",
        "kiln-person 1\nname=1:x\nhome=1:/\nshell=1:s\ngroup=1:0\nend=0:\n",
        "kiln-person 1\nname=1:x\nhome=1:/\nshell=1:s\ngid=1:0\ngroup=1:0\nwing=1:0\n"
        "end=0:\n",
    };
    struct test_pod p;
    CLEANUP_FREE char *directory = open_roster(&p);
    CLEANUP_FREE char *path = xasprintf("%s/0-0", directory);
    struct user_account *kept = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        file_write_atomic(path, 0600, texts[i], strlen(texts[i]), NULL);
        ck_assert_int_eq(user_cache_find(directory, 0, 0, &kept), -ENOENT);
    }
    ck_assert_ptr_null(kept);
    test_pod_fini(&p);
}
END_TEST

START_TEST(a_job_finds_its_groups_in_the_roster)
{
    struct test_pod p;
    CLEANUP_FREE char *directory = NULL;
    gid_t groups[] = {12345, TEST_POD_UID};
    char name[] = "kept";
    struct user_account made_up = {
        .uid = TEST_POD_UID,
        .gid = TEST_POD_UID,
        .name = name,
        .home = name,
        .shell = name,
        .groups = groups,
        .n_groups = 2,
    };

    if (!test_pod_is_root())
        SKIP("only root can become another user");
    test_pod_init(&p);
    directory = xasprintf("%s/users", p.run_dir);
    user_cache_put(directory, TEST_POD_UID, &made_up);
    p.order.users_dir = directory;
    test_pod_shell(&p, "id -G; echo $USER");

    test_pod_succeed(&p);

    CLEANUP_FREE char *printed = test_pod_read(p.out);
    ck_assert_str_eq(printed, "65534 12345\nkept\n");
    test_pod_fini(&p);
}
END_TEST

SUITE("user_cache", a_user_who_was_looked_up_is_found_again, an_old_entry_is_asked_for_anew,
      an_entry_that_makes_no_sense_is_asked_for_anew, a_job_finds_its_groups_in_the_roster)
