// This machine as a Node in the API: registration, status, and the lease that says it is alive.
#pragma once

#include <memory>
#include <string>

#include "agent/pressure/eviction.h"
#include "kube/client.h"
#include "model/quantity.h"

namespace hekla::agent {

struct MachineFacts {
  std::string hostname, kernel, os_image, machine_id, boot_id, architecture;
  std::string address;  // the machine's first IPv4 address that is not loopback
  int cpus = 1;
  std::int64_t memory_bytes = 0, disk_bytes = 0;
};
// Reads /proc, /etc and the interfaces; `data_dir` decides which file system counts. Blocks
// briefly.
MachineFacts read_machine_facts(const std::string& data_dir);

struct NodeImage {
  std::vector<std::string> names;
  std::int64_t size = 0;
  bool operator==(const NodeImage&) const = default;
};

struct NodeOptions {
  std::string name;
  MachineFacts facts;
  model::ResourceList resources;  // declared ones replace or join what was found
  std::string pod_cidr;
  std::string version;
  NodePressure pressure;
  WallTime memory_since{}, disk_since{}, pids_since{};  // when that last changed
  std::vector<NodeImage> images;
};

// The node's capacity: found plus declared. Allocatable is the same: nothing is set aside.
model::ResourceList node_capacity(const NodeOptions& options);
json::Value node_object(const NodeOptions& options);
// A patch of the status: written on every start and again every few minutes. Ready since `since`.
json::Value node_status(const NodeOptions& options, WallTime since, WallTime now);

// Lives on the client's executor.
class NodeRegistration {
 public:
  NodeRegistration(kube::Client& client, NodeOptions options);
  ~NodeRegistration();
  void start();
  // Further parts of the node's status; written at once.
  void set_pressure(const NodePressure& pressure);
  void set_images(std::vector<NodeImage> images);
  // No more renewals; what is under way may still arrive.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::agent
