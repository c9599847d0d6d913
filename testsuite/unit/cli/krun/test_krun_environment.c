/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/krun/krun_settings.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_request.h"
#include "testsuite/lib/suite.h"

static struct arena *arena;

/* "A=1|PATH=/bin": the variables, sorted as they come; or the text of the error. */
static const char *
exported(const char *list)
{
    struct krun_settings s = {.exported = list};
    struct strbuf out = STRBUF_INIT;
    struct error error = {0};
    char *text;

    clearenv();
    setenv("PATH", "/bin", 1);
    setenv("HOME", "/home/a", 1);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
    if (krun_environment_set(arena, &s, &error) < 0)
        return arena_strdup(arena, error.text);
    for (unsigned i = 0; i < s.request.environment.count; i++)
        strbuf_printf(&out, "%s%s", i > 0 ? "|" : "", s.request.environment.items[i]);
    text = arena_strdup(arena, out.text);
    strbuf_fini(&out);
    return text;
}

START_TEST(export_chooses_the_variables)
{
    static const struct {
        const char *list, *expected;
    } cases[] = {
        {NULL, "PATH=/bin|SLURM_JOB_ID=7|HOME=/home/a|CUDA_VISIBLE_DEVICES=0,1"},
        {"ALL", "PATH=/bin|SLURM_JOB_ID=7|HOME=/home/a|CUDA_VISIBLE_DEVICES=0,1"},
        {"NONE", "PATH=/bin|SLURM_JOB_ID=7"},
        {"HOME,NOTHERE,A=1", "PATH=/bin|SLURM_JOB_ID=7|HOME=/home/a|A=1"},
        {"A=x=y,B='1,2',C=\"it's\"", "PATH=/bin|SLURM_JOB_ID=7|A=x=y|B=1,2|C=it's"},
        {"PATH=/usr/bin", "PATH=/usr/bin|SLURM_JOB_ID=7"},
        {"=1", "--export: '=1' has no name"},
    };

    arena = arena_new(0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_str_eq(exported(cases[i].list), cases[i].expected);
    arena_free(arena);
}
END_TEST

START_TEST(a_terminal_brings_its_kind_and_size)
{
    struct krun_settings s = {
        .exported = "NONE",
        .request = {.has_terminal = true, .terminal_rows = 24, .terminal_columns = 80},
    };
    struct error error = {0};

    arena = arena_new(0);
    clearenv();
    setenv("TERM", "xterm", 1);
    ck_assert_int_eq(krun_environment_set(arena, &s, &error), 0);
    ck_assert_str_eq(step_request_variable(&s.request, "TERM"), "xterm");
    ck_assert_str_eq(step_request_variable(&s.request, "SLURM_PTY_WIN_ROW"), "24");
    ck_assert_str_eq(step_request_variable(&s.request, "SLURM_PTY_WIN_COL"), "80");
    s.request.has_terminal = false;
    ck_assert_int_eq(krun_environment_set(arena, &s, &error), 0);
    ck_assert_ptr_null(step_request_variable(&s.request, "TERM"));
    arena_free(arena);
}
END_TEST

START_TEST(a_step_without_gpus_sees_none)
{
    struct krun_settings s = {.has_no_gpus = true};

    arena = arena_new(0);
    clearenv();
    setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
    setenv("ZE_AFFINITY_MASK", "0,1", 1);
    ck_assert_int_eq(krun_environment_set(arena, &s, NULL), 0);
    ck_assert_uint_eq(s.request.environment.count, 2);
    ck_assert_str_eq(s.request.environment.items[0], "CUDA_VISIBLE_DEVICES=");
    ck_assert_str_eq(s.request.environment.items[1], "ZE_AFFINITY_MASK=65535");
    arena_free(arena);
}
END_TEST

START_TEST(propagate_chooses_the_limits)
{
    struct krun_settings s = {.limits = "core,RLIMIT_NOFILE"};
    struct rlimit files = {0};
    struct error error = {0};

    arena = arena_new(0);
    getrlimit(RLIMIT_NOFILE, &files);
    ck_assert_int_eq(krun_environment_set_limits(arena, &s, NULL), 0);
    ck_assert_uint_eq(s.request.limits.count, 2);
    ck_assert_str_eq(s.request.limits.items[0].name, "core");
    ck_assert_str_eq(s.request.limits.items[1].name, "nofile");
    ck_assert_int_eq(s.request.limits.items[1].soft, (int64_t)files.rlim_cur);
    s.limits = "NONE";
    ck_assert_int_eq(krun_environment_set_limits(arena, &s, NULL), 0);
    ck_assert_uint_eq(s.request.limits.count, 0);
    s.limits = "NOFILES";
    ck_assert_int_eq(krun_environment_set_limits(arena, &s, &error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "'NOFILES' is no limit; there are ALL"));
    arena_free(arena);
}
END_TEST

SUITE("krun_environment", export_chooses_the_variables, a_terminal_brings_its_kind_and_size,
      a_step_without_gpus_sees_none, propagate_chooses_the_limits)
