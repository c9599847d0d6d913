/* SPDX-License-Identifier: Apache-2.0 */
/* admission_reservation.c - the jobs that name a Reservation
 *
 * A job may name a Reservation that exists, has not ended, and allows its user
 * and account. An update is checked only when it names another. The rules of
 * Reservations themselves are in kinds/reservation_hooks.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/access/membership.h"
#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/admission/admission.h"
#include "controller/apiserver/request/request.h"
#include "controller/apiserver/request/server.h"
#include "controller/store/store.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"

static bool
refuse(struct request *q, const struct json *tree, const char *why)
{
    return admission_refuse(q, tree, "Reservation", why);
}

/* ---- Jobs ---- */

static const char *
named_by(const struct json *spec)
{
    const char *name = json_get_text(json_get(spec, "placement"), "reservation");

    return name != NULL ? name : "";
}

static bool
check_rights(struct request *q, const struct json *tree, const struct node_reservation *r)
{
    if (q->principal->type == PRINCIPAL_ADMINISTRATOR)
        return true;
    if ((r->spec.users.count > 0 || r->spec.groups.count > 0)
        && !membership_has(q->server->reservation_users, r->meta.name, q->principal))
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "reservation %s is not for user %s; 'kctl "
                                   "reservations' shows who may use which "
                                   "reservation",
                                   r->meta.name, q->principal->name));
    if (!admission_allows_account(r->spec.accounts.items, r->spec.accounts.count,
                                  q->route.namespace))
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "reservation %s is not for account %s; "
                                   "'kctl reservations' shows who may use "
                                   "which reservation",
                                   r->meta.name, q->route.namespace));
    return true;
}

bool
reservation_admit(struct request *q, struct json *tree, const struct object *old_object)
{
    const struct json *spec = admission_pod_spec(q, tree);
    const char *name, *was = "";
    const struct object *object;
    const struct node_reservation *r;
    struct reserved_window window;

    if (!principal_is_person(q->principal) || q->route.subresource != SUBRESOURCE_NONE
        || spec == NULL)
        return true;
    name = named_by(spec);
    if (old_object != NULL)
        was = named_by(admission_old_pod_spec(q, old_object));
    if (*name == '\0') {
        admission_note_uids(q, tree, ANNOTATION_RESERVATION_UID, NULL);
        return true;
    }
    if (strcmp(name, was) == 0
        && admission_keep_uids(q, tree, ANNOTATION_RESERVATION_UID, old_object))
        return true;
    object = store_find(q->server->store, STORE_PENDING, &reservation_kind, NULL, name);
    if (object == NULL)
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "there is no reservation '%s'; the "
                                   "reservations are: %s",
                                   name, admission_list_names(q, &reservation_kind)));
    r = node_reservation_of(object);
    if (r->spec.is_maintenance)
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "reservation %s is for maintenance: no job "
                                   "may use it",
                                   name));
    if (!node_reservation_window(r, clock_real_us(q->server->clock), &window))
        return refuse(q, tree,
                      arena_printf(q->arena,
                                   "reservation %s has ended; 'kctl "
                                   "reservations' lists the others",
                                   name));
    if (!check_rights(q, tree, r))
        return false;
    admission_note_uids(q, tree, ANNOTATION_RESERVATION_UID,
                        arena_printf(q->arena, "%s%s", r->meta.uid,
                                     q->principal->type == PRINCIPAL_ADMINISTRATOR
                                         ? ADMITTED_BY_ADMINISTRATOR
                                         : ""));
    return true;
}
