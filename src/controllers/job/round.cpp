#include "controllers/job/round.h"

#include <charconv>

namespace hekla::controllers {

bool is_out_of_sync(const model::Pod& pod) {
  return pod.metadata.annotation(model::keys::out_of_sync) == "true";
}

std::optional<std::int32_t> pod_version(const model::Pod& pod) {
  const std::string& text = pod.metadata.annotation(model::keys::job_version);
  std::int32_t version = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return version;
}

}  // namespace hekla::controllers
