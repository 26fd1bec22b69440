// Devices as CEL sees them, and the expressions that select them: compiled once per text, run once
// per device. The environment is that of kube-scheduler 1.34: `device` with driver, attributes,
// capacity and allowMultipleAllocations.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cel/program.h"
#include "json/value.h"

namespace hekla::scheduler {

// What a device answered so far, by selector.
struct SelectedDevice {
  cel::Value value;       // `device`; refers to nothing else
  std::string malformed;  // why it has none: "attribute x: ..."
  mutable std::vector<std::uint8_t> verdicts;
  mutable std::map<std::uint32_t, std::string> failures;
};

// `body`: an entry of a ResourceSlice's spec.devices, in whatever version of the API.
SelectedDevice selected_device(const json::Value& body, std::string_view driver);

class DeviceSelectors {
 public:
  // The number of the expression; the same text has the same one.
  std::uint32_t intern(std::string_view expression);
  std::size_t size() const { return all_.size(); }
  // "CEL compile error: ..."; empty if it is none.
  const std::string& error(std::uint32_t selector) const { return all_[selector].error; }
  // Whether it selects the device; "CEL runtime error: ..." when that cannot be said.
  Result<bool> matches(std::uint32_t selector, const SelectedDevice& device) const;

 private:
  struct Selector {
    std::shared_ptr<const cel::Program> program;
    std::string error;
  };
  std::deque<Selector> all_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
};

}  // namespace hekla::scheduler
