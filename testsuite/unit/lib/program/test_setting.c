/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/setting.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

struct target {
    int untouched;
    const char *state_dir;
    int64_t port;
    bool is_open;
    struct setting_texts admins;
    int64_t delay_us;
    int64_t cache_bytes;
    int policy;
    const struct json *profiles;
    struct setting_texts labels;
};

static const char *const policies[] = {"easy", "conservative", NULL};

#define AT(member) .offset = offsetof(struct target, member)

static int
check_lower(const char *text, struct error *err)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            return error_set(err, -EINVAL, "'%s' shouts", text);
    return 0;
}

static const struct setting settings[] = {
    {"stateDir", SETTING_TEXT, AT(state_dir), .check = check_lower, .initial = "/var/lib/kiln",
     .help = "Where the state is kept."},
    {"port", SETTING_INT, AT(port), .initial = "8080", .min = 1, .max = 65535,
     .help = "Where to listen."},
    {"access.open", SETTING_BOOL, AT(is_open), .help = "For everybody."},
    {"access.admins", SETTING_TEXTS, AT(admins), .check = check_lower, .initial = "root,ops",
     .help = "Users who may do everything."},
    {"store.batch.delay", SETTING_TIMESPAN, AT(delay_us), .initial = "5ms", .max = 1000000,
     .help = "How long a batch may wait for more, at most, before it is "
             "committed to the disk."},
    {"store.cache", SETTING_BYTES, AT(cache_bytes), .initial = "64Mi", .min = 4096,
     .max = INT64_C(1) << 40, .help = "Memory for pages."},
    {"policy", SETTING_CHOICE, AT(policy), .initial = "easy", .choices = policies,
     .help = "How to backfill."},
    {"profiles", SETTING_TREE, AT(profiles), .help = "As upstream's."},
    {"labels", SETTING_PAIRS, AT(labels), .check = check_lower, .help = "Labels."},
};

static const struct setting_table table = {settings, ARRAY_SIZE(settings)};

/* Reads the text as the file kiln.yaml of the working directory, whose name
 * begins the mistakes.
 */
static int
read_over_defaults(struct arena *arena, const char *text, struct target *target,
                   struct strbuf *mistakes)
{
    CLEANUP(scratch_freep) char *directory = scratch_new();

    ck_assert_int_eq(chdir(directory), 0);
    ck_assert_int_eq(file_write_atomic("kiln.yaml", 0600, text, strlen(text), NULL), 0);
    *target = (struct target){.untouched = 7};
    setting_reset(&table, arena, target);
    return setting_read_file(&table, arena, "kiln.yaml", target, mistakes);
}

START_TEST(nothing_said_means_the_defaults)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct target got;

    ck_assert_int_eq(read_over_defaults(arena, "", &got, &mistakes), 0);

    ck_assert_str_eq(got.state_dir, "/var/lib/kiln");
    ck_assert_int_eq(got.port, 8080);
    ck_assert(!got.is_open);
    ck_assert_uint_eq(got.admins.count, 2);
    ck_assert_str_eq(got.admins.items[1], "ops");
    ck_assert_int_eq(got.delay_us, 5000);
    ck_assert_int_eq(got.cache_bytes, 64 << 20);
    ck_assert_int_eq(got.policy, 0);
    ck_assert_ptr_null(got.profiles);
    ck_assert_int_eq(got.untouched, 7);
}
END_TEST

START_TEST(a_file_says_otherwise)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct target got;

    ck_assert_int_eq(read_over_defaults(arena,
                                        "stateDir: /srv\n"
                                        "port: 1\n"
                                        "access:\n"
                                        "  open: yes\n"
                                        "  admins: [a]\n"
                                        "store:\n"
                                        "  batch:\n"
                                        "    delay: 1s\n"
                                        "  cache: 4096\n"
                                        "policy: conservative\n"
                                        "profiles: [{name: x}]\n"
                                        "labels: {a: b, 1: ''}\n",
                                        &got, &mistakes),
                     0);

    ck_assert_str_eq(got.state_dir, "/srv");
    ck_assert_int_eq(got.port, 1);
    ck_assert(got.is_open);
    ck_assert_uint_eq(got.admins.count, 1);
    ck_assert_int_eq(got.delay_us, 1000000);
    ck_assert_int_eq(got.cache_bytes, 4096);
    ck_assert_int_eq(got.policy, 1);
    ck_assert_str_eq(json_get_text(json_at(got.profiles, 0), "name"), "x");
    ck_assert_uint_eq(got.labels.count, 2);
    ck_assert_str_eq(got.labels.items[0], "a=b");
    ck_assert_str_eq(got.labels.items[1], "1=");
}
END_TEST

