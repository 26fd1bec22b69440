// resource.Quantity: exact decimal arithmetic on "100m", "1Gi", "1e3", with Kubernetes' canonical
// output.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "json/node.h"

namespace hekla::model {

struct Quantity {
  enum class Format : std::uint8_t { decimal_si, binary_si, decimal_exponent };

  // The value in nano-units; every quantity Kubernetes admits fits (it caps at 2^63-1 whole units
  // and rounds up below a nano).
  Int128 nanos = 0;
  Format format = Format::decimal_si;

  static Result<Quantity> parse(std::string_view text);
  static Quantity of(std::int64_t whole, Format format = Format::decimal_si);
  static Quantity of_milli(std::int64_t milli);

  // Rounded up, saturating, like Go's Value() and MilliValue().
  std::int64_t value() const;
  std::int64_t milli_value() const;
  bool is_zero() const { return nanos == 0; }
  // Canonical text: "1", "500m", "1Gi".
  std::string text() const;

  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  Quantity operator*(std::int64_t times) const;
  auto operator<=>(const Quantity& other) const { return nanos <=> other.nanos; }
  bool operator==(const Quantity& other) const { return nanos == other.nanos; }

  // A JSON string or number, as Kubernetes reads both.
  static Result<Quantity> from_node(const json::Node& node);
  static Result<Quantity> from_json(const json::Value& value) { return from_node(value); }
  json::Value to_json() const;
};

using ResourceList = std::map<std::string, Quantity>;

void add(ResourceList& to, const ResourceList& other);

}  // namespace hekla::model
