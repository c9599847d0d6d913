/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/machine.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "testsuite/lib/suite.h"

static char root[] = "/tmp/kiln-identity-XXXXXX";

static void
put(const char *path, const char *text)
{
    CLEANUP_FREE char *whole = xasprintf("%s%s", root, path);
    CLEANUP_FREE char *parent = xstrdup(whole);

    *strrchr(parent, '/') = '\0';
    ck_assert_int_eq(dir_make(parent, 0755, NULL), 0);
    ck_assert_int_eq(file_write_atomic(whole, 0644, text, strlen(text), NULL), 0);
}

static void
remove_root(void)
{
    CLEANUP_FREE char *command = xasprintf("rm -rf '%s'", root);

    ck_assert_int_eq(system(command), 0);
}

START_TEST(the_facts_of_a_machine_are_read)
{
    struct machine *i = NULL;

    ck_assert_ptr_nonnull(mkdtemp(root));
    put("/proc/sys/kernel/random/boot_id", "b-1\n");
    put("/proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n");
    put("/etc/os-release", "NAME=X\nPRETTY_NAME=\"A \\\"B\\\" 12\"\nID=x\n");

    ck_assert_int_eq(machine_read(root, &i, NULL), 0);

    ck_assert_str_eq(i->boot_id, "b-1");
    ck_assert_str_eq(i->machine_id, "");
    ck_assert_str_eq(i->os_image, "A \"B\" 12");
    ck_assert_uint_eq(i->memory_bytes, 1048576);
    machine_free(i);
    remove_root();
}
END_TEST

START_TEST(without_a_boot_id_there_is_no_identity)
{
    struct machine *i = NULL;
    struct error err = {0};

    ck_assert_ptr_nonnull(mkdtemp(root));
    ck_assert_int_eq(machine_read(root, &i, &err), -ENOENT);

    ck_assert_ptr_null(i);
    ck_assert_ptr_nonnull(strstr(err.text, "boot_id"));
    remove_root();
}
END_TEST

START_TEST(this_machine_has_an_identity)
{
    struct machine *i = NULL;
    struct error err = {0};

    ck_assert_msg(machine_read("", &i, &err) == 0, "%s", err.text);

    ck_assert_uint_eq(strlen(i->boot_id), 36);
    ck_assert_str_ne(i->hostname, "");
    ck_assert_uint_gt(i->memory_bytes, 0);
    machine_free(i);
}
END_TEST

SUITE("machine", the_facts_of_a_machine_are_read, without_a_boot_id_there_is_no_identity,
      this_machine_has_an_identity)
