/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/pmi_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "lib/step/step_layout.h"
#include "testsuite/lib/suite.h"

static unsigned tasks[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
static struct step_layout_node nodes[] = {
    {.name = "n1", .n_tasks = 3, .tasks = tasks},
    {.name = "n2", .n_tasks = 3, .tasks = tasks + 3},
    {.name = "n3", .n_tasks = 1, .tasks = tasks + 6},
};
static const struct step_layout one = {.n_tasks = 3, .n_nodes = 1, .nodes = nodes};
static const struct step_layout three = {.n_tasks = 7, .n_nodes = 3, .nodes = nodes};

static struct pmi_server *server;
static enum pmi_outcome outcome;

/* The answer, without its newline. */
static const char *
ask(unsigned client, const char *line)
{
    static char text[4096];
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;

    outcome = pmi_server_take(server, client, line, strlen(line), &answer);
    snprintf(text, sizeof(text), "%s", answer.text);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static const char *
leave(unsigned client)
{
    static char text[64];
    CLEANUP_STRBUF struct strbuf answer = STRBUF_INIT;

    snprintf(text, sizeof(text), "%s",
             pmi_server_leave(server, client, &answer) ? answer.text : "(not there)");
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void
begin(const struct step_layout *layout)
{
    server = pmi_server_new(layout, 0);
    for (unsigned i = 0; i < layout->nodes[0].n_tasks; i++)
        ask(i, "cmd=init pmi_version=1 pmi_subversion=1");
}

START_TEST(requests_are_answered_as_mpich_reads_them)
{
    static const struct {
        const char *line, *expected;
    } cases[] = {
        {"cmd=init pmi_version=1 pmi_subversion=1",
         "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"},
        {"cmd=get_maxes ", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"},
        {"cmd=get_appnum", "cmd=appnum appnum=0"},
        {"cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kiln"},
        {"cmd=get_universe_size", "cmd=universe_size size=3"},
        {"cmd=put kvsname=kiln key=P0 value=a=b#c$", "cmd=put_result rc=0 msg=success"},
        {"cmd=get kvsname=kiln key=P0", "cmd=get_result rc=0 msg=success value=a=b#c$"},
        {"cmd=get kvsname=kiln key=P1", "cmd=get_result rc=-1 msg=key_not_found value=unknown"},
        {"cmd=get kvsname=kiln key=PMI_process_mapping",
         "cmd=get_result rc=0 msg=success value=(vector,(0,1,3))"},
        {"cmd=put kvsname=kiln key=P0 value=", "cmd=put_result rc=0 msg=success"},
        {"cmd=put kvsname=kiln value=x", "cmd=put_result rc=-1 msg=key_or_value_invalid"},
        {"cmd=lookup_name service=x",
         "cmd=lookup_result rc=-1 info=not_supported msg=not_supported"},
        {"cmd=finalize", "cmd=finalize_ack"},
    };

    begin(&one);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_str_eq(ask(0, cases[i].line), cases[i].expected);
        ck_assert_int_eq(outcome, PMI_GO_ON);
    }
    pmi_server_free(server);
}
END_TEST

START_TEST(a_barrier_opens_when_all_are_in_it)
{
    begin(&one);
    ck_assert_str_eq(ask(0, "cmd=barrier_in"), "");
    ck_assert_int_eq(outcome, PMI_GO_ON);
    ask(2, "cmd=barrier_in");
    ck_assert_int_eq(outcome, PMI_GO_ON);
    ask(1, "cmd=barrier_in");
    ck_assert_int_eq(outcome, PMI_BARRIER);
    ck_assert_str_eq(leave(0), "cmd=barrier_out");
    ck_assert_str_eq(leave(1), "cmd=barrier_out");
    ck_assert_str_eq(leave(1), "(not there)");
    ck_assert_str_eq(leave(2), "cmd=barrier_out");
    ask(1, "cmd=barrier_in");
    ck_assert_int_eq(outcome, PMI_GO_ON);
    pmi_server_free(server);
}
END_TEST

START_TEST(a_rank_that_ends_early_leaves_the_others_waiting)
{
    begin(&one);
    ask(0, "cmd=barrier_in");
    ck_assert(pmi_server_end(server, 1));
    ck_assert(!pmi_server_end(server, 1));
    ask(2, "cmd=barrier_in");
    ck_assert_int_eq(outcome, PMI_LEFT);
    ck_assert_uint_eq(pmi_server_left(server), 1);
    pmi_server_free(server);

    begin(&one);
    ask(0, "cmd=finalize");
    ask(1, "cmd=finalize");
    ck_assert(!pmi_server_end(server, 0));
    ck_assert(!pmi_server_end(server, 2));
    pmi_server_free(server);
}
END_TEST

START_TEST(tasks_without_mpi_are_not_waited_for)
{
    server = pmi_server_new(&one, 0);
    ck_assert(!pmi_server_end(server, 0));
    ck_assert(!pmi_server_end(server, 1));
    pmi_server_free(server);
}
END_TEST

START_TEST(abort_has_its_code)
{
    begin(&one);
    ask(1, "cmd=abort exitcode=5");
    ck_assert_int_eq(outcome, PMI_ABORT);
    ck_assert_int_eq(pmi_server_code(server), 5);
    pmi_server_free(server);
}
END_TEST

START_TEST(other_words_are_no_pmi)
{
    static const char *const lines[] = {"", "hello", "cmd=", "cmd=nosuch", "cmd=getx"};

    begin(&one);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ck_assert_str_eq(ask(0, lines[i]), "");
        ck_assert_int_eq(outcome, PMI_BROKEN);
    }
    ck_assert_int_eq(pmi_server_take(server, 0, "cmd=get\0key", 11, NULL), PMI_BROKEN);
    ck_assert_int_eq(pmi_server_take(server, 3, "cmd=get", 7, NULL), PMI_BROKEN);
    pmi_server_free(server);

    server = pmi_server_new(&one, 0);
    ck_assert_str_eq(ask(0, "cmd=put kvsname=kiln key=a value=b"), "");
    ck_assert_int_eq(outcome, PMI_BROKEN);
    ck_assert_str_eq(ask(1, "cmd=init pmi_version=2 pmi_subversion=0"),
                     "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
    pmi_server_free(server);
}
END_TEST

START_TEST(spawning_is_refused_at_its_end)
{
    begin(&one);
    ck_assert_str_eq(ask(0, "mcmd=spawn"), "");
    ck_assert_str_eq(ask(0, "nprocs=2"), "");
    ck_assert_int_eq(outcome, PMI_GO_ON);
    ck_assert_str_eq(ask(0, "endcmd"), "cmd=spawn_result rc=-1 errcodes=-1 msg=not_supported");
    pmi_server_free(server);
}
END_TEST

START_TEST(the_mapping_has_the_nodes_of_all_ranks)
{
    static unsigned odd[] = {0, 2}, even[] = {1, 3};
    struct step_layout_node turned[] = {{.name = "n1", .n_tasks = 2, .tasks = odd},
                                        {.name = "n2", .n_tasks = 2, .tasks = even}};
    const struct step_layout cyclic = {.n_tasks = 4, .n_nodes = 2, .nodes = turned};

    begin(&three);
    ck_assert_str_eq(ask(0, "cmd=get kvsname=kiln key=PMI_process_mapping"),
                     "cmd=get_result rc=0 msg=success value=(vector,(0,2,3),(2,1,1))");
    pmi_server_free(server);
    begin(&cyclic);
    ck_assert_str_eq(ask(0, "cmd=get kvsname=kiln key=PMI_process_mapping"),
                     "cmd=get_result rc=-1 msg=key_not_found value=unknown");
    pmi_server_free(server);
}
END_TEST

START_TEST(nodes_exchange_what_was_put)
{
    CLEANUP_STRBUF struct strbuf lines = STRBUF_INIT;
    static const char others[] = "P3=x=y\nP4=\n";

    begin(&three);
    ask(0, "cmd=put kvsname=kiln key=P0 value=a=b");
    ask(1, "cmd=put kvsname=kiln key=P1 value=c");
    pmi_server_take_lines(server, &lines);
    ck_assert_str_eq(lines.text, "P0=a=b\nP1=c\n");
    strbuf_truncate(&lines, 0);
    pmi_server_take_lines(server, &lines);
    ck_assert_uint_eq(lines.length, 0);
    ck_assert_int_eq(pmi_server_merge(server, others, strlen(others)), 0);
    ck_assert_str_eq(ask(2, "cmd=get kvsname=kiln key=P3"),
                     "cmd=get_result rc=0 msg=success value=x=y");
    ck_assert_int_eq(pmi_server_merge(server, "P5=a", 4), -EBADMSG);
    ck_assert_int_eq(pmi_server_merge(server, "P5\n", 3), -EBADMSG);
    ck_assert(pmi_server_end(server, 0));
    pmi_server_free(server);
}
END_TEST

SUITE("pmi_server", requests_are_answered_as_mpich_reads_them, a_barrier_opens_when_all_are_in_it,
      a_rank_that_ends_early_leaves_the_others_waiting, tasks_without_mpi_are_not_waited_for,
      abort_has_its_code, other_words_are_no_pmi, spawning_is_refused_at_its_end,
      the_mapping_has_the_nodes_of_all_ranks, nodes_exchange_what_was_put)
