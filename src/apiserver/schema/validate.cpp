// Values against a CRD's schema, in the words and the order of upstream's kube-openapi validator,
// followed by the uniqueness that list types promise. The metadata of a resource is checked
// elsewhere; other nodes of built-in types (pod templates) are held to their types and required
// members, as a CRD made from the same Go types would.
#include <cmath>
#include <set>

#include "apiserver/schema/rules.h"
#include "apiserver/schema/schema.h"
#include "apiserver/schema/type_names.h"
#include "apiserver/text/field_error.h"
#include "apiserver/text/path_step.h"
#include "cel/pattern.h"
#include "model/formats.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

constexpr std::uint64_t kMaxPatternSteps = 100'000'000;  // of 5 to 10 ns

using Causes = std::vector<Cause>;
using Type = Schema::Type;

constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr std::string_view kQuantityPattern =
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
    "([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$";

bool is_whole(const json::Value& value) {
  if (!value.is_double()) return value.is_number();
  double number = value.get_double();
  return number == std::trunc(number) && std::abs(number) < 9007199254740992.0;
}

bool has_type(Type type, const json::Value& value) {
  switch (type) {
    case Type::any:
      return true;
    case Type::object:
      return value.is_object();
    case Type::array:
      return value.is_array();
    case Type::string:
      return value.is_string();
    case Type::integer:
      return is_whole(value);
    case Type::number:
      return value.is_number();
    case Type::boolean:
      return value.is_bool();
    case Type::int_or_string:
      return value.is_string() || is_whole(value);
  }
  return false;
}

std::string show(double number) {
  return number == std::trunc(number) && std::abs(number) < 1e15
             ? std::to_string(static_cast<std::int64_t>(number))
             : json::serialize(json::Value(number));
}

