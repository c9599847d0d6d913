/* SPDX-License-Identifier: Apache-2.0 */
/* The server selects by indexes, and what a selector cannot say (several accounts, patterns)
 * is checked here for each job. A name that nobody has would give an empty table, which reads
 * like "no jobs", so names are looked up and refused before.
 */
#include "cli/kctl/input/job_selection.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect/getent.h"
#include "cli/kctl/client/kctl.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#define MAX_WORD      64
#define NODES_CHECKED 20u

static const struct {
    const char *word;
    uint32_t states;
} groups[] = {
    {"active", JOB_STATES_ACTIVE},
    {"all", JOB_STATES_ACTIVE | JOB_STATES_ENDED},
    {"ended", JOB_STATES_ENDED},
};

static int
refuse_state(const char *word, struct error *err)
{
    const char *names[JOB_STATE_COUNT + ARRAY_SIZE(groups)];
    const char *near;
    size_t n = 0;

    for (enum job_state s = JOB_STATE_PENDING; s < JOB_STATE_COUNT; s++)
        names[n++] = job_state_words(s)->name;
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        names[n++] = groups[i].word;
    near = spelling_nearest(word, names, n);
    if (near != NULL)
        return error_set(err, -EINVAL, "--state: '%s' is not a state (did you mean '%s'?)", word,
                         near);
    return error_set(err, -EINVAL,
                     "--state: '%s' is not a state (such as Pending, Running, "
                     "Failed, active or ended)",
                     word);
}

static int
read_state(const char *word, uint32_t *states, struct error *err)
{
    uint32_t found = job_states_of_word(word);

    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        if (strcmp(groups[i].word, word) == 0)
            found = groups[i].states;
    if (found == 0)
        return refuse_state(word, err);
    *states |= found;
    return 0;
}

/* A field selector has no escape for these characters. */
static int
check_text(const char *option, const char *text, struct error *err)
{
    if (text == NULL)
        return 0;
    if (text[0] == '\0')
        return error_set(err, -EINVAL, "%s is empty", option);
    if (strpbrk(text, ",=!\\") != NULL)
        return error_set(err, -EINVAL, "%s: '%s' is not a valid name", option, text);
    return 0;
}

/* A host list, such as n[1-4]. The names become part of a query, where other
 * characters would need an escape.
 */
static int
check_node(const char *name, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error text = {0};
    const char **names;
    size_t count;

    if (name == NULL)
        return 0;
    if (name[0] == '\0')
        return error_set(err, -EINVAL, "--node is empty");
    for (const char *p = name; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && strchr("-.,[]", *p) == NULL)
            return error_set(err, -EINVAL, "--node: '%.80s' is not a valid node name", name);
    if (hostlist_expand(arena, name, &names, &count, &text) < 0)
        return error_set(err, -EINVAL, "--node: %s", text.text);
    return 0;
}

