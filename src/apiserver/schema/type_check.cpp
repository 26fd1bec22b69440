// Decoding into a Go struct, as far as its effects go: type errors in the words of encoding/json or
// of apimachinery's converter, and the form in which the decoded object would be written again.
// Only nodes of built-in types are looked at, so that in a custom resource this covers its
// metadata.
#include <cmath>
#include <limits>

#include "apiserver/schema/schema.h"
#include "apiserver/schema/type_names.h"
#include "apiserver/text/field_error.h"
#include "base/bytes.h"
#include "model/instant.h"
#include "model/quantity.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

using Type = Schema::Type;

// "io.k8s.api.apps.v1.DeploymentSpec" is DeploymentSpec as a struct and v1.DeploymentSpec as a
// type.
std::string_view struct_name(std::string_view go_type) {
  return go_type.substr(go_type.rfind('.') + 1);
}

std::string qualified_name(std::string_view go_type) {
  std::size_t dot = go_type.rfind('.');
  std::size_t before = go_type.rfind('.', dot - 1);
  return std::string(go_type.substr(before + 1));
}

std::string go_type_name(const Schema& schema) {
  if (!schema.go_name.empty()) return schema.go_name;
  if (!schema.go_type.empty()) return qualified_name(schema.go_type);
  switch (schema.type) {
    case Type::array:
      return "[]" + go_type_name(*schema.items);
    case Type::object:
      return schema.additional == nullptr ? "runtime.RawExtension"
                                          : "map[string]" + go_type_name(*schema.additional);
    case Type::boolean:
      return "bool";
    case Type::integer:
      return schema.format;
    case Type::number:
      return "float64";
    default:
      return "string";
  }
}

// The words of apimachinery's converter about a value that does not fit. Types that decode
// themselves say it in JSON's words.
std::string unconvertible(const Schema& schema, const json::Value& value) {
  const std::string kind(value_names(value.kind()).go);
  const std::string_view format = schema.format;
  const auto itself = [&](const char* type) {
    return "json: cannot unmarshal " + std::string(value_names(value.kind()).json) +
           " into Go value of type " + type;
  };
  const auto simple = [&](bool convertible, std::string_view type) {
    return convertible ? "cannot convert " + kind + " to " + go_type_name(schema)
                       : "unrecognized type: " + std::string(type);
  };
  switch (schema.type) {
    case Type::object:
      return (schema.additional ? "cannot restore map from " : "cannot restore struct from: ") +
             kind;
    case Type::array:
      return "cannot restore slice from " + kind;
    case Type::boolean:
      return simple(false, "bool");
    case Type::integer:
      return simple(value.is_number(), format);
    case Type::number:
      return simple(false, "float64");
    case Type::string:
      if (format == "byte") return "cannot restore slice from " + kind;
      return format.empty() ? simple(value.is_int64(), "string") : itself("string");
    default:
      return itself("int32");  // IntOrString
  }
}

class TypeCheck {
 public:
  explicit TypeCheck(GoDecoder decoder) : decoder_(decoder) {}

  Result<void> visit(const Schema& schema, const json::Value& value) {
    if (value.is_null() || schema.type == Type::any) return {};
    if (std::string_view(schema.format) == "quantity") return quantity(value);
    switch (schema.type) {
      case Type::object:
        return object(schema, value);
      case Type::array:
        return array(schema, value);
      case Type::string:
        return text(schema, value);
      case Type::integer:
        return integer(schema, value);
      case Type::boolean:
        return value.is_bool() ? Result<void>{} : mismatch(schema, value);
      case Type::number:
        return value.is_number() ? Result<void>{} : mismatch(schema, value);
      default:
        break;  // int_or_string
    }
    if (value.is_string()) return {};
    if (!value.is_number()) return mismatch(schema, value);
    return value.is_int64() && fits_int32(value.get_int64()) ? Result<void>{}
                                                             : int32_mismatch(value);
  }