std::size_t rune_count(std::string_view text) {
  std::size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

// Enough for anybody to read; a hostile object could earn a million.
constexpr std::size_t kMaxCauses = 200;

class Validator {
 public:
  Validator(Causes& out, std::string& path) : out_(out), path_(path) {}

  // `old` is what an update replaces: where nothing changed, nothing is found fault with.
  void visit(const Schema& schema, const json::Value& value, const json::Value* old = nullptr) {
    if (out_.size() >= kMaxCauses) return;
    if (old != nullptr && json::equal(*old, value)) return;
    if (!builtin_ && schema.go_type == kObjectMeta) {  // only what the CRD adds to it
      if (!value.is_null()) check_junctors(schema, value);
      return;
    }
    if (!builtin_ && !schema.go_type.empty()) {
      builtin_ = true;
      visit_builtin(schema, value, old);
      builtin_ = false;
      return;
    }
    if (builtin_) return visit_builtin(schema, value, old);
    check_type(schema, value);
    if (value.is_null()) {
      check_enumeration(schema, value);
      return;
    }
    check_junctors(schema, value);
    if (value.is_string()) check_string(schema, json::sv(value.get_string()));
    if (value.is_number()) check_number(schema, value);
    if (value.is_array()) check_array(schema, value.get_array(), old);
    check_enumeration(schema, value);
    if (value.is_object()) check_object(schema, value.get_object(), old);
  }

 private:
  // Go decodes null as nothing, and takes a number for a quantity.
  void visit_builtin(const Schema& schema, const json::Value& value, const json::Value* old) {
    if (value.is_null()) return;
    if (schema.format == "quantity") {
      if (!value.is_string() && !value.is_number())
        wrong_type(type_name(Type::int_or_string), value_names(value.kind()).openapi);
      else if (!model::Quantity::from_json(value))
        invalid(value, "should match '" + std::string(kQuantityPattern) + "'");
      return;
    }
    check_type(schema, value);
    if (value.is_array()) check_array(schema, value.get_array(), old);
    if (value.is_object()) check_object(schema, value.get_object(), old);
  }

  std::string in_body(std::string_view rest) const {
    return path_ + " in body " + std::string(rest);
  }
  void wrong_type(std::string_view wanted, std::string_view got) {
    out_.push_back(
        type_invalid(path_, json::Value(got),
                     in_body("must be of type " + std::string(wanted) + ": " + go_quote(got))));
  }
  void invalid(const json::Value& value, const std::string& what) {
    out_.push_back(invalid_value(path_, value, in_body(what)));
  }
  // Junctors speak of no field; a nil path prints so.
  void composite(std::string_view what) {
    out_.push_back(
        invalid_value("<nil>", json::Value(""), go_quote(path_) + " " + std::string(what)));
  }

  void check_type(const Schema& schema, const json::Value& value) {
    if (value.is_null()) {
      if (schema.type != Type::any && !schema.nullable) wrong_type(type_name(schema.type), "null");
      return;
    }
    if (!has_type(schema.type, value))
      wrong_type(type_name(schema.type), value_names(value.kind()).openapi);
    else if (schema.format == "int32" && value.is_number() &&
             (value.to_number<double>() > INT32_MAX || value.to_number<double>() < INT32_MIN))
      wrong_type("int32", "int64");
  }

  void check_enumeration(const Schema& schema, const json::Value& value) {
    if (schema.enumeration.empty()) return;
    std::vector<std::string> allowed;
    for (const json::Value& one : schema.enumeration) {
      if (json::equal(one, value)) return;
      allowed.push_back(one.is_string() ? std::string(json::sv(one.get_string()))
                                        : json::serialize(one));
    }
    out_.push_back(unsupported_value(path_, value, allowed));
  }

  // A match runs where requests are answered: one that could hold the others up is refused.
  void check_pattern(const Schema& schema, std::string_view text) {
    if (schema.compiled_pattern->steps_at_most(text.size()) > kMaxPatternSteps)
      out_.push_back(too_long(path_, kMaxPatternSteps / schema.compiled_pattern->steps_at_most(0)));
    else if (!schema.compiled_pattern->matches(text))
      invalid(json::Value(text), "should match '" + schema.pattern + "'");
  }

  void check_string(const Schema& schema, std::string_view text) {
    json::Value shown(text);
    std::size_t length = rune_count(text);
    if (schema.max_length && length > *schema.max_length)
      out_.push_back(too_long(path_, *schema.max_length));
    if (schema.min_length && length < *schema.min_length)
      invalid(shown, "should be at least " + std::to_string(*schema.min_length) + " chars long");
    if (schema.compiled_pattern) check_pattern(schema, text);
    if (!schema.format.empty() && !model::satisfies_format(schema.format, text)) {
      out_.push_back(type_invalid(
          path_, shown, in_body("must be of type " + schema.format + ": " + go_quote(text))));
    }
  }

  void check_number(const Schema& schema, const json::Value& value) {
    double number = value.to_number<double>();
    if (schema.multiple_of && *schema.multiple_of > 0) {
      double times = number / *schema.multiple_of;
      if (std::abs(times - std::round(times)) > 1e-9)
        invalid(value, "should be a multiple of " + show(*schema.multiple_of));
    }
    if (schema.maximum &&
        (schema.exclusive_maximum ? number >= *schema.maximum : number > *schema.maximum))
      invalid(value, (schema.exclusive_maximum ? "should be less than "
                                               : "should be less than or equal to ") +
                         show(*schema.maximum));
    if (schema.minimum &&
        (schema.exclusive_minimum ? number <= *schema.minimum : number < *schema.minimum))
      invalid(value, (schema.exclusive_minimum ? "should be greater than "
                                               : "should be greater than or equal to ") +
                         show(*schema.minimum));
  }

  void check_array(const Schema& schema, const json::Array& array, const json::Value* old) {
    if (schema.items != nullptr)
      for (std::size_t i = 0; i < array.size(); ++i) {
        PathStep step(&path_, i);
        visit(*schema.items, array[i], matching_item(schema, array[i], old));
      }
    if (schema.min_items && array.size() < *schema.min_items)
      invalid(json::Value(array.size()),
              "should have at least " + std::to_string(*schema.min_items) + " items");
    if (schema.max_items && array.size() > *schema.max_items)
      out_.push_back(too_many(path_, array.size(), *schema.max_items));
  }

  void check_object(const Schema& schema, const json::Object& object, const json::Value* old) {
    const auto before = [&](std::string_view name) {
      return old ? json::find(*old, name) : nullptr;
    };
    if (schema.min_properties && object.size() < *schema.min_properties)
      invalid(json::Value(object.size()),
              "should have at least " + std::to_string(*schema.min_properties) + " properties");
    if (schema.max_properties && object.size() > *schema.max_properties)
      out_.push_back(too_many(path_, object.size(), *schema.max_properties));
    if (schema.additional != nullptr) {
      for (const auto& member : object) {
        if (schema.properties.contains(member.key())) continue;
        PathStep step(&path_, std::string_view(member.key()));
        visit(*schema.additional, member.value(), before(member.key()));
      }
    }
    for (const auto& [name, inner] : schema.properties) {
      const json::Value* member = json::find(object, name);
      if (member == nullptr) continue;
      PathStep step(&path_, name);
      visit(*inner, *member, before(name));
    }
    for (const std::string& name : schema.required) {
      if (object.contains(name)) continue;
      PathStep step(&path_, name);
      out_.push_back(required_value(path_));
    }
  }

  Causes failures_of(const Schema& schema, const json::Value& value) {
    Causes causes;
    Validator(causes, path_).visit(schema, value);
    return causes;
  }

  // The errors shown for a failed choice are those of the alternative that came closest.
  void check_choice(const std::vector<SchemaPtr>& choices, bool exactly_one,
                    const json::Value& value) {
    Causes best;
    std::size_t valid = 0;
    for (const SchemaPtr& choice : choices) {
      Causes causes = failures_of(*choice, value);
      if (causes.empty()) {
        ++valid;
        if (!exactly_one) return;
      } else if (best.empty() || causes.size() < best.size()) {
        best = std::move(causes);
      }
    }
    if (exactly_one && valid == 1) return;
    if (!exactly_one)
      composite("must validate at least one schema (anyOf)");
    else
      composite("must validate one and only one schema (oneOf). " +
                (valid == 0 ? std::string("Found none valid")
                            : "Found " + std::to_string(valid) + " valid alternatives"));
    if (valid == 0) out_.insert(out_.end(), best.begin(), best.end());
  }

  void check_junctors(const Schema& schema, const json::Value& value) {
    if (!schema.any_of.empty()) check_choice(schema.any_of, false, value);
    if (!schema.one_of.empty()) check_choice(schema.one_of, true, value);
    std::size_t passed = 0;
    for (const SchemaPtr& one : schema.all_of) {
      Causes causes = failures_of(*one, value);
      passed += causes.empty();
      out_.insert(out_.end(), causes.begin(), causes.end());
    }
    if (passed != schema.all_of.size())
      composite(std::string("must validate all the schemas (allOf)") +
                (passed == 0 ? ". None validated" : ""));
    if (schema.negation != nullptr && failures_of(*schema.negation, value).empty())
      composite("must not validate the schema (not)");
  }

  Causes& out_;
  std::string& path_;
  bool builtin_ = false;  // below a node of a built-in type
};

// Reports the first repetition of each element, as upstream does.
void check_unique(const json::Array& keys, const std::string& path, Causes& out) {
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < keys.size() && out.size() < kMaxCauses; ++i)
    if (++seen[json::serialize(keys[i])] == 2)
      out.push_back(duplicate_value(path + "[" + std::to_string(i) + "]", keys[i]));
}

