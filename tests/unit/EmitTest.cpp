// Emission from source: locations with their calls, what a module carries, errors, and the time.
#include "frontend/Emit.h"
#include "ir/Tile.h"
#include "pantile/Compiler.h"
#include <ctime>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Verifier.h>

using namespace pantile;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
/// Emits the only kernel of `body`, which is Python source after the two imports (lines 1 and 2).
struct Emission {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
  Options options;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  Emission(const std::string &body, std::vector<std::string> specs) {
    ScanOptions scan;
    scan.kernel = "kernel";
    Result<Program> program =
        scanFile("import triton\nimport triton.language as tl\n" + body, "test.py", scan);
    EXPECT_TRUE(program) << program.error().rendered;
    Specialization specialization;
    for (const std::string &spec : specs)
      specialization.args.push_back(*parseArgSpec(spec));
    options.target = "sm_90a";
    options.numWarps = 8;
    module = emitTileIR(context, *program, specialization, options, sources, diagnostics);
    if (module) {
      EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    }
  }
  std::string text() {
    std::string result;
    llvm::raw_string_ostream stream(result);
    module->print(stream);
    return result;
  }
  template <typename Op> Op find() {
    Op found;
    module->walk([&](Op op) { found = op; });
    return found;
  }
  std::vector<std::string> messages() const {
    std::vector<std::string> result;
    for (const Diagnostic &diagnostic : diagnostics.diagnostics())
      result.push_back(diagnostic.message);
    return result;
  }
};

std::string place(mlir::Location location) {
  auto range = mlir::dyn_cast<mlir::FileLineColRange>(location);
  if (!range)
    return "none";
  return range.getFilename().str() + ":" + std::to_string(range.getStartLine()) + ":" +
         std::to_string(range.getStartColumn()) + "-" + std::to_string(range.getEndLine()) + ":" +
         std::to_string(range.getEndColumn());
}
} // namespace

TEST(Emit, OperationsHaveTheRangeOfTheirExpression) {
  Emission e("@triton.jit\n"
             "def kernel(p):\n"
             "    tl.store(p, tl.load(p) + 1.0)\n",
             {"*fp32"});
  ASSERT_TRUE(e.module);
  EXPECT_EQ(place(e.find<LoadOp>().getLoc()), "test.py:5:17-5:27");
  EXPECT_EQ(place(e.find<mlir::arith::AddFOp>().getLoc()), "test.py:5:17-5:33");
  EXPECT_EQ(place(e.find<StoreOp>().getLoc()), "test.py:5:5-5:34");
}

TEST(Emit, InlinedOperationsNameTheirCall) {
  Emission e("@triton.jit\n"
             "def kernel(p):\n"
             "    tl.store(p, twice(tl.load(p)))\n"
             "@triton.jit\n"
             "def twice(x):\n"
             "    return x + x\n",
             {"*fp32"});
  ASSERT_TRUE(e.module);
  auto site = mlir::dyn_cast<mlir::CallSiteLoc>(e.find<mlir::arith::AddFOp>().getLoc());
  ASSERT_TRUE(site);
  EXPECT_EQ(place(site.getCallee()), "test.py:8:12-8:17");
  EXPECT_EQ(place(site.getCaller()), "test.py:5:17-5:34");
}

TEST(Emit, ModuleAndKernelCarryTheSpecialisation) {
  Emission e("@triton.jit\n"
             "def kernel(p, n, one, flag, N: tl.constexpr):\n"
             "    tl.store(p + n * one, N)\n",
             {"*fp16:16", "i64:16", "1", "i1", "5"});
  ASSERT_TRUE(e.module);
  EXPECT_EQ(moduleTarget(*e.module), "sm_90a");
  EXPECT_EQ(moduleInt(*e.module, names::numWarps, 0), 8);
  auto kernel = e.find<mlir::func::FuncOp>();
  EXPECT_EQ(kernel.getName(), "kernel");
  EXPECT_TRUE(kernel->hasAttr(names::kernel));
  ASSERT_EQ(kernel.getNumArguments(), 3u);
  EXPECT_EQ(kernel.getArgAttrOfType<mlir::IntegerAttr>(1, names::divisibility).getInt(), 16);
  EXPECT_FALSE(kernel.getArgAttr(2, names::divisibility));
  EXPECT_TRUE(kernel.getArgument(1).getType().isInteger(64));
}

TEST(Emit, SeveralErrorsInOneRun) {
  Emission e("@triton.jit\n"
             "def kernel(p):\n"
             "    x = first + 1\n"
             "    y = x * 2\n"
             "    tl.store(p, y)\n"
             "    tl.store(p, tl.arange(3, 3))\n",
             {"*fp32"});
  EXPECT_FALSE(e.module);
  EXPECT_THAT(e.messages(), ElementsAre(HasSubstr("`first` is not defined"),
                                        HasSubstr("end argument must be greater")));
}

