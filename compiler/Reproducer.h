//===- Reproducer.h - write a reproducer when the compiler itself fails ------------===//
// Needs: the cache directory; without it nothing is written.
// Gives: a file with the tile IR, the options and the sources of the compilation that failed.
// How:   The text is made only when it is needed. LLVM's fatal errors end the process, so a handler
//        writes the file of the compilation that runs on the thread before that.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "pantile/Options.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <string>

namespace pantile {

/// While it exists, a fatal error of LLVM on this thread first writes `describe()` to a file.
class ReproducerScope {
public:
  explicit ReproducerScope(std::function<std::string()> describe);
  ~ReproducerScope();
  ReproducerScope(const ReproducerScope &) = delete;

private:
  std::function<std::string()> describe;
  ReproducerScope *outer;
  friend struct FatalError;
};

/// Writes what `describe` returns to a file, and adds its path to an internal error.
Error withReproducer(Error error, llvm::function_ref<std::string()> describe);

/// `text` with "// " before each line.
std::string commented(llvm::StringRef text);
/// All `options` that change what passes do, on one line.
std::string describeOptions(const Options &options);

} // namespace pantile
