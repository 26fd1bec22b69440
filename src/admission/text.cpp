#include "admission/text.h"

namespace hekla::admission {
namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string bracketed(const std::vector<std::string>& parts) {
  return "[" + joined(parts, " ") + "]";
}

std::string invalid_field(std::string_view path, std::string_view value, std::string_view detail) {
  return std::string(path) + ": Invalid value: " + quoted(value) + ": " + std::string(detail);
}

std::string aggregated(const std::vector<std::string>& messages) {
  return messages.size() == 1 ? messages.front() : "[" + joined(messages, ", ") + "]";
}

std::string multierror(const std::vector<std::string>& messages) {
  if (messages.size() == 1) return "1 error occurred:\n\t* " + messages.front() + "\n\n";
  std::string text = std::to_string(messages.size()) + " errors occurred:";
  for (const std::string& message : messages) text += "\n\t* " + message;
  return text + "\n\n";
}

Result<void> deny_if(std::string_view message) {
  std::string_view said = trimmed(message);
  if (said.empty()) return {};
  return fail(Code::bad_request, std::string(said));
}

}  // namespace hekla::admission
