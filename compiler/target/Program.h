//===- Program.h - run a program on files in the temporary directory ----------------------===//
// Needs: the program's path. For early starts a mounted /proc.
// Gives: TemporaryFile; runProgram; EarlyProgram, which starts before its input is known.
// How:   An early program gets a path that links to its own standard input, a pipe. Once the input
//        is known, a file replaces the link, and the input is written to the pipe. An open before
//        that reads the pipe, a later one, or a second one, reads the file: the same bytes. When
//        this process ends, the pipe ends, and so does the program. A fork of this process keeps no
//        end of the pipe.
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

/// A file in the temporary directory that is removed with its owner.
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

/// A program that initialises itself while its input is still being computed.
class EarlyProgram {
public:
  /// A path to pass to the program as its input once it is started; an empty one: start nothing.
  EarlyProgram();
  /// Ends the program if it was not waited for.
  ~EarlyProgram();
  EarlyProgram(const EarlyProgram &) = delete;

  const std::string &inputPath() const { return input; }
  /// Whether the program runs now.
  bool start(const std::string &program, llvm::ArrayRef<std::string> arguments);
  /// Passes the input and waits for the end.
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
