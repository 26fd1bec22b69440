// A Value or a View, told apart at run time so that a struct's decoder, or whoever wants a few
// members of either, is compiled once for both.
#pragma once

#include <string_view>

#include "json/view.h"

namespace hekla::json {

// Borrows; valid as long as the Value or the View's Document.
class Node {
 public:
  Node(const Value& value) : value_(&value), view_(nullptr, nullptr, nullptr) {}
  Node(const View& view) : view_(view) {}

  bool is_null() const { return value_ ? value_->is_null() : view_.is_null(); }
  bool is_bool() const { return value_ ? value_->is_bool() : view_.is_bool(); }
  bool is_int64() const { return value_ ? value_->is_int64() : view_.is_int64(); }
  bool is_uint64() const { return value_ ? value_->is_uint64() : view_.is_uint64(); }
  bool is_double() const { return value_ ? value_->is_double() : view_.is_double(); }
  bool is_number() const { return is_int64() || is_uint64() || is_double(); }
  bool is_string() const { return value_ ? value_->is_string() : view_.is_string(); }
  bool is_array() const { return value_ ? value_->is_array() : view_.is_array(); }
  bool is_object() const { return value_ ? value_->is_object() : view_.is_object(); }

  // Only for a value of the kind asked for.
  bool get_bool() const { return value_ ? value_->get_bool() : view_.get_bool(); }
  std::int64_t get_int64() const { return value_ ? value_->get_int64() : view_.get_int64(); }
  std::uint64_t get_uint64() const { return value_ ? value_->get_uint64() : view_.get_uint64(); }
  double get_double() const { return value_ ? value_->get_double() : view_.get_double(); }
  std::string_view get_string() const {
    return value_ ? sv(value_->get_string()) : view_.get_string();
  }
  // Of an array.
  std::size_t size() const { return value_ ? value_->get_array().size() : view_.size(); }

  // Integers convert exactly or not at all; a double without a fraction is an integer.
  template <class Number>
  bool to_number(Number& out) const;

  // function(Node) -> bool, false to stop.
  template <class Function>
  void for_each_element(Function&& function) const {
    if (value_ == nullptr) {
      view_.for_each_element([&](const View& element) { return function(Node(element)); });
      return;
    }
    for (const Value& element : value_->get_array())
      if (!function(Node(element))) return;
  }
  // function(std::string_view, Node) -> bool, false to stop.
  template <class Function>
  void for_each_member(Function&& function) const {
    if (value_ == nullptr) {
      view_.for_each_member(
          [&](std::string_view key, const View& value) { return function(key, Node(value)); });
      return;
    }
    for (const auto& member : value_->get_object())
      if (!function(std::string_view(member.key()), Node(member.value()))) return;
  }
  // Of an object.
  std::optional<Node> find(std::string_view name) const;

  // A copy with memory of its own.
  Result<Value> to_value() const;
  // The Value that this is; null for a View.
  const Value* value() const { return value_; }

 private:
  const Value* value_ = nullptr;
  View view_;
};

// As those of value.h: nothing where a member is missing or of another kind.
std::optional<Node> find_path(const Node& node, std::initializer_list<std::string_view> members);
std::string_view string_at(const Node& node, std::initializer_list<std::string_view> members);
std::int64_t int_at(const Node& node, std::initializer_list<std::string_view> members,
                    std::int64_t otherwise = 0);
bool bool_at(const Node& node, std::initializer_list<std::string_view> members,
             bool otherwise = false);

template <class Number>
bool Node::to_number(Number& out) const {
  if constexpr (std::is_floating_point_v<Number>) {
    if (is_double())
      out = static_cast<Number>(get_double());
    else if (is_int64())
      out = static_cast<Number>(get_int64());
    else if (is_uint64())
      out = static_cast<Number>(get_uint64());
    else
      return false;
    return true;
  } else {
    if (is_int64() && std::in_range<Number>(get_int64())) {
      out = static_cast<Number>(get_int64());
    } else if (is_uint64() && std::in_range<Number>(get_uint64())) {
      out = static_cast<Number>(get_uint64());
    } else if (is_double() && get_double() >= -0x1p63 && get_double() < 0x1p63) {
      const auto whole = static_cast<std::int64_t>(get_double());
      if (static_cast<double>(whole) != get_double() || !std::in_range<Number>(whole)) return false;
      out = static_cast<Number>(whole);
    } else {
      return false;
    }
    return true;
  }
}

}  // namespace hekla::json
