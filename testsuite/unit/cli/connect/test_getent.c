/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect/getent.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

/* A directory with the two files, and a getent of its own at the front of the
 * path.
 */
struct place {
    char *directory;
    char *users;
    char *hosts;
    struct getent_files files;
};

static void
write_at(const struct place *p, const char *name, mode_t mode, const char *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", p->directory, name);

    ck_assert_int_eq(file_write_atomic(path, mode, text, strlen(text), NULL), 0);
}

static void
place_init(struct place *p, const char *getent)
{
    p->directory = scratch_new();
    p->users = xasprintf("%s/passwd", p->directory);
    p->hosts = xasprintf("%s/hosts", p->directory);
    p->files = (struct getent_files){.users = p->users, .hosts = p->hosts};
    write_at(p, "passwd", 0644,
             "root:x:0:0:root:/root:/bin/bash\n"
             "\n"
             "kiln:x:994:990::/:/usr/sbin/nologin\n");
    write_at(p, "hosts", 0644,
             "127.0.0.1 localhost # not head\n"
             "10.1.2.3\thead.example Head\n"
             "::1 localhost\n"
             "fd00::7 head\n"
             "nonsense head\n");
    if (getent != NULL)
        write_at(p, "getent", 0755, getent);
    setenv("PATH", p->directory, 1);
}

static void
place_fini(struct place *p)
{
    free(p->users);
    free(p->hosts);
    scratch_freep(&p->directory);
}

static void
assert_place(const struct http_endpoint *place, const char *wanted)
{
    char text[INET6_ADDRSTRLEN];
    const void *address = place->at.any.sa_family == AF_INET6
                              ? (const void *)&place->at.v6.sin6_addr
                              : (const void *)&place->at.v4.sin_addr;

    inet_ntop(place->at.any.sa_family, address, text, sizeof(text));
    ck_assert_str_eq(text, wanted);
}

START_TEST(a_user_of_the_file_is_known_without_getent)
{
    struct place p;
    uid_t uid = 1;

    place_init(&p, NULL);

    ck_assert_int_eq(getent_find_user(&p.files, "kiln", &uid), 0);
    ck_assert_uint_eq(uid, 994);
    place_fini(&p);
}
END_TEST

START_TEST(another_user_is_asked_of_getent)
{
    struct place p;
    uid_t uid = 1;

    place_init(&p, "#!/bin/sh\n"
                   "[ \"$1 $2\" = '-- passwd' ] || exit 1\n"
                   "case $3 in\n"
                   "far) echo 'far:*:70000:70000::/home/far:/bin/sh' ;;\n"
                   "odd) echo 'odd:*:x:70000::/home/odd:/bin/sh' ;;\n"
                   "*) exit 2 ;;\n"
                   "esac\n");

    ck_assert_int_eq(getent_find_user(&p.files, "far", &uid), 0);
    ck_assert_uint_eq(uid, 70000);
    ck_assert_int_eq(getent_find_user(&p.files, "nobody", &uid), -ENOENT);
    ck_assert_int_eq(getent_find_user(&p.files, "odd", &uid), -EBADMSG);
    ck_assert_uint_eq(uid, 70000);
    place_fini(&p);
}
END_TEST

START_TEST(without_getent_the_reason_is_told)
{
    struct place p;
    uid_t uid = 1;
    struct http_endpoints places = {0};
    struct error err = {0};

    place_init(&p, NULL);

    ck_assert_int_eq(getent_find_user(&p.files, "far", &uid), -ENOENT);
    ck_assert_int_eq(getent_find_host(&p.files, "far", &places, &err), -EHOSTUNREACH);
    ck_assert_msg(strstr(err.text, "'far'") != NULL, "%s", err.text);
    ck_assert_uint_eq(places.count, 0);
    place_fini(&p);
}
END_TEST

START_TEST(a_host_of_the_file_has_all_its_addresses)
{
    struct place p;
    struct http_endpoints places = {0};

    place_init(&p, NULL);

    ck_assert_int_eq(getent_find_host(&p.files, "HEAD", &places, NULL), 0);
    ck_assert_uint_eq(places.count, 2);
    assert_place(&places.items[0], "10.1.2.3");
    assert_place(&places.items[1], "fd00::7");
    http_endpoints_fini(&places);
    place_fini(&p);
}
END_TEST

START_TEST(another_host_is_asked_of_getent)
{
    struct place p;
    struct http_endpoints places = {0};
    struct error err = {0};

    place_init(&p, "#!/bin/sh\n"
                   "[ \"$1 $2\" = '-- ahosts' ] || exit 1\n"
                   "[ \"$3\" = far ] || exit 2\n"
                   "echo '10.9.8.7        STREAM far.example'\n"
                   "echo '10.9.8.7        DGRAM'\n"
                   "echo 'fd00::9         STREAM'\n");

    ck_assert_int_eq(getent_find_host(&p.files, "far", &places, &err), 0);
    ck_assert_uint_eq(places.count, 2);
    assert_place(&places.items[0], "10.9.8.7");
    assert_place(&places.items[1], "fd00::9");
    ck_assert_int_eq(getent_find_host(&p.files, "farther", &places, &err), -EHOSTUNREACH);
    ck_assert_str_eq(err.text, "unknown host 'farther'");
    http_endpoints_fini(&places);
    place_fini(&p);
}
END_TEST

SUITE("getent", a_user_of_the_file_is_known_without_getent, another_user_is_asked_of_getent,
      without_getent_the_reason_is_told, a_host_of_the_file_has_all_its_addresses,
      another_host_is_asked_of_getent)
