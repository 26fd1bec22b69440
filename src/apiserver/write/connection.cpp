#include "apiserver/write/connection.h"

#include "apiserver/write/stages/admit.h"
#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

Result<PreparedWrite> prepare_connect(WriteScope& scope) {
  json::Value sent = scope.request.body;
  TRY(admit_sent(scope, scope.request.subresource, kube::Operation::connect, sent));
  PreparedWrite prepared;
  if (sent != scope.request.body) prepared.outcome.changed_body = std::move(sent);
  prepared.outcome.warnings = scope.warnings;
  return prepared;
}

}  // namespace hekla::apiserver
