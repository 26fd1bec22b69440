// Endpoints and EndpointSlices of services with a selector, from the pods' addresses and readiness.
#pragma once

#include <memory>

#include "kube/cache_set.h"
#include "model/core.h"

namespace hekla::controllers {

// Lives on the caches' executor.
class Endpoints {
 public:
  explicit Endpoints(kube::CacheSet& caches);
  ~Endpoints();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Pure: the `subsets` of the Endpoints object, and what its slices hold: at most a hundred
// endpoints each, with the same ports.
using PodRefs = std::vector<std::shared_ptr<const model::Pod>>;
struct SliceContent {
  json::Array endpoints, ports;
};
json::Array endpoint_subsets(const model::Service& service, const PodRefs& pods);
// Leaves at most a thousand addresses, those that are ready before the others: one object has no
// room for more. Whether any had to go.
bool truncate_subsets(json::Array& subsets);
std::vector<SliceContent> slice_contents(const model::Service& service, const PodRefs& pods);
// The same from Endpoints that a user wrote.
std::vector<SliceContent> mirrored_contents(const json::Value& subsets);
// Which endpoints go into the slices there are, in their order (an empty one may go), and into new
// ones behind them. Each stays where it is, so that a change concerns few slices; but no more
// slices stay than are needed.
std::vector<json::Array> spread_endpoints(const std::vector<const json::Array*>& slices,
                                          json::Array wanted);

}  // namespace hekla::controllers
