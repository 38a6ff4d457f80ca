//===- InterpTesting.h - run tile IR text on the interpreter ------------------------------===//
// Gives: `Kernel`, made from the text of a func.func; arguments from vectors, with their bounds.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Interpreter.h"
#include "ir/Tile.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "support/Source.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace pantile::interp_testing {

struct TestKernel {
  explicit TestKernel(const std::string &text, const SourceManager *sources = nullptr) {
    mlir::DialectRegistry registry;
    registerTileDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context), "kernel.mlir");
    EXPECT_TRUE(module) << text;
    if (!module)
      return;
    auto made = InterpretedKernel::create(*module, sources);
    if (made)
      kernel = *made;
    else
      error = made.error();
  }

  Result<void> operator()(Grid grid, const std::vector<LaunchArg> &args, int workers = 1) const {
    if (!kernel)
      return error;
    return kernel->run(grid, args, workers);
  }

  /// The launch must succeed.
  void run(Grid grid, const std::vector<LaunchArg> &args, int workers = 1) const {
    Result<void> result = (*this)(grid, args, workers);
    EXPECT_TRUE(result) << (result ? "" : result.error().rendered);
  }

  std::shared_ptr<InterpretedKernel> kernel;
  Error error;
};

template <typename T> LaunchArg arg(std::vector<T> &values) {
  auto begin = reinterpret_cast<uint64_t>(values.data());
  return LaunchArg::ptr(values.data(), begin, begin + values.size() * sizeof(T));
}
inline LaunchArg arg(int64_t value) { return LaunchArg::i(value); }
inline LaunchArg arg(int value) { return LaunchArg::i(value); }

} // namespace pantile::interp_testing
