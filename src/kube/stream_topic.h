// A topic of the page's stream (/hekla/v1/stream): data that are no Kubernetes objects, such as the
// runs of pipelines or the progress of a build. A module makes topics, main hands them to the
// dashboard, and a page subscribes by name. Like an object's watch, a subscription begins with a
// snapshot and goes on with changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/user.h"

namespace hekla::kube {

struct TopicRequest {
  User user;  // the topic itself decides what they may see
  std::map<std::string, std::string> parameters;
  std::string cursor;  // of the last message that was seen; empty: begin with a snapshot
};

struct TopicChange {
  enum class Type { added, modified, deleted } type = Type::added;
  std::string json;  // one item; an item is told from others by its metadata.uid, or its member uid
};

// Where a topic's messages go. Thread-safe; after the page has gone, calls do nothing.
class TopicSink {
 public:
  virtual ~TopicSink() = default;
  // All there is now, instead of what was told before. `cursor` may be empty: it cannot be resumed.
  virtual void snapshot(std::vector<std::string> items, std::string cursor) = 0;
  virtual void changes(std::vector<TopicChange> changes, std::string cursor) = 0;
  // The subscription has ended.
  virtual void fail(Error error) = 0;
};

// Destroying it ends the subscription.
class TopicSubscription {
 public:
  virtual ~TopicSubscription() = default;
};

struct StreamTopic {
  std::string name;  // "runs"
  // On the dashboard's loop; must not block.
  std::function<std::unique_ptr<TopicSubscription>(TopicRequest, std::shared_ptr<TopicSink>)> begin;
};
using StreamTopics = std::vector<StreamTopic>;

}  // namespace hekla::kube
