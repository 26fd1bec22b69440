#include "scheduler/loop/configuration_source.h"

#include "base/log.h"
#include "scheduler/session/configuration.h"

namespace hekla::scheduler {

namespace {

const std::string kMember = "volcano-scheduler.conf";
const std::string kComponent = "volcano";

}  // namespace

ConfigurationSource::ConfigurationSource(kube::Client& client, kube::Key config_map,
                                         json::Object metadata, Use use)
    : client_(client),
      key_(std::move(config_map)),
      metadata_(std::move(metadata)),
      use_(std::move(use)),
      maps_(client, kube::resources::config_maps, {key_.ns, "", "metadata.name=" + key_.name}),
      events_(client, kComponent) {}

ConfigurationSource::ConfigurationSource(kube::Client& client, Read read, Nanos interval, Use use)
    : client_(client),
      read_(std::move(read)),
      interval_(interval),
      use_(std::move(use)),
      maps_(client, kube::resources::config_maps),
      events_(client, kComponent) {}

void ConfigurationSource::start(std::function<void()> ready) {
  on_ready_ = std::move(ready);
  if (read_)
    poll();
  else
    follow_map();
}

void ConfigurationSource::become_ready() {
  if (is_ready_) return;
  is_ready_ = true;
  on_ready_();
}

void ConfigurationSource::follow_map() {
  using Ref = kube::Informer<model::ConfigMap>::Ref;
  maps_.on_change([this](const Ref&, const Ref& after) {
    if (after && after->metadata.name == key_.name && after->metadata.ns == key_.ns)
      map_changed(*after);
  });
  maps_.on_settled([this] {
    if (!maps_.synced()) return;
    const bool is_there = maps_.get(key_) != nullptr;
    if (is_ready_ && !is_there) make_map_later();
    if (is_ready_) return;
    if (!is_there) make_map();
    become_ready();
  });
  maps_.start();
}

void ConfigurationSource::map_changed(const model::ConfigMap& map) {
  kube::EventTarget target{"v1", "ConfigMap", key_.ns, key_.name, map.metadata.uid, 0};
  // Upstream reads whichever file the map puts into the directory; in practice there is this one.
  auto found = map.data.find(kMember);
  if (found != map.data.end()) return take(found->second, &target);
  if (seen_ && !last_) return;
  refused_ = true;
  last_.reset();
  seen_ = true;
  std::string problem = "the scheduler configuration is not used: data has no " + kMember;
  log_error("scheduler", problem, {{"configmap", key_.ns + "/" + key_.name}});
  events_.record(target, "Warning", "InvalidConfiguration", problem);
}

// Only what is missing is made: a map that someone has edited is theirs.
void ConfigurationSource::make_map() {
  json::Object metadata = metadata_;
  metadata["name"] = key_.name;
  metadata["namespace"] = key_.ns;
  kube::Write write;
  write.verb = kube::Write::Verb::create;
  write.resource = kube::resources::config_maps;
  write.key = key_;
  write.body =
      json::Object{{"apiVersion", "v1"},
                   {"kind", "ConfigMap"},
                   {"metadata", std::move(metadata)},
                   {"data", json::Object{{kMember, std::string(helm_default_configuration())}}}};
  client_.write(std::move(write), [this, weak = std::weak_ptr<bool>(alive_)](
                                      const kube::WriteResult& result) {
    if (result || result.error().code == Code::already_exists) return;
    log_debug("scheduler", "the ConfigMap of the scheduler configuration was not made",
              {{"error", result.error().message}});
    if (weak.lock()) make_map_later();
  });
}

// Clients that delete it and wait for its end must have time to see it gone. Its namespace may be
// gone with it, for a while.
void ConfigurationSource::make_map_later() {
  if (std::exchange(making_, true)) return;
  client_.executor().post_after(std::chrono::seconds(2),
                                [this, weak = std::weak_ptr<bool>(alive_)] {
                                  if (!weak.lock()) return;
                                  making_ = false;
                                  if (!maps_.get(key_)) make_map();
                                });
}

void ConfigurationSource::poll() {
  Result<std::string> text = read_();
  if (text) {
    read_error_.clear();
    take(*text, nullptr);
  } else if (text.error().message != read_error_) {
    read_error_ = text.error().message;
    log_error("scheduler", "the scheduler configuration cannot be read; the old one stays",
              {{"error", read_error_}});
  }
  become_ready();
  client_.executor().post_after(interval_, [this, weak = std::weak_ptr<bool>(alive_)] {
    if (weak.lock()) poll();
  });
}

void ConfigurationSource::take(const std::string& text, const kube::EventTarget* about) {
  if (seen_ && text == last_) return;
  bool first = !seen_;
  seen_ = true;
  last_ = text;
  Result<std::vector<std::string>> used = use_(text);
  if (used) {
    for (const std::string& warning : *used)
      if (about != nullptr)
        events_.record(*about, "Warning", "ConfigurationWithoutEffect", warning);
    if (!first) log_info("scheduler", "a new configuration is in use");
    if (about != nullptr && refused_)
      events_.record(*about, "Normal", "ConfigurationLoaded",
                     "the scheduler configuration is valid again and in use");
    refused_ = false;
    return;
  }
  refused_ = true;
  std::string problem =
      "the scheduler configuration is not used, the old one stays: " + used.error().message;
  log_error("scheduler", problem);
  if (about != nullptr) events_.record(*about, "Warning", "InvalidConfiguration", problem);
}

}  // namespace hekla::scheduler
