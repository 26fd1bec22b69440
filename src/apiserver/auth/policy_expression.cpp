#include "apiserver/auth/policy_expression.h"

namespace hekla::apiserver {
namespace {

using CelKind = cel::Type::Kind;

cel::Type text_type() { return cel::simple_type(CelKind::string); }
cel::Type texts_type() { return cel::list_of(text_type()); }

// Times that stand in an object as text.
class TimeShape final : public cel::Shape {
 public:
  cel::Type cel_type() const override { return cel::simple_type(CelKind::timestamp); }
  Reading reading() const override { return Reading::date_time; }
  const cel::Shape* member(std::string_view) const override { return nullptr; }
  const cel::Shape* element() const override { return nullptr; }
  bool has_fields() const override { return false; }
  std::optional<cel::Type> field(std::string_view) const override { return std::nullopt; }
};

class ListShape final : public cel::Shape {
 public:
  explicit ListShape(const cel::Shape& element) : element_(element) {}
  cel::Type cel_type() const override { return cel::list_of(element_.cel_type()); }
  Reading reading() const override { return Reading::plain; }
  const cel::Shape* member(std::string_view) const override { return nullptr; }
  const cel::Shape* element() const override { return &element_; }
  bool has_fields() const override { return false; }
  std::optional<cel::Type> field(std::string_view) const override { return std::nullopt; }

 private:
  const cel::Shape& element_;
};

// kubernetes.AdmissionRequest, without the objects, which are variables of their own.
struct RequestShapes {
  FieldsShape kind{"kubernetes.GroupVersionKind"}, resource{"kubernetes.GroupVersionResource"};
  FieldsShape user{"kubernetes.UserInfo"}, request{"kubernetes.AdmissionRequest"};

  RequestShapes() {
    for (const char* field : {"group", "version", "kind"}) kind.add(field, text_type());
    for (const char* field : {"group", "version", "resource"}) resource.add(field, text_type());
    for (const char* field : {"username", "uid"}) user.add(field, text_type());
    user.add("groups", texts_type());
    user.add("extra", cel::map_of(text_type(), texts_type()));
    for (const char* field :
         {"subResource", "requestSubResource", "name", "namespace", "operation"})
      request.add(field, text_type());
    for (const char* field : {"kind", "requestKind"}) request.add(field, kind.cel_type(), &kind);
    for (const char* field : {"resource", "requestResource"})
      request.add(field, resource.cel_type(), &resource);
    request.add("userInfo", user.cel_type(), &user);
    request.add("dryRun", cel::simple_type(CelKind::boolean));
    request.add("options", {});
  }
};

// kubernetes.Namespace: what upstream lets policies see of one.
struct NamespaceShapes {
  TimeShape time;
  FieldsShape condition{"kubernetes.NamespaceCondition"};
  ListShape conditions{condition};
  FieldsShape spec{"kubernetes.NamespaceSpec"}, status{"kubernetes.NamespaceStatus"};
  FieldsShape metadata{"kubernetes.NamespaceMetadata"}, whole{"kubernetes.Namespace"};

