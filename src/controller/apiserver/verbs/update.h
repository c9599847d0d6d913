/* SPDX-License-Identifier: Apache-2.0 */
/* update.h - a changed tree of an object that is there: check, admit,
 * validate, put; shared by replace, the patches and what changes on its own
 *
 * Thread:  the loop's.
 */
#pragma once

struct json;
struct object;
struct request;

/* Makes the reply and ends the request. The tree is normalized; its
 * resourceVersion, if it has one, must be the object's.
 */
void update_finish(struct request *q,
                   const struct object *old_object,
                   struct json *old_tree,
                   struct json *tree);

/* Creates what the route names and is not there, from q->body. */
void update_create_instead(struct request *q);
