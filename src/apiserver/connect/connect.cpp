#include "apiserver/connect/connect.h"

#include <algorithm>
#include <charconv>

#include "apiserver/object/list_options.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/subresources.h"
#include "apiserver/read/reads.h"
#include "apiserver/request/audit.h"
#include "apiserver/text/status_error.h"
#include "base/check.h"
#include "json/parse.h"
#include "net/text.h"
#include "net/websocket.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kSpdy = "SPDY/3.1";
constexpr std::string_view kForwardProtocol = "portforward.k8s.io";
constexpr std::string_view kTunnelProtocol = "SPDY/3.1+portforward.k8s.io";
constexpr std::string_view kStreamVersion = "X-Stream-Protocol-Version";
constexpr std::size_t kMaxPorts = 128;
constexpr const char* kSpdyExecProtocols[] = {"v5.channel.k8s.io", "v4.channel.k8s.io",
                                              "v3.channel.k8s.io", "v2.channel.k8s.io",
                                              "channel.k8s.io"};

bool wants_spdy(const net::Request& request) {
  return net::equal_ignoring_case(request.headers.get("Upgrade"), kSpdy);
}

// The client's names, one header line each or in a list.
std::vector<std::string> offered_versions(const net::Request& request) {
  std::vector<std::string> out;
  for (std::string_view line : request.headers.get_all(kStreamVersion))
    net::for_each_element(line, [&](std::string_view one) { out.emplace_back(one); });
  return out;
}

// As upstream: the first of the client's that we know; none at all means the oldest.
std::optional<std::string> choose_spdy_version(const net::Request& request,
                                               std::span<const char* const> known) {
  std::vector<std::string> offered = offered_versions(request);
  if (offered.empty()) return std::string(known.back());
  for (const std::string& name : offered)
    if (std::ranges::find(known, name) != known.end()) return name;
  return std::nullopt;
}

void refuse_version(const ExchangePtr& exchange, std::span<const char* const> known) {
  net::Response response;
  response.status = 403;
  for (const char* name : known) response.headers.add("X-Accepted-Stream-Protocol-Versions", name);
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  response.body = "unable to upgrade: no protocol in common with the client";
  exchange->respond(std::move(response));
}

net::Headers spdy_answer(const std::string& version) {
  net::Headers headers;
  headers.set("Upgrade", std::string(kSpdy));
  headers.set(kStreamVersion, version);
  return headers;
}

Result<std::string> connect_container(const json::Value& pod, std::string_view wanted) {
  std::string name(json::string_at(pod, {"metadata", "name"})), all;
  std::vector<std::string> found;
  for (std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    const json::Array* containers = json::array_at(pod, {"spec", list});
    if (!containers) continue;
    for (const json::Value& container : *containers) {
      std::string_view one = json::string_at(container, {"name"});
      if (one == wanted) return std::string(wanted);
      if (list != "containers") continue;
      found.emplace_back(one);
      all += (all.empty() ? "" : " ") + std::string(one);
    }
  }
  if (!wanted.empty())
    return fail(Code::bad_request,
                "container " + std::string(wanted) + " is not valid for pod " + name);
  if (found.size() == 1) return found.front();
  return fail(Code::bad_request, "a container name must be specified for pod " + name +
                                     ", choose one of: [" + all + "]");
}

Result<kube::ExecOptions> exec_options(const Exchange& exchange, const json::Value& pod) {
  const net::Query& query = exchange.request.query;
  const bool attach = exchange.info.subresource == "attach";
  kube::ExecOptions options;
  options.container = TRY(connect_container(pod, query.get("container")));
  options.in = query_flag(query, "stdin");
  options.out = query_flag(query, "stdout");
  options.err = query_flag(query, "stderr");
  options.tty = query_flag(query, "tty");
  if (options.tty) options.err = false;  // a terminal has one output
  for (std::string_view word : query.get_all("command")) options.command.emplace_back(word);
  if (!attach && options.command.empty())
    return fail(Code::bad_request, "you must specify at least 1 command for the container");
  if (!options.in && !options.out && !options.err)
    return fail(Code::bad_request, "you must specify at least 1 of stdin, stdout, stderr");
  return options;
}

