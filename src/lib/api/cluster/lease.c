/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/cluster/lease.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/rights.h"
#include "lib/api/object/table.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field lease_spec_fields[] = {
    STRING("holderIdentity", lease_spec, holder, KEPT,
        HELP("Who has the lease.")),
    INT("leaseDurationSeconds", lease_spec, duration_s, KEPT,
        HELP("How long it is valid without being renewed.")),
    MICRO_TIME("acquireTime", lease_spec, acquired_at_us, KEPT,
        HELP("When it was taken.")),
    MICRO_TIME("renewTime", lease_spec, renewed_at_us, KEPT,
        HELP("When it was last renewed.")),
    INT("leaseTransitions", lease_spec, transitions, KEPT,
        HELP("How often its holder has changed.")),
    OPAQUE(STRING, "preferredHolder", KEPT,
        HELP("The preferred holder.")),
    OPAQUE(STRING, "strategy", KEPT,
        HELP("How its holder is chosen.")),
};
static RECORD(lease_spec, lease_spec, "io.k8s.api.coordination.v1.LeaseSpec",
       MESSAGE("holderIdentity leaseDurationSeconds acquireTime renewTime "
               "leaseTransitions strategy preferredHolder"),
       HELP("Who has a lease, and until when."));

static const struct field lease_fields[] = {
    TYPE_META,
    METADATA(lease),
    OBJECT("spec", lease, spec, lease_spec, ALWAYS,
        HELP("Desired state.")),
};
RECORD(lease, lease, "io.k8s.api.coordination.v1.Lease",
       MESSAGE("metadata spec"),
       HELP("A claim that must be renewed: the heartbeat of a node, or "
            "leadership."));
/* clang-format on */

const struct lease *
lease_of(const struct object *object)
{
    return object->view;
}

static void
prepare(struct arena *arena, struct json *lease, const struct json *old)
{
    meta_prepare(arena, lease, old);
    /* Fields of coordinated leader election, which is off in upstream and
     * dropped there, too.
     */
    json_remove(json_get(lease, "spec"), "strategy");
    json_remove(json_get(lease, "spec"), "preferredHolder");
}

static void
validate(struct causes *c, const struct json *lease, const struct json *old)
{
    unsigned at;

    meta_check(c, &lease_kind, NAME_DNS_SUBDOMAIN, lease, old);
    at = causes_enter(c, "spec");
    check_positive(c, json_get(lease, "spec"), "leaseDurationSeconds");
    check_not_negative(c, json_get(lease, "spec"), "leaseTransitions");
    causes_leave(c, at);
}

static void
add_holder(struct table_row *row)
{
    table_cell(row, lease_of(row->object)->spec.holder);
}

static const struct table_column columns[] = {
    TABLE_NAME,
    COLUMN("Holder", add_holder, "Who holds it now."),
    TABLE_AGE,
};
static const struct table table = {TABLE_COLUMNS(columns)};

/* clang-format off */
static const struct right rights[] = {
    {BY_USERS, MAY_WRITE, SUBRESOURCE_NONE, SCOPE_MEMBERS},
    {BY_AGENT, MAY_READ | MAY_WRITE, SUBRESOURCE_NONE, SCOPE_NODE},
    {BY_SCHEDULER, MAY_CREATE | MAY_UPDATE, SUBRESOURCE_NONE, SCOPE_ALL},
};
/* clang-format on */

const struct kind lease_kind = {
    .group = "coordination.k8s.io",
    .version = "v1",
    .api_version = "coordination.k8s.io/v1",
    .name = "Lease",
    .list_name = "LeaseList",
    .plural = "leases",
    .singular = "lease",
    .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE | KIND_VOLATILE,
    .routine_verbs = MAY_WRITE,
    .record = &lease_record,
    .prepare = prepare,
    .validate = validate,
    .table = &table,
    KIND_RIGHTS(rights),
};
