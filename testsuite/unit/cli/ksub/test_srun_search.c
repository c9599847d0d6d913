/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/srun_search.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

START_TEST(a_script_that_calls_srun_is_found_out)
{
    static const struct {
        const char *script;
        unsigned line;
    } cases[] = {
        {"#!/bin/sh\nsrun ./a\n", 2},
        {"#!/bin/sh\n\n\t time exec srun -n 4 ./a\n", 3},
        {"#!/bin/sh\nsrun", 2},
        {"#!/bin/sh\n# srun ./a\necho srun\nsrunner\n", 0},
        {"", 0},
        /* Anywhere in a line */
        {"#!/bin/bash\nA=1 srun ./a\n", 2},
        {"#!/bin/bash\nif srun ./a; then echo; fi\n", 2},
        {"#!/bin/bash\ncd x && srun ./a\n", 2},
        {"#!/bin/bash\ncd x; srun ./a\n", 2},
        {"#!/bin/bash\necho | srun ./a | tee log\n", 2},
        {"#!/bin/bash\nfor i in 1 2; do srun ./a & done\n", 2},
        {"#!/bin/bash\nx=$(srun hostname)\n", 2},
        {"#!/bin/bash\ntimeout 60 /nonexistent/srun ./a\n", 2},
        {"#!/usr/bin/env bash\neval \"srun ./a\"\n", 2},
        /* In texts, and where the script looks whether there is one */
        {"#!/bin/bash\necho \"now: srun ./a\"\necho 'x; srun'\n", 0},
        {"#!/bin/bash\ncat <<END\nsrun ./a\nEND\n", 0},
        {"#!/bin/bash\ncase $X in srun) a;; esac\n", 0},
        {"#!/bin/bash\nif command -v srun; then srun ./a; else ./a; fi\n", 0},
        {"#!/bin/bash\nsrun() { \"$@\"; }\nsrun ./a\n", 0},
        {"#!/usr/bin/python3\nsrun = 1\nsrun ()\n", 0},
    };
    CLEANUP(scratch_freep) char *directory = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/srun", directory);
    CLEANUP_FREE char *search = xasprintf("/nonexistent:%s", directory);

    setenv("PATH", "/nonexistent", 1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        ck_assert_uint_eq(srun_search_find(cases[i].script, strlen(cases[i].script)),
                          cases[i].line);

    /* A site may install a program of that name. */
    ck_assert_int_eq(file_write_atomic(path, 0700, "#!/bin/sh\n", 10, NULL), 0);
    setenv("PATH", search, 1);
    ck_assert_uint_eq(srun_search_find(cases[0].script, strlen(cases[0].script)), 0);
}
END_TEST

SUITE("srun_search", a_script_that_calls_srun_is_found_out)
