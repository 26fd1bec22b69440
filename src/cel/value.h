// What a CEL expression computes with. Objects and lists of the request are read in place (JsonMap,
// JsonList); what the expression makes itself is shared and immutable. Copies are cheap.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"
#include "model/quantity.h"

namespace hekla::cel {

class Shape;  // type.h
class Value;

// Text of the request (borrowed) or of the expression's own making (shared).
class Text {
 public:
  Text() = default;
  static Text borrowed(std::string_view view) { return Text(view, nullptr); }
  static Text owned(std::string text) {
    auto own = std::make_shared<const std::string>(std::move(text));
    return Text(*own, own);
  }
  std::string_view view() const { return view_; }

 private:
  Text(std::string_view view, std::shared_ptr<const std::string> own)
      : view_(view), own_(std::move(own)) {}
  std::string_view view_;
  std::shared_ptr<const std::string> own_;
};

struct Bytes {
  Text text;
};
struct Null {};
struct Duration {
  Nanos nanos{};
};
struct Timestamp {
  WallTime at;
};
// Without a shape the members are typed by what JSON says of them.
struct JsonMap {
  const json::Object* object = nullptr;
  const Shape* shape = nullptr;
};
struct JsonList {
  const json::Array* array = nullptr;
  const Shape* items = nullptr;
};
struct List {
  std::shared_ptr<const std::vector<Value>> values;
};
class LazyFields;  // functions.h
struct Map {
  std::shared_ptr<const std::vector<std::pair<Value, Value>>> entries;
  std::shared_ptr<const Value> otherwise;  // what an unknown key yields; null: an error
  const LazyFields* lazy =
      nullptr;  // computes the fields when they are selected; it outlives the value
};
struct Optional {
  std::shared_ptr<const Value> value;  // null: none
};
struct TypeName {
  std::string name;
};
struct Ip {
  std::array<std::uint8_t, 16> bytes{};
  bool v4 = false;
  std::string text() const;
};
struct Cidr {
  Ip ip;
  int prefix = 0;
};
struct Url {
  std::string scheme, host, path, query;  // the path as it is escaped

  // As Go's ParseRequestURI, whose words the error is in.
  static Result<Url> parse(std::string_view text);
};
struct NameFormat {
  std::string name;
};
// https://semver.org, 2.0.0. Build metadata says nothing about the order.
struct Semver {
  std::uint64_t major = 0, minor = 0, patch = 0;
  std::vector<std::string> prerelease;
  std::string text;

  // Strictly by the book; `normalize` also takes "v1", "01.2" and fills in what is missing.
  static Result<Semver> parse(std::string_view text, bool normalize = false);
};
int compare(const Semver& a, const Semver& b);

// A question of the authorizer's library: may somebody do this?
struct AccessQuestion {
  // Whose rights are asked about; empty: those of whoever sent the request.
  std::string account_namespace, account_name;
  std::string path;  // of a path check; the rest is a resource check's
  std::string group, resource, subresource, ns, name;
  std::string verb;
};
struct AccessDecision {
  bool allowed = false;
  std::string reason, error;
};
// Who answers.
class AccessAuthority {
 public:
  virtual ~AccessAuthority() = default;
  virtual AccessDecision decide(const AccessQuestion& question) const = 0;
};
// A question in the making; the authority outlives every value.
struct AccessDraft {
  const AccessAuthority* authority = nullptr;
  std::shared_ptr<const AccessQuestion> question;
};
struct Authorizer : AccessDraft {};
struct PathCheck : AccessDraft {};
struct GroupCheck : AccessDraft {};
struct ResourceCheck : AccessDraft {};
struct Decision {
  std::shared_ptr<const AccessDecision> decision;
};

class Value {
 public:
  // In the order of the variant.
  enum class Kind : std::uint8_t {
    null,
    boolean,
    integer,
    uinteger,
    floating,
    string,
    bytes,
    duration,
    timestamp,
    json_map,
    json_list,
    list,
    map,
    optional,
    type,
    quantity,
    ip,
    cidr,
    url,
    format,
    semver,
    authorizer,
    path_check,
    group_check,
    resource_check,
    decision
  };
  using Variant = std::variant<Null, bool, std::int64_t, std::uint64_t, double, Text, Bytes,
                               Duration, Timestamp, JsonMap, JsonList, List, Map, Optional,
                               TypeName, model::Quantity, Ip, Cidr, Url, NameFormat, Semver,
                               Authorizer, PathCheck, GroupCheck, ResourceCheck, Decision>;

  Value() = default;
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Value>)
  Value(T&& content) : content_(std::forward<T>(content)) {}

  static Value text(std::string content) { return Value(Text::owned(std::move(content))); }
  static Value list(std::vector<Value> values);
  static Value map(std::vector<std::pair<Value, Value>> entries);
  // A map that knows every key: `otherwise` stands for those it does not have.
  static Value map_or(std::vector<std::pair<Value, Value>> entries, Value otherwise);
  static Value some(Value value);
  static Value none() { return Value(Optional{}); }
  // Reads in place: `value` must outlive the result. `shape` may be null.
  static Value of(const json::Value& value, const Shape* shape);

  Kind kind() const { return static_cast<Kind>(content_.index()); }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&content_);
  }
  template <class T>
  const T& get() const {
    return *std::get_if<T>(&content_);
  }

  bool is_list() const { return kind() == Kind::list || kind() == Kind::json_list; }
  bool is_map() const { return kind() == Kind::map || kind() == Kind::json_map; }
  bool is_true() const { return as<bool>() != nullptr && *as<bool>(); }
  std::string_view view() const { return get<Text>().view(); }

  // Lists and maps.
  std::size_t size() const;
  Value at(std::size_t index) const;  // of a list; index < size()
  // The value of a key, or nothing. `escaped` names are those of a shape's field.
  std::optional<Value> find(const Value& key) const;
  std::optional<Value> find_field(std::string_view name) const;
  std::pair<Value, Value> entry(std::size_t index) const;  // of a map

  // "int", "list", "google.protobuf.Timestamp" ...
  std::string_view type_name() const;

 private:
  Variant content_;
};

// Numbers compare across their types; values of different types are never equal.
bool equal(const Value& a, const Value& b);
// Nothing when the two have no order.
std::optional<int> compare(const Value& a, const Value& b);
// What can be said in JSON; timestamps and the like as their text.
json::Value to_json(const Value& value);

// Property names that CEL cannot spell: my-name <-> my__dash__name, namespace <-> __namespace__.
std::string unescape_name(std::string_view name);
// Words that name nothing in an expression: `in`, `namespace`, `true` ...
bool reserved_name(std::string_view name);
// False when the property cannot be reached from CEL at all.
bool escapable_name(std::string_view name);
std::string escape_name(std::string_view name);

}  // namespace hekla::cel
