// Creations that are like one before them. The pods of a template come by the hundred in one batch
// and differ in nothing but their names and numbers: the first of them passes every stage, and from
// its bytes the others are made.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/object/object_header.h"
#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

// Belongs to one run of writes; what it knows holds for one snapshot.
class TemplateBatch {
 public:
  void forget() { model_.reset(); }
  // A creation as it was just prepared, for those behind it to be like.
  void learn(WriteScope& scope, const PreparedWrite& prepared);
  // The creation prepared as its model was; nothing where it differs in more, or may be refused.
  std::optional<PreparedWrite> make(WriteScope& scope) const;

 private:
  // A text that differs between the pods of a batch, where it stands in the model's bytes.
  struct Slot {
    enum class What { name, uid, label, annotation } what = What::name;
    std::string key;               // of the label or annotation
    std::size_t at = 0, size = 0;  // with its quotes
  };
  struct Model {
    const WriteRequest* request = nullptr;
    std::string bytes;
    std::vector<Slot> slots;  // in the order of the bytes
    std::shared_ptr<const ObjectHeader> header;
    PreparedWrite prepared;  // without bytes and header
  };
  std::optional<Model> model_;
};

}  // namespace hekla::apiserver
