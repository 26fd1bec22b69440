// Where the scheduler's configuration comes from while it runs: a ConfigMap in the API (made with
// the default when there is none), or a text someone else reads, such as a file. A new text that
// cannot be used is reported once, in the log and as an event on the ConfigMap, and changes
// nothing.
//
// Lives on the client's executor.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "model/core.h"

namespace hekla::scheduler {

class ConfigurationSource {
 public:
  // Takes a text into use and says what of it has no effect, or what is wrong with it.
  using Use = std::function<Result<std::vector<std::string>>(const std::string& text)>;
  using Read = std::function<Result<std::string>()>;

  // `metadata`: labels and annotations of a map that is made.
  ConfigurationSource(kube::Client& client, kube::Key config_map, json::Object metadata, Use use);
  ConfigurationSource(kube::Client& client, Read read, Nanos interval, Use use);

  // `ready` runs once, when the first text has been tried.
  void start(std::function<void()> ready);
  bool ready() const { return is_ready_; }

 private:
  void follow_map();
  void map_changed(const model::ConfigMap& map);
  void make_map();
  void make_map_later();
  void poll();
  void take(const std::string& text, const kube::EventTarget* about);
  void become_ready();

  kube::Client& client_;
  kube::Key key_;
  json::Object metadata_;
  bool making_ = false;  // the map, when those who deleted it have seen it gone
  Read read_;
  Nanos interval_{};
  Use use_;
  std::function<void()> on_ready_;
  kube::Informer<model::ConfigMap> maps_;
  kube::EventRecorder events_;
  bool is_ready_ = false;
  bool refused_ = false;  // the last text was
  bool seen_ = false;
  std::optional<std::string> last_;  // absent: the map had none
  std::string read_error_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hekla::scheduler
