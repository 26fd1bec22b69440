// Everything a store holds as bytes, and back.
#pragma once

#include <memory>
#include <string>

#include "store/item.h"

namespace hekla::store {

class Store;  // store.h

// The other side of every store that Store::open gives.
class BackupSource {
 public:
  virtual ~BackupSource() = default;

  // Everything as of now in the format of the store's own snapshots, a piece of about a megabyte at
  // a time; empty when all has been given. One thread at a time; may outlive the store.
  class Backup {
   public:
    virtual ~Backup() = default;
    virtual std::string next() = 0;
  };
  virtual std::unique_ptr<Backup> backup() const = 0;
  // The writes that bring back what a backup holds: puts of what differs from it now, removals of
  // what it does not have. Revisions go on from the present one. An error says where the backup is
  // damaged.
  virtual Result<Batch> restoration(const std::string& backup) = 0;
};

BackupSource& backup_source(Store& store);

}  // namespace hekla::store
