#include "apiserver/schema/rules.h"

#include <algorithm>

#include "apiserver/text/field_error.h"
#include "cel/program.h"

namespace hekla::apiserver {
namespace {

constexpr std::uint64_t kUnitsPerRule = 1'000'000;
constexpr std::uint64_t kUnitsPerObject = 10'000'000;

std::string trimmed(std::string_view text) {
  const std::string_view space = " \t\r\n";
  const std::size_t from = text.find_first_not_of(space);
  if (from == std::string_view::npos) return {};
  return std::string(text.substr(from, text.find_last_not_of(space) - from + 1));
}

std::string_view openapi_type(const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::object:
      return "object";
    case Schema::Type::array:
      return "array";
    case Schema::Type::string:
      return "string";
    case Schema::Type::integer:
      return "integer";
    case Schema::Type::number:
      return "number";
    case Schema::Type::boolean:
      return "boolean";
    default:
      return "";
  }
}

// ".spec.x" or "['my-field'].x": names, or nothing when the text is no such path or leads nowhere.
std::optional<std::string> normalized_path(std::string_view text, const Schema& schema) {
  const Schema* at = &schema;
  std::string out;
  while (!text.empty()) {
    std::string name;
    if (text.starts_with("['")) {
      const std::size_t end = text.find("']");
      if (end == std::string_view::npos) return std::nullopt;
      name = text.substr(2, end - 2);
      text.remove_prefix(end + 2);
    } else if (text.starts_with('.')) {
      const std::size_t end = std::min(text.find_first_of(".[", 1), text.size());
      name = text.substr(1, end - 1);
      text.remove_prefix(end);
    } else {
      return std::nullopt;
    }
    auto found = at->properties.find(name);
    if (found != at->properties.end()) {
      at = found->second.get();
      out += "." + name;
    } else if (at->additional) {
      at = at->additional.get();
      out += "[" + name + "]";
    } else {
      return std::nullopt;
    }
  }
  if (out.empty()) return std::nullopt;
  return out;
}

class RuleCompiler {
 public:
  std::vector<Cause> causes;

  void visit(const Schema& schema, const std::string& path, bool correlatable) {
    if (!schema.go_type.empty()) return;
    if (schema.rules) compile(schema, path, correlatable);
    const std::string prefix = path.empty() ? path : path + ".";
    for (const auto& [name, inner] : schema.properties)
      visit(*inner, prefix + "properties[" + name + "]", correlatable);
    if (schema.additional) visit(*schema.additional, prefix + "additionalProperties", correlatable);
    if (schema.items)
      visit(*schema.items, prefix + "items",
            correlatable && schema.list_type == Schema::ListType::map);
  }

 private:
  // The rule as Go prints the struct that holds it.
  static Cause invalid(const json::Value& rule, const std::string& field,
                       const std::string& detail) {
    auto text = [&](std::string_view member) { return go_quote(json::string_at(rule, {member})); };
    const bool reason = json::find(rule, "reason") != nullptr;
    const bool optional = json::find(rule, "optionalOldSelf") != nullptr;
    std::string shown =
        "apiextensions.ValidationRule{Rule:" + text("rule") + ", Message:" + text("message") +
        ", MessageExpression:" + text("messageExpression") +
        ", Reason:" + (reason ? text("reason") : "(*apiextensions.FieldValueErrorReason)(nil)") +
        ", FieldPath:" + text("fieldPath") + ", OptionalOldSelf:" +
        (optional ? (json::bool_at(rule, {"optionalOldSelf"}) ? "true" : "false")
                  : "(*bool)(nil)") +
        "}";
    return {"FieldValueInvalid", "Invalid value: " + shown + ": " + detail, field};
  }

  void compile(const Schema& schema, const std::string& path, bool correlatable) {
    if (!schema.validations.is_array()) return;
    const json::Array& rules = schema.validations.get_array();
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string where = (path.empty() ? path : path + ".") + "x-kubernetes-validations[" +
                                std::to_string(i) + "]";
      SchemaRule rule;
      rule.text = json::string_at(rules[i], {"rule"});
      rule.message = json::string_at(rules[i], {"message"});
      rule.optional_old_self = json::bool_at(rules[i], {"optionalOldSelf"});
      check_texts(rules[i], rule, where);
      check_reason(rules[i], rule, where);
      check_field_path(schema, rules[i], rule, where);
      if (trimmed(rule.text).empty()) {
        causes.push_back(required_value(where + ".rule", "rule is not specified"));
        continue;
      }
      compile_programs(schema, rules[i], rule, where, correlatable);
      schema.rules->rules.push_back(std::move(rule));
    }
  }

  void check_texts(const json::Value& given, const SchemaRule& rule, const std::string& where) {
    const bool has_message = json::find(given, "message") != nullptr;
    const std::string message = trimmed(rule.message);
    if (has_message && !rule.message.empty() && message.empty())
      causes.push_back(invalid_value(where + ".message", json::Value(rule.message),
                                     "message must be non-empty if specified"));
    else if (message.find('\n') != std::string::npos)
      causes.push_back(invalid_value(where + ".message", json::Value(rule.message),
                                     "message must not contain line breaks"));
    else if (message.empty() && trimmed(rule.text).find('\n') != std::string::npos)
      causes.push_back(required_value(where + ".message",
                                      "message must be specified if rule contains line breaks"));
  }

