//===- Reproducer.h - what to send when the compiler itself is wrong ----------------------===//
// Needs: the cache's directory; without it nothing is written.
// Gives: a file with the tile IR, the options and the sources of the compilation that failed.
// How:   the text is made only when it is needed. LLVM's fatal errors end the process, so a handler
//        writes the file of the compilation that runs on the thread before that.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "pantile/Options.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <string>

namespace pantile {

/// While it lives, a fatal error of LLVM on this thread writes `describe()` to a file first.
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

/// Adds to an internal error the path of a file that holds what `describe` gives.
Error withReproducer(Error error, llvm::function_ref<std::string()> describe);

/// `text` with "// " before each line.
std::string commented(llvm::StringRef text);
/// Everything of `options` that changes what passes do, on one line.
std::string describeOptions(const Options &options);

} // namespace pantile
