#include "controllers/training/progress.h"

#include <charconv>

#include "json/parse.h"

namespace hekla::controllers::training {
namespace {

constexpr std::int32_t kIndexMax = 1'000'000;

// "0-3,7"
std::string ranges(const std::set<std::int32_t>& indices) {
  std::string text;
  for (auto at = indices.begin(); at != indices.end();) {
    const std::int32_t first = *at;
    std::int32_t last = first;
    for (++at; at != indices.end() && *at == last + 1; ++at) last = *at;
    if (!text.empty()) text += ",";
    text += std::to_string(first);
    if (last != first) text += "-" + std::to_string(last);
  }
  return text;
}

std::set<std::int32_t> read_ranges(std::string_view text) {
  std::set<std::int32_t> indices;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::int32_t first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) return {};
    std::int32_t last = first;
    if (read.ptr < end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || first < 0 || last < first || last > kIndexMax) return {};
    for (std::int32_t i = first; i <= last; ++i) indices.insert(i);
    at = read.ptr + 1;
  }
  return indices;
}

}  // namespace

Progress read_progress(const framework::AnyObject& job) {
  Progress progress;
  const std::string& text = job.metadata.annotation(kProgressAnnotation);
  if (text.empty()) return progress;
  Result<json::Value> parsed = json::parse(text);
  if (!parsed) return progress;
  progress.restarts = json::int_at(*parsed, {"restarts"});
  if (const json::Array* uids = json::array_at(*parsed, {"counted"}))
    for (const json::Value& uid : *uids)
      if (uid.is_string()) progress.counted.emplace(json::sv(uid.get_string()));
  if (const json::Object* roles = json::object_at(*parsed, {"completed"}))
    for (const auto& role : *roles)
      if (role.value().is_string())
        progress.completed[role.key()] = read_ranges(json::sv(role.value().get_string()));
  return progress;
}

std::string to_text(const Progress& progress) {
  json::Object made;
  if (progress.restarts > 0) made["restarts"] = progress.restarts;
  if (!progress.counted.empty()) {
    json::Array uids;
    for (const std::string& uid : progress.counted) uids.emplace_back(uid);
    made["counted"] = std::move(uids);
  }
  json::Object roles;
  for (const auto& [role, indices] : progress.completed)
    if (!indices.empty()) roles[role] = ranges(indices);
  if (!roles.empty()) made["completed"] = std::move(roles);
  return made.empty() ? std::string() : json::serialize(made);
}

}  // namespace hekla::controllers::training
