/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/protobuf/protobuf.h"

#include <errno.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

/* The records have names of upstream's messages, whose numbers are known. */
static const struct record label_selector = {
    .name = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
    .message = "matchLabels matchExpressions",
    RECORD_FIELDS(((const struct field[]){
        {.name = "matchLabels", .type = FIELD_MAP, .element = FIELD_STRING},
    })),
};
static const struct field meta_fields[] = {
    {.name = "name", .type = FIELD_STRING},
    {.name = "generation", .type = FIELD_INT64},
    {.name = "creationTimestamp", .type = FIELD_TIME},
    {.name = "labels", .type = FIELD_MAP, .element = FIELD_STRING},
    {.name = "finalizers", .type = FIELD_LIST, .element = FIELD_STRING},
};
static const struct record meta = {
    .name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    .message = "name generateName namespace selfLink uid resourceVersion "
               "generation creationTimestamp deletionTimestamp "
               "deletionGracePeriodSeconds labels annotations ownerReferences "
               "finalizers 17 managedFields",
    RECORD_FIELDS(meta_fields),
};
static const struct field config_map_fields[] = {
    {.name = "metadata", .type = FIELD_OBJECT, .of = &meta},
    {.name = "data", .type = FIELD_MAP, .element = FIELD_STRING},
    {.name = "binaryData", .type = FIELD_MAP, .element = FIELD_BYTES},
    {.name = "immutable", .type = FIELD_BOOL},
};
static const struct record config_map = {
    .name = "io.k8s.api.core.v1.ConfigMap",
    .message = "metadata data binaryData immutable",
    RECORD_FIELDS(config_map_fields),
};
static const struct field budget_fields[] = {
    {.name = "minAvailable", .type = FIELD_INT_OR_STRING},
    {.name = "selector", .type = FIELD_OBJECT, .of = &label_selector},
};
static const struct record budget = {
    .name = "io.k8s.api.policy.v1.PodDisruptionBudgetSpec",
    .message = "minAvailable selector maxUnavailable "
               "unhealthyPodEvictionPolicy",
    RECORD_FIELDS(budget_fields),
};
static const struct field resources_fields[] = {
    {.name = "requests", .type = FIELD_MAP, .element = FIELD_QUANTITY},
};
static const struct record resources = {
    .name = "io.k8s.api.core.v1.ResourceRequirements",
    .message = "limits requests claims",
    RECORD_FIELDS(resources_fields),
};
static const struct field security_fields[] = {
    {.name = "supplementalGroups", .type = FIELD_LIST, .element = FIELD_INT64},
};
static const struct record security = {
    .name = "io.k8s.api.core.v1.PodSecurityContext",
    .message = "seLinuxOptions runAsUser runAsNonRoot supplementalGroups "
               "fsGroup runAsGroup sysctls windowsOptions fsGroupChangePolicy "
               "seccompProfile appArmorProfile supplementalGroupsPolicy "
               "seLinuxChangePolicy",
    RECORD_FIELDS(security_fields),
};
static const struct field lease_fields[] = {
    {.name = "renewTime", .type = FIELD_MICRO_TIME},
    {.name = "leaseDurationSeconds", .type = FIELD_INT},
};
static const struct record lease = {
    .name = "io.k8s.api.coordination.v1.LeaseSpec",
    .message = "holderIdentity leaseDurationSeconds acquireTime renewTime "
               "leaseTransitions strategy preferredHolder",
    RECORD_FIELDS(lease_fields),
};
static const struct field volume_fields[] = {
    {.name = "name", .type = FIELD_STRING},
    {.name = "hostPath", .type = FIELD_OBJECT, .of = &meta},
};
static const struct record volume = {
    .name = "io.k8s.api.core.v1.Volume",
    .message = "name (hostPath emptyDir gcePersistentDisk "
               "awsElasticBlockStore gitRepo secret nfs iscsi glusterfs "
               "persistentVolumeClaim rbd flexVolume cinder cephfs flocker "
               "downwardAPI fc azureFile configMap vsphereVolume quobyte "
               "azureDisk photonPersistentDisk portworxVolume scaleIO "
               "projected storageos csi ephemeral image)",
    RECORD_FIELDS(volume_fields),
};

#define B(text) (text), sizeof(text) - 1

