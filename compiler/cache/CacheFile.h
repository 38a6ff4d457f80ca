//===- CacheFile.h - one entry of the cache as a file --------------------------------------===//
// Needs: a path, and the key that names the content.
// Gives: reading that validates everything, and atomic writing.
// How:   magic, format, kind, length, checksum over key, kind and payload, payload. A file that is
//        not regular (a pipe would block), belongs to another user, or whose length differs from
//        its header's, is rejected before its content is read.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Cache.h"
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>

namespace pantile {

/// A file descriptor that closes itself.
class File {
public:
  explicit File(int descriptor) : descriptor(descriptor) {}
  ~File();
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  explicit operator bool() const { return descriptor >= 0; }
  const int descriptor;
};

struct EntryContent {
  EntryKind kind;
  std::string payload;
};

/// The content of `bytes`, or why they are no entry of `key`.
std::optional<EntryContent> parseEntry(const std::string &key, std::string bytes, std::string &why);
std::string formatEntry(const std::string &key, std::string_view payload, EntryKind kind);

/// What was found at an entry's path.
struct EntryRead {
  bool exists = false;
  std::optional<EntryContent> content;
  std::string why;         ///< why an existing file is rejected
  struct stat status = {}; ///< of the file that was read
};

/// Reads an entry. With `touch` its time of use becomes now. Entries of `alsoOwner` are trusted
/// in addition to those of this user and of root.
EntryRead readEntry(const std::string &path, const std::string &key, bool touch, uid_t alsoOwner);

/// Writes `content` to `target` atomically: readers see all of it or none. Returns 0 or errno.
int writeAtomically(const std::string &target, std::string_view content);

/// Removes the file at `path` only if it is still the one that `seen` describes: another process
/// may have put a good one there. Returns whether it did.
bool removeSame(const std::string &path, const struct stat &seen);

std::optional<std::string> readWholeFile(const std::string &path);

/// Whether a name is that of an entry: 64 hexadecimal digits.
bool isEntryName(std::string_view name);

} // namespace pantile
