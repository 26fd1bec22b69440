// The webhooks that are configured, read once for as long as nobody changes a configuration.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apiserver/auth/policy_expression.h"
#include "apiserver/object/registry.h"
#include "base/result.h"
#include "json/value.h"
#include "store/store.h"

namespace hekla::apiserver {

struct Webhook {
  json::Value spec;
  std::string id;  // unique among all: names are so within one configuration only
  std::string name;
  bool ignores_failure = false;
  std::vector<PolicyExpression> conditions;  // matchConditions
};
using WebhookList = std::shared_ptr<const std::vector<Webhook>>;

// Thread-safe.
class WebhookConfigurations {
 public:
  // The webhooks of the snapshot, in the order of their configurations' names.
  WebhookList at(const store::Snapshot& snapshot, const Catalog& catalog, bool mutating);

 private:
  struct Known {
    std::vector<store::ItemPtr> items;
    WebhookList webhooks = std::make_shared<std::vector<Webhook>>();
  };
  std::mutex mutex_;
  Known known_[2];
};

}  // namespace hekla::apiserver
