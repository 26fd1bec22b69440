// CEL expressions in built-in kinds: those of policies and of webhooks' match conditions.
#pragma once

#include "apiserver/auth/policy_expression.h"
#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {

inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Reports one that is `missing`, does not compile, or comes to something else than it should.
inline Result<ProgramPtr> validate_expression(const Field& expression, const ExpressionScope& scope,
                                              ExpressionResult wanted, std::string_view missing,
                                              Rules& rules) {
  if (is_blank(expression.text())) {
    rules.required(expression, std::string(missing));
    return fail(Code::invalid, "");
  }
  Result<ProgramPtr> program =
      compile_admission_expression(std::string(expression.text()), scope, wanted);
  if (!program) rules.invalid(expression, program.error().message);
  return program;
}

}  // namespace hekla::apiserver