  void check_reason(const json::Value& given, SchemaRule& rule, const std::string& where) {
    static const std::vector<std::string> kReasons{"FieldValueDuplicate", "FieldValueForbidden",
                                                   "FieldValueInvalid", "FieldValueRequired"};
    const json::Value* reason = json::find(given, "reason");
    if (reason == nullptr || !reason->is_string()) return;
    rule.reason = json::sv(reason->get_string());
    if (std::find(kReasons.begin(), kReasons.end(), rule.reason) == kReasons.end())
      causes.push_back(unsupported_value(where + ".reason", *reason, kReasons));
  }

  void check_field_path(const Schema& schema, const json::Value& given, SchemaRule& rule,
                        const std::string& where) {
    const json::Value* path = json::find(given, "fieldPath");
    if (path == nullptr || !path->is_string() || path->get_string().empty()) return;
    const std::string text = trimmed(json::sv(path->get_string()));
    if (text.empty()) {
      causes.push_back(
          invalid_value(where + ".fieldPath", *path, "fieldPath must be non-empty if specified"));
      return;
    }
    std::optional<std::string> normal = normalized_path(text, schema);
    if (normal)
      rule.field_path = *normal;
    else
      causes.push_back(
          invalid_value(where + ".fieldPath", *path,
                        "fieldPath must be a valid path: does not refer to a valid field"));
  }

  void compile_programs(const Schema& schema, const json::Value& given, SchemaRule& rule,
                        const std::string& where, bool correlatable) {
    const cel::Type self = schema.cel_type();
    const std::vector<cel::Variable> variables{
        {"self", self}, {"oldSelf", rule.optional_old_self ? cel::optional_of(self) : self}};
    auto program = cel::Program::compile(rule.text, variables);
    if (!program) {
      causes.push_back(
          invalid(given, where + ".rule", "compilation failed: " + program.error().message));
      return;
    }
    if ((*program)->type().kind != cel::Type::Kind::boolean &&
        (*program)->type().kind != cel::Type::Kind::dyn)
      causes.push_back(invalid(given, where + ".rule", "cel expression must evaluate to a bool"));
    rule.program = *program;
    rule.transition = rule.program->uses("oldSelf");
    if (rule.transition && !correlatable)
      causes.push_back(invalid_value(
          where + ".rule", json::Value(rule.text),
          "oldSelf cannot be used on the uncorrelatable portion of the schema within " + where));
    if (!rule.transition && json::find(given, "optionalOldSelf") != nullptr)
      causes.push_back(invalid_value(where + ".optionalOldSelf",
                                     json::Value(rule.optional_old_self),
                                     "may not be set if oldSelf is not used in rule"));
    const std::string expression(json::string_at(given, {"messageExpression"}));
    if (expression.empty()) return;
    if (trimmed(expression).empty()) {
      causes.push_back(required_value(where + ".messageExpression",
                                      "messageExpression must be non-empty if specified"));
      return;
    }
    auto message = cel::Program::compile(expression, variables);
    if (!message)
      causes.push_back(invalid(given, where + ".messageExpression",
                               "messageExpression compilation failed: " + message.error().message));
    else if ((*message)->type().kind != cel::Type::Kind::string &&
             (*message)->type().kind != cel::Type::Kind::dyn)
      causes.push_back(invalid(given, where + ".messageExpression",
                               "messageExpression must evaluate to a string"));
    else
      rule.message_program = *message;
  }
};

class RuleRunner {
 public:
  std::vector<Cause> causes;

  void visit(const Schema& schema, const json::Value& value, const json::Value* old,
             const std::string& path) {
    if (exhausted_ || !schema.go_type.empty() || value.is_null()) return;
    if (schema.rules && !schema.rules->rules.empty()) {
      const bool unchanged = old != nullptr && json::equal(value, *old);
      for (const SchemaRule& rule : schema.rules->rules)
        run(schema, rule, value, old, unchanged, path);
    }
    if (value.is_array() && schema.items) visit_items(schema, value.get_array(), old, path);
    if (value.is_object()) visit_members(schema, value.get_object(), old, path);
  }

 private:
  void visit_items(const Schema& schema, const json::Array& array, const json::Value* old,
                   const std::string& path) {
    if (!has_rules(*schema.items)) return;
    for (std::size_t i = 0; i < array.size(); ++i)
      visit(*schema.items, array[i], matching_item(schema, array[i], old),
            path + "[" + std::to_string(i) + "]");
  }

  void visit_members(const Schema& schema, const json::Object& object, const json::Value* old,
                     const std::string& path) {
    for (const auto& member : object) {
      const std::string name(member.key());
      const json::Value* before = old ? json::find(*old, name) : nullptr;
      auto found = schema.properties.find(name);
      if (found != schema.properties.end()) {
        visit(*found->second, member.value(), before, path.empty() ? name : path + "." + name);
      } else if (schema.additional) {
        visit(*schema.additional, member.value(), before, path + "[" + name + "]");
      }
    }
  }

