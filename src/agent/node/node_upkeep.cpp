#include "agent/node/node_upkeep.h"

#include <algorithm>

namespace hekla::agent {
namespace {

constexpr std::size_t kMostImages = 50;  // in the node's status

std::vector<std::string> empty_dirs(const model::Pod& pod) {
  std::vector<std::string> out;
  for (const json::Value& volume : pod.spec.volumes)
    if (json::find(volume, "emptyDir")) out.emplace_back(json::string_at(volume, {"name"}));
  return out;
}

}  // namespace

Result<std::unique_ptr<NodeUpkeep>> NodeUpkeep::make(Parts parts, const EvictionFlags& flags,
                                                     const ImageGcOptions& images) {
  std::vector<EvictionThreshold> thresholds = TRY(parse_thresholds(flags));
  TRY(check_image_gc(images));
  auto out = std::make_unique<NodeUpkeep>(std::move(parts));
  Executor& executor = out->parts_.client.executor();
  out->eviction_ = std::make_unique<EvictionWatch>(executor, std::move(thresholds), flags,
                                                   out->eviction_hooks());
  out->images_ = std::make_unique<ImageGc>(executor, images, out->image_hooks());
  return out;
}

void NodeUpkeep::start() {
  eviction_->start();
  images_->start();
}

std::optional<std::string> NodeUpkeep::refusal(const model::Pod& pod) const {
  return refusal_under(pressure_, pod);
}

void NodeUpkeep::node_event(const char* type, const std::string& reason,
                            const std::string& message) {
  // The kubelet gives its node's name for the uid, and kubectl describe node looks for that.
  parts_.events.record({"v1", "Node", "", parts_.node_name, parts_.node_name}, type, reason,
                       message);
}

EvictionHooks NodeUpkeep::eviction_hooks() {
  EvictionHooks hooks;
  hooks.read = [this](Done<NodeReadings> done) { parts_.machine.read_node(std::move(done)); };
  hooks.measure = [this](std::set<std::string> disk_of, Done<EvictionHooks::Uses> done) {
    measure(std::move(disk_of), std::move(done));
  };
  hooks.running_pods = [this] {
    std::set<std::string> out;
    for (const auto& [uid, worker] : parts_.pods.workers())
      if (worker->record().outcome.empty()) out.insert(uid);
    return out;
  };
  hooks.limited_pods = [this] {
    std::set<std::string> out;
    for (const auto& [uid, worker] : parts_.pods.workers())
      if (worker->record().outcome.empty() && has_storage_limits(*worker->pod())) out.insert(uid);
    return out;
  };
  hooks.reclaim_disk = [this](Done<void> done) { parts_.machine.prune_images(std::move(done)); };
  hooks.evict = [this](const std::string& uid, const std::string& message, Nanos grace) {
    if (PodWorker* worker = parts_.pods.find(uid)) worker->evict(message, grace);
  };
  hooks.report = [this](const NodePressure& pressure) { report(pressure); };
  hooks.event = [this](const std::string& reason, const std::string& message) {
    node_event("Warning", reason, message);
  };
  return hooks;
}

ImageGcHooks NodeUpkeep::image_hooks() {
  ImageGcHooks hooks;
  hooks.read_disk = [this](Done<SignalReading> done) {
    parts_.machine.read_node([done = std::move(done)](Result<NodeReadings> readings) mutable {
      if (!readings) return done(std::unexpected(readings.error()));
      done((*readings)["imagefs.available"]);
    });
  };
  hooks.list = [this](Done<std::vector<StoredImage>> done) {
    parts_.machine.list_images(std::move(done));
  };
  hooks.in_use = [this] {
    std::set<std::string> out;
    for (const auto& [uid, worker] : parts_.pods.workers())
      for (const ContainerRecord& container : worker->record().containers)
        if (container.current) out.insert(container.current->image_id);
    return out;
  };
  hooks.remove = [this](std::vector<std::string> names, Done<Removed> done) {
    parts_.machine.remove_images(std::move(names), std::move(done));
  };
  hooks.report = [this](std::vector<StoredImage> images) {
    std::ranges::stable_sort(images, std::ranges::greater(), &StoredImage::size);
    std::vector<NodeImage> out;
    for (const StoredImage& image : images) {
      auto same = std::ranges::find_if(out, [&](const NodeImage& one) {
        return std::ranges::find(one.names, image.id) != one.names.end();
      });
      if (same == out.end()) {
        if (out.size() == kMostImages) break;
        out.push_back({{image.id}, image.size});
        same = out.end() - 1;
      }
      if (image.name != image.id) same->names.push_back(image.name);
    }
    parts_.node.set_images(std::move(out));
  };
  hooks.event = [this](const std::string& reason, const std::string& message) {
    node_event("Warning", reason, message);
  };
  return hooks;
}

void NodeUpkeep::report(const NodePressure& pressure) {
  auto changed = [&](bool before, bool after, const char* yes, const char* no) {
    if (before == after) return;
    const std::string reason = after ? yes : no;
    node_event("Normal", reason, "Node " + parts_.node_name + " status is now: " + reason);
  };
  changed(pressure_.memory, pressure.memory, "NodeHasInsufficientMemory",
          "NodeHasSufficientMemory");
  changed(pressure_.disk, pressure.disk, "NodeHasDiskPressure", "NodeHasNoDiskPressure");
  changed(pressure_.pids, pressure.pids, "NodeHasInsufficientPID", "NodeHasSufficientPID");
  pressure_ = pressure;
  parts_.node.set_pressure(pressure);
}

void NodeUpkeep::measure(std::set<std::string> disk_of, Done<EvictionHooks::Uses> done) {
  EvictionHooks::Uses uses;
  std::vector<MeasuredUse> wanted;
  for (const auto& [uid, worker] : parts_.pods.workers()) {
    const PodRecord& record = worker->record();
    if (!record.outcome.empty()) continue;
    std::shared_ptr<const model::Pod> pod = worker->pod();
    uses.keep.push_back(pod);
    MeasuredUse one{record, disk_of.contains(uid), empty_dirs(*pod)};
    wanted.push_back(std::move(one));
    PodUse use;
    use.uid = uid;
    use.pod = pod.get();
    uses.pods.push_back(std::move(use));
  }
  parts_.machine.measure_uses(std::move(wanted), [uses = std::move(uses), done = std::move(done)](
                                                     Result<std::vector<PodUse>> measured) mutable {
    if (!measured) return done(std::unexpected(measured.error()));
    for (std::size_t i = 0; i < uses.pods.size(); ++i) {
      (*measured)[i].uid = uses.pods[i].uid;
      (*measured)[i].pod = uses.pods[i].pod;
    }
    uses.pods = std::move(*measured);
    done(std::move(uses));
  });
}

}  // namespace hekla::agent