START_TEST(a_key_without_a_value_and_an_empty_group_are_defaults)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct target got;

    ck_assert_int_eq(
        read_over_defaults(arena, "port:\nstore:\naccess:\n  admins: []\n", &got, &mistakes), 0);

    ck_assert_int_eq(got.port, 8080);
    ck_assert_uint_eq(got.admins.count, 0);
}
END_TEST

START_TEST(every_mistake_has_its_line_and_key)
{
    static const struct {
        const char *text;
        const char *mistakes;
    } cases[] = {
        {"prot: 1\n", "kiln.yaml:1: prot: unknown key (did you mean 'port'?)\n"},
        {"a: 1\nstore:\n  cash: 1\n", "kiln.yaml:1: a: unknown key\n"
                                      "kiln.yaml:3: store.cash: unknown key (did you mean "
                                      "'store.cache'?)\n"},
        {"delay: 1s\n", "kiln.yaml:1: delay: unknown key (did you mean "
                        "'store.batch.delay'?)\n"},
        {"port: 0\n", "kiln.yaml:1: port: '0' is not a number from 1 to "
                      "65535\n"},
        {"port: x\n", "kiln.yaml:1: port: 'x' is not a number from 1 to "
                      "65535\n"},
        {"port: 1.5\n", "kiln.yaml:1: port: '1.5' is not a number from 1 to "
                        "65535\n"},
        {"port: [1]\n", "kiln.yaml:1: port: must be a single value\n"},
        {"port: {}\n", "kiln.yaml:1: port: must be a single value\n"},
        {"stateDir: no\n", "kiln.yaml:1: stateDir: 'false' must be a string; put it in "
                           "quotes\n"},
        {"access: {open: 1}\n", "kiln.yaml:1: access.open: must be true or false\n"},
        {"access:\n  admins: a\n", "kiln.yaml:2: access.admins: must be a list\n"},
        {"access:\n  admins:\n  - a\n  - 1\n",
         "kiln.yaml:4: access.admins: must be a list of strings\n"},
        {"access: 5\n", "kiln.yaml:1: access: must have keys of its own\n"},
        {"store: {batch: {delay: 5}}\n",
         "kiln.yaml:1: store.batch.delay: '5' is not a time, such as 500ms, "
         "10s or 1h30m\n"},
        {"store: {batch: {delay: 2s}}\n",
         "kiln.yaml:1: store.batch.delay: '2s' is not a time from 0s to 1s\n"},
        {"store: {cache: much}\n",
         "kiln.yaml:1: store.cache: 'much' is not a size in bytes, such as "
         "4096 or 64Mi\n"},
        {"store: {cache: 1Ki}\n",
         "kiln.yaml:1: store.cache: '1Ki' is not a size from 4Ki to 1Ti\n"},
        {"labels: [a=b]\n", "kiln.yaml:1: labels: must contain keys and values\n"},
        {"labels:\n  a: b\n  c: 1\n", "kiln.yaml:3: labels: 'c' must have a string\n"},
        {"port: 1\nstateDir: /Srv\n", "kiln.yaml:2: stateDir: '/Srv' shouts\n"},
        {"stateDir: ''\n", "kiln.yaml:1: stateDir: must not be empty\n"},
        {"access:\n  admins:\n  - a\n  - B\n  - C\n", "kiln.yaml:4: access.admins: 'B' shouts\n"
                                                      "kiln.yaml:5: access.admins: 'C' shouts\n"},
        {"labels:\n  a: b\n  c: D\n", "kiln.yaml:3: labels: 'c=D' shouts\n"},
        {"policy: fast\n", "kiln.yaml:1: policy: 'fast' is not one of easy, conservative\n"},
        {"port: 1\nport: 2\n", "kiln.yaml: line 2, column 1: the key 'port' is given twice\n"},
        {"port 1\n", "kiln.yaml:1: file: must contain keys and values\n"},
        {"[", "kiln.yaml: line 2, column 1: did not find expected node "
              "content\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
        struct target got;

        ck_assert_int_eq(read_over_defaults(arena, cases[i].text, &got, &mistakes), -EINVAL);
        ck_assert_str_eq(mistakes.text, cases[i].mistakes);
    }
}
END_TEST

START_TEST(a_missing_file_is_a_mistake_too)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct target got = {0};

    ck_assert_int_eq(setting_read_file(&table, arena, "/nowhere", &got, &mistakes), -ENOENT);
    ck_assert_str_eq(mistakes.text, "reading '/nowhere': No such file or directory\n");
}
END_TEST

