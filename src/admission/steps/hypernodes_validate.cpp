// validatehypernode.volcano.sh: a hypernode has members, and patterns that can be read.
#include "admission/step.h"
#include "cel/pattern.h"

namespace hekla::admission {
namespace {

Result<void> validate_hyper_node(const Settings&, const kube::AdmissionRequest&,
                                 const json::Value& object) {
  const json::Array* members = json::array_at(object, {"spec", "members"});
  if (!members || members->empty())
    return fail(Code::bad_request, "member must have at least one member");
  for (const json::Value& member : *members) {
    std::string pattern(json::string_at(member, {"selector", "regexMatch", "pattern"}));
    if (auto compiled = cel::Pattern::compile(pattern); !compiled)
      return fail(Code::bad_request,
                  "member regexMatch pattern is invalid: " + compiled.error().message);
  }
  return {};
}

}  // namespace

extern const Step step_hypernodes_validate;
const Step step_hypernodes_validate{
    .name = "validatehypernode.volcano.sh",
    .path = "/hypernodes/validate",
    .resources = {&kube::resources::hyper_nodes},
    .when = Step::When::create_or_update,
    .validate = validate_hyper_node,
};

}  // namespace hekla::admission
