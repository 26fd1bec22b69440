// The functions and operators of CEL and of Kubernetes' libraries as one table: each overload says
// its signature once, for the checker and for the evaluator.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cel/type.h"

namespace hekla::cel {

// What evaluation may still spend. Roughly one unit per operation, plus the size of what is
// traversed.
class Budget {
 public:
  explicit Budget(std::uint64_t units) : left_(units) {}
  // False once there is nothing left.
  bool spend(std::uint64_t units) {
    if (units > left_) {
      left_ = 0;
      exhausted_ = true;
      return false;
    }
    left_ -= units;
    return true;
  }
  bool exhausted() const { return exhausted_; }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_;
  bool exhausted_ = false;
};

// Fields that are worth nothing until somebody asks for them.
class LazyFields {
 public:
  virtual ~LazyFields() = default;
  virtual bool has(std::string_view name) const = 0;
  virtual Result<Value> get(std::string_view name, Budget& budget) const = 0;
};

using Arguments = std::span<const Value>;
using Function = Result<Value> (*)(Arguments, Budget&);

// As it stands in a library's table: "string.contains(string) bool",
// "sets.contains(list<A>,list<A>) bool"; a receiver is marked by a leading type and a dot only
// where the name before the dot is no name space.
struct FunctionEntry {
  std::string_view name;
  bool member;
  std::string_view signature;  // "(string,string) bool", the receiver first
  Function function;
};

struct Overload {
  std::string_view name;
  bool member = false;
  std::vector<Type> parameters;
  Type result;
  Function function = nullptr;
};

// All of that name and style.
std::vector<const Overload*> find_overloads(std::string_view name, bool member);
bool function_exists(std::string_view name);

// One table per library.
std::span<const FunctionEntry> operator_functions();
std::span<const FunctionEntry> conversion_functions();
std::span<const FunctionEntry> string_functions();
std::span<const FunctionEntry> list_functions();
std::span<const FunctionEntry> time_functions();
std::span<const FunctionEntry> kubernetes_functions();
std::span<const FunctionEntry> network_functions();
std::span<const FunctionEntry> semver_functions();
std::span<const FunctionEntry> access_functions();
std::span<const FunctionEntry> format_functions();
std::span<const FunctionEntry> url_functions();

// string(value), for those that have a text.
Result<std::string> text_of_value(const Value& value);
// The elements of `list` in the order of their keys, which is the same list or as long.
Result<Value> sorted_by(const Value& list, const Value& keys, Budget& budget);

inline std::unexpected<Error> cel_error(std::string message) {
  return fail(Code::invalid, std::move(message));
}
inline std::unexpected<Error> out_of_budget() {
  return fail(Code::timeout, "operation cancelled: actual cost limit exceeded");
}

}  // namespace hekla::cel
