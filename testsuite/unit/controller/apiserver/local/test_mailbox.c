/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/local/mailbox.h"

#include <check.h>
#include <string.h>

#include "lib/loop/loop.h"
#include "testsuite/lib/suite.h"

static char told[64];
static char a[] = "a", b[] = "b", c[] = "c";

static void
tell(void *arg)
{
    strcat(told, arg);
}

static void
abandon(void *arg)
{
    strcat(told, "-");
    strcat(told, arg);
}

START_TEST(news_come_together_at_the_end_of_the_turn_and_in_order)
{
    struct loop *server = loop_new(), *client = loop_new();
    struct mailbox *mailbox = mailbox_open(server, client);

    mailbox_post(mailbox, tell, abandon, a);
    mailbox_post(mailbox, tell, abandon, b);
    loop_drain(client);
    ck_assert_str_eq(told, "");

    loop_drain(server);
    ck_assert_str_eq(told, "");
    loop_drain(client);
    ck_assert_str_eq(told, "ab");

    mailbox_post(mailbox, tell, abandon, c);
    loop_drain(server);
    loop_drain(client);
    ck_assert_str_eq(told, "abc");
    mailbox_close(mailbox);
    loop_free(server);
    loop_free(client);
}
END_TEST

START_TEST(a_message_without_a_listener_is_abandoned)
{
    struct loop *server = loop_new(), *client = loop_new();
    struct mailbox *mailbox = mailbox_ref(mailbox_open(server, client));

    mailbox_post(mailbox, tell, abandon, a);
    mailbox_close(mailbox);
    mailbox_post(mailbox, tell, abandon, b);
    loop_drain(server);
    loop_drain(client);

    ck_assert_str_eq(told, "-a-b");
    mailbox_unref(mailbox);
    loop_free(server);
    loop_free(client);
}
END_TEST

SUITE("mailbox", news_come_together_at_the_end_of_the_turn_and_in_order,
      a_message_without_a_listener_is_abandoned)
