#include "apiserver/kinds/rules/workload_rules.h"

#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/pod/pod_rules.h"
#include "model/selector.h"

namespace hekla::apiserver {

void validate_selector_and_template(const Field& spec, std::string_view owner, Rules& rules) {
  Field selector = spec["selector"];
  if (!selector.present()) {
    if (owner != "daemonset") rules.required(selector);
  } else {
    rules.selector(selector);
    if (selector["matchLabels"].members().empty() && selector["matchExpressions"].items().empty())
      rules.invalid(selector, "empty selector is invalid for " + std::string(owner));
  }
  auto parsed = model::Selector::from_label_selector(selector.value());
  if (!parsed) return;
  model::Labels labels;
  Field given = spec["template"]["metadata"]["labels"];
  for (const auto& label : given.members()) labels.emplace(label.key(), scalar_text(label.value()));
  // No selector selects nothing, an empty one everything.
  if (!selector.present() || !parsed->matches(labels))
    rules.invalid(given, "`selector` does not match template `labels`");
}

void validate_always_template(const Field& pod_template, std::string_view owner, Rules& rules) {
  validate_pod_template(pod_template, rules);
  Field spec = pod_template["spec"];
  if (spec["restartPolicy"].text() != "Always")
    rules.unsupported(spec["restartPolicy"], {"Always"});
  if (spec["activeDeadlineSeconds"].present())
    rules.forbidden(spec["activeDeadlineSeconds"],
                    "activeDeadlineSeconds in " + std::string(owner) + " is not Supported");
}

void append_template_cells(const json::Value& object, json::Array& cells, bool with_selector) {
  const json::Array* containers =
      json::array_at(object, {"spec", "template", "spec", "containers"});
  cells.emplace_back(container_names(containers));
  cells.emplace_back(container_images(containers));
  if (with_selector)
    cells.emplace_back(selector_text(json::find_path(object, {"spec", "selector"})));
}

void default_template_in(json::Object& spec) {
  if (json::Value* pod_template = spec.if_contains("template")) default_pod_template(*pod_template);
}

}  // namespace hekla::apiserver
