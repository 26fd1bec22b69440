#include "admission/field_errors.h"

#include <algorithm>

#include "admission/text.h"
#include "json/go_text.h"
#include "model/names.h"

namespace hekla::admission {
namespace {

constexpr std::string_view kPathCharacters = "/-._~%!$&'()*+,;=:";

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kPathCharacters.find(c) != std::string_view::npos;
}

}  // namespace

void FieldErrors::add(std::string_view path, std::string_view kind, std::string_view detail) {
  std::string message(path);
  message.append(": ").append(kind);
  if (!detail.empty()) message.append(": ").append(detail);
  if (std::ranges::find(messages_, message) == messages_.end())
    messages_.push_back(std::move(message));
}

void FieldErrors::required(std::string_view path, std::string_view detail) {
  add(path, "Required value", detail);
}

void FieldErrors::forbidden(std::string_view path, std::string_view detail) {
  add(path, "Forbidden", detail);
}

void FieldErrors::invalid(std::string_view path, const json::Value& value,
                          std::string_view detail) {
  if (value.is_string()) return invalid_text(path, json::sv(value.get_string()), detail);
  invalid_raw(path, json::go_text(value), detail);
}

void FieldErrors::invalid_text(std::string_view path, std::string_view value,
                               std::string_view detail) {
  invalid_raw(path, json::go_quote(value), detail);
}

void FieldErrors::invalid_raw(std::string_view path, std::string_view value,
                              std::string_view detail) {
  add(path, "Invalid value: " + std::string(value), detail);
}

void FieldErrors::unsupported(std::string_view path, std::string_view value,
                              const std::vector<std::string_view>& supported) {
  std::string detail;
  for (std::string_view one : supported)
    detail += (detail.empty() ? "supported values: " : ", ") + quoted(one);
  add(path, "Unsupported value: " + quoted(value), detail);
}

void FieldErrors::duplicate(std::string_view path, std::string_view value) {
  add(path, "Duplicate value: " + quoted(value), {});
}

void FieldErrors::too_long(std::string_view path, std::size_t bytes_max) {
  add(path, "Too long", "may not be more than " + std::to_string(bytes_max) + " bytes");
}

void FieldErrors::internal(std::string_view detail) { add("<nil>", "Internal error", detail); }

std::string FieldErrors::text() const { return aggregated(messages_); }

Result<void> FieldErrors::refusal(std::string_view introduction) const {
  if (messages_.empty()) return {};
  return fail(Code::forbidden, std::string(introduction) + text());
}

void check_domain_prefixed_path(std::string_view path, std::string_view value,
                                FieldErrors& errors) {
  const std::size_t slash = value.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == value.size())
    return errors.invalid_text(path, value,
                               "must be a domain-prefixed path (such as \"acme.io/foo\")");
  const std::string_view domain = value.substr(0, slash), rest = value.substr(slash + 1);
  for (const std::string& why : model::dns1123_subdomain_errors(domain))
    errors.invalid_text(path, domain, why);
  if (!std::ranges::all_of(rest, is_path_character))
    errors.invalid_text(path, rest,
                        "Invalid path (regex used for validation is "
                        "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

}  // namespace hekla::admission