 private:
  std::unexpected<Error> mismatch(const Schema& schema, const json::Value& value,
                                  bool show = false) {
    if (decoder_ == GoDecoder::unstructured)
      return fail(Code::bad_request, unconvertible(schema, value));
    std::string message = "json: cannot unmarshal " + std::string(value_names(value.kind()).json);
    if (show) message += " " + json::serialize(value);
    message += path_.empty()
                   ? " into Go value of type "
                   : " into Go struct field " + std::string(struct_) + "." + path_ + " of type ";
    return fail(Code::bad_request, message + go_type_name(schema));
  }

  static bool fits_int32(std::int64_t number) {
    return number >= std::numeric_limits<std::int32_t>::min() &&
           number <= std::numeric_limits<std::int32_t>::max();
  }

  // The number of an int-or-string.
  std::unexpected<Error> int32_mismatch(const json::Value& value) {
    Schema number;
    number.type = Type::integer;
    number.format = "int32";
    return mismatch(number, value, true);
  }

  Result<void> object(const Schema& schema, const json::Value& value) {
    if (!value.is_object()) return mismatch(schema, value);
    if (schema.additional != nullptr) {
      for (const auto& member : value.get_object()) TRY(visit(*schema.additional, member.value()));
      return {};
    }
    for (const auto& member : value.get_object()) {
      auto found = schema.properties.find(member.key());
      if (found == schema.properties.end()) continue;
      std::string_view outer = struct_;
      std::size_t size = path_.size();
      struct_ = struct_name(schema.go_type);
      if (size > 0) path_ += '.';
      path_ += member.key();
      TRY(visit(*found->second, member.value()));
      path_.resize(size);
      struct_ = outer;
    }
    return {};
  }

  Result<void> array(const Schema& schema, const json::Value& value) {
    if (!value.is_array()) return mismatch(schema, value);
    for (const json::Value& item : value.get_array()) TRY(visit(*schema.items, item));
    return {};
  }

  Result<void> text(const Schema& schema, const json::Value& value) {
    if (!value.is_string()) return mismatch(schema, value);
    std::string_view text = json::sv(value.get_string());
    const std::string_view format = schema.format;
    if (format.empty()) return {};
    if (format == "date-time" || format == "micro-time") {
      std::string_view layout =
          format == "date-time" ? "2006-01-02T15:04:05Z07:00" : "2006-01-02T15:04:05.000000Z07:00";
      if (!model::parse_rfc3339(text))
        return fail(Code::bad_request, "parsing time " + go_quote(text) + " as " +
                                           go_quote(layout) + ": cannot parse " + go_quote(text) +
                                           " as \"2006\"");
    } else if (format == "byte") {
      if (!base64_decode(text))
        return fail(Code::bad_request,
                    (decoder_ == GoDecoder::unstructured ? "error decoding from json: " : "") +
                        std::string("illegal base64 data at input byte ") +
                        std::to_string(bad_base64_byte(text)));
    } else if (format == "go-duration") {
      if (auto parsed = model::parse_go_duration(text); !parsed)
        return fail(Code::bad_request, "time: invalid duration " + go_quote(text));
    }
    return {};
  }

  static std::size_t bad_base64_byte(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      auto c = static_cast<unsigned char>(text[i]);
      if (!std::isalnum(c) && c != '+' && c != '/' && c != '=') return i;
    }
    return text.size();
  }

  Result<void> integer(const Schema& schema, const json::Value& value) {
    if (!value.is_number()) return mismatch(schema, value);
    bool fits = value.is_int64();
    if (fits && std::string_view(schema.format) == "int32") fits = fits_int32(value.get_int64());
    return fits ? Result<void>{} : mismatch(schema, value, true);
  }

  Result<void> quantity(const json::Value& value) {
    if (auto parsed = model::Quantity::from_json(value); !parsed)
      return fail(Code::bad_request,
                  "quantities must match the regular expression "
                  "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return {};
  }

  const GoDecoder decoder_;
  std::string path_;
  std::string_view struct_;
};

