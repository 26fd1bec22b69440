#include "objects/object_store.h"

#include <filesystem>

#include "base/check.h"
#include "base/log.h"

namespace hekla::objects {
namespace {

constexpr int kWorkers = 4;  // they wait for the disk

}  // namespace

void ObjectStore::Inline::post_after(Nanos, Task) { CHECK(false, "nobody waits here"); }

Result<std::unique_ptr<ObjectStore>> ObjectStore::open(const std::string& root, const Clock& clock,
                                                       Rng& rng) {
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (error) return fail(Code::internal, "create " + root + ": " + error.message());
  std::filesystem::permissions(root, std::filesystem::perms::owner_all, error);
  auto store = std::make_unique<ObjectStore>(Private{});
  store->clock_ = &clock;
  store->rng_ = &rng;
  store->content_ = TRY(Content::open(root));
  store->loop_ = std::make_unique<Loop>("objects");
  store->records_ =
      TRY(records::Records::open(root + "/catalog.db", catalog_migrations(), *store->loop_));
  store->workers_ = std::make_unique<WorkerPool>("objects-sync", kWorkers);
  const Content& content = *store->content_;
  store->records_->submit(
      [&content](records::Database& database) { return content.remove_strays(database); },
      store->inline_,
      [](Result<void> done) {
        if (!done) log_warn("objects", "remove stray content: " + done.error().message);
      });
  store->sweep();
  return store;
}

ObjectStore::~ObjectStore() {
  if (workers_) workers_->stop();
  if (loop_) loop_->stop();
}

// Two jobs: files go when it is durable that nobody knows them.
void ObjectStore::sweep() {
  if (sweeping_.exchange(true)) return;
  records_->ask<std::vector<std::string>>(
      [this](records::Database& database) {
        sweeping_ = false;
        return content_->forget(database);
      },
      inline_,
      [this](Result<std::vector<std::string>> files) {
        if (!files) return log_warn("objects", "forget content: " + files.error().message);
        if (files->empty()) return;
        const bool more = files->size() == Content::kForgotten;
        records_->submit(
            [this, files = std::move(*files)](records::Database& database) {
              return content_->drop(database, files);
            },
            inline_, [](Result<void>) {});
        if (more) sweep();
      });
}

}  // namespace hekla::objects
