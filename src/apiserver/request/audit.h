// The audit log: who did what, when, and how it ended, as audit.k8s.io/v1 Events, one JSON line
// each. Written before the answer leaves (upstream's "blocking" mode); a line that cannot be
// written is said in the server's own log.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "apiserver/request/audit_policy.h"
#include "base/rotating_file.h"

namespace hekla::apiserver {

struct Exchange;

struct AuditOptions {
  std::string log_path;     // empty: no audit log; "-": standard output
  std::string policy_yaml;  // empty: the metadata of every request
  RotationOptions rotation;
};

// Thread-safe.
class AuditLog {
 public:
  static Result<std::shared_ptr<AuditLog>> open(const AuditOptions& options, const Clock& clock);

  // Called once the user is known (`asked_by`: who impersonates, or null) or credentials were
  // refused, when the exchange has none. From then on the exchange's writer reports the stages by
  // itself.
  void attach(Exchange& exchange, const kube::UserInfo* asked_by);

  AuditLog(AuditPolicy policy, std::unique_ptr<RotatingFile> file, const Clock& clock)
      : policy_(std::move(policy)), file_(std::move(file)), clock_(clock) {}

 private:
  friend class AuditRecord;
  void write(const json::Value& event);

  const AuditPolicy policy_;
  std::unique_ptr<RotatingFile> file_;
  const Clock& clock_;
};

// One request's events. Shared by the exchange and its writer.
class AuditRecord {
 public:
  AuditRecord(std::shared_ptr<AuditLog> log, AuditDecision decision, json::Object base)
      : log_(std::move(log)), decision_(std::move(decision)), base_(std::move(base)) {}

  // A member of `annotations`.
  void annotate(std::string_view key, std::string_view value);
  AuditLevel level() const { return decision_.level; }

  void received();
  void set_request(json::Value body);
  void started(int code);
  // `body` as it is answered; what is not JSON is left out.
  void complete(int code, std::string_view body);

 private:
  void emit(std::string_view stage, const json::Value* answer);
  json::Value shown(json::Value object) const;

  const std::shared_ptr<AuditLog> log_;
  const AuditDecision decision_;
  std::mutex mutex_;
  json::Object base_;
  int code_ = 0;
  bool completed_ = false;
};

}  // namespace hekla::apiserver
