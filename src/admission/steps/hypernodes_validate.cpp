// validatehypernode.volcano.sh: a hypernode has members, and patterns that can be read.
#include "admission/step.h"
#include "cel/pattern.h"

namespace hekla::admission {
namespace {

Result<void> validate(const Settings&, const kube::AdmissionRequest&, const json::Value& object) {
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

bool matches(const kube::Resource& resource, kube::Operation operation,
             std::string_view subresource) {
  return resource == kube::resources::hyper_nodes && operation != kube::Operation::remove &&
         subresource.empty();
}

}  // namespace

extern const Step step_hypernodes_validate;
const Step step_hypernodes_validate{"validatehypernode.volcano.sh", "/hypernodes/validate", matches,
                                    nullptr, validate};

}  // namespace hekla::admission