static const struct {
    const struct record *record;
    const char *bytes;
    size_t length;
    const char *json;
} cases[] = {
    {&config_map, B(""), "{}"},
    {&config_map,
     B("\x0a\x03\x0a\x01"
       "a"),
     "{'metadata':{'name':'a'}}"},
    /* metadata given twice is merged */
    {&config_map,
     B("\x0a\x03\x0a\x01"
       "a"
       "\x0a\x02\x38\x07"),
     "{'metadata':{'name':'a','generation':7}}"},
    /* the last value of a repeated key, and a key without a value */
    {&config_map,
     B("\x12\x06\x0a\x01"
       "k\x12\x01"
       "1"
       "\x12\x06\x0a\x01"
       "k\x12\x01"
       "2"
       "\x12\x03\x0a\x01"
       "e"),
     "{'data':{'k':'2','e':''}}"},
    {&config_map,
     B("\x1a\x08\x0a\x01"
       "b\x12\x03"
       "\xff\x00"
       "A"
       "\x1a\x06\x0a\x01"
       "c\x12\x01"
       "A"
       "\x20\x01"),
     "{'binaryData':{'b':'/wBB','c':'QQ=='},'immutable':true}"},
    {&meta,
     B("\x42\x00"
       "\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     "{'creationTimestamp':null,'generation':-1}"},
    {&meta, B("\x42\x06\x08\x80\xe2\xcf\xaa\x06"), "{'creationTimestamp':'2023-11-14T22:13:20Z'}"},
    {&meta,
     B("\x72\x01"
       "f"
       "\x5a\x06\x0a\x01"
       "a\x12\x01"
       "b"
       "\x72\x01"
       "g"),
     "{'finalizers':['f','g'],'labels':{'a':'b'}}"},
    /* unknown numbers are skipped */
    {&meta,
     B("\xf8\x07\x01\x0a\x01"
       "a"
       "\xf5\x07"
       "1234"),
     "{'name':'a'}"},
    {&budget, B("\x0a\x04\x08\x00\x10\x03"), "{'minAvailable':3}"},
    {&budget, B("\x0a\x0d\x08\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     "{'minAvailable':-1}"},
    {&budget,
     B("\x0a\x07\x08\x01\x1a\x03"
       "50%"
       "\x12\x00"),
     "{'minAvailable':'50%','selector':{}}"},
    {&resources,
     B("\x12\x0c\x0a\x03"
       "cpu"
       "\x12\x05\x0a\x03"
       "1.5"
       "\x12\x04\x0a\x00\x12\x00"),
     "{'requests':{'cpu':'1.5','':'0'}}"},
    /* single values, and packed ones */
    {&security, B("\x20\x05\x22\x02\x06\x07"), "{'supplementalGroups':[5,6,7]}"},
    {&lease,
     B("\x22\x09\x08\x80\xe2\xcf\xaa\x06\x10\xc0\x3e"
       "\x10\x0f"),
     "{'renewTime':'2023-11-14T22:13:20.000008Z','leaseDurationSeconds':15}"},
    /* hostPath is a field of VolumeSource, which the JSON form inlines */
    {&volume,
     B("\x0a\x01"
       "v"
       "\x12\x02\x0a\x00"),
     "{'name':'v','hostPath':{}}"},
};

START_TEST(a_message_is_read_by_its_record)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct error err = {0};
        struct json *object = protobuf_decode(arena, cases[i].record, cases[i].bytes,
                                              cases[i].length, SIZE_MAX, &err);

        ck_assert_msg(object != NULL, "case %zu: %s", i, err.text);
        ck_assert_str_eq(printed(arena, object), printed(arena, tree(arena, cases[i].json)));
    }
}
END_TEST

static const struct {
    const struct record *record;
    const char *bytes;
    size_t length;
    const char *why;
} bad[] = {
    {&meta,
     B("\x0a\x02"
       "\xc3("),
     "field 'name' is not text in UTF-8"},
    {&meta,
     B("\x0a\x02"
       "a\x00"),
     "field 'name' is not text in UTF-8"},
    {&meta, B("\x0a\x03\xed\xa0\x80"), "field 'name' is not text in UTF-8"},
    {&meta, B("\x08\x01"), "field 'name' has another wire type"},
    {&meta, B("\x3a\x00"), "field 'generation' has another wire type"},
    {&meta, B("\x42\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
     "field 'creationTimestamp' is not a time in the years 1 to 9999"},
    {&meta, B("\x58\x01"), "field 'labels' has another wire type"},
    {&meta, B("\x5a\x02\x08\x01"), ""},
    {&config_map,
     B("\x0a\x05\x0a\x01"
       "a"),
     "unexpected EOF"},
    {&budget, B("\x0a\x02\x08\x02"), "field 'minAvailable' is neither a number nor text"},
    {&security, B("\x22\x01\x80"), "unexpected EOF"},
    {&volume, B("\x10\x01"),
     "a part of 'io.k8s.api.core.v1.Volume' is not a "
     "message"},
};

START_TEST(an_unreadable_message_is_reported)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct error err = {0};
        struct json *object =
            protobuf_decode(arena, bad[i].record, bad[i].bytes, bad[i].length, SIZE_MAX, &err);

        /* a key of another type counts as no key */
        if (bad[i].why[0] == '\0') {
            ck_assert_ptr_nonnull(object);
            continue;
        }
        ck_assert_ptr_null(object);
        ck_assert_int_eq(err.code, -EINVAL);
        ck_assert_str_eq(err.text, bad[i].why);
    }
}
END_TEST

START_TEST(an_envelope_says_what_is_in_it)
{
    static const char body[] = "k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace"
                               "\x12\x04\x0a\x02\x0a\x00\x1a\x00\x22\x00";
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct protobuf_envelope envelope;

    ck_assert_int_eq(protobuf_open(arena, body, sizeof(body) - 1, &envelope, NULL), 0);
    ck_assert_str_eq(envelope.api_version, "v1");
    ck_assert_str_eq(envelope.kind, "Namespace");
    ck_assert_uint_eq(envelope.length, 4);
}
END_TEST

START_TEST(a_message_without_an_envelope_is_refused)
{
    static const struct {
        const char *body;
        size_t length;
        const char *why;
    } none[] = {
        {B(""), "empty data"},
        {B("k8"), "provided data does not appear to be a protobuf message, expected "
                  "prefix [107 56 115 0]"},
        {B("{\"kind\":\"Pod\"}"),
         "provided data does not appear to be a protobuf message, expected "
         "prefix [107 56 115 0]"},
        {B("k8s\0\x0a\x0f\x0a"), "unexpected EOF"},
        {B("k8s\0\x0a\x03\x0a\x01\xff"), "field 'apiVersion' is not text in UTF-8"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct protobuf_envelope envelope;
        struct error err = {0};

        ck_assert_int_eq(protobuf_open(arena, none[i].body, none[i].length, &envelope, &err),
                         -EINVAL);
        ck_assert_str_eq(err.text, none[i].why);
    }
}
END_TEST

SUITE("protobuf", a_message_is_read_by_its_record, an_unreadable_message_is_reported,
      an_envelope_says_what_is_in_it, a_message_without_an_envelope_is_refused)
