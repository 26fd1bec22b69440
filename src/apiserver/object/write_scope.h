// The state of one attempt at a write: what it reads, what it works with, and what it has come to
// so far. Data alone; the stages that pass it on are in write/stages/.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/object/registry.h"
#include "apiserver/object/write_request.h"
#include "base/clock.h"
#include "base/rng.h"
#include "json/arena.h"
#include "json/value.h"
#include "store/store.h"

namespace hekla::apiserver {

class AdmissionChain;         // gates/chain.h
class AdmissionPolicies;      // gates/policies.h
class RequestAuthorizer;      // auth.h
class Conversions;            // conversion.h
class PlatformCrds;           // platform_crds.h
class ServiceAddresses;       // service_addresses.h
class WebhookConfigurations;  // webhook_configurations.h
class WebhookTransport;       // webhooks.h
struct WebhookMemo;           // webhooks.h

// An object that a write changes besides its own: a quota that a pod is charged to, the disruption
// budget that an eviction uses up. They land in the same commit or not at all.
struct CoupledWrite {
  ServedPtr served;
  std::string key;  // in the store
  json::Value object;
  store::Revision expected = 0;  // what the object was read at
};
using CoupledWrites = std::map<std::pair<store::BucketId, std::string>, CoupledWrite>;

// The parts that the pipeline works with; they outlive every request.
struct WriteServices {
  const Clock* clock = nullptr;
  Rng* rng = nullptr;
  const AdmissionChain* admission = nullptr;
  const ServiceAddresses* addresses = nullptr;
  WebhookTransport* webhooks = nullptr;
  WebhookConfigurations* configurations = nullptr;
  AdmissionPolicies* policies = nullptr;
  Conversions* conversions = nullptr;
  bool quota = true;                              // ResourceQuotas are enforced
  const RequestAuthorizer* authorizer = nullptr;  // whom expressions ask
  const PlatformCrds* platform_crds = nullptr;    // whose removal takes no objects along
  // Options::answered_here.
  const std::function<bool(std::string_view ns, std::string_view service)>* answered_here = nullptr;
};

// One attempt at one request against one snapshot.
struct WriteScope {
  const WriteRequest& request;
  json::Value& body;  // the request's, for take_body()
  const store::Snapshot& snapshot;
  const Catalog& catalog;
  const WriteServices& services;
  Rng& rng;  // draws the same numbers for every attempt at a request
  WallTime now;
  std::vector<std::string> warnings;
  WebhookMemo* memo = nullptr;            // of the request, across its attempts
  const CoupledWrites* staged = nullptr;  // of the writes before this one in the same commit
  CoupledWrites coupled;                  // of this write
  json::Storage storage = {};             // of the objects under way; it ends with this attempt

  const ServedKind& served() const { return *request.served; }
  const Kind& kind() const { return *request.served->kind; }
  const kube::Resource& resource() const { return request.served->kind->resource; }
};

}  // namespace hekla::apiserver
