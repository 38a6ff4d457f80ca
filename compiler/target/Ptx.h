//===- Ptx.h - PTX to machine code --------------------------------------------------------===//
// Needs: PTX text; an assembler on this machine. No GPU.
// Gives: a cubin, with the assembler's messages.
// How:   The first of these that exists and is not newer than the driver, if there is one: `ptxas`
//        (PANTILE_PTXAS_PATH, TRITON_PTXAS_PATH, CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda,
//        NVIDIA's pip wheels), libnvJitLink by dlopen (the copy already loaded, the wheels', the
//        toolkit's), the driver's own linker. Chosen once per process, when first needed.
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
  int registers = 0;      ///< per thread
  int spills = 0;         ///< bytes per thread stored to local memory
  std::string serialised; ///< why MMAs are serialised, from the message; empty: they are not
  std::string log;        ///< all messages of the assembler
};

/// The assembly of one kernel, in progress; destroying it cleans up.
class AssemblerRun {
public:
  virtual ~AssemblerRun() = default;
  virtual Result<Cubin> assemble(std::string_view ptx, const std::string &kernelName) = 0;
};

/// One kind of assembler; several threads may use it at once.
class Assembler {
public:
  virtual ~Assembler() = default;
  virtual Result<Cubin> assemble(std::string_view ptx, const std::string &kernelName,
                                 const Options &options) const = 0;

  /// The same in two steps: what can be done without the PTX starts now, concurrently with the
  /// caller. The assembler outlives the run.
  virtual std::unique_ptr<AssemblerRun> start(const Options &options) const;

  /// "ptxas 13.0 (/usr/local/cuda/bin/ptxas)".
  const std::string &description() const { return text; }
  /// Differs whenever the machine code may differ: part of the cache key.
  const std::string &identity() const { return id; }

protected:
  Assembler(std::string text, std::string id) : text(std::move(text)), id(std::move(id)) {}

private:
  std::string text, id;
};

/// The process's assembler, or an Error of kind Assembler that lists what was looked for.
const Result<std::unique_ptr<Assembler>> &processAssembler();

/// The three kinds. An absent one is an Error that says why; `maxVersion` is 1000 * major + 10 *
/// minor of the driver, 0 where there is none.
Result<std::unique_ptr<Assembler>> findPtxas(int maxVersion);
Result<std::unique_ptr<Assembler>> findNvJitLink(int maxVersion);
Result<std::unique_ptr<Assembler>> findDriverLinker();

/// Splits Options::assemblerOptions into options.
std::vector<std::string> splitOptions(const Options &options);

/// Reads registers, spills and `serialised` from the output of `ptxas -v`, which the other kinds
/// print as well.
void readResourceUsage(std::string_view log, Cubin &cubin);

/// The error about `kernelName`, from the assembler's output.
Error assemblerError(std::string_view assembler, const std::string &kernelName,
                     std::string_view log);

} // namespace pantile
