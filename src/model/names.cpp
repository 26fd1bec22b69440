#include "model/names.h"

#include <algorithm>
#include <initializer_list>

namespace hekla::model {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_lower_or_digit(char c) { return is_lower(c) || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool is_dns_label(std::string_view text) {
  return !text.empty() && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_dns_subdomain(std::string_view text) {
  for (std::size_t start = 0;;) {
    const std::size_t dot = text.find('.', start);
    if (!is_dns_label(text.substr(start, dot - start))) return false;
    if (dot == std::string_view::npos) return true;
    start = dot + 1;
  }
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_name_part(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

std::string too_long(int limit) {
  return "must be no more than " + std::to_string(limit) + " characters";
}

std::string mismatch(std::string_view message, std::string_view expression,
                     std::initializer_list<std::string_view> examples) {
  std::string text = std::string(message) + " (e.g. ";
  for (const std::string_view& example : examples) {
    if (&example != examples.begin()) text += " or ";
    text += "'" + std::string(example) + "', ";
  }
  return text + "regex used for validation is '" + std::string(expression) + "')";
}

constexpr std::string_view kDnsLabel = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr std::string_view kNamePart = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

std::string name_part_mismatch() {
  return mismatch(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character",
      kNamePart, {"MyName", "my.name", "123-abc"});
}

}  // namespace

std::vector<std::string> dns1123_label_errors(std::string_view text) {
  std::vector<std::string> errors;
  if (text.size() > 63) errors.push_back(too_long(63));
  if (is_dns_label(text)) return errors;
  errors.push_back(
      is_dns_subdomain(text)
          ? "must not contain dots"
          : mismatch("a lowercase RFC 1123 label must consist of lower case alphanumeric "
                     "characters or '-', and must start and end with an alphanumeric "
                     "character",
                     kDnsLabel, {"my-name", "123-abc"}));
  return errors;
}

std::vector<std::string> path_segment_errors(std::string_view text) {
  std::vector<std::string> errors;
  if (text == "." || text == "..") errors.push_back("may not be '" + std::string(text) + "'");
  for (char bad : {'/', '%'})
    if (text.find(bad) != std::string_view::npos)
      errors.push_back("may not contain '" + std::string(1, bad) + "'");
  return errors;
}

std::vector<std::string> dns1123_subdomain_errors(std::string_view text) {
  std::vector<std::string> errors;
  if (text.size() > 253) errors.push_back(too_long(253));
  if (!is_dns_subdomain(text))
    errors.push_back(
        mismatch("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                 "characters, '-' or '.', and must start and end with an alphanumeric "
                 "character",
                 std::string(kDnsLabel) + "(\\." + std::string(kDnsLabel) + ")*", {"example.com"}));
  return errors;
}

std::vector<std::string> dns1035_label_errors(std::string_view text) {
  std::vector<std::string> errors;
  if (text.size() > 63) errors.push_back(too_long(63));
  if (!is_dns_label(text) || !is_lower(text.front()))
    errors.push_back(
        mismatch("a DNS-1035 label must consist of lower case alphanumeric characters or "
                 "'-', start with an alphabetic character, and end with an alphanumeric "
                 "character",
                 "[a-z]([-a-z0-9]*[a-z0-9])?", {"my-name", "abc-123"}));
  return errors;
}

std::vector<std::string> qualified_name_errors(std::string_view text) {
  std::vector<std::string> errors;
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      errors.push_back(
          "a qualified name " + name_part_mismatch() +
          " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
      return errors;
    }
    if (prefix.empty()) {
      errors.push_back("prefix part must be non-empty");
    } else {
      for (const std::string& error : dns1123_subdomain_errors(prefix))
        errors.push_back("prefix part " + error);
    }
  }
  if (name.empty()) {
    errors.push_back("name part must be non-empty");
  } else if (name.size() > 63) {
    errors.push_back("name part " + too_long(63));
  }
  if (!is_name_part(name)) errors.push_back("name part " + name_part_mismatch());
  return errors;
}

std::vector<std::string> label_value_errors(std::string_view text) {
  std::vector<std::string> errors;
  if (text.size() > 63) errors.push_back(too_long(63));
  if (!text.empty() && !is_name_part(text))
    errors.push_back(
        mismatch("a valid label must be an empty string or consist of alphanumeric characters, "
                 "'-', '_' or '.', "
                 "and must start and end with an alphanumeric character",
                 "(" + std::string(kNamePart) + ")?", {"MyValue", "my_value", "12345"}));
  return errors;
}

}  // namespace hekla::model
