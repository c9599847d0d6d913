/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/policy/quota.h"

#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

#define QUOTA(hard, used)                                              \
    "{'metadata':{'name':'cap'},'spec':{'hard':{" hard "}},'status':{" \
    "'hard':{" hard "},'used':{" used "}}}"
#define CONTAINER(name, requests)                                \
    "{'name':'" name "','resources':{'requests':{" requests "}," \
    "'limits':{'cpu':'2'}}}"
#define POD(containers, more) "{'metadata':{},'spec':{'containers':[" containers "]" more "}}"

static const struct {
    const char *quota;
    const char *pod;
    const char *used; /* NULL: refused */
    const char *why;
} charges[] = {
    {QUOTA("'pods':'2'", "'pods':'1'"), POD(CONTAINER("c", ""), ""), "{'pods':'2'}", NULL},
    {QUOTA("'pods':'1'", "'pods':'1'"), POD(CONTAINER("c", ""), ""), NULL,
     "exceeded quota: cap, requested: pods=1, used: pods=1, limited: pods=1"},
    {QUOTA("'requests.cpu':'2','memory':'1Gi'", "'requests.cpu':'500m','memory':'0'"),
     POD(CONTAINER("c", "'cpu':'1','memory':'1Gi'"), ""), "{'requests.cpu':'1500m','memory':'1Gi'}",
     NULL},
    {QUOTA("'requests.cpu':'2','limits.memory':'1Gi'", ""),
     POD(CONTAINER("a", "") "," CONTAINER("b", "'cpu':'1'"), ""), NULL,
     "failed quota: cap: must specify limits.memory for: a,b; requests.cpu "
     "for: a"},
    {QUOTA("'pods':'5'", ""), POD(CONTAINER("c", ""), ""), NULL,
     "status unknown for quota: cap, resources: pods"},
    /* Init containers count as the largest of them. */
    {QUOTA("'cpu':'9'", "'cpu':'0'"),
     POD(CONTAINER("c", "'cpu':'1'"),
         ",'initContainers':[" CONTAINER("i", "'cpu':'3'") "," CONTAINER("j", "'cpu':'2'") "]"),
     "{'cpu':'3'}", NULL},
    /* The overhead is limited where the rest is. */
    {QUOTA("'limits.cpu':'9','limits.ephemeral-storage':'1Gi',"
           "'requests.ephemeral-storage':'1Gi'",
           "'limits.cpu':'0','limits.ephemeral-storage':'0',"
           "'requests.ephemeral-storage':'0'"),
     POD(CONTAINER("c", "'ephemeral-storage':'64Mi'"),
         ",'overhead':{'cpu':'250m','ephemeral-storage':'64Mi'}"),
     "{'limits.cpu':'2250m','limits.ephemeral-storage':'0',"
     "'requests.ephemeral-storage':'128Mi'}",
     NULL},
    {"{'metadata':{'name':'cap'},'spec':{'scopes':['Terminating']},'status':{"
     "'hard':{'pods':'0'},'used':{'pods':'0'}}}",
     POD(CONTAINER("c", ""), ""), "{'pods':'0'}", NULL},
    {"{'metadata':{'name':'cap'},'spec':{'scopes':['Terminating']},'status':{"
     "'hard':{'pods':'0'},'used':{'pods':'0'}}}",
     POD(CONTAINER("c", ""), ",'activeDeadlineSeconds':60"), NULL,
     "exceeded quota: cap, requested: pods=1, used: pods=0, limited: pods=0"},
};

START_TEST(a_pod_is_charged_or_told_why_not)
{
    for (size_t i = 0; i < ARRAY_SIZE(charges); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        const char *why = NULL;
        const struct json *used = quota_charge(arena, tree(arena, charges[i].quota), &pod_kind,
                                               tree(arena, charges[i].pod), NULL, 0, &why);

        if (charges[i].why != NULL)
            ck_assert_str_eq(why != NULL ? why : "charged", charges[i].why);
        else
            ck_assert_str_eq(printed(arena, used), charges[i].used);
    }
}
END_TEST

START_TEST(a_pod_that_has_ended_takes_no_room)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct quota_amounts amounts;
    struct json *hard = tree(arena, "{'pods':'9','count/pods':'9'}");
    struct json *pod = tree(arena, POD(CONTAINER("c", ""), ""));

    quota_amounts_init(&amounts, arena);
    quota_add_usage(&amounts, &pod_kind, pod, 0);
    json_set(arena, pod, "status", tree(arena, "{'phase':'Succeeded'}"));
    quota_add_usage(&amounts, &pod_kind, pod, 0);

    ck_assert_str_eq(printed(arena, quota_used(arena, hard, &amounts)),
                     "{'pods':'1','count/pods':'2'}");
}
END_TEST

START_TEST(a_claim_counts_by_its_class_too)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct quota_amounts amounts;

    quota_amounts_init(&amounts, arena);
    quota_add_usage(&amounts, &persistent_volume_claim_kind,
                    tree(arena, "{'spec':{'storageClassName':'fast','resources':{"
                                "'requests':{'storage':'5Gi'}}}}"),
                    0);

    ck_assert_str_eq(printed(arena, quota_used(arena,
                                               tree(arena, "{'requests.storage':'1',"
                                                           "'fast.storageclass.storage.k8s.io/"
                                                           "persistentvolumeclaims':'1'}"),
                                               &amounts)),
                     "{'requests.storage':'5Gi',"
                     "'fast.storageclass.storage.k8s.io/persistentvolumeclaims':'1'}");
}
END_TEST

SUITE("quota", a_pod_is_charged_or_told_why_not, a_pod_that_has_ended_takes_no_room,
      a_claim_counts_by_its_class_too)
