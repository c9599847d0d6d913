/* SPDX-License-Identifier: Apache-2.0 */
/* update.h - stores a changed tree of an existing object: check, admit,
 * validate, put; shared by replace, the patches and changes by the server
 *
 * Thread:  the loop's.
 */
#pragma once

struct json;
struct object;
struct request;

/* Makes the reply and finishes the request. The tree is normalized; its
 * resourceVersion, if it has one, must be the object's.
 */
void update_finish(struct request *q, const struct object *old_object, struct json *old_tree,
                   struct json *tree);

/* Creates the object that the route names, from q->body. It does not exist yet.
 */
void update_create_instead(struct request *q);
