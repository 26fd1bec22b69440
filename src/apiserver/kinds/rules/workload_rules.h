// Rules shared by the kinds that make pods from a template: the selector that must find the
// template's pods, and the columns.
#pragma once

#include <string_view>

#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {

// spec.selector must be there, not empty, and match the template's labels.
void validate_selector_and_template(const Field& spec, std::string_view owner, Rules& rules);
// The template, and the restart policy such pods must have.
void validate_always_template(const Field& pod_template, std::string_view owner, Rules& rules);
// The wide cells Containers, Images, Selector of the template at spec.template.
void append_template_cells(const json::Value& object, json::Array& cells,
                           bool with_selector = true);
// Defaults of the template member of a spec.
void default_template_in(json::Object& spec);

}  // namespace hekla::apiserver
