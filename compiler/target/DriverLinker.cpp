//===- DriverLinker.cpp - PTX to machine code by the CUDA driver --------------------------===//
// Needs: a driver and a GPU; see Ptx.h.
// Gives: findDriverLinker.
// How:   assembles for the GPU of the current context, so the target must be that GPU's.
//===------------------------------------------------------------------------------------===//
#include "cuda/Device.h"
#include "target/Ptx.h"
#include <array>
#include <fmt/format.h>

namespace pantile {
namespace {

/// CUjit_option and CUjitInputType.
enum JitOption {
  MaxRegisters = 0,
  InfoLog = 3,
  InfoLogBytes = 4,
  ErrorLog = 5,
  ErrorLogBytes = 6,
  LogVerbose = 12,
  LineInfo = 13
};
constexpr int jitInputPtx = 1;

void *asValue(size_t number) { return reinterpret_cast<void *>(number); }

class DriverLinker : public Assembler {
public:
  explicit DriverLinker(const Driver &driver)
      : Assembler(fmt::format("the CUDA driver's linker ({}.{})", driver.version() / 1000,
                              driver.version() % 1000 / 10),
                  fmt::format("driver {}", driver.version())),
        driver(driver) {}

  Result<Cubin> assemble(std::string_view ptx, const std::string &kernelName,
                         const Options &options) const override {
    if (!options.assemblerOptions.empty())
      return makeError(
          ErrorKind::Assembler,
          "the driver's linker takes no options of `ptxas`: install `ptxas`, or leave `" +
              options.assemblerOptions + "` out");
    auto scope = ContextScope::enter(driver, -1);
    if (!scope)
      return scope.error();
    std::array<char, 16384> info{}, error{};
    std::array<int, 7> names = {InfoLog,    InfoLogBytes, ErrorLog,    ErrorLogBytes,
                                LogVerbose, LineInfo,     MaxRegisters};
    std::array<void *, 7> values = {info.data(),
                                    asValue(info.size()),
                                    error.data(),
                                    asValue(error.size()),
                                    asValue(1),
                                    asValue(options.lineInfo),
                                    asValue(options.maxRegisters)};
    // The last option is a limit; 0 would not mean none.
    unsigned count = options.maxRegisters > 0 ? 7 : 6;
    CUlinkState state = nullptr;
    if (CUresult result = driver.linkCreate(count, names.data(), values.data(), &state))
      return driver.error(result, "starting the driver's linker");
    std::string text(ptx);
    void *bytes = nullptr;
    size_t size = 0;
    CUresult result = driver.linkAddData(state, jitInputPtx, text.data(), text.size() + 1,
                                         kernelName.c_str(), 0, nullptr, nullptr);
    if (!result)
      result = driver.linkComplete(state, &bytes, &size);
    Cubin cubin;
    if (!result)
      cubin.bytes.assign(static_cast<char *>(bytes), size);
    driver.linkDestroy(state);
    if (result)
      return assemblerError("the CUDA driver", kernelName, error.data());
    cubin.log = info.data();
    readResourceUsage(cubin.log, cubin);
    return cubin;
  }

private:
  const Driver &driver;
};

} // namespace

Result<std::unique_ptr<Assembler>> findDriverLinker() {
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  return std::unique_ptr<Assembler>(new DriverLinker(**driver));
}

} // namespace pantile
