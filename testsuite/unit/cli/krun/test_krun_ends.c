/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_ends.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/strbuf.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_layout.h"
#include "testsuite/lib/suite.h"

static unsigned first_tasks[] = {0, 1, 2, 3}, second_tasks[] = {4};
static struct step_layout_node nodes[] = {
    {.name = "n1", .n_tasks = 4, .tasks = first_tasks},
    {.name = "n2", .n_tasks = 1, .tasks = second_tasks},
};
static const struct step_layout layout = {.n_tasks = 5, .n_nodes = 2, .nodes = nodes};

/* The lines that krun_ends_print writes to standard error. */
static const char *
printed(struct krun_ends *e)
{
    static char text[4096];
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    size_t n;

    fflush(stderr);
    dup2(fileno(file), STDERR_FILENO);
    krun_ends_print(e);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static void
end(struct krun_ends *e, uint32_t task, uint32_t code, uint32_t signal_number)
{
    krun_ends_add(e, task,
                  &(struct step_exit){.exit_code = code,
                                      .signal = signal_number,
                                      .has_core = signal_number == SIGSEGV});
}

START_TEST(equal_ends_of_a_node_share_a_line)
{
    struct krun_ends *e = krun_ends_new(&layout, "srun");

    end(e, 3, 5, 0);
    end(e, 4, 5, 0);
    end(e, 0, 5, 0);
    end(e, 1, 5, 0);
    end(e, 1, 9, 0);
    ck_assert_str_eq(printed(e), "srun: error: n1: tasks 0-1,3: Exited with exit code 5\n"
                                 "srun: error: n2: task 4: Exited with exit code 5\n");
    ck_assert_str_eq(printed(e), "");
    ck_assert_int_eq(krun_ends_code(e), 5);
    ck_assert_uint_eq(krun_ends_count(e), 4);
    krun_ends_free(e);
}
END_TEST

START_TEST(signals_and_failed_starts_have_their_words)
{
    struct krun_ends *e = krun_ends_new(&layout, "krun");

    end(e, 0, 0, 0);
    end(e, 1, 0, SIGSEGV);
    end(e, 2, 0, SIGKILL);
    krun_ends_add(
        e, 3,
        &(struct step_exit){.exit_code = 127, .message = "nosuch: gone", .message_length = 6});
    ck_assert_str_eq(printed(e), "krun: error: n1: task 1: Segmentation fault (core dumped)\n"
                                 "krun: error: n1: task 2: Killed\n"
                                 "krun: error: n1: task 3: nosuch\n");
    ck_assert_int_eq(krun_ends_code(e), 128 + SIGSEGV);
    krun_ends_free(e);
}
END_TEST

START_TEST(all_tasks_of_a_node_end_at_once_but_those_that_have_ended)
{
    struct krun_ends *e = krun_ends_new(&layout, "srun");

    end(e, 1, 3, 0);
    krun_ends_add_node(
        e, 0, &(struct step_exit){.signal = SIGKILL, .message = "No memory!", .message_length = 9});
    ck_assert_str_eq(printed(e), "srun: error: n1: task 1: Exited with exit code 3\n"
                                 "srun: error: n1: tasks 0,2-3: No memory\n");
    ck_assert_int_eq(krun_ends_code(e), 128 + SIGKILL);
    ck_assert_uint_eq(krun_ends_count(e), 4);
    krun_ends_free(e);
}
END_TEST

START_TEST(the_state_of_all_tasks_can_be_described)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct krun_ends *e = krun_ends_new(&layout, "srun");

    end(e, 1, 0, 0);
    end(e, 7, 1, 0);
    krun_ends_describe(e, "srun: StepId=1.5 ", &out);
    ck_assert_str_eq(out.text, "srun: StepId=1.5 tasks 0,2-4: running\n"
                               "srun: StepId=1.5 task 1: exited\n");
    krun_ends_free(e);
}
END_TEST

SUITE("krun_ends", equal_ends_of_a_node_share_a_line, signals_and_failed_starts_have_their_words,
      all_tasks_of_a_node_end_at_once_but_those_that_have_ended,
      the_state_of_all_tasks_can_be_described)