// The answer and how to go on once the agent has found the process.
using RunExec = std::function<void(std::shared_ptr<kube::PodProcess>)>;

std::optional<RunExec> negotiate_exec(const ExchangePtr& exchange,
                                      const kube::ExecOptions& options) {
  const net::Request& request = exchange->request;
  if (net::wants_websocket(request)) {
    std::optional<ChannelProtocol> protocol =
        choose_channel_protocol(net::websocket_protocols(request));
    if (!protocol) {
      exchange->respond(
          Error{Code::bad_request, "unable to upgrade: no channel protocol in common"});
      return std::nullopt;
    }
    Result<net::Headers> answer = net::websocket_answer(request, protocol->name);
    if (!answer) {
      exchange->respond(answer.error());
      return std::nullopt;
    }
    return [exchange, answer = *answer, protocol = *protocol](auto process) {
      run_websocket_exec(exchange, answer, protocol, std::move(process));
    };
  }
  std::optional<std::string> version = choose_spdy_version(request, kSpdyExecProtocols);
  if (!version) {
    refuse_version(exchange, kSpdyExecProtocols);
    return std::nullopt;
  }
  bool text = *version != "v4.channel.k8s.io" && *version != "v5.channel.k8s.io";
  return [exchange, answer = spdy_answer(*version), text, options](auto process) {
    run_spdy_exec(exchange, answer, text, options, std::move(process));
  };
}

void serve_exec(const ExchangePtr& exchange, kube::PodStreams& streams, const json::Value& pod) {
  Result<kube::ExecOptions> options = exec_options(*exchange, pod);
  if (!options) return exchange->respond(options.error());
  std::optional<RunExec> run = negotiate_exec(exchange, *options);
  if (!run) return;
  auto ready = [exchange,
                run = std::move(*run)](Result<std::shared_ptr<kube::PodProcess>> process) {
    if (!process) return exchange->respond(process.error());
    exchange->count(101);
    run(std::move(*process));
  };
  const RequestInfo& info = exchange->info;
  const kube::PodRef target{info.ns, info.name,
                            std::string(json::string_at(pod, {"metadata", "uid"}))};
  if (info.subresource == "attach")
    streams.attach(target, *options, std::move(ready));
  else
    streams.exec(target, *options, std::move(ready));
}

