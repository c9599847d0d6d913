/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krsh/krsh_call.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

/* As Open MPI 4.1 and MPICH 4.0 call it, and ssh's other forms. */
START_TEST(the_forms_of_mpi_libraries_are_read)
{
    static const struct {
        const char *arguments[8];
        const char *user, *host, *command;
    } cases[] = {
        {{"krsh", "n2", " orted", "-mca", "ess", "\"env\""}, NULL, "n2", " orted -mca ess \"env\""},
        {{"krsh", "-x", "n2", "\"/usr/bin/hydra_pmi_proxy\"", "--control-port", "n1:4"},
         NULL,
         "n2",
         "\"/usr/bin/hydra_pmi_proxy\" --control-port n1:4"},
        {{"krsh", "-l", "alice", "n2", "true"}, "alice", "n2", "true"},
        {{"krsh", "-qlalice", "n2", "true"}, "alice", "n2", "true"},
        {{"krsh", "-o", "BatchMode=yes", "-oX=y", "-p", "22", "bob@n2", "true"},
         "bob",
         "n2",
         "true"},
        {{"krsh", "--", "n2", "-x"}, NULL, "n2", "-x"},
        {{"krsh", "n2"}, NULL, "n2", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf command = STRBUF_INIT;
        const char *const *argv = cases[i].arguments;
        struct krsh_call call = {0};
        int argc = 0;

        while (argc < 8 && argv[argc] != NULL)
            argc++;
        ck_assert_int_eq(krsh_call_read(argc, argv, &call, NULL), 0);
        ck_assert_pstr_eq(call.user, cases[i].user);
        ck_assert_str_eq(call.host, cases[i].host);
        krsh_call_join(argc, argv, call.first, &command);
        ck_assert_str_eq(command.text, cases[i].command);
        krsh_call_fini(&call);
    }
}
END_TEST

START_TEST(a_mistake_is_named)
{
    static const char *const unknown[] = {"krsh", "-xZ", "n2", "true"};
    static const char *const no_value[] = {"krsh", "-p"};
    static const char *const no_host[] = {"krsh", "-x"};
    struct krsh_call call;
    struct error err;

    ck_assert_int_eq(krsh_call_read(4, unknown, &call, &err), -EINVAL);
    ck_assert_str_eq(err.text, "'-xZ' is no option of krsh");
    ck_assert_int_eq(krsh_call_read(2, no_value, &call, &err), -EINVAL);
    ck_assert_str_eq(err.text, "the option '-p' needs a value");
    ck_assert_int_eq(krsh_call_read(2, no_host, &call, &err), -EINVAL);
    ck_assert_str_eq(err.text, "no node is named");
}
END_TEST

SUITE("krsh_call", the_forms_of_mpi_libraries_are_read, a_mistake_is_named)
