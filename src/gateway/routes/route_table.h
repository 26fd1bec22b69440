// All routes of one moment and the servers behind them. Immutable: the loop makes a new one when an
// object changes, net threads read the last.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/any_object.h"
#include "gateway/policies/policy.h"
#include "gateway/routes/rule.h"
#include "kube/authorizer.h"

namespace hekla::gateway {

struct Backend {
  std::string address;
  std::uint16_t port = 0;
  bool operator==(const Backend&) const = default;
};

// The ready servers behind a Service's port; 0 is its only one.
std::vector<Backend> ready_backends(const framework::AnyObject& service,
                                    const std::vector<framework::AnyRef>& slices,
                                    std::uint16_t port);

// The right that a request needs which takes the rule to this destination: to read the object that
// the path names, or else the Service; where there is none (a redirect), the route itself.
kube::Access access_to(const Rule& rule, const Destination* destination, const Path& path);

class RouteTable {
 public:
  using Rules = std::shared_ptr<const std::vector<Rule>>;
  using Backends = std::map<std::pair<kube::Key, std::uint16_t>, std::vector<Backend>>;
  using PoliciesOf = std::map<kube::Key, Policies>;
  RouteTable() = default;
  // Rules in the order in which they are asked, policies of the Services that they lead to.
  RouteTable(std::vector<Rules> rules, Backends backends, PoliciesOf policies = {})
      : rules_(std::move(rules)), backends_(std::move(backends)), policies_(std::move(policies)) {}

  struct Found {
    const Rule* rule = nullptr;  // null: no route leads there
    const RequestMatch* match = nullptr;
  };
  Found find(const net::Request& request, const Path& path) const;
  // Whether a route begins at the path with a slash behind it, and none has it as it is.
  bool lacks_slash(const net::Request& request, const Path& path) const;
  // A server that is ready; `random` is any number.
  std::optional<Backend> backend(const Destination& destination, std::uint64_t random) const;
  // Ready servers of notebooks that keep their prefix, as Jupyter does and VS Code does not.
  struct NotebookServer {
    kube::Key notebook;
    std::string prefix;  // "/notebook/NS/NAME/"
    Backend at;
  };
  std::vector<NotebookServer> notebook_servers() const;
  // Policies about the pods behind a Service.
  const Policies& policies(const kube::Key& service) const;

 private:
  std::vector<Rules> rules_;
  Backends backends_;
  PoliciesOf policies_;
};

}  // namespace hekla::gateway
