// The time from source to tile IR: of an attention kernel of 300 lines, and against nesting.
#include "frontend/Emit.h"
#include "ir/Tile.h"
#include "pantile/Compiler.h"
#include <ctime>
#include <gtest/gtest.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

using namespace pantile;

namespace {
/// One pass over keys and values, 29 lines, as attention has for full tiles, for those on the
/// diagonal, for a window, ...
const char *const pass = R"(
    low_@ = tl.multiple_of(start_@ * BLOCK_N, BLOCK_N)
    high_@ = tl.minimum(low_@ + span_@, n_keys)
    keys_@ = k_ptr + head * stride_kh + cols[None, :] * stride_kn + dims[:, None]
    values_@ = v_ptr + head * stride_vh + cols[:, None] * stride_vn + dims[None, :]
    for start in tl.range(low_@, high_@, BLOCK_N, num_stages=STAGES):
        start = tl.multiple_of(start, BLOCK_N)
        inside = (start + cols) < n_keys
        if EVEN:
            k = tl.load(keys_@ + start * stride_kn)
        else:
            k = tl.load(keys_@ + start * stride_kn, mask=inside[None, :], other=0.0)
        scores = tl.dot(q, k)
        if CAUSAL:
            visible = rows[:, None] >= (start + cols)[None, :]
            scores = tl.where(visible & inside[None, :], scores * scale, float("-inf"))
        else:
            scores = tl.where(inside[None, :], scores * scale, float("-inf"))
        highest = tl.maximum(top, tl.max(scores, 1))
        shift = tl.where(highest == float("-inf"), 0.0, highest)
        p = tl.exp2(scores - shift[:, None])
        rescale = tl.exp2(top - shift)
        total = total * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        if EVEN:
            v = tl.load(values_@ + start * stride_vn)
        else:
            v = tl.load(values_@ + start * stride_vn, mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        top = highest
)";

std::string attention() {
  std::string text = R"(import triton
import triton.language as tl

@triton.jit
def kernel(q_ptr, k_ptr, v_ptr, o_ptr, l_ptr, scale, n_queries, n_keys, stride_qh, stride_qm,
           stride_kh, stride_kn, stride_vh, stride_vn, stride_oh, stride_om,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
           EVEN: tl.constexpr, STAGES: tl.constexpr):
    head = tl.program_id(1)
    block = tl.program_id(0)
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, D)
    queries = q_ptr + head * stride_qh + rows[:, None] * stride_qm + dims[None, :]
    q = tl.load(queries, mask=rows[:, None] < n_queries, other=0.0)
    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
)";
  for (char part = 'a'; part < 'j'; ++part) {
    const std::string name(1, part);
    text += "    start_" + name + " = block\n    span_" + name + " = n_keys\n";
    for (const char *c = pass + 1; *c; ++c)
      text += *c == '@' ? name : std::string(1, *c);
  }
  return text + R"(    acc = acc / total[:, None]
    tl.store(l_ptr + head * n_queries + rows, top + tl.log2(total), mask=rows < n_queries)
    out = o_ptr + head * stride_oh + rows[:, None] * stride_om + dims[None, :]
    tl.store(out, acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < n_queries)
)";
}

Specialization specialize(std::vector<std::string> specs) {
  Specialization result;
  for (const std::string &spec : specs)
    result.args.push_back(*parseArgSpec(spec));
  return result;
}

#ifdef __SANITIZE_ADDRESS__
constexpr double slowdown = 10;
#else
constexpr double slowdown = 2; ///< a machine at half the speed passes too
#endif

double threadMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * double(now.tv_sec) + 1e-6 * double(now.tv_nsec);
}

