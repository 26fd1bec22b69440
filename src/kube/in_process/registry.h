// The parts of this process that run where others have pods, and the servers among them that
// stand behind Services. Main fills the registry; pods of the component table (main/standin), the
// proxy of Services, port-forward and the gateway look here before they look for a pod.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "net/http.h"
#include "net/server_options.h"

namespace hekla::kube {

// A part of the platform, by the name the component table calls it.
struct InProcessPart {
  std::string name;                   // scheduler, training, gateway
  std::vector<std::string> log = {};  // under which names it logs
  std::function<bool()> ready = {};   // any thread; empty: always
  // Where pods reach it, at the ports its originals have; empty: nowhere.
  std::string address = {};
};

// A server of this process behind a port of a Service.
struct InProcessService {
  std::string ns, service;  // kubeflow, ml-pipeline
  std::uint16_t port = 0;   // the Service's own, not the pods'
  net::Handler handler;     // plain HTTP; on net threads, must not block
  net::Router router = {};  // how its requests are taken; empty: bodies come whole, 3 MiB at most
  std::function<bool()> ready = {};   // any thread; empty: always
  std::vector<std::string> log = {};  // under which names it logs
};
using InProcessServicePtr = std::shared_ptr<const InProcessService>;

// Thread-safe. What is added stays for the life of the process; the handlers' owners outlive it.
class InProcessRegistry {
 public:
  void add(InProcessPart part);
  void add(InProcessService service);
  // Null when nothing of that name is here.
  std::shared_ptr<const InProcessPart> part(const std::string& name) const;
  InProcessServicePtr find(const std::string& ns, const std::string& service,
                           std::uint16_t port) const;
  std::vector<InProcessServicePtr> services() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const InProcessPart>> parts_;
  std::map<std::tuple<std::string, std::string, std::uint16_t>, InProcessServicePtr> services_;
};

// An empty `ready` is a part that cannot be otherwise.
inline bool is_ready(const std::function<bool()>& ready) { return !ready || ready(); }

}  // namespace hekla::kube
