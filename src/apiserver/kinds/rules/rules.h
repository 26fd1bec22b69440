// Validation of built-in kinds: a cursor that knows its path, and the checks upstream repeats
// everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/kind.h"
#include "json/value.h"

namespace hekla::apiserver {

// A place in an object, present or not. Reading never fails: what is missing is empty. The path is
// put into words only when somebody is told of it, so the names a place is reached by must live as
// long as it does.
class Field {
 public:
  Field(const json::Value& value, std::string path) : value_(&value), base_(std::move(path)) {}
  Field(const json::Value* value, std::string path) : value_(value), base_(std::move(path)) {}
  Field(const Field& other) { *this = other; }
  Field& operator=(const Field& other);

  Field operator[](std::string_view member) const;
  Field at(std::size_t index) const;
  // A map's value, with upstream's spelling of the path: limits[cpu].
  Field key(std::string_view name) const;

  bool present() const { return value_ != nullptr && !value_->is_null(); }
  const json::Value& value() const;
  std::string_view text() const;
  std::int64_t number(std::int64_t otherwise = 0) const;
  bool flag() const { return value_ != nullptr && value_->is_bool() && value_->get_bool(); }
  const json::Array& items() const;
  const json::Object& members() const;
  std::string path() const;

 private:
  struct Step {
    enum class Form : std::uint8_t { member, key, index };
    const char* name;
    std::uint32_t size;  // of the name; an item's index
    Form form;
  };
  static constexpr std::size_t kSteps = 12;  // deeper than that, the path is written out at once

  Field below(const json::Value* value, Step step) const;

  const json::Value* value_ = nullptr;
  std::string base_;
  std::uint32_t depth_ = 0;
  std::array<Step, kSteps> steps_;  // the first `depth_`
};

class Rules {
 public:
  std::vector<Cause> causes;

  void required(const Field& field, std::string detail = {});
  void invalid(const Field& field, std::string detail);
  void invalid(const Field& field, const json::Value& shown, std::string detail);
  void forbidden(const Field& field, std::string detail);
  void duplicate(const Field& field);
  void not_found(const Field& field);
  void unsupported(const Field& field, const std::vector<std::string>& supported);

  // Each reports what is wrong and says whether all was well.
  bool need_text(const Field& field);  // required and not empty
  bool one_of(const Field& field, const std::vector<std::string>& supported, bool required = false);
  bool not_negative(const Field& field);
  bool positive(const Field& field);
  bool port(const Field& field);          // 1-65535
  bool port_name(const Field& field);     // an IANA service name
  bool port_or_name(const Field& field);  // IntOrString
  bool dns_label(const Field& field);
  bool dns_1035_label(const Field& field);
  bool dns_subdomain(const Field& field);
  bool path_segment(const Field& field);
  bool qualified_name(const Field& field);
  bool config_key(const Field& at, std::string_view key);
  bool labels(const Field& field);
  bool selector(const Field& field);  // metav1.LabelSelector
  bool ip(const Field& field);
  bool webhook_client(const Field& field);  // clientConfig of a webhook
  bool unique(std::set<std::string>& seen, const Field& field);
  // A number or a percentage, not negative, at most 100% unless more makes sense.
  bool count_or_percent(const Field& field, bool more_than_all = false);
  // `field is immutable`
  bool immutable(const Field& field, const Field& old);

 private:
  void webhook_url(const Field& field);
};

inline constexpr std::string_view kImmutable = "field is immutable";

// The members of an object at `path` that the other does not have equal; missing equals null.
bool same(const Field& a, const Field& b);

}  // namespace hekla::apiserver
