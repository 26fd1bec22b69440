// validatepod.volcano.sh: the disruption budget of a pod that names our scheduler: one of two
// annotations, a positive number or a percentage between 1 and 99.
#include <charconv>

#include "admission/step.h"
#include "admission/text.h"
#include "model/volcano.h"

namespace hekla::admission {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string budget_error(const std::string& key, const std::string& value) {
  if (std::optional<std::int64_t> number = parse_number(value)) {
    if (*number > 0) return {};
    return "invalid value <" + quoted(value) + "> for " + key + ", it must be a positive integer";
  }
  std::string digits = value;
  std::erase(digits, '%');
  std::optional<std::int64_t> percent = parse_number(digits);
  if (!percent)
    return "invalid value strconv.Atoi: parsing " + quoted(digits) + ": invalid syntax for " + key;
  if (*percent > 0 && *percent < 100) return {};
  return "invalid value <" + quoted(value) + "> for " + key +
         ", it must be a valid percentage which between 1% ~ 99%";
}

Result<void> validate_pod(const Settings& settings, const kube::AdmissionRequest&,
                          const json::Value& pod) {
  if (!settings.names_our_scheduler(pod)) return {};
  const std::vector<std::string> keys = {model::keys::jdb_min_available,
                                         model::keys::jdb_max_unavailable};
  std::size_t given = 0;
  const json::Object* annotations = json::object_at(pod, {"metadata", "annotations"});
  for (const std::string& key : keys) {
    const json::Value* value = annotations ? json::find(*annotations, key) : nullptr;
    if (!value || !value->is_string()) continue;
    ++given;
    TRY(deny_if(budget_error(key, std::string(json::sv(value->get_string())))));
  }
  if (given < 2) return {};
  return fail(Code::bad_request,
              "not allow configure multiple annotations <" + bracketed(keys) + "> at same time");
}

}  // namespace

extern const Step step_pods_validate;
const Step step_pods_validate{
    .name = "validatepod.volcano.sh",
    .path = "/pods/validate",
    .resources = {&kube::resources::pods},
    .when = Step::When::create,
    .validate = validate_pod,
};

}  // namespace hekla::admission
