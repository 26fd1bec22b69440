// pods/exec, pods/attach and pods/portforward: requests that leave HTTP behind. connect.cpp settles
// the protocol and asks the node agent; then one object per connection translates between the
// client's frames and the agent's streams. Those objects run on the connection's net thread and are
// called by the agent from its own; what they send is whole frames, so the two never mix.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apiserver/request/exchange.h"
#include "apiserver/request/rest_reads.h"
#include "kube/pod_streams.h"

namespace hekla::apiserver {

void serve_connect(const ExchangePtr& exchange);

// Goes on once webhooks and policies allow the request (operation CONNECT, `options` as its
// object).
void admit_connect(const ExchangePtr& exchange, json::Value options,
                   std::function<void()> admitted);

// The end of a process as the error channel says it: a Status, or text for the oldest protocols.
std::string exec_status(const Result<int>& exit_code, bool as_text);

// {"Width":80,"Height":24}; nothing else is done with it when it is not that.
void resize_process(kube::PodProcess& process, std::string_view text);

// A channel protocol for exec and attach over WebSocket: v5.channel.k8s.io and its ancestors.
struct ChannelProtocol {
  std::string name;
  bool base64 = false, text_status = false;
};
std::optional<ChannelProtocol> choose_channel_protocol(const std::vector<std::string>& offered);

// Each upgrades the exchange's connection and lives as long as that does.
void run_websocket_exec(const ExchangePtr& exchange, net::Headers answer, ChannelProtocol protocol,
                        std::shared_ptr<kube::PodProcess> process);
void run_spdy_exec(const ExchangePtr& exchange, net::Headers answer, bool text_status,
                   const kube::ExecOptions& options, std::shared_ptr<kube::PodProcess> process);

// As messages of the protocol binary.k8s.io, base64.binary.k8s.io or of none, when none is named.
Result<std::shared_ptr<LogAnswer>> websocket_log(const ExchangePtr& exchange);
// In place of the exchange's own writer, for the lines of a watch.
Result<std::shared_ptr<net::ResponseWriter>> websocket_watch(const ExchangePtr& exchange);

struct ForwardTarget {
  kube::PodStreams* streams = nullptr;
  kube::PodRef pod;
};
// SPDY streams, directly or in WebSocket messages.
void run_spdy_forward(const ExchangePtr& exchange, net::Headers answer, ForwardTarget target,
                      bool tunneled);
// Two channels for each port of the query.
void run_websocket_forward(const ExchangePtr& exchange, net::Headers answer, ForwardTarget target,
                           const std::vector<std::uint16_t>& ports);

}  // namespace hekla::apiserver
