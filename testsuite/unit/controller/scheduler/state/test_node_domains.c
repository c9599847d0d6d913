/* SPDX-License-Identifier: Apache-2.0 */
/* Domains of nodes against a count of all nodes, while nodes come, change and go. */
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/scheduler_state.h"
#include "controller/scheduler/state/cache.h"
#include "controller/scheduler/state/node_domains.h"
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

#define NODES 40u
#define RACKS 6u

static const char *const keys[] = {"rack"};

static void
put_node(struct world *w, unsigned index, unsigned rack, unsigned cpus)
{
    CLEANUP_FREE char *label = rack < RACKS ? xasprintf("\"rack\":\"r%u\"", rack) : xstrdup("");
    CLEANUP_FREE char *text =
        xasprintf("{\"metadata\":{\"name\":\"n%u\",\"labels\":{%s}},\"status\":{\"allocatable\":"
                  "{\"cpu\":\"%u\",\"memory\":\"64Gi\",\"pods\":\"110\"}}}",
                  index, label, cpus);

    fake_client_put(w->api, &node_kind, text);
}

static void
check_domains(struct world *w, struct node_domains *d)
{
    struct scheduler *s = w->scheduler;
    const struct domain_need needs[] = {{4000, true}, {4000, false}, {500, true}, {0, true}};
    const struct domain_level *level;
    uint32_t counted[RACKS] = {0};

    cache_update_snapshot(s->cache, &s->snapshot);
    node_domains_update(d, &s->snapshot);
    level = node_domains_level(d, 0);
    for (uint32_t i = 0; i < s->snapshot.n_nodes; i++) {
        const struct node_view *node = s->snapshot.nodes[i];
        const char *rack = string_map_find(&node->object->meta->labels, "rack");
        const struct node_domain *domain = domain_level_of(level, node);

        ck_assert((rack == NULL) == (domain == NULL));
        if (rack == NULL)
            continue;
        ck_assert_str_eq(domain->value, rack);
        counted[rack[1] - '0']++;
    }
    for (unsigned i = 0; i < level->n_domains; i++) {
        const struct node_domain *domain = level->domains[i];

        ck_assert_uint_eq(domain->n_nodes, counted[domain->value[1] - '0']);
        for (uint32_t n = 1; n < domain->n_nodes; n++)
            ck_assert_int_lt(strtol(domain->nodes[n - 1]->name + 1, NULL, 10),
                             strtol(domain->nodes[n]->name + 1, NULL, 10));
        for (unsigned n = 0; n < 4; n++)
            ck_assert_uint_ge(node_domain_most(domain, &needs[n]),
                              node_domain_room(domain, &needs[n]));
        ck_assert_uint_eq(node_domain_most(domain, &needs[3]), domain->n_nodes);
    }
}

START_TEST(domains_follow_their_nodes)
{
    struct world *w = world_new(NULL);
    struct node_domains *d = node_domains_new(keys, 1);
    struct random_source dice = {.state = 11};

    for (unsigned turn = 0; turn < 600; turn++) {
        const unsigned index = (unsigned)random_below(&dice, NODES);
        CLEANUP_FREE char *name = xasprintf("n%u", index);

        if (random_below(&dice, 4) == 0 && fake_client_find(w->api, &node_kind, NULL, name) != NULL)
            fake_client_remove(w->api, &node_kind, NULL, name);
        else
            put_node(w, index, (unsigned)random_below(&dice, RACKS + 1),
                     1 + (unsigned)random_below(&dice, 64));
        fake_client_run(w->api);
        if (random_below(&dice, 3) > 0) /* several changes at once, too */
            check_domains(w, d);
    }
    node_domains_free(d);
    world_free(w);
}
END_TEST

/* More than are kept, of labels that the node has. */
START_TEST(the_last_few_other_labels_are_kept)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct world *w = world_new(NULL);
    struct node_domains *d = node_domains_new(keys, 1);

    put_node(w, 1, 2, 4);
    fake_client_run(w->api);
    check_domains(w, d);
    strbuf_add_text(&text, "{\"metadata\":{\"name\":\"n3\",\"labels\":{\"rack\":\"r2\"");
    for (unsigned i = 0; i < 50; i++)
        strbuf_printf(&text, ",\"k%u\":\"v%u\"", i, i);
    strbuf_add_text(&text, "}},\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"64Gi\","
                           "\"pods\":\"110\"}}}");
    fake_client_put(w->api, &node_kind, text.text);
    fake_client_run(w->api);
    check_domains(w, d);
    for (unsigned i = 0; i < 100; i++) {
        CLEANUP_FREE char *key = xasprintf("k%u", i);

        ck_assert_uint_eq(node_domains_find(d, &w->scheduler->snapshot, key)->n_domains, i < 50);
        ck_assert_str_eq(node_domains_find(d, &w->scheduler->snapshot, "rack")->domains[0]->value,
                         "r2");
        ck_assert_int_eq(node_domains_index(d, key), -1);
    }
    put_node(w, 2, 2, 4);
    fake_client_run(w->api);
    check_domains(w, d);
    ck_assert_uint_eq(node_domains_count(d), 1);
    node_domains_free(d);
    d = node_domains_new(NULL, 0);
    ck_assert_uint_eq(node_domains_find(d, &w->scheduler->snapshot, "rack")->n_domains, 1);
    node_domains_free(d);
    world_free(w);
}
END_TEST

SUITE("node domains", domains_follow_their_nodes, the_last_few_other_labels_are_kept)
