// Events as kubectl describe shows them: repeated ones are one object with a count, many similar
// ones are combined, and nobody is flooded: client-go's correlator, with its numbers.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kube/client.h"
#include "model/meta.h"

namespace hekla::kube {

struct EventTarget {
  std::string api_version, kind;
  std::string ns, name, uid;
  std::uint64_t resource_version = 0;
};

// Lives on the client's executor. Writes go out in batches and never block or fail the caller; at
// most 4096 are waiting, older ones are dropped first.
class EventRecorder {
 public:
  EventRecorder(Client& client, std::string component, std::string host = {});
  ~EventRecorder();
  // `type` is "Normal" or "Warning". An event equal in target, type, reason and message to one of
  // the last ten minutes raises that one's count and lastTimestamp. From the tenth message on that
  // differs within ten minutes, those of one target, type and reason are one event, "(combined from
  // similar events): ..." the last. A target's events of one type are dropped after 25, and then
  // but for one every five minutes.
  void record(const EventTarget& target, const std::string& type, const std::string& reason,
              const std::string& message);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::kube
