/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/list.h"

#include "testsuite/lib/suite.h"

struct item {
    int number;
    struct list link;
};

static int
number_of(struct list *link)
{
    return container_of(link, struct item, link)->number;
}

START_TEST(elements_stand_in_the_order_they_were_added)
{
    struct list head;
    struct item a = {.number = 1};
    struct item b = {.number = 2};
    struct item c = {.number = 3};
    int expected = 1;

    list_init(&head);
    ck_assert(list_is_empty(&head));
    list_add_last(&head, &b.link);
    list_add_last(&head, &c.link);
    list_add_first(&head, &a.link);

    list_foreach(link, &head) ck_assert_int_eq(number_of(link), expected++);
    ck_assert_int_eq(expected, 4);
}
END_TEST

START_TEST(removing_twice_is_harmless)
{
    struct list head;
    struct item a = {.number = 1};
    struct item b = {.number = 2};

    list_init(&head);
    list_add_last(&head, &a.link);
    list_add_last(&head, &b.link);
    list_remove(&a.link);
    list_remove(&a.link);

    ck_assert_int_eq(number_of(head.next), 2);
    ck_assert(list_is_empty(&a.link));
    list_remove(&b.link);
    ck_assert(list_is_empty(&head));
}
END_TEST

START_TEST(the_element_under_the_position_may_be_removed)
{
    struct list head;
    struct item items[10];
    int left = 0;

    list_init(&head);
    for (int i = 0; i < 10; i++) {
        items[i].number = i;
        list_add_last(&head, &items[i].link);
    }
    list_foreach_safe(link, &head) if (number_of(link) % 3 == 0) list_remove(link);

    list_foreach(link, &head) left += number_of(link);
    ck_assert_int_eq(left, 1 + 2 + 4 + 5 + 7 + 8);
}
END_TEST

START_TEST(all_of_one_can_go_over_to_another)
{
    struct list head, taken;
    struct item a = {.number = 1};
    struct item b = {.number = 2};
    int expected = 1;

    list_init(&head);
    list_add_last(&head, &a.link);
    list_add_last(&head, &b.link);
    list_take_over(&taken, &head);

    ck_assert(list_is_empty(&head));
    list_foreach(link, &taken) ck_assert_int_eq(number_of(link), expected++);
    ck_assert_int_eq(expected, 3);
    list_take_over(&taken, &head);
    ck_assert(list_is_empty(&taken));
}
END_TEST

SUITE("list", elements_stand_in_the_order_they_were_added, removing_twice_is_harmless,
      the_element_under_the_position_may_be_removed, all_of_one_can_go_over_to_another)
