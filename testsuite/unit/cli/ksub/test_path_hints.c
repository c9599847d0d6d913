/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/path_hints.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ksub/submission.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define END " on this machine; the job fails at its start if that is so on its node\n"

START_TEST(a_directory_that_this_machine_does_not_have_is_told)
{
    char directory[] = "/tmp/path_hints.XXXXXX";
    static const struct {
        const char *chdir, *input, *output, *error;
        const char *words; /* NULL: nothing is told */
    } cases[] = {
        {".", NULL, NULL, NULL, NULL},
        {".", "in", "out", "logs/err", NULL},
        {"logs", "../in", "new", "../logs/%j.err", NULL},
        {".", NULL, "%x/out", "logs/%u/err", NULL},
        {".", NULL, "/dev/null", NULL, NULL},
        {".", NULL, "none/out-%j", NULL,
         "--output none/out-%j: there is no directory './none'" END},
        {".", NULL, "/path_hints/none/x", "none/%j/x",
         "--output /path_hints/none/x: there is no directory '/path_hints/none'" END},
        {".", NULL, "in/out", NULL, "--output in/out: there is no directory './in'" END},
        {".", NULL, NULL, "logs", "--error logs: it is a directory" END},
        {".", "nope", NULL, NULL, "--input nope: there is no such file" END},
        {".", "nope-%j", NULL, NULL, NULL},
        {".", "none/x", NULL, NULL, "--input none/x: there is no directory './none'" END},
        {"none", "in", "out", "/dev/null", "--chdir none: there is no directory 'none'" END},
        {"none", NULL, "/path_hints/x", NULL,
         "--chdir none: there is no directory 'none'" END
         "--output /path_hints/x: there is no directory '/path_hints'" END},
        {".", NULL, "a\nb/x", NULL, "--output a b/x: there is no directory './a b'" END},
    };

    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(chdir(directory), 0);
    ck_assert_int_eq(mkdir("logs", 0700), 0);
    close(open("in", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
        const struct submission s = {.directory = cases[i].chdir,
                                     .input = cases[i].input,
                                     .output = cases[i].output,
                                     .error = cases[i].error};
        const char *words = cases[i].words != NULL ? cases[i].words : "";

        path_hints_add(&s, &out);
        ck_assert_msg(strcmp(out.length > 0 ? out.text : "", words) == 0, "case %zu: %s", i,
                      out.length > 0 ? out.text : "nothing");
    }
    unlink("in");
    rmdir("logs");
    ck_assert_int_eq(chdir("/"), 0);
    rmdir(directory);
}
END_TEST

SUITE("path_hints", a_directory_that_this_machine_does_not_have_is_told)