bool is_empty(const Schema& schema, const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::null:
      return true;
    case json::Kind::bool_:
      return !value.get_bool();
    case json::Kind::int64:
      return value.get_int64() == 0;
    case json::Kind::uint64:
      return value.get_uint64() == 0;
    case json::Kind::double_:
      return value.get_double() == 0;
    case json::Kind::string:
      return value.get_string().empty();
    case json::Kind::array:
      return value.get_array().empty();
    // Go's omitempty drops empty maps, never structs.
    case json::Kind::object:
      return schema.additional != nullptr && value.get_object().empty();
  }
  return false;
}

// `form` is what a canonical time looks like: a valid one that has its length and ends in Z is
// canonical.
void normalize_time(json::Value& value, std::string_view form, int digits) {
  if (!value.is_string()) return;
  const std::string_view text = json::sv(value.get_string());
  if (text.size() == form.size() && text.back() == 'Z') return;
  if (auto when = model::parse_instant(text)) value = model::format_instant(*when, digits);
}

void normalize_scalar(const Schema& schema, json::Value& value) {
  const std::string_view format = schema.format;
  if (format.empty()) return;
  if (format == "quantity") {
    if (auto parsed = model::Quantity::from_json(value)) value = parsed->to_json();
  } else if (format == "date-time") {
    normalize_time(value, "2006-01-02T15:04:05Z", 0);
  } else if (format == "micro-time") {
    normalize_time(value, "2006-01-02T15:04:05.000000Z", 6);
  }
}

void normalize_value(const Schema& schema, json::Value& value);

void normalize_object(const Schema& schema, json::Object& object) {
  json::erase_if(object, [&](auto& pair) {
    auto found = schema.properties.find(pair.key());
    const bool struct_field = found != schema.properties.end();
    const Schema* member = struct_field ? found->second.get() : schema.additional.get();
    if (member == nullptr) return false;
    normalize_value(*member, pair.value());
    if (!struct_field && pair.value().is_null()) pair.value() = zero_value(*member);
    return struct_field && (pair.value().is_null() || (member->omit_empty && !member->pointer &&
                                                       is_empty(*member, pair.value())));
  });
}

void normalize_value(const Schema& schema, json::Value& value) {
  if (value.is_object() && !schema.preserve_unknown)
    normalize_object(schema, value.get_object());
  else if (value.is_array() && schema.items != nullptr)
    for (json::Value& item : value.get_array())
      if (item.is_null())
        item = zero_value(*schema.items);
      else
        normalize_value(*schema.items, item);
  else
    normalize_scalar(schema, value);
}

// Calls `act` on the members of a custom resource that have built-in types.
template <class V, class Act>
Result<void> each_builtin(const Schema& schema, V& value, const Act& act) {
  if (value.is_object()) {
    for (auto&& member : value.get_object()) {
      auto found = schema.properties.find(member.key());
      const Schema* inner =
          found != schema.properties.end() ? found->second.get() : schema.additional.get();
      if (inner == nullptr) continue;
      if (inner->go_type.empty())
        TRY(each_builtin(*inner, member.value(), act));
      else
        TRY(act(*inner, member.value()));
    }
  } else if (value.is_array() && schema.items != nullptr) {
    for (auto&& item : value.get_array()) TRY(each_builtin(*schema.items, item, act));
  }
  return {};
}

}  // namespace

Result<void> check_types(const Schema& schema, const json::Value& value, GoDecoder decoder) {
  const auto check = [decoder](const Schema& inner, const json::Value& at) {
    return TypeCheck(decoder).visit(inner, at);
  };
  return schema.go_type.empty() ? each_builtin(schema, value, check) : check(schema, value);
}

void normalize(const Schema& schema, json::Value& value) {
  const auto apply = [](const Schema& inner, json::Value& at) -> Result<void> {
    normalize_value(inner, at);
    return {};
  };
  if (schema.go_type.empty())
    (void)each_builtin(schema, value, apply);
  else
    normalize_value(schema, value);
}

}  // namespace hekla::apiserver
