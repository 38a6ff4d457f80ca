//===- Ptx.h - PTX to machine code --------------------------------------------------------===//
// Needs: PTX text; an assembler on this machine. No GPU.
// Gives: a cubin with what the assembler said of it.
// How:   the first of these that exists and is not newer than the driver, where there is one:
//        `ptxas` (PANTILE_PTXAS_PATH, TRITON_PTXAS_PATH, CUDA_HOME, CUDA_PATH, PATH,
//        /usr/local/cuda, NVIDIA's pip wheels), libnvJitLink by dlopen (the copy already loaded,
//        the wheels', the toolkit's), the driver's own linker. Chosen once a process, when first
//        needed.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include "pantile/Options.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

struct Cubin {
  std::string bytes;
  int registers = 0;      ///< a thread
  int spills = 0;         ///< bytes stored to local memory a thread
  std::string serialised; ///< why no wgmma overlaps another, in its words; empty: they may
  std::string log;        ///< all that the assembler said
};

/// One kernel on its way; dropped, it leaves nothing behind.
class AssemblerRun {
public:
  virtual ~AssemblerRun() = default;
  virtual Result<Cubin> assemble(std::string_view ptx, const std::string &kernelName) = 0;
};

/// One way to assemble; may be used by several threads at once.
class Assembler {
public:
  virtual ~Assembler() = default;
  virtual Result<Cubin> assemble(std::string_view ptx, const std::string &kernelName,
                                 const Options &options) const = 0;

  /// The same in two steps: what can be done without the PTX begins now, beside the caller. The
  /// assembler outlives the run.
  virtual std::unique_ptr<AssemblerRun> start(const Options &options) const;

  /// "ptxas 13.0 (/usr/local/cuda/bin/ptxas)".
  const std::string &description() const { return text; }
  /// Differs whenever the machine code may: part of the cache key.
  const std::string &identity() const { return id; }

protected:
  Assembler(std::string text, std::string id) : text(std::move(text)), id(std::move(id)) {}

private:
  std::string text, id;
};

/// The process's assembler, or an Error of kind Assembler that says what was looked for.
const Result<std::unique_ptr<Assembler>> &processAssembler();

/// The three kinds. An absent one is an Error that says why; `maxVersion` is 1000 * major + 10 *
/// minor of the driver, 0 where there is none.
Result<std::unique_ptr<Assembler>> findPtxas(int maxVersion);
Result<std::unique_ptr<Assembler>> findNvJitLink(int maxVersion);
Result<std::unique_ptr<Assembler>> findDriverLinker();

/// The words of Options::assemblerOptions.
std::vector<std::string> splitOptions(const Options &options);

/// Fills registers, spills and `serialised` from the text of `ptxas -v`, which the other kinds print
/// as well.
void readResourceUsage(std::string_view log, Cubin &cubin);

/// What went wrong with `kernelName`, from the assembler's text.
Error assemblerError(std::string_view assembler, const std::string &kernelName,
                     std::string_view log);

} // namespace pantile
