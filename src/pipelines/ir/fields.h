// The members of one message of the IR, read strictly: names as protobuf's JSON has them
// (parameterType) or in their other spelling (parameter_type), and nothing that the message does
// not have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace hekla::pipelines::ir {

// Borrows the value. Reads never fail; finish() says what was wrong first.
class Fields {
 public:
  // `value` may be null: no members.
  Fields(const json::Value* value, std::string where);

  const json::Value* take(std::string_view name);  // null when missing or JSON's null
  std::string text(std::string_view name);
  bool boolean(std::string_view name);
  std::int64_t integer(std::string_view name);  // a number or a string of one, as protobuf has it
  double real(std::string_view name);
  const json::Array* array(std::string_view name);
  const json::Object* object(std::string_view name);
  std::vector<std::string> texts(std::string_view name);

  const std::string& where() const { return where_; }
  // unknown field "x" (in root.dag), or a member of the wrong kind.
  Result<void> finish() const;

 private:
  void wrong(std::string_view name, std::string_view wanted);

  const json::Object* object_ = nullptr;
  std::string where_;
  std::vector<const json::Value*> taken_;
  std::string problem_;
};

}  // namespace hekla::pipelines::ir
