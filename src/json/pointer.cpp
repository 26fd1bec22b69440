#include "json/pointer.h"

#include <charconv>

namespace hekla::json {

Result<std::vector<std::string>> parse_pointer(std::string_view text) {
  std::vector<std::string> tokens;
  if (text.empty()) return tokens;
  if (text[0] != '/')
    return fail(Code::bad_request,
                "JSON pointer \"" + std::string(text) + "\" does not begin with \"/\"");
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      tokens.emplace_back();
    } else if (text[i] == '~') {
      const char code = i + 1 < text.size() ? text[i + 1] : '\0';
      if (code != '0' && code != '1')
        return fail(Code::bad_request, "JSON pointer \"" + std::string(text) +
                                           "\" has a \"~\" that is neither \"~0\" nor \"~1\"");
      tokens.back().push_back(code == '0' ? '~' : '/');
      ++i;
    } else {
      tokens.back().push_back(text[i]);
    }
  }
  return tokens;
}

std::string pointer_text(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    text.push_back('/');
    for (char c : token) {
      if (c == '~') {
        text += "~0";
      } else if (c == '/') {
        text += "~1";
      } else {
        text.push_back(c);
      }
    }
  }
  return text;
}

std::size_t array_index(std::string_view token, std::size_t limit) {
  if (token.empty() || (token.size() > 1 && token[0] == '0')) return std::string_view::npos;
  std::size_t index = 0;
  const char* end = token.data() + token.size();
  const auto [at, error] = std::from_chars(token.data(), end, index);
  return error == std::errc{} && at == end && index < limit ? index : std::string_view::npos;
}

const Value* find_pointer(const Value& value, const std::vector<std::string>& tokens) {
  const Value* at = &value;
  for (const std::string& token : tokens) {
    if (const Array* array = at->if_array()) {
      const std::size_t index = array_index(token, array->size());
      if (index == std::string_view::npos) return nullptr;
      at = &(*array)[index];
    } else {
      at = find(*at, token);
      if (at == nullptr) return nullptr;
    }
  }
  return at;
}

Value* find_pointer(Value& value, const std::vector<std::string>& tokens) {
  Value* at = &value;
  for (const std::string& token : tokens) {
    if (Array* array = at->if_array()) {
      const std::size_t index = array_index(token, array->size());
      if (index == std::string_view::npos) return nullptr;
      at = &(*array)[index];
    } else {
      Object* object = at->if_object();
      if (object == nullptr) return nullptr;
      const auto found = object->find(token);
      if (found == object->end()) return nullptr;
      at = &found->value();
    }
  }
  return at;
}

}  // namespace hekla::json
