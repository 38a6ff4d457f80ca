//===- build_kernels.cpp - the build step of an application with kernels ahead of time --------===//
// Compiles a kernel for several targets into one artifact. Needs an assembler of CUDA's (ptxas or
// nvJitLink), but no GPU; without an assembler the artifact holds the CPU's kernel alone.
//
//   build_kernels kernels.py kernels.pta
//===------------------------------------------------------------------------------------===//
#include <cstdio>
#include <fstream>
#include <pantile/Artifact.h>
#include <pantile/Request.h>
#include <sstream>

using namespace pantile;

/// What the kernel may assume: `:16` of pointers and sizes gives wide accesses.
constexpr const char *signatures[] = {"*fp32:16, *fp32:16, i32:16, i32:16",
                                      "*fp32, *fp32, i32, i32"};

Result<void> addKernel(Artifact &artifact, const std::string &text, const std::string &file,
                       const std::string &target) {
  for (const char *signature : signatures) {
    CompileRequest request;
    request.kernel = "softmax";
    request.signature = signature;
    request.definitions = {{"BLOCK", int64_t(1024)}};
    request.options.target = target;
    Result<Specialized> made = specializeText(text, file, request);
    if (!made)
      return made.error();
    Result<void> added = artifact.add(made->program, made->specialization, request.options);
    if (!added)
      return added;
  }
  return {};
}

int main(int argc, char **argv) {
  if (argc != 3)
    return std::fprintf(stderr, "usage: build_kernels KERNELS.py ARTIFACT\n"), 2;
  std::ostringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  Artifact artifact;
  for (const char *target : {"cpu", "sm_80", "sm_90a", "sm_100a"}) {
    Result<void> added = addKernel(artifact, text.str(), argv[1], target);
    if (added || added.error().kind != ErrorKind::Assembler) {
      if (!added)
        return std::fprintf(stderr, "%s\n", added.error().rendered.c_str()), 1;
      continue;
    }
    std::fprintf(stderr, "%s is left out: %s\n", target, added.error().message.c_str());
  }
  if (Result<void> saved = artifact.save(argv[2]); !saved)
    return std::fprintf(stderr, "%s\n", saved.error().rendered.c_str()), 1;
  std::printf("%zu kernels\n", artifact.kernels().size());
  return 0;
}
