//===- Program.cpp - run a program on files in the temporary directory --------------------===//
// Needs: see Program.h.
// Gives: TemporaryFile, runProgram, EarlyProgram.
// How:   The write ends of all pipes are listed: a child of `fork` inherits them, and unless it
//        closes them, programs would wait for more input.
//===------------------------------------------------------------------------------------===//
#include "target/Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace fs = llvm::sys::fs;

namespace pantile {
namespace {

/// The ends of pipes that this process writes to.
struct WriteEnds {
  std::mutex mutex; ///< held by `fork`
  llvm::SmallVector<int> ends;

  /// Never destroyed: other threads may still compile while the process exits.
  static WriteEnds &ofProcess() {
    static WriteEnds *all = [] {
      pthread_atfork([] { ofProcess().mutex.lock(); }, [] { ofProcess().mutex.unlock(); },
                     [] { ofProcess().dropInChild(); });
      return new WriteEnds;
    }();
    return *all;
  }

  bool open(int &readEnd, int &writeEnd) {
    std::scoped_lock lock(mutex);
    int both[2];
    if (pipe2(both, O_CLOEXEC) != 0)
      return false;
    readEnd = both[0];
    writeEnd = both[1];
    fcntl(writeEnd, F_SETFL, O_NONBLOCK);
    ends.push_back(writeEnd);
    return true;
  }

  void close(int end) {
    std::scoped_lock lock(mutex);
    llvm::erase(ends, end);
    ::close(end);
  }

private:
  void dropInChild() {
    for (int end : ends)
      ::close(end);
    ends.clear();
    mutex.unlock();
  }
};

/// This process's environment, with settings by which the C library of a program allocates memory
/// in large pieces: page faults are a tenth of an assembler's time. Settings of the user are kept.
llvm::SmallVector<llvm::StringRef> environmentOfPrograms() {
  llvm::SmallVector<llvm::StringRef> variables;
  for (char **variable = environ; variable && *variable; ++variable)
    variables.push_back(*variable);
  if (!std::getenv("GLIBC_TUNABLES"))
    variables.push_back("GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864:"
                        "glibc.malloc.trim_threshold=1073741824");
  return variables;
}

/// A link to the standard input of the process that opens it, or nothing if the system has none.
std::string linkToStandardInput() {
  constexpr const char *standardInput = "/proc/self/fd/0";
  if (access("/proc/self/fd", X_OK) != 0)
    return {};
  for (int attempt = 0; attempt < 16; ++attempt) {
    llvm::SmallString<128> path;
    if (fs::getPotentiallyUniqueTempFileName("pantile", "ptx", path))
      return {};
    if (symlink(standardInput, path.c_str()) == 0)
      return path.str().str();
    if (errno != EEXIST)
      return {};
  }
  return {};
}

/// Null-terminated, as the system wants it.
std::vector<char *> pointersTo(llvm::MutableArrayRef<std::string> texts) {
  std::vector<char *> pointers;
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

} // namespace

TemporaryFile::TemporaryFile(llvm::StringRef suffix) {
  error = fs::createTemporaryFile("pantile", suffix, path);
}

TemporaryFile::~TemporaryFile() {
  if (!error)
    fs::remove(path);
}

std::string TemporaryFile::read() const {
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

std::error_code TemporaryFile::write(llvm::StringRef text) const {
  std::error_code failed;
  llvm::raw_fd_ostream stream(path, failed);
  if (failed)
    return failed;
  stream << text;
  stream.close();
  failed = stream.error();
  stream.clear_error();
  return failed;
}

ProgramRun runProgram(const std::string &program, llvm::ArrayRef<std::string> arguments) {
  TemporaryFile log("log");
  if (log.error)
    return {-1, "no temporary file: " + log.error.message()};
  llvm::SmallVector<llvm::StringRef> argv = {program};
  argv.append(arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), log.path.str(), log.path.str()};
  std::string failure;
  const llvm::SmallVector<llvm::StringRef> environment = environmentOfPrograms();
  int status = llvm::sys::ExecuteAndWait(program, argv, environment, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &failure);
  return {status, log.read() + failure};
}

EarlyProgram::EarlyProgram() : log("log") {
  if (!log.error)
    input = linkToStandardInput();
}

EarlyProgram::~EarlyProgram() {
  if (process > 0)
    kill(process, SIGKILL); // while it waits for its input, so the process still exists
  closePipe();
  if (process > 0)
    wait();
  if (!input.empty())
    fs::remove(input);
}

bool EarlyProgram::start(const std::string &program, llvm::ArrayRef<std::string> arguments) {
  if (input.empty() || !WriteEnds::ofProcess().open(readEnd, writeEnd))
    return false;
  std::vector<std::string> words = {program}, variables;
  words.insert(words.end(), arguments.begin(), arguments.end());
  for (llvm::StringRef variable : environmentOfPrograms())
    variables.push_back(variable.str());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, readEnd, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.path.c_str(), O_WRONLY | O_APPEND,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const int failed = posix_spawn(&process, program.c_str(), &actions, nullptr,
                                 pointersTo(words).data(), pointersTo(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed)
    process = -1;
  return !failed;
}

ProgramRun EarlyProgram::finish(llvm::StringRef text) {
  TemporaryFile file("ptx");
  std::error_code failed = file.error;
  if (!failed)
    failed = file.write(text);
  if (!failed)
    failed = fs::rename(file.path, input);
  if (failed)
    return {-1, "no temporary file: " + failed.message()};
  write(text);
  closePipe();
  const int status = wait();
  return {status, log.read()};
}

/// A program that has opened the file leaves the pipe full, so the end of writing is an end, too.
void EarlyProgram::write(llvm::StringRef text) const {
  constexpr int patienceMs = 5;
  while (!text.empty()) {
    const ssize_t written = ::write(writeEnd, text.data(), text.size());
    if (written > 0) {
      text = text.drop_front(written);
      continue;
    }
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN || hasEnded())
      return;
    pollfd room = {writeEnd, POLLOUT, 0};
    poll(&room, 1, patienceMs);
  }
}

bool EarlyProgram::hasEnded() const {
  siginfo_t info = {};
  return waitid(P_PID, process, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == process;
}

void EarlyProgram::closePipe() {
  if (writeEnd < 0)
    return;
  WriteEnds::ofProcess().close(writeEnd);
  ::close(readEnd);
  readEnd = writeEnd = -1;
}

/// The exit status; below 0: ended by a signal, or unknown.
int EarlyProgram::wait() {
  int status = 0;
  pid_t ended;
  do
    ended = waitpid(process, &status, 0);
  while (ended < 0 && errno == EINTR);
  const bool exited = ended == process && WIFEXITED(status);
  process = -1;
  return exited ? WEXITSTATUS(status) : -1;
}

} // namespace pantile