  NamespaceShapes() {
    for (const char* field : {"status", "type", "message", "reason"})
      condition.add(field, text_type());
    condition.add("lastTransitionTime", time.cel_type(), &time);
    spec.add("finalizers", texts_type());
    status.add("conditions", conditions.cel_type(), &conditions);
    status.add("phase", text_type());
    for (const char* field : {"name", "generateName", "namespace", "UID", "resourceVersion"})
      metadata.add(field, text_type());
    for (const char* field : {"labels", "annotations"})
      metadata.add(field, cel::map_of(text_type(), text_type()));
    for (const char* field : {"creationTimestamp", "deletionTimestamp"})
      metadata.add(field, time.cel_type(), &time);
    for (const char* field : {"deletionGracePeriodSeconds", "generation"})
      metadata.add(field, cel::simple_type(CelKind::integer));
    metadata.add("finalizers", texts_type());
    whole.add("metadata", metadata.cel_type(), &metadata);
    whole.add("spec", spec.cel_type(), &spec);
    whole.add("status", status.cel_type(), &status);
  }
};

const RequestShapes& request_shapes() {
  static const RequestShapes made;
  return made;
}
const NamespaceShapes& namespace_shapes() {
  static const NamespaceShapes made;
  return made;
}

// A type that a variable may have: what is more than plain values and lists and maps of them is
// anything.
cel::Type plain_type(const cel::Type& type) {
  if (type.kind == CelKind::list)
    return cel::list_of(type.element ? plain_type(*type.element) : cel::Type());
  if (type.kind == CelKind::map)
    return cel::map_of(type.key ? plain_type(*type.key) : cel::Type(),
                       type.element ? plain_type(*type.element) : cel::Type());
  const bool plain = type.kind >= CelKind::null && type.kind <= CelKind::timestamp;
  return plain ? cel::simple_type(type.kind) : cel::Type();
}

// Of what type the result must be, exactly: anything at all is not good enough.
std::string result_problem(const cel::Type& type, ExpressionResult wanted) {
  const std::string got = " but got " + type.text();
  switch (wanted) {
    case ExpressionResult::anything:
      return {};
    case ExpressionResult::boolean:
      return type.kind == CelKind::boolean ? "" : "must evaluate to bool" + got;
    case ExpressionResult::text:
      return type.kind == CelKind::string ? "" : "must evaluate to string" + got;
    case ExpressionResult::text_or_null:
      return type.kind == CelKind::string || type.kind == CelKind::null
                 ? ""
                 : "must evaluate to one of [string null_type]" + got;
  }
  return {};
}

}  // namespace

cel::Type FieldsShape::cel_type() const {
  cel::Type out = cel::simple_type(CelKind::object);
  out.shape = this;
  return out;
}

const cel::Shape* FieldsShape::member(std::string_view name) const {
  auto found = fields_.find(name);
  return found == fields_.end() ? nullptr : found->second.below;
}

std::optional<cel::Type> FieldsShape::field(std::string_view name) const {
  auto found = fields_.find(name);
  if (found == fields_.end()) return std::nullopt;
  return found->second.type;
}

Result<ProgramPtr> check_admission_expression(std::string text, const ExpressionScope& scope) {
  std::vector<cel::Variable> variables{{"object", scope.object},
                                       {"oldObject", scope.object},
                                       {"request", request_shapes().request.cel_type()},
                                       {"namespaceObject", namespace_shapes().whole.cel_type()}};
  if (scope.has_parameters) variables.push_back({"params", scope.parameters});
  if (scope.has_authorizer) {
    variables.push_back({"authorizer", cel::simple_type(CelKind::authorizer)});
    if (scope.has_request_resource)
      variables.push_back(
          {"authorizer.requestResource", cel::simple_type(CelKind::resource_check)});
  }
  if (scope.variables) variables.push_back({"variables", scope.variables->cel_type()});
  return cel::Program::compile(std::move(text), variables);
}

Result<ProgramPtr> compile_admission_expression(std::string text, const ExpressionScope& scope,
                                                ExpressionResult wanted) {
  Result<ProgramPtr> program = check_admission_expression(std::move(text), scope);
  if (!program) return fail(Code::bad_request, "compilation failed: " + program.error().message);
  if (std::string problem = result_problem((*program)->type(), wanted); !problem.empty())
    return fail(Code::bad_request, std::move(problem));
  return program;
}

void add_variable(FieldsShape& variables, const std::string& name,
                  const Result<ProgramPtr>& program) {
  variables.add(name, program ? plain_type((*program)->type()) : cel::Type());
}

const cel::Shape& namespace_shape() { return namespace_shapes().whole; }

cel::AccessDecision RequestAuthority::decide(const cel::AccessQuestion& question) const {
  RequestInfo info;
  info.verb = question.verb;
  info.path = question.path;
  info.is_resource = question.path.empty();
  if (info.is_resource) {
    info.group = question.group;
    info.version = "*";
    info.plural = question.resource;
    info.subresource = question.subresource;
    info.ns = question.ns;
    info.name = question.name;
  }
  kube::UserInfo account;
  if (!question.account_name.empty()) {
    account.name =
        "system:serviceaccount:" + question.account_namespace + ":" + question.account_name;
    account.groups = {"system:serviceaccounts",
                      "system:serviceaccounts:" + question.account_namespace};
  }
  cel::AccessDecision decision;
  decision.allowed = authorizer_.allows(question.account_name.empty() ? request_.user : account,
                                        info, &decision.reason);
  return decision;
}

std::vector<cel::Binding> RequestAuthority::bindings() const {
  cel::Authorizer authorizer;
  cel::ResourceCheck asked;
  authorizer.authority = asked.authority = this;
  authorizer.question = std::make_shared<cel::AccessQuestion>();
  const bool is_namespace =
      request_.resource.group.empty() && request_.resource.plural == "namespaces";
  asked.question = std::make_shared<cel::AccessQuestion>(
      cel::AccessQuestion{.group = request_.resource.group,
                          .resource = request_.resource.plural,
                          .subresource = request_.subresource,
                          .ns = is_namespace ? request_.key.name : request_.key.ns,
                          .name = request_.key.name});
  return {{"authorizer", cel::Value(authorizer)},
          {"authorizer.requestResource", cel::Value(asked)}};
}

}  // namespace hekla::apiserver