Result<std::vector<std::uint16_t>> query_ports(const net::Query& query) {
  std::vector<std::uint16_t> ports;
  for (std::string_view list : query.get_all("ports")) {
    while (!list.empty()) {
      std::size_t comma = std::min(list.find(','), list.size());
      std::string_view text = list.substr(0, comma);
      std::uint16_t port = 0;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
      if (error != std::errc{} || end != text.data() + text.size() || port == 0)
        return fail(Code::bad_request, "invalid port \"" + std::string(text) + "\"");
      ports.push_back(port);
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
  if (ports.empty()) return fail(Code::bad_request, "query parameter \"port\" is required");
  if (ports.size() > kMaxPorts) return fail(Code::bad_request, "too many ports");
  return ports;
}

void serve_forward(const ExchangePtr& exchange, kube::PodStreams& streams, const json::Value& pod) {
  const net::Request& request = exchange->request;
  ForwardTarget target{&streams,
                       {exchange->info.ns, exchange->info.name,
                        std::string(json::string_at(pod, {"metadata", "uid"}))}};
  if (json::string_at(pod, {"status", "phase"}) != "Running")
    return exchange->respond(Error{
        Code::bad_request, "unable to forward port because pod is not running. Current status=" +
                               std::string(json::string_at(pod, {"status", "phase"}))});
  if (!net::wants_websocket(request)) {
    const char* const known[] = {kForwardProtocol.data()};
    std::optional<std::string> version = choose_spdy_version(request, known);
    if (!version) return refuse_version(exchange, known);
    exchange->count(101);
    return run_spdy_forward(exchange, spdy_answer(*version), std::move(target), false);
  }
  std::vector<std::string> offered = net::websocket_protocols(request);
  auto offers = [&](std::string_view name) {
    return std::ranges::find(offered, name) != offered.end();
  };
  const bool tunneled = offers(kTunnelProtocol);
  const std::string protocol(tunneled ? kTunnelProtocol : "v4.channel.k8s.io");
  if (!tunneled && !offers(protocol))
    return exchange->respond(
        Error{Code::bad_request, "unable to upgrade: no port-forward protocol in common"});
  Result<net::Headers> answer = net::websocket_answer(request, protocol);
  if (!answer) return exchange->respond(answer.error());
  if (tunneled) {
    exchange->count(101);
    return run_spdy_forward(exchange, std::move(*answer), std::move(target), true);
  }
  Result<std::vector<std::uint16_t>> ports = query_ports(request.query);
  if (!ports) return exchange->respond(ports.error());
  exchange->count(101);
  run_websocket_forward(exchange, std::move(*answer), std::move(target), *ports);
}

}  // namespace

std::optional<ChannelProtocol> choose_channel_protocol(const std::vector<std::string>& offered) {
  if (offered.empty()) return ChannelProtocol{"", false, true};
  for (const std::string& name : offered) {
    if (name == "v5.channel.k8s.io" || name == "v4.channel.k8s.io")
      return ChannelProtocol{name, false, false};
    if (name == "v4.base64.channel.k8s.io") return ChannelProtocol{name, true, false};
    if (name == "base64.channel.k8s.io") return ChannelProtocol{name, true, true};
    if (name == "v3.channel.k8s.io" || name == "v2.channel.k8s.io" || name == "channel.k8s.io")
      return ChannelProtocol{name, false, true};
  }
  return std::nullopt;
}

std::string exec_status(const Result<int>& exit_code, bool as_text) {
  if (exit_code && *exit_code == 0) return as_text ? "" : R"({"metadata":{},"status":"Success"})";
  json::Object status;
  status["metadata"] = json::Object{};
  status["status"] = "Failure";
  json::Object cause;
  std::string message;
  if (exit_code) {
    const std::string code = std::to_string(*exit_code);
    message = "command terminated with non-zero exit code: exit status " + code;
    status["message"] = message;
    status["reason"] = "NonZeroExitCode";
    cause["reason"] = "ExitCode";
    cause["message"] = code;
  } else {
    cause["message"] = "error executing command in container: " + exit_code.error().message;
    message = "Internal error occurred: error executing command in container: " +
              exit_code.error().message;
    status["message"] = message;
    status["reason"] = "InternalError";
    status["code"] = 500;
  }
  if (as_text) return message;
  json::Array causes;
  causes.emplace_back(std::move(cause));
  json::Object details;
  details["causes"] = std::move(causes);
  status["details"] = std::move(details);
  return json::serialize(json::Value(std::move(status)));
}

void resize_process(kube::PodProcess& process, std::string_view text) {
  constexpr std::int64_t kMaxCells = 65535;
  Result<json::Value> size = json::parse(text);
  if (!size) return;
  std::int64_t width = json::int_at(*size, {"Width"}), height = json::int_at(*size, {"Height"});
  if (width > 0 && height > 0 && width <= kMaxCells && height <= kMaxCells)
    process.resize(static_cast<int>(width), static_cast<int>(height));
}

namespace {

// The request as admission sees it, and the way back.
json::Value connect_options(const Exchange& exchange) {
  const Subresource* found = find_subresource(*exchange.served->kind, exchange.info.subresource);
  CHECK(found, "a subresource of the kind");
  json::Object options{{"kind", found->kind}, {"apiVersion", "v1"}};
  const net::Query& query = exchange.request.query;
  for (std::string_view flag : {"stdin", "stdout", "stderr", "tty"})
    if (query_flag(query, flag)) options[flag] = true;
  if (query.has("container")) options["container"] = query.get("container");
  for (std::string_view list : {"command", "ports"})
    for (std::string_view one : query.get_all(list)) {
      json::Value& all_of_them = options[list];
      if (!all_of_them.is_array()) all_of_them.emplace_array();
      if (std::int64_t port = 0; list != "ports")
        all_of_them.get_array().emplace_back(one);
      else if (std::from_chars(one.data(), one.data() + one.size(), port).ec == std::errc{})
        all_of_them.get_array().emplace_back(port);
    }
  return options;
}

net::Query options_query(const json::Value& options) {
  net::Query query;
  const auto add = [&](const std::string& name, const json::Value& value) {
    if (value.is_string()) query.add(name, std::string(json::sv(value.get_string())));
    if (value.is_bool()) query.add(name, value.get_bool() ? "true" : "false");
    if (value.is_int64()) query.add(name, std::to_string(value.get_int64()));
  };
  for (const auto& member : options.get_object()) {
    const std::string name(member.key());
    if (name == "kind" || name == "apiVersion") continue;
    if (const json::Array* list = member.value().if_array())
      for (const json::Value& one : *list) add(name, one);
    else
      add(name, member.value());
  }
  return query;
}

void open_streams(const ExchangePtr& exchange) {
  const RequestInfo& info = exchange->info;
  Result<store::ItemPtr> item =
      get_object(*exchange->serving.store, *exchange->served, {info.ns, info.name});
  if (!item) return exchange->respond(item.error());
  kube::PodStreams* streams = exchange->serving.pod_streams.load();
  if (!streams)
    return exchange->respond(
        Error{Code::unavailable, "no node agent serves " + info.subresource + " on this server"});
  json::Value pod = decode_object(*exchange->served, **item);
  if (json::string_at(pod, {"spec", "nodeName"}).empty())
    return exchange->respond(
        Error{Code::bad_request, "pod " + info.name + " does not have a host assigned"});
  if (!net::wants_websocket(exchange->request) && !wants_spdy(exchange->request))
    return exchange->respond(Error{Code::bad_request, "Upgrade request required"});
  if (info.subresource == "portforward") return serve_forward(exchange, *streams, pod);
  serve_exec(exchange, *streams, pod);
}

}  // namespace

void admit_connect(const ExchangePtr& exchange, json::Value options,
                   std::function<void()> admitted) {
  WriteRequest request;
  request.connects = true;
  request.served = exchange->served;
  request.key = {exchange->info.ns, exchange->info.name};
  request.subresource = exchange->info.subresource;
  request.body = std::move(options);
  request.user = exchange->user;
  std::vector<WriteRequest> one;
  one.push_back(std::move(request));
  auto done = [exchange, admitted = std::move(admitted)](std::vector<WriteOutcome> outcomes) {
    WriteOutcome& outcome = outcomes.front();
    exchange->warnings.insert(exchange->warnings.end(), outcome.warnings.begin(),
                              outcome.warnings.end());
    if (exchange->audit)
      for (const auto& [key, value] : outcome.audit_annotations)
        exchange->audit->annotate(key, value);
    if (outcome.error) return exchange->respond(*outcome.error);
    if (outcome.changed_body && exchange->info.subresource == "proxy")
      return exchange->respond(
          Error{Code::internal, "a webhook changed the options of a proxied request"});
    if (outcome.changed_body) exchange->request.query = options_query(*outcome.changed_body);
    admitted();
  };
  exchange->serving.writes->run(std::move(one), *exchange->serving.loop, std::move(done));
}

void serve_connect(const ExchangePtr& exchange) {
  // Whether it may be is asked before anybody looks whether it can.
  admit_connect(exchange, connect_options(*exchange), [exchange] { open_streams(exchange); });
}

}  // namespace hekla::apiserver
