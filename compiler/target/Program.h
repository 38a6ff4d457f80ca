//===- Program.h - a program run on files in the temporary directory ----------------------===//
// Needs: the program's path. For early starts a mounted /proc.
// Gives: TemporaryFile; runProgram; EarlyProgram, which starts before its input is known.
// How:   an early program is given a link to its own standard input, a pipe. Once the input is
//        known a file takes the link's place, then the text goes down the pipe. Whoever opens the
//        path before reads the pipe, whoever opens it after, or again, reads the file: the same
//        text. When this process dies the pipe ends, and so does the program. A fork of this
//        process keeps no end of the pipe.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <sys/types.h>
#include <system_error>

namespace pantile {

/// A file in the temporary directory that goes with its owner.
struct TemporaryFile {
  explicit TemporaryFile(llvm::StringRef suffix);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  std::string read() const;
  std::error_code write(llvm::StringRef text) const;

  llvm::SmallString<128> path;
  std::error_code error; ///< set: there is no file
};

struct ProgramRun {
  int status;      ///< 0: success
  std::string log; ///< standard output and error
};

/// Runs `program` to its end.
ProgramRun runProgram(const std::string &program, llvm::ArrayRef<std::string> arguments);

/// A program that gets ready while its input is still being made.
class EarlyProgram {
public:
  /// A path that the program may be told to read once it is started; an empty one: start nothing.
  EarlyProgram();
  /// Ends the program if nobody waited for it.
  ~EarlyProgram();
  EarlyProgram(const EarlyProgram &) = delete;

  const std::string &inputPath() const { return input; }
  /// Whether the program runs now.
  bool start(const std::string &program, llvm::ArrayRef<std::string> arguments);
  /// Hands over the input and waits for the end.
  ProgramRun finish(llvm::StringRef text);

private:
  bool hasEnded() const;
  void write(llvm::StringRef text) const;
  void closePipe();
  int wait();

  std::string input; ///< the link, later the file
  TemporaryFile log;
  pid_t process = -1;
  int readEnd = -1; ///< kept, so that no write ends in a signal
  int writeEnd = -1;
};

} // namespace pantile
