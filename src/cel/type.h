// Static types: what the checker knows of an expression before it runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace hekla::cel {

struct Type {
  enum class Kind : std::uint8_t {
    dyn,
    null,
    boolean,
    integer,
    uinteger,
    floating,
    string,
    bytes,
    duration,
    timestamp,
    list,
    map,
    object,
    optional,
    type,
    quantity,
    ip,
    cidr,
    url,
    format,
    semver,
    authorizer,
    path_check,
    group_check,
    resource_check,
    decision,
    parameter
  };
  Kind kind = Kind::dyn;
  std::shared_ptr<const Type> key, element;  // of map; of list, map, optional
  const Shape* shape = nullptr;              // of object
  char parameter = 'A';
  bool open = false;  // dyn for want of any better: the first use decides

  std::string text() const;
  std::string short_text() const;  // as the checker's messages have it: timestamp, duration, null
};

Type simple_type(Type::Kind kind);
Type list_of(Type element);
Type map_of(Type key, Type element);
Type optional_of(Type element);

// How an object of the API is to be read: what its schema tells the checker and the evaluator.
class Shape {
 public:
  // Of texts and numbers that JSON has no types for.
  enum class Reading : std::uint8_t { plain, whole, floating, date_time, date, duration, bytes };

  virtual ~Shape() = default;
  // What messages call the type.
  virtual std::string_view name() const { return "object"; }
  // What the checker knows of a value; dyn for what has no structure.
  virtual Type cel_type() const = 0;
  virtual Reading reading() const = 0;
  // Of the values below; null: they are what JSON says of them.
  virtual const Shape* member(std::string_view name) const = 0;
  virtual const Shape* element() const = 0;
  // An object with named fields that CEL spells escaped: my__dash__name, __namespace__.
  virtual bool has_fields() const = 0;
  // Nothing if there is no field of that name.
  virtual std::optional<Type> field(std::string_view name) const = 0;
};

// Reads "list<A>", "map<string,int>", "bool". Programmer's text: checked.
Type parse_type(std::string_view text);

// Whether a value of `given` can stand where `wanted` is expected; binds the parameters of
// `wanted`.
struct Bindings {
  std::vector<std::pair<char, Type>> types;
};
bool assignable(const Type& wanted, const Type& given, Bindings& bindings);
Type substitute(const Type& type, const Bindings& bindings);
// Not merely assignable: the same, but for what is still open.
bool same_type(const Type& a, const Type& b);
// The common type of two branches, dyn when they share none.
Type join(const Type& a, const Type& b);
// Whether a value is of the parameter's type at run time; the outermost type is enough to choose.
bool holds(const Type& wanted, const Value& value);

}  // namespace hekla::cel