void check_list_map(const Schema& schema, const json::Array& array, const std::string& path,
                    Causes& out) {
  json::Array keys;
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (!array[i].is_object() && !array[i].is_null()) {
      out.push_back(invalid_value(path + "[" + std::to_string(i) + "]", array[i],
                                  "must be an object for an array of list-type map"));
      return;
    }
    json::Object key;
    for (const std::string& name : schema.list_map_keys)
      if (const json::Value* part = json::find(array[i], name)) key.emplace(name, *part);
    keys.push_back(std::move(key));
  }
  check_unique(keys, path, out);
}

void check_lists(const Schema& schema, const json::Value& value, std::string& path, Causes& out) {
  if (!schema.go_type.empty()) return;
  if (value.is_array()) {
    const json::Array& array = value.get_array();
    if (schema.list_type == Schema::ListType::set) check_unique(array, path, out);
    if (schema.list_type == Schema::ListType::map) check_list_map(schema, array, path, out);
    if (schema.items == nullptr) return;
    for (std::size_t i = 0; i < array.size(); ++i) {
      PathStep step(&path, i);
      check_lists(*schema.items, array[i], path, out);
    }
  } else if (value.is_object()) {
    for (const auto& member : value.get_object()) {
      const std::string_view name(member.key());
      if (auto found = schema.properties.find(name); found != schema.properties.end()) {
        PathStep step(&path, name);
        check_lists(*found->second, member.value(), path, out);
      } else if (schema.additional != nullptr) {
        PathStep step(&path, PathStep::Key{name});
        check_lists(*schema.additional, member.value(), path, out);
      }
    }
  }
}

}  // namespace

std::vector<Cause> validate_value(const Schema& schema, const json::Value& value,
                                  const std::string& path, const json::Value* old) {
  Causes causes;
  std::string here = path;
  Validator(causes, here).visit(schema, value, old);
  check_lists(schema, value, here, causes);
  return causes;
}

}  // namespace hekla::apiserver
