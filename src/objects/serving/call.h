// One S3 request on its way to an answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/http.h"
#include "net/own_thread.h"
#include "objects/object_store.h"
#include "objects/wire/access.h"
#include "objects/wire/s3_error.h"
#include "objects/wire/s3_options.h"
#include "objects/wire/signature.h"

namespace hekla::objects {

struct Call;
using CallPtr = std::shared_ptr<Call>;

struct Call {
  ObjectStore& store;
  std::shared_ptr<const S3Options> options;
  net::Request request;
  std::shared_ptr<net::ResponseWriter> writer;
  std::shared_ptr<net::OwnThread> thread;  // the connection's; null in tests
  std::string id;                          // x-amz-request-id
  std::string bucket = {}, key = {};
  Credential who = {};
  std::string payload_hash = {};
  std::optional<SigningKey> signing = {};

  // Answers; each ends the call.
  void answer(int status, net::Headers headers = {}, std::string body = {});
  void answer_xml(std::string body, net::Headers headers = {});
  void fail(const S3Error& error);
  net::Headers headers() const;  // those that every answer has

  // Asks the catalogue, and goes on with `next` on the connection's thread; a refusal is answered.
  template <class T>
  static void ask(const CallPtr& call, std::move_only_function<Result<Outcome<T>>(Catalog&)> job,
                  std::move_only_function<void(T)> next) {
    call->store.ask<T>(std::move(job), [call, next = std::move(next)](Outcome<T> answer) mutable {
      resume(call, [call, next = std::move(next), answer = std::move(answer)]() mutable {
        if (!answer) return call->fail(answer.error());
        next(std::move(*answer));
      });
    });
  }
  // Runs on the connection's thread, or here when there is none.
  static void resume(const CallPtr& call, Task task);
};

struct Nothing {};

}  // namespace hekla::objects
