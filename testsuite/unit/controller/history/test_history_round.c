/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/history/history_round.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "controller/history/history_question.h"
#include "lib/api/value/task_list.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "testsuite/lib/suite.h"

static const struct history_question everything = {
    .rights = {.is_all = true},
    .limit = 100,
};

static struct history_round *
round_of(unsigned parts)
{
    struct history_round *round = history_round_new(&everything, 1000);

    for (unsigned i = 0; i < parts; i++)
        history_round_add(round, &(struct history_part){
                                     .after_id = i,
                                     .last_id = i + 1,
                                 });
    return round;
}

static void
give(struct history_round *round, unsigned i, const char *text)
{
    struct history_part_result *result = history_part_result_new();

    strbuf_add_text(&result->text, text);
    history_round_give(round, i, result);
}

START_TEST(each_part_is_claimed_once_and_those_that_come_later_too)
{
    struct history_round *round = round_of(2);
    unsigned i = 99;

    ck_assert(history_round_claim(round, &i));
    ck_assert_uint_eq(i, 0);
    ck_assert(history_round_claim(round, &i));
    ck_assert_uint_eq(i, 1);
    ck_assert(!history_round_claim(round, &i));

    history_round_add(round, &(struct history_part){.last_id = 7});
    ck_assert(history_round_claim(round, &i));
    ck_assert_uint_eq(i, 2);
    ck_assert_int_eq(history_round_part(round, i)->last_id, 7);
    ck_assert_uint_eq(history_round_count(round), 3);
    history_round_unref(round);
}
END_TEST

START_TEST(the_first_result_of_a_part_stays)
{
    struct history_round *round = round_of(2);

    ck_assert_ptr_null(history_round_result_of(round, 1));
    give(round, 1, "first");
    give(round, 1, "second");
    ck_assert_str_eq(history_round_result_of(round, 1)->text.text, "first");
    ck_assert_ptr_null(history_round_result_of(round, 0));
    history_round_unref(round);
}
END_TEST

/* Also after the round's page was sent: no result is kept, and none is leaked.
 */
START_TEST(a_late_part_finds_the_round_and_leaves_nothing)
{
    struct history_round *round = round_of(2);
    struct history_round *late = history_round_ref(round);

    give(round, 0, "in time");
    history_round_forget(round);
    history_round_unref(round);
    ck_assert_int_eq(history_round_part(late, 1)->last_id, 2);
    ck_assert_int_eq(history_round_ends_us(late), 1000);
    give(late, 0, "late");
    give(late, 1, "late");
    history_round_unref(late);
}
END_TEST

START_TEST(the_question_is_the_rounds_own)
{
    char user[] = "alice", account[] = "chem", name[] = "sweep*";
    const char *accounts[] = {account, account};
    struct task_range range = {.first = 3, .last = 9, .step = 2};
    struct task_list tasks = {.ranges = &range, .count = 1, .total = 4};
    struct history_question q = {
        .rights = {.uid = 7, .user = user, .accounts = accounts},
        .user = user,
        .account = account,
        .partition = account,
        .node = user,
        .name = name,
        .tasks = &tasks,
        .limit = 5,
    };
    const struct history_question *own;
    struct history_round *round;

    q.rights.n_accounts = 2;
    round = history_round_new(&q, 0);
    memset(user, 'x', strlen(user));
    memset(account, 'x', strlen(account));
    memset(name, 'x', strlen(name));
    accounts[1] = NULL;
    range.first = tasks.total = 0;

    own = history_round_question(round);
    ck_assert_int_eq(own->rights.uid, 7);
    ck_assert_int_eq(own->limit, 5);
    ck_assert_str_eq(own->rights.user, "alice");
    ck_assert_str_eq(own->rights.accounts[1], "chem");
    ck_assert_str_eq(own->user, "alice");
    ck_assert_str_eq(own->account, "chem");
    ck_assert_str_eq(own->partition, "chem");
    ck_assert_str_eq(own->node, "alice");
    ck_assert_str_eq(own->name, "sweep*");
    ck_assert_int_eq(task_list_index(own->tasks, 9), 3);
    history_round_unref(round);
}
END_TEST

SUITE("history_round", each_part_is_claimed_once_and_those_that_come_later_too,
      the_first_result_of_a_part_stays, a_late_part_finds_the_round_and_leaves_nothing,
      the_question_is_the_rounds_own)
