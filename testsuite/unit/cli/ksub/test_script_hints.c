/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/script_hints.h"

#include <check.h>
#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define SH "#!/bin/sh\n"

START_TEST(lines_that_only_look_like_directives_are_told)
{
    static const struct {
        const char *script;
        const char *words; /* "": nothing is told */
    } cases[] = {
        {SH "# KSUB -c 4\n", "x:2: '# KSUB' begins a comment and is not read; a directive begins "
                             "with #KSUB in the first column\n"},
        {SH " #KSUB -c 4\n# KSUB -t 5\n# KSUB --mem=1\n", "x:2: ' #KSUB' begins a comment and is "
                                                          "not read; a directive begins with "
                                                          "#KSUB in the first column, and so in "
                                                          "2 more lines\n"},
        {SH "#ksub: -c 4\n", "x:2: '#ksub' begins a comment and is not read; a directive begins "
                             "with #KSUB in the first column\n"},
        {SH "\necho\n#KSUB -c 4\n", "x:4: #KSUB is not read here, because it is after the first "
                                    "command (line 3)\n"},
        {"#!/usr/bin/python3\nimport os\n#KSUB -c 4\n#KSUB -t 5\n",
         "x:3: #KSUB is not read here, because it is after the first command (line 2), and so in "
         "1 more line\n"},
        {SH "#KSUB -c 4\n", ""},
        {SH "#KSUB--mem=1\n", ""},
        {SH "##KSUB -c 4\n", ""},
        {SH "# KSUB is fine\n#KSUBMIT -c\n", ""},
        {SH "cat >f <<END\n#KSUB -c 4\nEND\necho '\n#KSUB -c 4\n'\n", ""},
        {SH "echo  #KSUB -c 4\n", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        script_hints_add(cases[i].script, strlen(cases[i].script), "#KSUB", "x", &out);
        ck_assert_msg(strcmp(out.length > 0 ? out.text : "", cases[i].words) == 0, "case %zu: %s",
                      i, out.length > 0 ? out.text : "nothing");
    }
}
END_TEST

START_TEST(directives_for_other_schedulers_are_recognized)
{
    static const struct {
        const char *script, *scheduler;
        unsigned count, asking;
        const char *option;
    } cases[] = {
        {SH "#PBS -N a\n#PBS -l nodes=1:ppn=8\n#PBS -q long\n", "PBS", 3, 3, "-l nodes=1:ppn=8"},
        {SH "#PBS -N a -j oe\n", "PBS", 1, 0, NULL},
        {SH "#PBS -N a -l walltime=1:00\n", "PBS", 1, 2, "-l walltime=1:00"},
        {SH "#$ -S /bin/bash\n#$ -cwd\n", "Grid Engine", 2, 0, NULL},
        {SH "#$ -cwd\n#$ -pe smp 8\n", "Grid Engine", 2, 3, "-pe smp 8"},
        {SH "#$-t 1-10\n", "Grid Engine", 1, 2, "-t 1-10"},
        {SH "#BSUB -J a\n#BSUB -n 16\n", "LSF", 2, 3, "-n 16"},
        {SH "#BSUB -J \"a[1-9]\"\n", "LSF", 1, 2, "-J \"a[1-9]\""},
        {SH "#FLUX: -N 2\n", "Flux", 1, 2, "-N 2"},
        {SH "# flux: --nodes=2\n", "Flux", 1, 2, "--nodes=2"},
        {SH "#FLUX -N 2\n", "Flux", 1, 2, "-N 2"},
        {SH "#COBALT -n 2\n", "Cobalt", 1, 2, "-n 2"},
        /* Comments, and what is behind the first command */
        {SH "#$PATH is long\n#$ sudo make\n#$ -x is odd\n#$1 -l\n", NULL, 0, 0, NULL},
        {SH "#PBS was here\n##PBS -l a\n# PBS -l b\n#PBSX -l\n", NULL, 0, 0, NULL},
        {SH "echo\n#PBS -l nodes=1:ppn=8\n", NULL, 0, 0, NULL},
        {SH "# flux is fine\n# FLUX\n", NULL, 0, 0, NULL},
        {"", NULL, 0, 0, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *option = cases[i].option;
        struct script_hints_foreign found;

        script_hints_find_foreign(cases[i].script, strlen(cases[i].script), &found);
        ck_assert_msg(found.count == cases[i].count, "case %zu: %u lines", i, found.count);
        ck_assert_msg(found.asking == (option != NULL ? cases[i].asking : 0), "case %zu: %u", i,
                      found.asking);
        if (found.count > 0)
            ck_assert_str_eq(found.scheduler, cases[i].scheduler);
        if (option == NULL)
            continue;
        ck_assert_uint_eq(found.option_length, strlen(option));
        ck_assert_int_eq(memcmp(found.option, option, strlen(option)), 0);
    }
}
END_TEST

SUITE("script_hints", lines_that_only_look_like_directives_are_told,
      directives_for_other_schedulers_are_recognized)
