#include "pipelines/ir/fields.h"

#include <algorithm>
#include <charconv>

#include "json/go_text.h"
#include "json/node.h"

namespace hekla::pipelines::ir {
namespace {

std::string snake(std::string_view camel) {
  std::string made;
  for (char c : camel) {
    if (c >= 'A' && c <= 'Z') {
      made += '_';
      made += static_cast<char>(c + 32);
    } else {
      made += c;
    }
  }
  return made;
}

}  // namespace

Fields::Fields(const json::Value* value, std::string where) : where_(std::move(where)) {
  if (value == nullptr || value->is_null()) return;
  if (value->is_object())
    object_ = &value->get_object();
  else
    problem_ = where_ + ": an object is wanted";
}

const json::Value* Fields::take(std::string_view name) {
  if (object_ == nullptr) return nullptr;
  const json::Value* found = json::find(*object_, name);
  if (found == nullptr) found = json::find(*object_, snake(name));
  if (found == nullptr) return nullptr;
  taken_.push_back(found);
  return found->is_null() ? nullptr : found;
}

void Fields::wrong(std::string_view name, std::string_view wanted) {
  if (problem_.empty())
    problem_ = "invalid value for " + std::string(wanted) + " field " + std::string(name) +
               " (in " + where_ + ")";
}

std::string Fields::text(std::string_view name) {
  const json::Value* found = take(name);
  if (found == nullptr) return {};
  if (found->is_string()) return std::string(json::sv(found->get_string()));
  wrong(name, "string");
  return {};
}

bool Fields::boolean(std::string_view name) {
  const json::Value* found = take(name);
  if (found == nullptr) return false;
  if (found->is_bool()) return found->get_bool();
  wrong(name, "bool");
  return false;
}

std::int64_t Fields::integer(std::string_view name) {
  const json::Value* found = take(name);
  if (found == nullptr) return 0;
  std::int64_t number = 0;
  if (json::Node(*found).to_number(number)) return number;
  if (found->is_string()) {
    const std::string_view text = json::sv(found->get_string());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size()) return number;
  }
  wrong(name, "int64");
  return 0;
}

double Fields::real(std::string_view name) {
  const json::Value* found = take(name);
  if (found == nullptr) return 0;
  double number = 0;
  if (json::Node(*found).to_number(number)) return number;
  wrong(name, "double");
  return 0;
}

const json::Array* Fields::array(std::string_view name) {
  const json::Value* found = take(name);
  if (found == nullptr) return nullptr;
  if (found->is_array()) return &found->get_array();
  wrong(name, "list");
  return nullptr;
}

const json::Object* Fields::object(std::string_view name) {
  const json::Value* found = take(name);
  if (found == nullptr) return nullptr;
  if (found->is_object()) return &found->get_object();
  wrong(name, "map");
  return nullptr;
}

std::vector<std::string> Fields::texts(std::string_view name) {
  std::vector<std::string> all;
  const json::Array* list = array(name);
  if (list == nullptr) return all;
  for (const json::Value& one : *list) {
    if (one.is_string())
      all.emplace_back(json::sv(one.get_string()));
    else
      wrong(name, "string");
  }
  return all;
}

Result<void> Fields::finish() const {
  if (!problem_.empty()) return fail(Code::bad_request, problem_);
  if (object_ == nullptr) return {};
  for (const auto& member : *object_)
    if (std::ranges::find(taken_, &member.value()) == taken_.end())
      return fail(Code::bad_request,
                  "unknown field " + json::go_quote(member.key()) + " (in " + where_ + ")");
  return {};
}

}  // namespace hekla::pipelines::ir
