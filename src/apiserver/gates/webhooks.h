// Admission by webhook. The write pipeline is a function of the request and a snapshot, so a call
// is not waited for: a stage that needs an answer notes the call and gives up, and the request is
// prepared again once the answers are in (WebhookMemo). No thread waits for anybody.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/object/write_request.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/rng.h"
#include "json/value.h"
#include "kube/admission.h"
#include "net/client.h"

namespace hekla::apiserver {

struct WriteScope;

// Read an answer; the error says why it is none.
struct WebhookCall;
Result<json::Value> read_review(const WebhookCall& call,
                                Result<net::Response> response);  // AdmissionReview
Result<json::Value> read_conversion(const WebhookCall& call,
                                    Result<net::Response> response);  // ConversionReview
Result<json::Value> read_conversion_v1beta1(const WebhookCall& call,
                                            Result<net::Response> response);

struct WebhookCall {
  std::string key;        // what is asked: equal calls of one request have one answer
  std::string uid;        // of the review
  std::string url;        // where to connect
  std::string shown_url;  // as error messages name it
  std::string ca_pem;
  std::string server_name;  // to verify; empty: the URL's host
  bool to_pod = false;      // a service's: to be reached through the pods' network
  std::string body;
  std::chrono::seconds timeout{10};
  Result<json::Value> (*read)(const WebhookCall&, Result<net::Response>) = read_review;
};

// Where to send it, from a clientConfig; an error when its service is not there.
Result<void> address_call(const json::Value& client_config, std::chrono::seconds timeout,
                          const kube::AdmissionReader& reader, WebhookCall& call);
// The JSON of an answer, whatever it says.
Result<json::Value> parse_answer(const WebhookCall& call, Result<net::Response> response);

// Sends a review. `done` may run on any thread.
class WebhookTransport {
 public:
  virtual ~WebhookTransport() = default;
  virtual void send(WebhookCall call, std::function<void(Result<net::Response>)> done) = 0;
};
// Over HTTPS, with connections kept per certificate authority; services are called through sockets
// of the pods' network, URLs from the host's and never at addresses of `own`.
std::unique_ptr<WebhookTransport> make_webhook_transport(net::OpenSocket pod_socket,
                                                         net::OwnRanges own);

// Draws the same numbers each time a request is prepared.
class ReplayedRng final : public Rng {
 public:
  explicit ReplayedRng(Rng& source) : source_(source) {}
  std::uint64_t next() override {
    if (at_ == drawn_.size()) drawn_.push_back(source_.next());
    return drawn_[at_++];
  }
  Rng& source() { return source_; }
  void rewind() { at_ = 0; }
  void forget() { drawn_.clear(), at_ = 0; }

 private:
  Rng& source_;
  std::vector<std::uint64_t> drawn_;
  std::size_t at_ = 0;
};

// The request as the server's own admission steps see it.
struct OwnAdmissionRequest : kube::AdmissionRequest {
  // Values that steps have drawn or signed for this request: one that is prepared again, because a
  // webhook's answer came later, must come out the same.
  std::map<std::string, std::string>* kept = nullptr;
  std::map<std::string, std::string>* audit_annotations = nullptr;
  const WriteRequest* write = nullptr;
};
inline std::map<std::string, std::string>& kept_for(const kube::AdmissionRequest& request) {
  return *static_cast<const OwnAdmissionRequest&>(request).kept;
}
inline std::map<std::string, std::string>& audit_annotations_of(
    const kube::AdmissionRequest& request) {
  return *static_cast<const OwnAdmissionRequest&>(request).audit_annotations;
}

// Answers of webhooks to one request so far.
struct WebhookMemo {
  explicit WebhookMemo(Rng& rng) : draws(rng) {}
  std::map<std::string, Result<json::Value>>
      answers;                      // the `response` of reviews by WebhookCall::key
  std::vector<WebhookCall> wanted;  // by the last preparation
  std::optional<WallTime> now;
  bool attempted = false;   // the memory that came with the request is used
  bool body_taken = false;  // by an attempt: the next one reads it again
  ReplayedRng draws;
  std::map<std::string, std::string> kept;  // OwnAdmissionRequest::kept
  std::map<std::string, std::string>
      audit_annotations;  // what the last preparation has for the audit log

  // For an attempt that shall not repeat the one before it.
  void start_anew() {
    draws.forget();
    kept.clear();
    now.reset();
  }
};

// The request as a review shows it; `as` is the version the object is shown in.
json::Value review_request(const kube::AdmissionRequest& request, const kube::Resource& as,
                           const json::Value& object);

// Whether there is any webhook for such a request to pass.
bool webhooks_configured(const WriteScope& scope, bool mutating);
// Both fail with scope.memo->wanted filled when answers are missing.
Result<void> mutate_by_webhooks(WriteScope& scope, const kube::AdmissionRequest& request,
                                json::Value& object);
Result<void> validate_by_webhooks(WriteScope& scope, const kube::AdmissionRequest& request,
                                  const json::Value& object);

}  // namespace hekla::apiserver
