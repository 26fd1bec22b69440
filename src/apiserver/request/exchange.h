// One HTTP request on its way, and what requests are answered from. Data alone, and how an answer
// leaves; dispatch.h chooses who answers.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "apiserver/auth/auth.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/published_schema.h"
#include "apiserver/object/registry.h"
#include "apiserver/object/request_info.h"
#include "apiserver/read/negotiate.h"
#include "apiserver/read/reads.h"
#include "apiserver/request/http_watch.h"
#include "apiserver/write/writes.h"
#include "base/metrics.h"
#include "kube/pod_streams.h"
#include "net/http.h"

namespace hekla::apiserver {

class AuditLog;  // audit.h
class AuditRecord;
class Backups;       // backup.h
class Conversions;   // conversion.h
class FlowLimits;    // flow_limits.h
class ProxyClients;  // connect/proxy.h

// The parts that requests are answered from. All of them outlive every request.
struct Serving {
  store::Store* store = nullptr;
  Registry* registry = nullptr;
  Writes* writes = nullptr;
  HttpWatches* watches = nullptr;
  const Authenticator* authenticator = nullptr;
  const RequestAuthorizer* authorizer = nullptr;
  const Tokens* tokens = nullptr;
  const DiscoveryHandler* discovery = nullptr;
  const PublishedSchema* schema = nullptr;
  Backups* backups = nullptr;
  Conversions* conversions = nullptr;
  std::vector<std::string>
      components;  // those of this process, as `kubectl get componentstatuses` names them
  std::shared_ptr<FlowLimits> limits;
  std::shared_ptr<AuditLog> audit;  // null when nothing is recorded
  ConnectionExecutors* executors = nullptr;
  Executor* loop = nullptr;
  const Clock* clock = nullptr;
  Rng* rng = nullptr;
  Metrics* metrics = nullptr;
  std::atomic<kube::PodStreams*> pod_streams{nullptr};
  std::shared_ptr<ProxyClients> proxies;
};

// One request on its way. Shared with whatever will answer it.
struct Exchange {
  const Serving& serving;
  net::Request request;
  std::shared_ptr<net::ResponseWriter> writer;
  RequestInfo info;
  kube::UserInfo user;
  std::string audit_id;
  MonoTime begun;
  ServedPtr served;  // for requests about objects
  Answer answer;
  std::shared_ptr<AuditRecord> audit;                   // null when this request is not recorded
  std::vector<std::string> warnings;                    // what the answer says besides
  kube::PatchType patch_type = kube::PatchType::merge;  // of a PATCH

  void respond(net::Response response) const;
  void respond(const Error& error) const;
  // Headers that every answer carries.
  void add_headers(net::Headers& headers) const;
  void count(int status) const;
};
using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace hekla::apiserver