TEST(Emit, AnErrorShowsItsCalls) {
  Emission e("@triton.jit\n"
             "def kernel(p):\n"
             "    tl.store(p, helper(1.0))\n"
             "@triton.jit\n"
             "def helper(x):\n"
             "    return x + missing\n",
             {"*fp32"});
  EXPECT_FALSE(e.module);
  std::string rendered = e.diagnostics.render();
  EXPECT_THAT(rendered, HasSubstr("test.py:8:16: error: `missing` is not defined"));
  EXPECT_THAT(rendered, HasSubstr("test.py:5:17: note: in the call of `helper`"));
}

TEST(Emit, CompileTimeRecursionEnds) {
  Emission e("@triton.jit\n"
             "def kernel(p):\n"
             "    tl.store(p, power(tl.load(p), 5))\n"
             "@triton.jit\n"
             "def power(x, n: tl.constexpr):\n"
             "    if n == 0:\n"
             "        return 1.0\n"
             "    return x * power(x, n - 1)\n",
             {"*fp32"});
  ASSERT_TRUE(e.module);
  int products = 0;
  e.module->walk([&](mlir::arith::MulFOp) { ++products; });
  EXPECT_EQ(products, 4); // the product with 1.0 folds away
}

TEST(Emit, AssertionsNeedTheDebugOption) {
  const char *body = "@triton.jit\n"
                     "def kernel(p, n):\n"
                     "    assert n > 0, 'positive'\n"
                     "    tl.store(p, n)\n";
  Emission e(body, {"*fp32", "i32"});
  ASSERT_TRUE(e.module);
  EXPECT_FALSE(e.find<AssertOp>());
}

TEST(Emit, NestedLoopsCostLinearTime) {
  auto build = [](int depth) {
    std::string body = "@triton.jit\ndef kernel(p, n):\n    x = 0.0\n";
    std::string indent = "    ";
    for (int i = 0; i < depth; ++i) {
      body += indent + "for i" + std::to_string(i) + " in range(n):\n";
      indent += "    ";
    }
    return body + indent + "x += 1.0\n    tl.store(p, x)\n";
  };
  Emission e(build(40), {"*fp32", "i32"});
  ASSERT_TRUE(e.module);
  int additions = 0;
  e.module->walk([&](mlir::arith::AddFOp) { ++additions; });
  EXPECT_EQ(additions, 1);
}

/// A long straight kernel: about 400 operations, as large as an attention kernel.
TEST(Emit, IsQuick) {
  std::string body = "@triton.jit\ndef kernel(p):\n    x = tl.load(p + tl.arange(0, 64))\n";
  for (int i = 0; i < 100; ++i)
    body += "    x = tl.where(x > " + std::to_string(i) + ".0, x * 2.0, tl.exp(x) + 1.0)\n";
  body += "    tl.store(p + tl.arange(0, 64), x)\n";
  // Of this thread: what else the machine does is not counted.
  auto milliseconds = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * double(now.tv_sec) + 1e-6 * double(now.tv_nsec);
  };
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double start = milliseconds();
    Emission e(body, {"*fp32"});
    ASSERT_TRUE(e.module);
    best = std::min(best, milliseconds() - start);
  }
  EXPECT_LT(best, 50.0) << "milliseconds, with scan, verification and a new context";
}

TEST(Emit, ParametersOfAKernel) {
  Result<Program> program = scanFile("import triton\nimport triton.language as tl\n"
                                     "@triton.jit\n"
                                     "def kernel(p, n: tl.int32, K: tl.constexpr = 4, "
                                     "D: tl.constexpr = tl.float16, E: 'tl.constexpr' = None):\n"
                                     "    pass\n",
                                     "test.py", {});
  ASSERT_TRUE(program) << program.error().rendered;
  Result<std::vector<ParameterInfo>> parameters = kernelParameters(*program);
  ASSERT_TRUE(parameters) << parameters.error().rendered;
  ASSERT_EQ(parameters->size(), 5u);
  EXPECT_FALSE((*parameters)[1].isConstexpr);
  EXPECT_EQ((*parameters)[1].annotation, "tl.int32");
  EXPECT_TRUE((*parameters)[2].isConstexpr && (*parameters)[4].isConstexpr);
  EXPECT_EQ((*parameters)[2].defaultValue, ConstValue(int64_t(4)));
  EXPECT_TRUE((*parameters)[3].hasDefault && (*parameters)[4].hasDefault);
}

TEST(Emit, TypesOfArguments) {
  Result<ArgSpec> pointer = parseArgSpec("*kfp32:16");
  ASSERT_TRUE(pointer);
  EXPECT_EQ(pointer->kind, ArgSpec::Kind::Pointer);
  EXPECT_EQ(pointer->dtype, "fp32");
  EXPECT_TRUE(pointer->constPointer);
  EXPECT_EQ(pointer->divisibility, 16);
  EXPECT_EQ(parseArgSpec("i32:1")->value, ConstValue(int64_t(1)));
  EXPECT_EQ(parseArgSpec("-2.5")->value, ConstValue(-2.5));
  EXPECT_EQ(parseArgSpec("None")->kind, ArgSpec::Kind::Constant);
  EXPECT_EQ(parseArgSpec("u64")->dtype, "u64");
  EXPECT_FALSE(parseArgSpec("fp33"));
  EXPECT_FALSE(parseArgSpec("i32:x"));
}
