// Conversion of custom resources by their CRD's webhook (spec.conversion.strategy Webhook). At rest
// an object is in the version that was the storage version when it was written; whoever asks for
// another gets it by way of the webhook. A converted object is an Item like any other, so that
// nothing behind the conversion knows of it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/gates/webhooks.h"
#include "apiserver/object/registry.h"
#include "apiserver/object/write_scope.h"
#include "base/executor.h"
#include "store/store.h"

namespace hekla::apiserver {

// Where a CRD has its objects converted.
struct WebhookConversion {
  json::Value client_config;
  std::string review_version;  // v1 or v1beta1: the first of the CRD's list that is known; empty
                               // without any
};
// Of a CRD; null when its versions differ in name alone.
std::shared_ptr<const WebhookConversion> conversion_of_crd(const json::Value& crd);

// "x.io/v2": the version the bytes are in.
std::string_view stored_version(const store::Item& item);

// Thread-safe.
class Conversions {
 public:
  Conversions(const store::Store& store, const Registry& registry, WebhookTransport* transport,
              Rng& rng)
      : store_(store), registry_(registry), transport_(transport), rng_(rng) {}
  void set_transport(WebhookTransport* transport) { transport_ = transport; }

  // The items as `served` shows them, all asked for in one review. `done` runs before the call
  // returns when nothing had to be asked, otherwise on `continuation`.
  using Done = std::move_only_function<void(Result<std::vector<store::ItemPtr>>)>;
  void convert(ServedPtr served, std::vector<store::ItemPtr> items, Executor& continuation,
               Done done);
  // Whether all of them can be shown as they are.
  bool none_needed(const ServedKind& served, const std::vector<store::ItemPtr>& items) const;

  // For the write pipeline: `object` in the version of `to`. Fails with scope.memo->wanted filled
  // while the answer is missing. Without a webhook the object stays as it is.
  Result<json::Value> convert(WriteScope& scope, json::Value object, const Kind& to);

 private:
  using WebhookPtr = std::shared_ptr<const WebhookConversion>;
  struct Asked;
  // As the CRD has it now: a watch outlives changes of it.
  WebhookPtr webhook_of(const Kind& kind) const;
  store::ItemPtr known(const store::ItemPtr& item, const std::string& api_version,
                       const WebhookPtr& webhook);
  void remember(const store::ItemPtr& item, const std::string& api_version,
                const WebhookPtr& webhook, store::ItemPtr converted);
  void answered(Asked& asked, Result<net::Response> response);

  const store::Store& store_;
  const Registry& registry_;
  std::atomic<WebhookTransport*> transport_;
  Rng& rng_;
  std::mutex mutex_;
  struct Converted {
    store::ItemPtr from, to;
    WebhookPtr by;
  };
  std::map<std::pair<const store::Item*, std::string>, Converted>
      converted_;  // by item and version
};

}  // namespace hekla::apiserver
