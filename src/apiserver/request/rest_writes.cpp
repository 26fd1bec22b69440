#include "apiserver/request/rest_writes.h"

#include "apiserver/crd/conversion.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/subresources.h"
#include "apiserver/read/reads.h"
#include "apiserver/read/render.h"
#include "apiserver/request/audit.h"
#include "apiserver/request/request_body.h"
#include "apiserver/request/rest_reads.h"
#include "apiserver/schema/field_hint.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/text/status_error.h"
#include "apiserver/write/managed_fields.h"
#include "apiserver/write/scale.h"

namespace hekla::apiserver {

namespace {

// "CreateOptions": the object whose validation a bad query parameter fails.
std::string options_kind(const RequestInfo& info) {
  if (info.verb == "create") return "CreateOptions";
  if (info.verb == "update") return "UpdateOptions";
  if (info.verb == "patch") return "PatchOptions";
  return "DeleteOptions";
}

Result<bool> parse_dry_run(const std::string& kind, const std::vector<std::string>& values) {
  if (values.empty()) return false;
  if (values.size() == 1 && values.front() == "All") return true;
  json::Array given;
  for (const std::string& one : values) given.emplace_back(one);
  return std::unexpected(invalid_options_error(
      kind, unsupported_value("dryRun", json::Value(std::move(given)), {"All"})));
}

Result<FieldValidation> parse_field_validation(const std::string& kind, std::string_view text) {
  if (text.empty() || text == "Warn") return FieldValidation::warn;
  if (text == "Ignore") return FieldValidation::ignore;
  if (text == "Strict") return FieldValidation::strict;
  return std::unexpected(invalid_options_error(
      kind,
      unsupported_value("fieldValidation", json::Value(text), {"", "Ignore", "Strict", "Warn"})));
}

std::string hex_byte(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {kDigits[byte >> 4], kDigits[byte & 15]};
}

// A body has more bytes as a value than as text; one block for most.
constexpr std::size_t kBytesPerByte = 8, kSmallestMemory = 8 * 1024, kLargestMemory = 256 * 1024;

// A request whose body is in memory of its own.
WriteRequest request_with_memory(std::size_t body_bytes) {
  auto memory = std::make_shared<json::Arena>(
      std::clamp(kBytesPerByte * body_bytes, kSmallestMemory, kLargestMemory));
  json::Value body(json::Storage(memory.get()));
  return {.memory = std::move(memory), .body = std::move(body)};
}

// Options in the query, the same for every write.
Result<void> read_query(const Exchange& exchange, WriteRequest& request) {
  const net::Query& query = exchange.request.query;
  const std::string kind = options_kind(exchange.info);
  request.served = exchange.served;
  request.key = {exchange.info.ns, exchange.info.name};
  request.subresource = exchange.info.subresource;
  request.user = exchange.user;
  std::vector<std::string> dry_run;
  for (std::string_view one : query.get_all("dryRun")) dry_run.emplace_back(one);
  request.dry_run = TRY(parse_dry_run(kind, dry_run));
  request.field_validation = TRY(parse_field_validation(kind, query.get("fieldValidation")));
  // A misspelt field of a job is told of even when nobody asked: it is dropped, and the job is
  // another.
  if (request.field_validation == FieldValidation::ignore &&
      is_platform_group(exchange.served->kind->resource.group))
    request.field_validation = FieldValidation::warn;
  std::string_view manager = query.get("fieldManager");
  if (manager.size() > 128)
    return std::unexpected(invalid_options_error(kind, too_long("fieldManager", 128)));
  if (const auto odd =
          std::ranges::find_if(manager, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
      odd != manager.end())
    return std::unexpected(invalid_options_error(
        kind, invalid_value("fieldManager", json::Value(manager),
                            "invalid character U+00" + hex_byte(static_cast<unsigned char>(*odd)) +
                                " (at position " + std::to_string(odd - manager.begin()) + ")")));
  request.given_manager = manager;
  request.given_validation = query.get("fieldValidation");
  request.field_manager = manager_name(manager, exchange.request.headers.get("User-Agent"));
  request.asked = &exchange.info;
  return {};
}

// How upstream begins to say that a patch did not parse.
std::string undecoded(kube::PatchType type) {
  if (type == kube::PatchType::apply) return "error decoding YAML: error converting YAML to JSON: ";
  return type == kube::PatchType::strategic ? "" : "error decoding patch: ";
}

// DeleteOptions from the body, or from the query when there is none.
Result<void> read_delete_options(const Exchange& exchange, const json::Value& body,
                                 WriteRequest& request) {
  RemoveOptions& remove = request.remove;
  if (body.is_object()) {
    if (const json::Value* grace = json::find(body, "gracePeriodSeconds");
        grace && grace->is_number())
      remove.grace_period_seconds = json::int_at(body, {"gracePeriodSeconds"});
    remove.propagation_policy = json::string_at(body, {"propagationPolicy"});
    if (const json::Value* orphan = json::find(body, "orphanDependents");
        orphan && orphan->is_bool())
      remove.orphan_dependents = orphan->get_bool();
    remove.precondition_uid = json::string_at(body, {"preconditions", "uid"});
    remove.precondition_resource_version =
        json::string_at(body, {"preconditions", "resourceVersion"});
    if (const json::Array* dry_run = json::array_at(body, {"dryRun"})) {
      std::vector<std::string> values;
      for (const json::Value& one : *dry_run)
        if (one.is_string()) values.emplace_back(json::sv(one.get_string()));
      request.dry_run = TRY(parse_dry_run("DeleteOptions", values));
    }
    return {};
  }
  const net::Query& query = exchange.request.query;
  remove.grace_period_seconds = query_integer(query, "gracePeriodSeconds");
  remove.propagation_policy = query.get("propagationPolicy");
  if (query.has("orphanDependents"))
    remove.orphan_dependents = query_flag(query, "orphanDependents");
  return {};
}

// The body of a DELETE, if there is one.
Result<json::Value> optional_body(const net::Request& request) {
  if (request.body.empty()) return json::Value();
  Result<json::Value> body = parse_body(request, nullptr);
  if (!body && body.error().code != Code::unsupported_media_type)
    return fail(Code::internal, "couldn't get version/kind; json parse error: " +
                                    syntax_error(request, body.error()));
  if (!body) return body;
  if (const json::Value* grace = json::find(*body, "gracePeriodSeconds");
      grace && !grace->is_number() && !grace->is_null())
    return fail(Code::internal,
                std::string("json: cannot unmarshal ") +
                    (grace->is_string() ? "string"
                     : grace->is_bool() ? "bool"
                                        : "object") +
                    " into Go struct field DeleteOptions.gracePeriodSeconds of type int64");
  return body;
}

// A DELETE that does not say what becomes of the dependents is told.
void warn_of_orphans(Exchange& exchange, const RemoveOptions& remove) {
  const std::string& warning = exchange.served->kind->traits.orphan_warning;
  if (!warning.empty() && remove.propagation_policy.empty() && !remove.orphan_dependents)
    exchange.warnings.push_back(warning);
}

Result<WriteRequest> read_write(Exchange& exchange) {
  const RequestInfo& info = exchange.info;
  WriteRequest request =
      info.verb == "delete" ? WriteRequest{} : request_with_memory(exchange.request.body.size());
  TRY(read_query(exchange, request));
  if (info.verb == "delete") {
    request.verb = WriteRequest::Verb::remove;
    json::Value body = TRY(optional_body(exchange.request));
    TRY(read_delete_options(exchange, body, request));
    warn_of_orphans(exchange, request.remove);
    return request;
  }
  if (info.verb == "patch") {
    request.verb = WriteRequest::Verb::patch;
    request.patch_type = exchange.patch_type;
    request.force = query_flag(exchange.request.query, "force");
    if (request.patch_type == kube::PatchType::apply &&
        exchange.request.query.get("fieldManager").empty())
      return std::unexpected(invalid_options_error(
          "PatchOptions", required_value("fieldManager", "is required for apply patch")));
    if (request.patch_type != kube::PatchType::apply && exchange.request.query.has("force"))
      return std::unexpected(invalid_options_error(
          "PatchOptions", forbidden_value("force", "may not be specified for non-apply patch")));
  }
  Result<json::Value> body =
      parse_body(exchange.request, &request.repeated_fields, request.body.storage());
  if (!body && info.verb == "patch" && body.error().code != Code::unsupported_media_type)
    return fail(Code::bad_request,
                undecoded(request.patch_type) + syntax_error(exchange.request, body.error()));
  if (!body)
    return std::unexpected(
        unreadable_body(exchange.request, exchange.served->kind->resource.kind, body.error()));
  request.body = std::move(*body);
  if (info.verb == "create") {
    request.verb = WriteRequest::Verb::create;
    const Subresource* part = find_subresource(*exchange.served->kind, info.subresource);
    if (part && part->form == Subresource::Form::binding) {
      request.verb = WriteRequest::Verb::bind;
      const std::string_view name = json::string_at(request.body, {"metadata", "name"});
      if (!name.empty() && name != info.name)
        return fail(Code::bad_request, "name in URL does not match name in Binding object");
    }
    if (part && part->form == Subresource::Form::eviction) {
      request.verb = WriteRequest::Verb::evict;
      const json::Value* options = json::find(request.body, "deleteOptions");
      TRY(read_delete_options(exchange, options ? *options : json::Value(json::Object()), request));
    }
  } else if (info.verb == "update") {
    request.verb = WriteRequest::Verb::update;
  }
  return request;
}

net::Response outcome_response(const Exchange& exchange, const WriteRequest::Verb verb,
                               const WriteOutcome& outcome) {
  const ServedKind& served = *exchange.served;
  const WallTime now = exchange.serving.clock->wall();
  if (outcome.error) return error_response(*outcome.error, exchange.answer.pretty);
  if (verb == WriteRequest::Verb::bind || verb == WriteRequest::Verb::evict)
    return json_response(201, created_status(), exchange.answer.pretty);
  const Subresource* part = find_subresource(*served.kind, exchange.info.subresource);
  if (part && part->form == Subresource::Form::scale) {
    Result<json::Value> scale = scale_of(*served.kind, decode_object(served, *outcome.item));
    if (!scale) return error_response(scale.error(), exchange.answer.pretty);
    return render_value(*scale, exchange.answer, 200);
  }
  if (part && part->show)
    if (std::optional<json::Value> shown = part->show(decode_object(served, *outcome.item),
                                                      exchange.request.headers.get("User-Agent")))
      return render_value(*shown, exchange.answer, 200);
  // Some kinds are shown as they went; of everything else only the fact is reported.
  if (verb == WriteRequest::Verb::remove && outcome.effect == WriteOutcome::Effect::removed &&
      !served.kind->traits.graceful_delete && !served.kind->traits.returns_deleted) {
    const ObjectHeader& header = header_of(*outcome.item);
    return json_response(200, success_status(served.kind->resource, header.name, header.uid),
                         exchange.answer.pretty);
  }
  const int status = outcome.effect == WriteOutcome::Effect::created ? 201 : 200;
  return render_object(served, *outcome.item, exchange.answer, IncludeObject::metadata, status,
                       now);
}

void show_outcome(const ExchangePtr& exchange, WriteRequest::Verb verb, WriteOutcome outcome) {
  std::vector<store::ItemPtr> items;
  if (outcome.item) items.push_back(outcome.item);
  auto shown = [exchange, verb, outcome = std::move(outcome)](
                   Result<std::vector<store::ItemPtr>> converted) mutable {
    if (!converted) return exchange->respond(converted.error());
    if (!converted->empty()) outcome.item = converted->front();
    exchange->warnings.insert(exchange->warnings.end(), outcome.warnings.begin(),
                              outcome.warnings.end());
    if (exchange->audit)
      for (const auto& [key, value] : outcome.audit_annotations)
        exchange->audit->annotate(key, value);
    exchange->respond(outcome_response(*exchange, verb, outcome));
  };
  exchange->serving.conversions->convert(exchange->served, std::move(items),
                                         exchange->serving.executors->here(), std::move(shown));
}

void remove_all(const ExchangePtr& exchange, const WriteRequest& base, ListPage page) {
  std::vector<WriteRequest> requests;
  for (const store::ItemPtr& item : page.items) {
    WriteRequest one = base;
    one.key = {header_of(*item).ns, header_of(*item).name};
    requests.push_back(std::move(one));
  }
  auto done = [exchange, page = std::move(page)](std::vector<WriteOutcome> outcomes) mutable {
    for (const WriteOutcome& outcome : outcomes)
      if (outcome.error && outcome.error->code != Code::not_found)
        return exchange->respond(*outcome.error);
    show_list(exchange, std::move(page));
  };
  exchange->serving.writes->run(std::move(requests), exchange->serving.executors->here(),
                                std::move(done));
}

void serve_delete_collection(const ExchangePtr& exchange) {
  WriteRequest base;
  if (Result<void> read = read_query(*exchange, base); !read)
    return exchange->respond(read.error());
  Result<json::Value> body = optional_body(exchange->request);
  if (!body) return exchange->respond(body.error());
  if (Result<void> read = read_delete_options(*exchange, *body, base); !read)
    return exchange->respond(read.error());
  base.verb = WriteRequest::Verb::remove;
  Result<ListOptions> options = parse_list_options(exchange->request.query, false);
  if (!options) return exchange->respond(options.error());
  Result<ListPage> page =
      list_objects(*exchange->serving.store, *exchange->served, exchange->info.ns, *options);
  if (!page) return exchange->respond(page.error());
  warn_of_orphans(*exchange, base.remove);
  const Kind& kind = *exchange->served->kind;
  const Result<ObjectFilter> filter =
      ObjectFilter::parse(kind, options->label_selector, options->field_selector);
  if (!filter || !filter->waits_for_conversion(kind))
    return remove_all(exchange, base, std::move(*page));
  convert_page(exchange, std::move(*page), [exchange, base = std::move(base)](ListPage selected) {
    remove_all(exchange, base, std::move(selected));
  });
}

}  // namespace

Result<kube::PatchType> patch_type(std::string_view content_type, const Kind& kind) {
  content_type = content_type.substr(0, content_type.find(';'));
  if (content_type == "application/json-patch+json") return kube::PatchType::json;
  if (content_type == "application/merge-patch+json") return kube::PatchType::merge;
  if (content_type == "application/apply-patch+yaml") return kube::PatchType::apply;
  if (content_type == "application/strategic-merge-patch+json" && !kind.custom)
    return kube::PatchType::strategic;
  if (!kind.custom) return fail(Code::unsupported_media_type, "415: Unsupported Media Type");
  return fail(
      Code::unsupported_media_type,
      "the body of the request was in an unknown format - accepted media types include: "
      "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml");
}

void serve_write(const ExchangePtr& exchange) {
  if (exchange->info.verb == "deletecollection") return serve_delete_collection(exchange);
  Result<WriteRequest> request = read_write(*exchange);
  if (!request) return exchange->respond(request.error());
  const WriteRequest::Verb verb = request->verb;
  request->read_again = [exchange](json::Storage storage) {
    return parse_body(exchange->request, nullptr, std::move(storage)).value_or(nullptr);
  };
  std::vector<WriteRequest> one;
  one.push_back(std::move(*request));
  exchange->serving.writes->run(std::move(one), exchange->serving.executors->here(),
                                [exchange, verb](std::vector<WriteOutcome> outcomes) {
                                  show_outcome(exchange, verb, std::move(outcomes.front()));
                                });
}

}  // namespace hekla::apiserver