START_TEST(the_command_line_sets_one_at_a_time)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct target got = {0};
    struct error err = {0};

    ck_assert_int_eq(setting_set(&settings[2], arena, NULL, &got, &err), 0);
    ck_assert_int_eq(setting_set(&settings[3], arena, "a,,b,", &got, &err), 0);
    ck_assert_int_eq(setting_set(&settings[0], arena, "", &got, &err), -EINVAL);
    ck_assert_str_eq(err.text, "must not be empty");
    ck_assert_int_eq(setting_add(&settings[3], arena, "X", &got, &err), -EINVAL);
    ck_assert_str_eq(err.text, "'X' shouts");
    ck_assert_int_eq(setting_add(&settings[3], arena, "c", &got, &err), 0);
    ck_assert_int_eq(setting_set(&settings[8], arena, "x", &got, &err), -EINVAL);
    ck_assert_str_eq(err.text, "'x' is not of the form KEY=VALUE");
    ck_assert_int_eq(setting_set(&settings[7], arena, "[]", &got, &err), -EINVAL);

    ck_assert(got.is_open);
    ck_assert_uint_eq(got.admins.count, 3);
    ck_assert_str_eq(got.admins.items[1], "b");
    ck_assert_str_eq(got.admins.items[2], "c");
    ck_assert_ptr_null(got.state_dir);
    ck_assert_str_eq(err.text, "can only be set in the configuration file");
}
END_TEST

START_TEST(the_whole_configuration_is_printed_with_explanations)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct target target;

    setting_reset(&table, arena, &target);
    setting_print(&table, &target, &text);

    ck_assert_str_eq(text.text, "# Where the state is kept.\n"
                                "stateDir: /var/lib/kiln\n"
                                "\n"
                                "# Where to listen.\n"
                                "port: 8080\n"
                                "\n"
                                "access:\n"
                                "  # For everybody.\n"
                                "  open: false\n"
                                "\n"
                                "  # Users who may do everything.\n"
                                "  admins: [\"root\",\"ops\"]\n"
                                "\n"
                                "store:\n"
                                "  batch:\n"
                                "    # How long a batch may wait for more, at most, before it is "
                                "committed to\n"
                                "    # the disk.\n"
                                "    delay: 5ms\n"
                                "\n"
                                "  # Memory for pages.\n"
                                "  cache: 64Mi\n"
                                "\n"
                                "# How to backfill.\n"
                                "policy: easy\n"
                                "\n"
                                "# As upstream's.\n"
                                "#profiles:\n"
                                "\n"
                                "# Labels.\n"
                                "labels: {}\n");
}
END_TEST

START_TEST(printed_settings_read_back_the_same)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf first = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf second = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct target target;

    ck_assert_int_eq(read_over_defaults(arena,
                                        "stateDir: 'yes'\n"
                                        "profiles: [{name: x, n: 1}]\n"
                                        "store: {cache: 5000}\n"
                                        "labels: {a: b=c}\n",
                                        &target, &mistakes),
                     0);
    setting_print(&table, &target, &first);
    ck_assert_int_eq(read_over_defaults(arena, first.text, &target, &mistakes), 0);
    setting_print(&table, &target, &second);

    ck_assert_str_eq(first.text, second.text);
}
END_TEST

START_TEST(a_setting_that_a_reload_changes_is_found)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct target one, other;
    unsigned n = 0;

    read_over_defaults(arena, "labels: {a: b}", &one, &mistakes);
    read_over_defaults(arena,
                       "port: 7\naccess: {admins: [root]}\nprofiles: [1]\n"
                       "labels: {a: b}",
                       &other, &mistakes);

    for (size_t i = 0; i < table.n_settings; i++) {
        ck_assert(setting_is_same(&settings[i], &one, &one));
        n += !setting_is_same(&settings[i], &one, &other);
    }

    ck_assert_uint_eq(n, 3);
}
END_TEST

SUITE("setting", nothing_said_means_the_defaults, a_file_says_otherwise,
      a_key_without_a_value_and_an_empty_group_are_defaults, every_mistake_has_its_line_and_key,
      a_missing_file_is_a_mistake_too, the_command_line_sets_one_at_a_time,
      the_whole_configuration_is_printed_with_explanations, printed_settings_read_back_the_same,
      a_setting_that_a_reload_changes_is_found)
