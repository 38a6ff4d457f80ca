// The view of the tile IR under Triton's names: that each operation has one, and where it differs.
#include "pantile/TritonView.h"
#include "ir/Tile.h"
#include "ir/TritonNames.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <set>

using namespace pantile;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

namespace {
std::set<std::string> registeredOperations(mlir::MLIRContext &context, llvm::StringRef dialect) {
  std::set<std::string> names;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == dialect)
      names.insert(name.getStringRef().str());
  return names;
}

/// The view of the only kernel of `body`.
TritonView viewOf(const std::string &body, const std::vector<std::string> &specs) {
  Result<Program> program =
      scanFile("import triton\nimport triton.language as tl\n@triton.jit\n" + body, "test.py", {});
  EXPECT_TRUE(program) << program.error().rendered;
  Specialization specialization;
  for (const std::string &spec : specs)
    specialization.args.push_back(*parseArgSpec(spec));
  Options options;
  options.target = "sm_90a";
  Result<TritonView> view = viewAsTriton(*program, specialization, options);
  EXPECT_TRUE(view) << view.error().rendered;
  EXPECT_TRUE(view->isValid);
  return *view;
}

std::vector<std::string> namesOf(const TritonView &view) {
  std::vector<std::string> names;
  for (const TritonView::Operation &op : view.operations)
    names.push_back(op.name);
  return names;
}

TritonView::Operation find(const TritonView &view, const std::string &name) {
  for (const TritonView::Operation &op : view.operations)
    if (op.name == name)
      return op;
  ADD_FAILURE() << "there is no " << name;
  return {};
}

std::vector<int> argumentsOfKernel(const TritonView &view) {
  const int region = find(view, "tt.func").regions.front();
  for (const TritonView::Block &block : view.blocks)
    if (block.region == region)
      return block.arguments;
  return {};
}
} // namespace

TEST(TritonNames, EveryOperationHasARow) {
  mlir::MLIRContext context;
  context.loadDialect<TileDialect, mlir::func::FuncDialect>();
  const std::set<std::string> operations = registeredOperations(context, "tile");
  EXPECT_GT(operations.size(), 30u);
  for (const std::string &name : operations)
    EXPECT_TRUE(rowOfTritonNames(name)) << name << " has no row in TritonNames.def";
}

TEST(TritonNames, EveryRowHasAnOperation) {
  mlir::MLIRContext context;
  context.loadDialect<TileDialect, mlir::func::FuncDialect>();
  std::set<std::string> seen;
#define TRITON_NAME(ours, theirs)                                                                  \
  EXPECT_TRUE(mlir::RegisteredOperationName::lookup(ours, &context)) << ours;                      \
  EXPECT_TRUE(seen.insert(ours).second) << ours << " has two rows";                                \
  EXPECT_FALSE(llvm::StringRef(theirs).starts_with("tile.")) << theirs;
#include "ir/TritonNames.def"
#undef TRITON_NAME
}

TEST(TritonView, StandsInPostOrder) {
  TritonView view = viewOf("def kernel(x, n):\n"
                           "  for i in range(n):\n"
                           "    tl.store(x + i, 1.0)\n",
                           {"*fp32", "i32"});
  std::vector<std::string> names = namesOf(view);
  auto place = [&](const char *name) { return llvm::find(names, name) - names.begin(); };
  EXPECT_LT(place("tt.addptr"), place("tt.store"));
  EXPECT_LT(place("tt.store"), place("scf.yield"));
  EXPECT_LT(place("scf.yield"), place("scf.for"));
  EXPECT_EQ(names.back(), "builtin.module");
  EXPECT_EQ(view.operations.back().block, -1);
  EXPECT_EQ(find(view, "tt.func").texts["sym_name"], "kernel");
  const TritonView::Operation loop = find(view, "scf.for");
  EXPECT_EQ(view.blocks[size_t(find(view, "tt.store").block)].region, loop.regions.front());
  EXPECT_THAT(names, Not(Contains("arith.select")));
}

TEST(TritonView, StartsALoopWithAllThatItsVariablesMayBe) {
  TritonView view = viewOf("def kernel(x, y, n):\n"
                           "  p = x\n"
                           "  for i in range(n):\n"
                           "    tl.store(p, 1.0)\n"
                           "    p = y\n",
                           {"*fp32", "*fp32", "i32"});
  const TritonView::Operation merge = find(view, "arith.select");
  const std::vector<int> arguments = argumentsOfKernel(view);
  EXPECT_THAT(merge.operands, ElementsAre(arguments[0], arguments[1]));
  EXPECT_EQ(find(view, "scf.for").operands[3], merge.results.front());
  EXPECT_THAT(find(view, "scf.yield").operands, ElementsAre(merge.results.front()));
  EXPECT_EQ(merge.block, find(view, "scf.for").block);
}

TEST(TritonView, KeepsSizesOfDescriptorsApart) {
  TritonView view = viewOf("def kernel(d, n):\n"
                           "  d.store([n, 0], tl.full((16, 16), 1.0, tl.float32))\n",
                           {"tensordesc<fp32[16, 16]>", "i32"});
  const std::vector<int> arguments = argumentsOfKernel(view);
  ASSERT_EQ(arguments.size(), 6u); // the base, two sizes, two strides, n
  std::set<int> used;
  for (const TritonView::Operation &op : view.operations)
    used.insert(op.operands.begin(), op.operands.end());
  EXPECT_TRUE(used.contains(arguments[0]));
  for (int i = 1; i < 5; ++i)
    EXPECT_FALSE(used.contains(arguments[size_t(i)])) << i;
  EXPECT_TRUE(used.contains(arguments[5]));
}

TEST(TritonView, ShowsBodiesOfMapsBeforeThem) {
  TritonView view = viewOf("def kernel(x):\n"
                           "  i = tl.arange(0, 16)\n"
                           "  f = lambda a, b: a * b\n"
                           "  tl.store(x + i, tl.map_elementwise(f, i, i + 1))\n",
                           {"*i32"});
  const TritonView::Operation map = find(view, "tt.map_elementwise");
  const TritonView::Operation product = find(view, "arith.muli");
  EXPECT_THAT(map.regions, IsEmpty());
  ASSERT_EQ(map.operands.size(), 3u);
  EXPECT_THAT(product.operands, ElementsAre(map.operands[0], map.operands[1]));
  EXPECT_EQ(map.operands[2], product.results.front());
  EXPECT_EQ(map.block, product.block);
}

TEST(TritonView, GivesErrorsOfTheFrontEnd) {
  Result<Program> program =
      scanFile("import triton\nimport triton.language as tl\n@triton.jit\ndef kernel(x):\n  y\n",
               "t.py", {});
  ASSERT_TRUE(program);
  Specialization specialization;
  specialization.args.push_back(*parseArgSpec("*fp32"));
  Result<TritonView> view = viewAsTriton(*program, specialization, {});
  ASSERT_FALSE(view);
  EXPECT_THAT(view.error().message, testing::HasSubstr("`y`"));
}
