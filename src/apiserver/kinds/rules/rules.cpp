#include "apiserver/kinds/rules/rules.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "apiserver/text/field_error.h"
#include "model/formats.h"
#include "model/names.h"

namespace hekla::apiserver {
namespace {

const json::Value kNull;
const json::Array kNoItems;
const json::Object kNoMembers;

bool report(Rules& rules, const Field& field, const std::vector<std::string>& errors) {
  for (const std::string& why : errors) rules.invalid(field, why);
  return errors.empty();
}

std::vector<std::string> port_name_errors(std::string_view name) {
  std::vector<std::string> errors;
  const auto is_alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.size() > 15) errors.push_back("must be no more than 15 characters");
  if (!std::all_of(name.begin(), name.end(), [&](char c) { return is_alnum(c) || c == '-'; }))
    errors.push_back("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; }))
    errors.push_back("must contain at least one letter (a-z)");
  if (name.find("--") != std::string_view::npos)
    errors.push_back("must not contain consecutive hyphens");
  if (name.starts_with('-') || name.ends_with('-'))
    errors.push_back("must not begin or end with a hyphen");
  return errors;
}

bool is_percent(std::string_view text) {
  return text.size() > 1 && text.ends_with('%') &&
         std::all_of(text.begin(), text.end() - 1,
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

Field& Field::operator=(const Field& other) {
  value_ = other.value_;
  base_ = other.base_;
  depth_ = other.depth_;
  std::copy_n(other.steps_.begin(), depth_, steps_.begin());
  return *this;
}

Field Field::below(const json::Value* value, Step step) const {
  Field found(*this);
  found.value_ = value;
  if (depth_ == kSteps) {
    found.base_ = path();
    found.depth_ = 0;
  }
  found.steps_[found.depth_++] = step;
  return found;
}

Field Field::operator[](std::string_view member) const {
  return below(value_ == nullptr ? nullptr : json::find(*value_, member),
               {member.data(), static_cast<std::uint32_t>(member.size()), Step::Form::member});
}
Field Field::at(std::size_t index) const {
  return below(index < items().size() ? &items()[index] : nullptr,
               {nullptr, static_cast<std::uint32_t>(index), Step::Form::index});
}
Field Field::key(std::string_view name) const {
  return below(value_ == nullptr ? nullptr : json::find(*value_, name),
               {name.data(), static_cast<std::uint32_t>(name.size()), Step::Form::key});
}

std::string Field::path() const {
  std::string path = base_;
  for (const Step& step : std::span(steps_).first(depth_)) {
    switch (step.form) {
      case Step::Form::member:
        if (!path.empty()) path += '.';
        path.append(step.name, step.size);
        break;
      case Step::Form::key:
        path.append("[").append(step.name, step.size).append("]");
        break;
      case Step::Form::index:
        path.append("[").append(std::to_string(step.size)).append("]");
        break;
    }
  }
  return path;
}

const json::Value& Field::value() const { return value_ == nullptr ? kNull : *value_; }
std::string_view Field::text() const {
  return value_ != nullptr && value_->is_string() ? json::sv(value_->get_string())
                                                  : std::string_view();
}
std::int64_t Field::number(std::int64_t otherwise) const {
  if (value_ == nullptr || !value_->is_number()) return otherwise;
  return value_->is_int64() ? value_->get_int64()
                            : static_cast<std::int64_t>(value_->to_number<double>());
}
const json::Array& Field::items() const {
  return value_ != nullptr && value_->is_array() ? value_->get_array() : kNoItems;
}
const json::Object& Field::members() const {
  return value_ != nullptr && value_->is_object() ? value_->get_object() : kNoMembers;
}

void Rules::required(const Field& field, std::string detail) {
  causes.push_back(required_value(field.path(), std::move(detail)));
}
void Rules::invalid(const Field& field, std::string detail) {
  causes.push_back(invalid_value(field.path(), field.value(), std::move(detail)));
}
void Rules::invalid(const Field& field, const json::Value& shown, std::string detail) {
  causes.push_back(invalid_value(field.path(), shown, std::move(detail)));
}
void Rules::forbidden(const Field& field, std::string detail) {
  causes.push_back(forbidden_value(field.path(), std::move(detail)));
}
void Rules::duplicate(const Field& field) {
  causes.push_back(duplicate_value(field.path(), field.value()));
}
void Rules::not_found(const Field& field) {
  causes.push_back(not_found_value(field.path(), field.value()));
}
void Rules::unsupported(const Field& field, const std::vector<std::string>& supported) {
  causes.push_back(unsupported_value(field.path(), field.value(), supported));
}

bool Rules::need_text(const Field& field) {
  if (!field.text().empty()) return true;
  required(field);
  return false;
}

bool Rules::one_of(const Field& field, const std::vector<std::string>& supported, bool must) {
  if (field.text().empty()) {
    if (must) required(field);
    return !must;
  }
  if (std::find(supported.begin(), supported.end(), field.text()) != supported.end()) return true;
  unsupported(field, supported);
  return false;
}

bool Rules::not_negative(const Field& field) {
  if (field.number() >= 0) return true;
  invalid(field, "must be greater than or equal to 0");
  return false;
}

bool Rules::positive(const Field& field) {
  if (field.number() > 0) return true;
  invalid(field, json::Value(field.number()), "must be greater than 0");
  return false;
}

bool Rules::port(const Field& field) {
  std::int64_t number = field.number();
  if (number >= 1 && number <= 65535) return true;
  invalid(field, json::Value(number), "must be between 1 and 65535, inclusive");
  return false;
}

bool Rules::port_name(const Field& field) {
  return report(*this, field, port_name_errors(field.text()));
}

bool Rules::port_or_name(const Field& field) {
  return field.value().is_string() ? port_name(field) : port(field);
}

bool Rules::dns_label(const Field& field) {
  return report(*this, field, model::dns1123_label_errors(field.text()));
}
bool Rules::dns_1035_label(const Field& field) {
  return report(*this, field, model::dns1035_label_errors(field.text()));
}
bool Rules::dns_subdomain(const Field& field) {
  return report(*this, field, model::dns1123_subdomain_errors(field.text()));
}
bool Rules::path_segment(const Field& field) {
  return report(*this, field, model::path_segment_errors(field.text()));
}
bool Rules::qualified_name(const Field& field) {
  return report(*this, field, model::qualified_name_errors(field.text()));
}

bool Rules::config_key(const Field& at, std::string_view key) {
  std::vector<std::string> errors;
  if (key.size() > 253) errors.push_back("must be no more than 253 characters");
  bool good = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (!good)
    errors.push_back(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
        "'key.name',  or "
        "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')");
  if (key == "." || key == "..")
    errors.push_back("must not be '" + std::string(key) + "'");
  else if (key.starts_with(".."))
    errors.push_back("must not start with '..'");
  for (const std::string& why : errors) invalid(at.key(key), json::Value(key), why);
  return errors.empty();
}

bool Rules::labels(const Field& field) {
  std::size_t before = causes.size();
  for (const auto& label : field.members()) {
    for (const std::string& why : model::qualified_name_errors(label.key()))
      invalid(field, json::Value(label.key()), why);
    Field value = field.key(label.key());
    for (const std::string& why : model::label_value_errors(value.text()))
      invalid(field, json::Value(value.text()), why);
  }
  return causes.size() == before;
}

bool Rules::selector(const Field& field) {
  std::size_t before = causes.size();
  labels(field["matchLabels"]);
  for (std::size_t i = 0; i < field["matchExpressions"].items().size(); ++i) {
    Field one = field["matchExpressions"].at(i);
    std::string_view op = one["operator"].text();
    if (op == "In" || op == "NotIn") {
      if (one["values"].items().empty())
        required(one["values"], "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (!one["values"].items().empty())
        forbidden(one["values"],
                  "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else {
      invalid(one["operator"], json::Value(op), "not a valid selector operator");
    }
    qualified_name(one["key"]);
    for (std::size_t v = 0; v < one["values"].items().size(); ++v)
      report(*this, one["values"].at(v), model::label_value_errors(one["values"].at(v).text()));
  }
  return causes.size() == before;
}

bool Rules::ip(const Field& field) {
  if (model::is_ipv4(field.text()) || model::is_ipv6(field.text())) return true;
  invalid(field, json::Value(field.text()),
          "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  return false;
}

bool Rules::webhook_client(const Field& field) {
  const std::size_t before = causes.size();
  if (field["url"].present() == field["service"].present()) {
    required(field, "exactly one of url or service is required");
  } else if (field["url"].present()) {
    webhook_url(field["url"]);
  } else {
    need_text(field["service"]["name"]);
    need_text(field["service"]["namespace"]);
    const std::int64_t number = field["service"]["port"].number(443);
    if (number < 1 || number > 65535)
      invalid(field["service"]["port"],
              "port is not valid: must be between 1 and 65535, inclusive");
    const Field path = field["service"]["path"];
    if (!path.text().empty() && !path.text().starts_with('/'))
      invalid(path, "must start with a '/'");
  }
  return causes.size() == before;
}

void Rules::webhook_url(const Field& field) {
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  std::string_view rest = field.text();
  const std::size_t scheme = rest.find("://");
  const std::string_view shown = scheme == std::string_view::npos ? "" : rest.substr(0, scheme);
  if (shown != "https")
    invalid(field, json::Value(shown),
            "'https' is the only allowed URL scheme" + std::string(kForm));
  rest = scheme == std::string_view::npos ? "" : rest.substr(scheme + 3);
  if (const std::size_t at = rest.find('#'); at != std::string_view::npos) {
    invalid(field, json::Value(rest.substr(at + 1)), "fragments are not permitted in the URL");
    rest = rest.substr(0, at);
  }
  if (const std::size_t at = rest.find('?'); at != std::string_view::npos) {
    invalid(field, json::Value(rest.substr(at + 1)),
            "query parameters are not permitted in the URL");
    rest = rest.substr(0, at);
  }
  std::string_view host = rest.substr(0, rest.find('/'));
  if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) {
    invalid(field, json::Value(host.substr(0, at)), "user information is not permitted in the URL");
    host = host.substr(at + 1);
  }
  if (host.empty()) invalid(field, json::Value(""), "host must be specified" + std::string(kForm));
}

bool Rules::unique(std::set<std::string>& seen, const Field& field) {
  if (seen.insert(std::string(field.text())).second) return true;
  duplicate(field);
  return false;
}

bool Rules::count_or_percent(const Field& field, bool more_than_all) {
  if (!field.present()) return true;
  if (field.value().is_string()) {
    if (!is_percent(field.text())) {
      invalid(field,
              "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
              "'1%',  or "
              "'93%', regex used for validation is '[0-9]+%')");
      return false;
    }
    if (more_than_all) return true;
    if (field.text().size() > 4 || std::stoi(std::string(field.text())) > 100) {
      invalid(field, "must not be greater than 100%");
      return false;
    }
    return true;
  }
  return not_negative(field);
}

bool Rules::immutable(const Field& field, const Field& old) {
  if (same(field, old)) return true;
  invalid(field, std::string(kImmutable));
  return false;
}

bool same(const Field& a, const Field& b) { return json::equal(a.value(), b.value()); }

}  // namespace hekla::apiserver