int
job_selection_check(struct job_selection *s, struct error *err)
{
    int r = check_text("--user", s->user, err);

    if (r == 0)
        r = check_text("--partition", s->partition, err);
    if (r == 0)
        r = check_node(s->node, err);
    if (r == 0 && s->name != NULL && s->name[0] == '\0')
        r = error_set(err, -EINVAL, "--name is empty");
    if (r == 0 && s->account != NULL && s->account[0] == '\0')
        r = error_set(err, -EINVAL, "--account is empty");
    s->states = 0;
    if (s->state == NULL)
        return r;
    for (const char *at = s->state; r == 0;) {
        const size_t length = strcspn(at, ",");
        char word[MAX_WORD];

        if (length >= sizeof(word))
            return refuse_state(at, err);
        memcpy(word, at, length);
        word[length] = '\0';
        r = read_state(word, &s->states, err);
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    return r;
}

/* ---- Names that do not exist ---- */

static int
check_user(const char *name, struct error *err)
{
    uid_t uid;

    if (name == NULL || getent_find_user(&getent_system_files, name, &uid) != -ENOENT)
        return 0;
    return error_set(err, -ENOENT,
                     "--user: there is no user '%s' on this machine, and no job "
                     "of a user with that name matches",
                     name);
}

/* A partition may also exist only as a label of nodes. */
static int
check_partition(struct kctl *kctl, const char *name, struct arena *arena, struct error *err)
{
    const struct target_object partition = {.kind = &partition_kind, .name = name};
    const struct target_object nodes = {.kind = &node_kind};
    struct json *found = NULL;
    struct error missing = {0};
    int r;

    if (name == NULL)
        return 0;
    r = kctl_get(kctl, &partition, arena, &found, &missing);
    if (r != -ENOENT)
        return 0;
    if (kctl_list(kctl, &nodes, arena_printf(arena, LABEL_PARTITION "=%s", name), NULL, arena,
                  &found, NULL)
            == 0
        && json_count(found) > 0)
        return 0;
    return error_set(err, -ENOENT, "--partition: %s; 'kctl partitions' lists them", missing.text);
}

static int
check_object(struct kctl *kctl, const struct kind *kind, const char *option, const char *name,
             struct arena *arena, struct error *err)
{
    const struct target_object object = {.kind = kind, .name = name};
    struct json *found = NULL;
    struct error missing = {0};

    if (kctl_get(kctl, &object, arena, &found, &missing) != -ENOENT)
        return 0;
    return error_set(err, -ENOENT, "%s: %s", option, missing.text);
}

/* Checks each account of "A,B". */
static int
check_accounts(struct kctl *kctl, const char *list, struct arena *arena, struct error *err)
{
    char *rest = NULL;
    int r = 0;

    if (list == NULL)
        return 0;
    for (char *name = strtok_r(arena_strdup(arena, list), ",", &rest); r == 0 && name != NULL;
         name = strtok_r(NULL, ",", &rest))
        r = check_object(kctl, &namespace_kind, "--account", name, arena, err);
    return r;
}

/* Checks the first nodes of a long list. */
static int
check_nodes(struct kctl *kctl, const char *list, struct arena *arena, struct error *err)
{
    const char **names;
    size_t count;
    int r = hostlist_expand(arena, list, &names, &count, err);

    for (size_t i = 0; r == 0 && i < count && i < NODES_CHECKED; i++)
        r = check_object(kctl, &node_kind, "--node", names[i], arena, err);
    return r;
}

int
job_selection_check_exists(struct kctl *kctl, const struct job_selection *s, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    int r = check_user(s->user, err);

    if (r == 0)
        r = check_partition(kctl, s->partition, arena, err);
    if (r == 0 && s->node != NULL)
        r = check_nodes(kctl, s->node, arena, err);
    if (r == 0)
        r = check_accounts(kctl, s->account, arena, err);
    return r;
}

const char *
job_selection_words(const struct job_selection *s, struct arena *arena)
{
    const struct {
        const char *words, *value;
    } all[] = {
        {"in state", s->state},         {"of user", s->user}, {"named", s->name},
        {"in partition", s->partition}, {"on", s->node},      {"of account", s->account},
    };
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (all[i].value != NULL)
            strbuf_printf(&text, "%s%s %.80s", text.length > 0 ? " " : "", all[i].words,
                          all[i].value);
    return text.length > 0 ? arena_strdup(arena, text.text) : "";
}

bool
job_selection_is_empty(const struct job_selection *s)
{
    return s->account == NULL && s->name == NULL && s->node == NULL && s->partition == NULL
           && s->state == NULL && s->user == NULL;
}

static void
add(struct strbuf *out, const char *field, const char *value)
{
    if (value != NULL)
        strbuf_printf(out, "%s%s=%s", out->length > 0 ? "," : "", field, value);
}

/* A field selector has no "or": several states are expressed by excluding all
 * others.
 */
static void
add_states(struct strbuf *out, uint32_t states)
{
    for (enum job_state s = JOB_STATE_PENDING; s < JOB_STATE_COUNT; s++)
        if (states == JOB_STATE_BIT(s)) {
            add(out, "status.state", job_state_words(s)->name);
            return;
        }
    for (enum job_state s = JOB_STATE_PENDING; states != 0 && s < JOB_STATE_COUNT; s++)
        if ((states & JOB_STATE_BIT(s)) == 0)
            strbuf_printf(out, "%sstatus.state!=%s", out->length > 0 ? "," : "",
                          job_state_words(s)->name);
}

int
job_selection_find_own_user(const struct kctl *kctl, struct arena *arena, const char **ret_name,
                            struct error *err)
{
    const struct passwd *user;

    if (kctl->as_user != NULL) {
        *ret_name = kctl->as_user;
        return 0;
    }
    user = getpwuid(getuid());
    if (user == NULL)
        return error_set(err, -EINVAL,
                         "uid %u has no user name on this machine; use --user "
                         "to say whose jobs you mean",
                         (unsigned)getuid());
    *ret_name = arena_strdup(arena, user->pw_name);
    return 0;
}

const char *
job_selection_fields(const struct job_selection *s, const char *more, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    add(&out, "spec.user", s->user);
    add(&out, "spec.partition", s->partition);
    add_states(&out, s->states);
    if (more != NULL)
        strbuf_printf(&out, "%s%s", out.length > 0 ? "," : "", more);
    return out.length > 0 ? arena_strdup(arena, out.text) : NULL;
}

const char *
job_selection_query(const struct job_selection *s, const char *more, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    if (s->node == NULL)
        return more;
    strbuf_printf(&out, "%s%skiln.hpc/node=", more != NULL ? more : "", more != NULL ? "&" : "");
    for (const char *p = s->node; *p != '\0'; p++)
        if (strchr(",[]", *p) != NULL)
            strbuf_printf(&out, "%%%02X", (unsigned)(unsigned char)*p);
        else
            strbuf_add_char(&out, *p);
    return arena_strdup(arena, out.text);
}

const char *
job_selection_namespace(const struct job_selection *s)
{
    return s->account != NULL && strchr(s->account, ',') == NULL ? s->account : NULL;
}

static bool
is_among(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = list;;) {
        const size_t n = strcspn(at, ",");

        if (n == length && strncmp(at, name, n) == 0)
            return true;
        if (at[n] == '\0')
            return false;
        at += n + 1;
    }
}

bool
job_selection_has(const struct job_selection *s, const char *namespace, const char *name,
                  const char *state)
{
    const enum job_state is = job_state_of_name(state);

    return (s->account == NULL || is_among(s->account, namespace))
           && (s->name == NULL || text_matches(s->name, name))
           && (s->states == 0 || (s->states & JOB_STATE_BIT(is)) != 0);
}
