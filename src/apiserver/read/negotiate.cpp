#include "apiserver/read/negotiate.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "apiserver/object/list_options.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Cuts off and returns the part before the next `separator`.
std::string_view next_part(std::string_view& text, char separator) {
  std::size_t at = text.find(separator);
  std::string_view part = trim(text.substr(0, at));
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

// "0.8" in thousandths; what cannot be read weighs nothing less than the rest.
int weight_of(std::string_view text) {
  if (!text.starts_with("0.")) return text == "0" ? 0 : 1000;
  int weight = 0, unit = 100;
  for (char c : text.substr(2, 3)) {
    if (c < '0' || c > '9') return 1000;
    weight += (c - '0') * unit;
    unit /= 10;
  }
  return weight;
}

MediaClause parse_clause(std::string_view text) {
  MediaClause clause;
  clause.type = next_part(text, ';');
  while (!text.empty()) {
    std::string_view parameter = next_part(text, ';');
    std::string_view name = next_part(parameter, '=');
    if (name == "as") clause.as = parameter;
    if (name == "g") clause.group = parameter;
    if (name == "v") clause.version = parameter;
    if (name == "q") clause.weight = weight_of(parameter);
  }
  return clause;
}

}  // namespace

std::vector<MediaClause> parse_accept(std::string_view accept) {
  std::vector<MediaClause> clauses;
  while (!accept.empty())
    if (std::string_view part = next_part(accept, ','); !part.empty())
      clauses.push_back(parse_clause(part));
  if (clauses.empty()) clauses.push_back({"application/json", "", "", "", 1000});
  std::ranges::stable_sort(clauses, std::ranges::greater(), &MediaClause::weight);
  return clauses;
}

bool wants_pretty(const net::Request& request) {
  if (request.query.has("pretty")) {
    std::string_view pretty = request.query.get("pretty");
    return pretty.empty() || pretty == "1" || pretty == "true";
  }
  std::string_view agent = request.headers.get("User-Agent");
  return agent.starts_with("curl") || agent.starts_with("Wget") || agent.starts_with("Mozilla/5.0");
}

Result<Answer> negotiate(const net::Request& request, bool custom, bool streams) {
  std::optional<Answer> only_protobuf;
  for (const MediaClause& clause : parse_accept(request.headers.get("Accept"))) {
    Answer answer;
    answer.pretty = wants_pretty(request);
    answer.yaml = clause.type == "application/yaml";
    const bool any = clause.type == "*/*" || clause.type == "application/*";
    answer.protobuf = clause.type == kProtobufType;
    if (!answer.yaml && !any && !answer.protobuf && clause.type != "application/json") continue;
    if (answer.protobuf) {
      const bool metadata = clause.as.starts_with("PartialObjectMetadata");
      if (metadata) answer.shape = Answer::Shape::metadata;
      if (!only_protobuf && !custom && (metadata || clause.as.empty())) only_protobuf = answer;
      continue;
    }
    if (clause.as.empty()) return answer;
    if (clause.group != "meta.k8s.io" || (clause.version != "v1" && clause.version != "v1beta1"))
      continue;
    answer.version = clause.version;
    if (clause.as == "Table") {
      answer.shape = Answer::Shape::table;
      return answer;
    }
    if (clause.as == "PartialObjectMetadata" || clause.as == "PartialObjectMetadataList") {
      answer.shape = Answer::Shape::metadata;
      return answer;
    }
  }
  if (only_protobuf) return *only_protobuf;
  if (custom)
    return fail(Code::not_acceptable,
                "only the following media types are accepted: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf");
  return fail(Code::not_acceptable,
              std::string("406: Not Acceptable\n\nAvailable representations: application/json, "
                          "application/yaml, application/vnd.kubernetes.protobuf") +
                  (streams ? ", application/json;stream=watch, "
                             "application/vnd.kubernetes.protobuf;stream=watch"
                           : ""));
}

}  // namespace hekla::apiserver