/// Milliseconds of this thread from the source on, the best of five; the number of scf.for goes to
/// `loops`. What else the machine does is not counted.
double timeOf(const std::string &text, const Specialization &specialization, int &loops) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    Options options;
    options.target = "sm_90a";
    const double start = threadMilliseconds();
    const Result<Program> program = scanFile(text, "time.py", {});
    EXPECT_TRUE(program) << program.error().rendered;
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    auto module = emitTileIR(context, *program, specialization, options, sources, diagnostics);
    best = std::min(best, threadMilliseconds() - start);
    for (const Diagnostic &diagnostic : diagnostics.diagnostics())
      ADD_FAILURE() << diagnostic.message;
    loops = 0;
    if (module)
      module->walk([&](mlir::scf::ForOp) { ++loops; });
  }
  return best;
}
} // namespace

TEST(FrontEndTime, AttentionOfThreeHundredLines) {
  const std::string text = attention();
  EXPECT_GE(std::count(text.begin(), text.end(), '\n'), 300);
  int loops = 0;
  const double taken =
      timeOf(text, specialize({"*fp16:16", "*fp16:16", "*fp16:16", "*fp16:16", "*fp32:16", "fp32",
                               "i32:16",   "i32:16",   "i32:16",   "i32:16",   "i32:16",   "i32:16",
                               "i32:16",   "i32:16",   "i32:16",   "i32:16",   "128",      "64",
                               "64",       "1",        "0",        "2"}),
             loops);
  EXPECT_EQ(loops, 9);
  RecordProperty("milliseconds", std::to_string(taken));
  std::cout << "300 lines: " << taken << " ms\n";
  EXPECT_LT(taken, 20.0 * slowdown) << "usually 10 ms";
}

TEST(FrontEndTime, TwelveNestedLoopsAndBranches) {
  auto build = [](int depth) {
    std::string body = "import triton\nimport triton.language as tl\n\n@triton.jit\n"
                       "def kernel(p, n):\n    x = 0.0\n    y = 1\n";
    std::string indent = "    ";
    for (int i = 0; i < depth; ++i) {
      const std::string name = "i" + std::to_string(i);
      body += indent +
              (i % 2 ? "if y > " + std::to_string(i) + ":\n" : "for " + name + " in range(n):\n");
      indent += "    ";
      body += indent + "y += 1\n";
      if (i % 4 == 3)
        body += indent + "if y > 100:\n" + indent + "    break\n";
    }
    return body + indent + "x += y\n    tl.store(p, x)\n";
  };
  const Specialization specialization = specialize({"*fp32", "i32"});
  int loops = 0;
  const double shallow = timeOf(build(12), specialization, loops);
  const double deep = timeOf(build(48), specialization, loops);
  std::cout << "12 levels: " << shallow << " ms, 48 levels: " << deep << " ms\n";
  EXPECT_LT(shallow, 100.0 * slowdown);
  EXPECT_LT(deep, 40 * shallow) << "four times the depth";
}

/// Neither the parser nor emission runs out of stack.
TEST(FrontEndTime, DeepNestingIsRefused) {
  const std::string head = "import triton\nimport triton.language as tl\n\n@triton.jit\n"
                           "def kernel(p, n):\n    x = ";
  for (const char *opener : {"(", "[", "-", "not ", "f(", "n if n else ", "lambda: ", "{"}) {
    std::string text = head;
    for (int i = 0; i < 10000; ++i)
      text += opener;
    const Result<Program> program = scanFile(text + "1\n", "deep.py", {});
    if (!program)
      continue;
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    emitTileIR(context, *program, specialize({"*fp32", "i32"}), {}, sources, diagnostics);
    EXPECT_TRUE(diagnostics.hasErrors()) << opener;
  }
  std::string blocks = head + "1\n", indent = "    ";
  for (int i = 0; i < 10000; ++i, indent += " ")
    blocks += indent + "if n:\n";
  const Result<Program> program = scanFile(blocks + indent + "pass\n", "deep.py", {});
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  if (program)
    emitTileIR(context, *program, specialize({"*fp32", "i32"}), {}, sources, diagnostics);
  EXPECT_TRUE(!program || diagnostics.hasErrors());
}
