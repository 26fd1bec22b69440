// The expressions of admission policies and of match conditions: what they may mention, and what
// must come of them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "apiserver/auth/auth.h"
#include "base/result.h"
#include "cel/program.h"
#include "json/value.h"
#include "kube/admission.h"

namespace hekla::apiserver {

using ProgramPtr = std::shared_ptr<const cel::Program>;

// An expression as it was written, and what the compiler made of it.
struct PolicyExpression {
  std::string text;
  Result<ProgramPtr> program;
};

// An object type with fields that are spelt as they are.
class FieldsShape final : public cel::Shape {
 public:
  explicit FieldsShape(std::string name) : name_(std::move(name)) {}
  // `below`: how the values of the field are to be read; it outlives this.
  void add(std::string field, cel::Type type, const cel::Shape* below = nullptr) {
    fields_.insert_or_assign(std::move(field), Field{std::move(type), below});
  }

  std::string_view name() const override { return name_; }
  cel::Type cel_type() const override;
  Reading reading() const override { return Reading::plain; }
  const cel::Shape* member(std::string_view name) const override;
  const cel::Shape* element() const override { return nullptr; }
  bool has_fields() const override { return false; }
  std::optional<cel::Type> field(std::string_view name) const override;

 private:
  struct Field {
    cel::Type type;
    const cel::Shape* below = nullptr;
  };
  std::string name_;
  std::map<std::string, Field, std::less<>> fields_;
};

// Variables of an expression besides `request` and `namespaceObject`.
struct ExpressionScope {
  cel::Type object = {}, parameters = {};  // of object and oldObject; of params
  bool has_parameters = false;
  bool has_authorizer = true;
  bool has_request_resource = true;  // authorizer.requestResource: the type check does not know it
  const cel::Shape* variables = nullptr;  // null: there are none
};
enum class ExpressionResult { boolean, text, text_or_null, anything };

// bad_request in the words of upstream's validation: "compilation failed: ...", "must evaluate to
// bool but got int".
Result<ProgramPtr> compile_admission_expression(std::string text, const ExpressionScope& scope,
                                                ExpressionResult wanted);
// As compiled, whatever comes of it; the error is the compiler's.
Result<ProgramPtr> check_admission_expression(std::string text, const ExpressionScope& scope);
// As a field of `variables`.
void add_variable(FieldsShape& variables, const std::string& name,
                  const Result<ProgramPtr>& program);
// How namespaceObject is to be read.
const cel::Shape& namespace_shape();

// Answers the expressions of one request: in its user's name, or in a service account's.
class RequestAuthority final : public cel::AccessAuthority {
 public:
  RequestAuthority(const RequestAuthorizer& authorizer, const kube::AdmissionRequest& request)
      : authorizer_(authorizer), request_(request) {}
  cel::AccessDecision decide(const cel::AccessQuestion& question) const override;
  // `authorizer` and `authorizer.requestResource`. They must not outlive this.
  std::vector<cel::Binding> bindings() const;

 private:
  const RequestAuthorizer& authorizer_;
  const kube::AdmissionRequest& request_;
};

}  // namespace hekla::apiserver
