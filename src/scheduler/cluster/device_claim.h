// What a ResourceClaim asks for and what it has, and what a DeviceClass adds.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"
#include "scheduler/cluster/device_selector.h"
#include "scheduler/cluster/devices.h"
#include "scheduler/cluster/names.h"

namespace hekla::scheduler {

struct DeviceClassSpec {
  std::vector<std::uint32_t> selectors;
  json::Array config;
};

// A request, or one of its alternatives.
struct DeviceWish {
  std::string name;  // "request" or "request/alternative"
  std::string class_name;
  std::vector<std::uint32_t> selectors;
  bool all = false;
  bool admin = false;
  std::int64_t count = 1;
  json::Array tolerations;
  std::string refused;  // what it asks for that is beyond us
};

struct DeviceRequestSpec {
  std::string name;
  std::vector<DeviceWish> alternatives;  // the first that can be had
};

// Of the devices of some requests, or all: equal in this attribute, or each different.
struct DeviceConstraint {
  std::string attribute;
  bool distinct = false;
  std::vector<std::string> requests;

  bool concerns(const DeviceRequestSpec& request, const DeviceWish& wish) const;
};

struct AllocatedDevice {
  std::string key;  // "driver/pool/device"
  std::string request;
  bool admin = false;  // keeps it from nobody
};

struct ClaimSpec {
  std::string name;  // "namespace/name"
  std::vector<DeviceRequestSpec> requests;
  std::vector<DeviceConstraint> constraints;
  json::Array config;
  std::string refused;

  bool allocated = false;
  std::vector<AllocatedDevice> devices;
  bool has_terms = false;
  std::vector<NodeTerm> terms;
  std::set<std::string> reserved;  // uids
};

DeviceClassSpec read_device_class(const json::Value& body, DeviceSelectors& selectors);
ClaimSpec read_claim(const std::string& name, const json::Value& body, DeviceSelectors& selectors,
                     Names& names);
bool tolerates(const json::Array& tolerations, const DeviceTaint& taint);

}  // namespace hekla::scheduler
