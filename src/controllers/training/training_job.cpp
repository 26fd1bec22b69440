#include "controllers/training/training_job.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace hekla::controllers::training {
namespace {

json::Array& env_of(json::Object& container) {
  json::Value& env = json::member_of(container, "env");
  if (!env.is_array()) env = json::Array();
  return env.get_array();
}

}  // namespace

const Replica* TrainingJob::find(std::string_view type) const {
  for (const Replica& one : replicas)
    if (one.type == type) return &one;
  return nullptr;
}

std::int32_t TrainingJob::total() const {
  std::int32_t sum = 0;
  for (const Replica& one : replicas)
    if (!one.bystander) sum += one.replicas;
  return sum;
}

std::string TrainingJob::pod_name(const Replica& replica, std::int32_t index) const {
  std::string made = name + "-" + replica.lower;
  if (replica.numbered) made += "-" + std::to_string(index);
  std::replace(made.begin(), made.end(), '/', '-');
  return made;
}

std::optional<std::int32_t> TrainingJob::index_of(const Replica& replica,
                                                  std::string_view pod) const {
  if (!replica.numbered) {
    if (pod == pod_name(replica, 0)) return 0;
    return std::nullopt;
  }
  const std::size_t dash = pod.rfind('-');
  std::int32_t index = 0;
  if (dash == std::string_view::npos) return std::nullopt;
  const char* const end = pod.data() + pod.size();
  const auto read = std::from_chars(pod.data() + dash + 1, end, index);
  if (read.ec != std::errc() || read.ptr != end || pod != pod_name(replica, index))
    return std::nullopt;
  return index;
}

std::map<std::string, std::string> TrainingJob::selector() const {
  return {{labels::operator_name, operator_name}, {labels::job_name, name}};
}

std::string lowered(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return made;
}

void append_env(json::Object& container, std::string_view name, std::string_view value) {
  env_of(container).push_back(json::Object{{"name", name}, {"value", value}});
}

void append_env_field(json::Object& container, std::string_view name, std::string_view field_path) {
  env_of(container).push_back(json::Object{
      {"name", name},
      {"valueFrom", json::Object{{"fieldRef", json::Object{{"fieldPath", field_path}}}}}});
}

}  // namespace hekla::controllers::training
