// References of a pod's variables and files to the pod itself: its fields and its containers'
// amounts.
#include <algorithm>

#include "apiserver/kinds/pod/pod_rules.h"
#include "model/names.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

const std::vector<std::string> kVariableFields{"metadata.name",
                                               "metadata.namespace",
                                               "metadata.uid",
                                               "spec.nodeName",
                                               "spec.serviceAccountName",
                                               "status.hostIP",
                                               "status.hostIPs",
                                               "status.podIP",
                                               "status.podIPs"};
const std::vector<std::string> kFileFields{"metadata.annotations", "metadata.labels",
                                           "metadata.name", "metadata.namespace", "metadata.uid"};
// Fields that exist, though neither variables nor files may have them.
const std::vector<std::string> kOtherFields{"spec.restartPolicy", "spec.schedulerName",
                                            "status.phase"};
const std::vector<std::string> kAmounts{
    "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory"};

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool is_amount(std::string_view resource) {
  return contains(kAmounts, resource) || resource.starts_with("requests.hugepages-") ||
         resource.starts_with("limits.hugepages-");
}

void check_divisor(const Field& reference, Rules& rules) {
  auto divisor = model::Quantity::from_json(reference["divisor"].value());
  if (!reference["divisor"].present() || !divisor || divisor->is_zero()) return;
  const std::string_view resource = reference["resource"].text();
  if (!is_amount(resource)) return;
  const std::string text = divisor->text();
  const bool cpu = resource.ends_with(".cpu");
  static const std::vector<std::string> kUnits{"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                               "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
  if (cpu ? text == "1m" || text == "1" : contains(kUnits, text)) return;
  const std::string_view what = resource.ends_with(".memory") ? "memory"
                                : resource.ends_with(".ephemeral-storage")
                                    ? "local ephemeral storage"
                                    : "hugepages";
  rules.invalid(reference["divisor"], json::Value(resource),
                cpu ? "only divisor's values 1m and 1 are supported with the cpu resource"
                    : "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, "
                      "1Ei are supported "
                      "with the " +
                          std::string(what) + " resource");
}

// metadata.labels['a']
bool check_subscript(const Field& reference, std::string_view text, Rules& rules) {
  const std::size_t open = text.find("['");
  if (!text.ends_with("']") || open == std::string_view::npos || open == 0) return false;
  const std::string_view path = text.substr(0, open);
  std::string name(text.substr(open + 2, text.size() - open - 4));
  if (path == "metadata.annotations")
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (path != "metadata.annotations" && path != "metadata.labels")
    rules.invalid(
        reference["fieldPath"],
        "error converting fieldPath: field label does not support subscript: " + std::string(text));
  else
    for (const std::string& why : model::qualified_name_errors(name))
      rules.invalid(reference, json::Value(name), why);
  return true;
}

}  // namespace

void validate_field_reference(const Field& reference, bool file, Rules& rules) {
  const Field path = reference["fieldPath"];
  if (!rules.need_text(reference["apiVersion"]) || !rules.need_text(path)) return;
  if (reference["apiVersion"].text() != "v1") {
    rules.invalid(path, "error converting fieldPath: unsupported pod version: " +
                            std::string(reference["apiVersion"].text()));
    return;
  }
  if (check_subscript(reference, path.text(), rules)) return;
  const std::string_view name = path.text() == "spec.host" ? "spec.nodeName" : path.text();
  const std::vector<std::string>& allowed = file ? kFileFields : kVariableFields;
  if (contains(allowed, name)) return;
  if (contains(kVariableFields, name) || contains(kFileFields, name) ||
      contains(kOtherFields, name))
    rules.unsupported(path, allowed);
  else
    rules.invalid(path,
                  "error converting fieldPath: field label not supported: " + std::string(name));
}

void validate_resource_reference(const Field& reference, bool file, Rules& rules) {
  const Field resource = reference["resource"];
  if (file && reference["containerName"].text().empty())
    rules.required(reference["containerName"]);
  else if (rules.need_text(resource) && !is_amount(resource.text()))
    rules.unsupported(resource, kAmounts);
  check_divisor(reference, rules);
}

}  // namespace hekla::apiserver