  void run(const Schema& schema, const SchemaRule& rule, const json::Value& value,
           const json::Value* old, bool unchanged, const std::string& path) {
    if (!rule.program || exhausted_) return;
    if (rule.transition ? old == nullptr && !rule.optional_old_self : unchanged) return;
    std::vector<cel::Binding> bindings{{"self", cel::Value::of(value, &schema)}};
    if (rule.optional_old_self)
      bindings.push_back(
          {"oldSelf", old ? cel::Value::some(cel::Value::of(*old, &schema)) : cel::Value::none()});
    else if (old)
      bindings.push_back({"oldSelf", cel::Value::of(*old, &schema)});
    cel::Budget budget(std::min(kUnitsPerRule, units_));
    Result<cel::Value> result = rule.program->run(bindings, budget);
    units_ -= std::min(kUnitsPerRule, units_) - budget.left();
    const std::string shown = trimmed(rule.message.empty() ? rule.text : rule.message);
    const json::Value type(openapi_type(schema));
    if (!result) {
      failed(result.error(), shown, type, path);
    } else if (!result->is_true()) {
      std::string detail = message(rule, bindings, shown);
      report(rule, path + rule.field_path, type, std::move(detail));
    }
    if (units_ == 0 && !exhausted_) {
      exhausted_ = true;
      causes.push_back(
          invalid_value(path, type,
                        "validation failed due to running out of cost budget, no further "
                        "validation rules will be run"));
    }
  }

  void failed(const Error& error, const std::string& shown, const json::Value& type,
              const std::string& path) {
    if (error.code == Code::timeout) {
      exhausted_ = true;
      causes.push_back(invalid_value(path, type,
                                     "'" + error.message +
                                         "': no further validation rules will be run due to "
                                         "call cost exceeds limit for rule: " +
                                         shown));
    } else if (error.message == "no such overload") {
      causes.push_back(invalid_value(path, type,
                                     "'" + error.message +
                                         "': call arguments did not match a supported operator, "
                                         "function or macro signature for rule: " +
                                         shown));
    } else {
      causes.push_back(invalid_value(path, type, error.message + " evaluating rule: " + shown));
    }
  }

  std::string message(const SchemaRule& rule, const std::vector<cel::Binding>& bindings,
                      const std::string& shown) {
    if (rule.message_program) {
      cel::Budget budget(std::min(kUnitsPerRule, units_));
      Result<cel::Value> text = rule.message_program->run(bindings, budget);
      units_ -= std::min(kUnitsPerRule, units_) - budget.left();
      if (text && text->kind() == cel::Value::Kind::string) {
        std::string out = trimmed(text->view());
        if (!out.empty() && out.find('\n') == std::string::npos) return out;
      }
    }
    return rule.message.empty() ? "failed rule: " + shown : shown;
  }

  void report(const SchemaRule& rule, std::string path, const json::Value& type,
              std::string detail) {
    if (path.starts_with('.')) path.erase(0, 1);
    if (path.empty()) path = "<nil>";
    if (rule.reason == "FieldValueRequired") {
      causes.push_back(required_value(path, detail));
    } else if (rule.reason == "FieldValueForbidden") {
      causes.push_back(forbidden_value(path, detail));
    } else if (rule.reason == "FieldValueDuplicate") {
      Cause cause = duplicate_value(path, type);
      cause.message += ": " + detail;
      causes.push_back(std::move(cause));
    } else {
      causes.push_back(invalid_value(path, type, detail));
    }
  }

  std::uint64_t units_ = kUnitsPerObject;
  bool exhausted_ = false;
};

}  // namespace

bool has_rules(const Schema& schema) {
  if (!schema.go_type.empty()) return false;
  if (schema.rules) return true;
  return (schema.items && has_rules(*schema.items)) ||
         (schema.additional && has_rules(*schema.additional)) ||
         std::any_of(schema.properties.begin(), schema.properties.end(),
                     [](const auto& one) { return has_rules(*one.second); });
}

const json::Value* matching_item(const Schema& list, const json::Value& item,
                                 const json::Value* old) {
  if (list.list_type != Schema::ListType::map || !old || !old->is_array()) return nullptr;
  static const json::Value kNone;
  for (const json::Value& candidate : old->get_array()) {
    const bool same = std::all_of(
        list.list_map_keys.begin(), list.list_map_keys.end(), [&](const std::string& key) {
          const json::Value *a = json::find(item, key), *b = json::find(candidate, key);
          return json::equal(a ? *a : kNone, b ? *b : kNone);
        });
    if (same) return &candidate;
  }
  return nullptr;
}

std::vector<Cause> compile_schema_rules(const Schema& schema) {
  RuleCompiler compiler;
  compiler.visit(schema, "", true);
  return std::move(compiler.causes);
}

std::vector<Cause> validate_rules(const Schema& schema, const json::Value& value,
                                  const json::Value* old) {
  RuleRunner runner;
  runner.visit(schema, value, old, "");
  return std::move(runner.causes);
}

}  // namespace hekla::apiserver
