// Static types: what the checker knows of an expression before it runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apiserver/cel/value.h"

namespace hekla::apiserver::cel {

struct Type {
  enum class Kind : std::uint8_t {
    dyn, null, boolean, integer, uinteger, floating, string, bytes, duration, timestamp, list, map, object,
    optional, type, quantity, ip, cidr, url, format, parameter
  };
  Kind kind = Kind::dyn;
  std::shared_ptr<const Type> key, element;  // of map; of list, map, optional
  const Schema* schema = nullptr;            // of object
  char parameter = 'A';

  std::string text() const;
};

Type simple_type(Type::Kind kind);
Type list_of(Type element);
Type map_of(Type key, Type element);
Type optional_of(Type element);
// The type a schema's values have; dyn for what has no structure.
Type type_of_schema(const Schema* schema);

// Reads "list<A>", "map<string,int>", "bool". Programmer's text: checked.
Type parse_type(std::string_view text);

// Whether a value of `given` can stand where `wanted` is expected; binds the parameters of `wanted`.
struct Bindings {
  std::vector<std::pair<char, Type>> types;
};
bool assignable(const Type& wanted, const Type& given, Bindings& bindings);
Type substitute(const Type& type, const Bindings& bindings);
// The common type of two branches, dyn when they share none.
Type join(const Type& a, const Type& b);
// Whether a value is of the parameter's type at run time; the outermost type is enough to choose.
bool holds(const Type& wanted, const Value& value);

}  // namespace hekla::apiserver::cel
