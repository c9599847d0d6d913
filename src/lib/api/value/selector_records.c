/* SPDX-License-Identifier: Apache-2.0 */
/* selector_records.c - field tables of label and node selectors */
#include "lib/api/value/rows.h"
#include "lib/api/value/selector.h"

/* clang-format off */
static const struct field label_selector_requirement_fields[] = {
    STRING("key", selector_requirement, key, ALWAYS | REQUIRED,
        HELP("The label.")),
    STRING("operator", selector_requirement, operator_, ALWAYS | REQUIRED,
        HELP("In, NotIn, Exists or DoesNotExist.")),
    LIST(STRING, "values", selector_requirement, values, 0,
        HELP("The values it is compared with.")),
};
static RECORD(label_selector_requirement, selector_requirement,
       "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
       MESSAGE("key operator values"),
       HELP("A condition on a label."));

static const struct field label_selector_fields[] = {
    MAP(STRING, "matchLabels", label_selector, match_labels, 0,
        HELP("Labels with these values.")),
    OBJECTS("matchExpressions", label_selector, match_expressions,
        label_selector_requirement, 0,
        HELP("All of these must hold.")),
};
RECORD(label_selector, label_selector,
       "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
       MESSAGE("matchLabels matchExpressions"),
       HELP("Objects by their labels; both must hold. An empty one "
            "selects all."), ATOMIC);

static const struct field node_selector_requirement_fields[] = {
    STRING("key", selector_requirement, key, ALWAYS | REQUIRED,
        HELP("The label or field.")),
    STRING("operator", selector_requirement, operator_, ALWAYS | REQUIRED,
        ONE_OF("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"),
        HELP("In, NotIn, Exists, DoesNotExist, Gt or Lt.")),
    LIST(STRING, "values", selector_requirement, values, 0,
        HELP("The values it is compared with.")),
};
static RECORD(node_selector_requirement, selector_requirement,
       "io.k8s.api.core.v1.NodeSelectorRequirement",
       MESSAGE("key operator values"),
       HELP("A condition on a label or field of a node."));

static const struct field node_selector_term_fields[] = {
    OBJECTS("matchExpressions", node_selector_term, match_expressions,
        node_selector_requirement, 0,
        HELP("On labels.")),
    OBJECTS("matchFields", node_selector_term, match_fields,
        node_selector_requirement, 0,
        HELP("On fields: metadata.name.")),
};
RECORD(node_selector_term, node_selector_term,
       "io.k8s.api.core.v1.NodeSelectorTerm",
       MESSAGE("matchExpressions matchFields"),
       HELP("Conditions that must all hold."), ATOMIC);

static const struct field node_selector_fields[] = {
    OBJECTS("nodeSelectorTerms", node_selector, terms, node_selector_term,
        ALWAYS | REQUIRED,
        HELP("One match is enough.")),
};
RECORD(node_selector, node_selector, "io.k8s.api.core.v1.NodeSelector",
       MESSAGE("nodeSelectorTerms"),
       HELP("Some nodes."), ATOMIC);
/* clang-format on */
