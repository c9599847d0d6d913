/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect/client_settings.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static int
read_text(const char *text, struct client_settings *ret_settings, struct error *err)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/client.yaml", directory);

    ck_assert_int_eq(file_write_atomic(path, 0600, text, strlen(text), NULL), 0);
    setenv("KILN_CONFIG", path, 1);
    return client_settings_read(ret_settings, err);
}

START_TEST(the_file_says_where_the_controller_is)
{
    struct client_settings s = {0};

    ck_assert_int_eq(read_text("server: http://head:6820\ncluster: c1\n"
                               "serviceUser: 994\n"
                               "mungeSocket: /run/munge/other\n",
                               &s, NULL),
                     0);

    ck_assert_str_eq(s.server, "http://head:6820");
    ck_assert_str_eq(s.cluster, "c1");
    ck_assert_str_eq(s.service_user, "994");
    ck_assert_str_eq(s.munge_socket, "/run/munge/other");
    client_settings_fini(&s);
}
END_TEST

START_TEST(an_empty_file_says_nothing)
{
    struct client_settings s = {0};

    ck_assert_int_eq(read_text("# nothing here\nserver:\n", &s, NULL), 0);

    ck_assert_ptr_null(s.server);
    client_settings_fini(&s);
}
END_TEST

START_TEST(a_mistake_is_refused_with_file_line_and_key)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"cluster: a\nservr: x\n", "client.yaml:2: servr: unknown key (did you mean 'server'?)"},
        {"bogus: x\n", "client.yaml:1: bogus: unknown key"},
        {"\nserver: [a]\n", "client.yaml:2: server: must be a string"},
        {"cluster: ''\n", "client.yaml:1: cluster: must not be empty"},
        {"- a\n", "not a list of"},
        {"server: 'a\n", "client.yaml"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct client_settings s = {0};
        struct error err = {0};

        ck_assert_int_lt(read_text(cases[i].text, &s, &err), 0);
        ck_assert_msg(strstr(err.text, cases[i].words) != NULL
                          && strstr(err.text, "client.yaml") != NULL,
                      "%s", err.text);
        client_settings_fini(&s);
    }
}
END_TEST

START_TEST(a_file_that_was_named_must_be_there)
{
    struct client_settings s = {0};

    setenv("KILN_CONFIG", "/nonexistent/client.yaml", 1);

    ck_assert_int_eq(client_settings_read(&s, NULL), -ENOENT);
}
END_TEST

SUITE("client_settings", the_file_says_where_the_controller_is, an_empty_file_says_nothing,
      a_mistake_is_refused_with_file_line_and_key, a_file_that_was_named_must_be_there)
