#include "controllers/volcano/job/round.h"

#include <charconv>

#include "controllers/volcano/job/state_machine.h"

namespace hekla::controllers {

std::optional<WallTime> deadline_of(const JobView& view) {
  const model::VcJob& job = *view.job;
  Phase phase = parse_phase(job.status.state.phase);
  if (phase != Phase::pending && phase != Phase::running && phase != Phase::restarting)
    return std::nullopt;
  std::int64_t seconds = 0;
  const std::string& text = job.metadata.annotation("hekla.io/active-deadline-seconds");
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr std::int64_t kForEver = 4'000'000'000;  // a time has no room for much more
  if (seconds <= 0 || seconds > kForEver) return std::nullopt;
  std::optional<WallTime> oldest;
  for (const PodRef& pod : view.pods)
    if (const auto& made = pod->metadata.creationTimestamp.at; made && (!oldest || *made < *oldest))
      oldest = made;
  if (!oldest) return std::nullopt;
  return *oldest + std::chrono::seconds(seconds);
}

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
