//===- CacheTest.cpp - the disk cache never gives what was not stored ---------------------===//
#include "cache/Cache.h"
#include "cache/Artifact.h"
#include "cache/Bytes.h"
#include "cache/CacheFile.h"
#include "cache/CacheKey.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <atomic>
#include <chrono>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace pantile;
using testing::HasSubstr;

namespace {

std::string keyOf(int number) { return hexDigest("key " + std::to_string(number)); }

class CacheTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("pantile-cache-test", path));
    directory = path.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  std::string pathOf(const std::string &key) const {
    return directory + "/" + key.substr(0, 2) + "/" + key;
  }
  std::string readFile(const std::string &path) const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void writeFile(const std::string &path, const std::string &content) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }
  bool exists(const std::string &path) const { return access(path.c_str(), F_OK) == 0; }

  std::string directory;
};

TEST_F(CacheTest, GivesBackWhatWasStored) {
  Cache cache(directory, 1 << 20);
  std::string payload("a\0b\xff", 4);
  EXPECT_EQ(cache.load(keyOf(1)), std::nullopt);
  cache.store(keyOf(1), payload);
  EXPECT_EQ(cache.load(keyOf(1)), payload);
  EXPECT_EQ(cache.load(keyOf(2)), std::nullopt);
  cache.store(keyOf(2), "");
  EXPECT_EQ(cache.load(keyOf(2)), "");
  EXPECT_EQ(cache.takeProblem(), "");
}

TEST_F(CacheTest, KeysHaveTritonsNames) {
  // As Python's base64.b32encode(bytes.fromhex(key)).rstrip("=") gives them.
  EXPECT_EQ(tritonName(""), "");
  EXPECT_EQ(tritonName("ff"), "74");
  EXPECT_EQ(tritonName("0123456789abcdef"), "AERUKZ4JVPG66");
  EXPECT_EQ(tritonName("00443214c74254b635cf84653a56d7c675be77df"),
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
  EXPECT_EQ(tritonName(keyOf(1)).size(), 52u);
}

TEST_F(CacheTest, ReadsWhatTritonsLayoutHolds) {
  const std::string triton = directory + "/triton";
  Cache cache(directory + "/own", 1 << 20, {}, triton);
  auto put = [&](const char *file, int number, const std::string &content) {
    const std::string place = triton + "/" + tritonName(keyOf(number));
    ASSERT_FALSE(llvm::sys::fs::create_directories(place));
    writeFile(place + "/" + file, content);
  };
  put("kernel.pantile", 1, formatEntry(keyOf(1), "one", EntryKind::Kernel));
  put("kernel.pantile", 2, formatEntry(keyOf(3), "three", EntryKind::Kernel)); // of another key
  put("k.cubin", 4, "code");
  EXPECT_EQ(cache.load(keyOf(1)), "one");
  EXPECT_EQ(cache.load(keyOf(2)), std::nullopt);
  EXPECT_EQ(cache.load(keyOf(3)), std::nullopt);
  EXPECT_EQ(cache.load(keyOf(4)), std::nullopt);
  EXPECT_EQ(Cache(directory + "/own", 1 << 20).load(keyOf(1)), std::nullopt);
  cache.store(keyOf(1), "own"); // which comes first
  EXPECT_EQ(cache.load(keyOf(1)), "own");
}

TEST_F(CacheTest, FilesArePrivate) {
  Cache cache(directory + "/new", 1 << 20);
  cache.store(keyOf(1), "x");
  struct stat status;
  ASSERT_EQ(stat((directory + "/new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat((directory + "/new/" + keyOf(1).substr(0, 2) + "/" + keyOf(1)).c_str(), &status),
            0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(CacheTest, EveryDamagedByteIsNoticedOnceAndTheEntryCanBeStoredAgain) {
  Cache cache(directory, 1 << 20);
  cache.store(keyOf(1), "payload");
  const std::string good = readFile(pathOf(keyOf(1)));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 0x40;
    writeFile(pathOf(keyOf(1)), bad);
    EXPECT_EQ(cache.load(keyOf(1)), std::nullopt) << "byte " << i;
    EXPECT_THAT(cache.takeProblem(), HasSubstr(i >= 8 && i < 16 ? "instead of 2; it is made"
                                                                : "is damaged; it is made"));
    EXPECT_EQ(cache.load(keyOf(1)), std::nullopt);
    EXPECT_EQ(cache.takeProblem(), "");
  }
  cache.store(keyOf(1), "payload");
  EXPECT_EQ(cache.load(keyOf(1)), "payload");
}

TEST_F(CacheTest, CutOffEntriesAreRefused) {
  Cache cache(directory, 1 << 20);
  cache.store(keyOf(1), "payload");
  const std::string good = readFile(pathOf(keyOf(1)));
  for (size_t length = 0; length < good.size(); ++length) {
    writeFile(pathOf(keyOf(1)), good.substr(0, length));
    EXPECT_EQ(cache.load(keyOf(1)), std::nullopt) << length << " bytes";
  }
}

TEST_F(CacheTest, AnEntryUnderAnotherKeyIsRefused) {
  Cache cache(directory, 1 << 20);
  cache.store(keyOf(1), "one");
  cache.store(keyOf(2), "two");
  writeFile(pathOf(keyOf(2)), readFile(pathOf(keyOf(1))));
  EXPECT_EQ(cache.load(keyOf(2)), std::nullopt);
  EXPECT_EQ(cache.load(keyOf(1)), "one");
}

TEST_F(CacheTest, OneOfManyThatRefuseAnEntryRemovesItAndTellsOfIt) {
  for (int round = 0; round < 100; ++round) {
    Cache(directory, 1 << 20).store(keyOf(1), "what the key does not promise");
    std::atomic<int> told = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        Cache cache(directory, 1 << 20);
        if (auto payload = cache.load(keyOf(1)))
          cache.refuse(keyOf(1), *payload, "is bad");
        told += !cache.takeProblem().empty();
      });
    for (std::thread &thread : threads)
      thread.join();
    ASSERT_EQ(told, 1) << "round " << round;
    ASSERT_FALSE(exists(pathOf(keyOf(1))));
  }
  EXPECT_THAT(listCacheFiles(directory), testing::IsEmpty());
}

TEST_F(CacheTest, RefusingAnOldEntryLeavesTheNewOne) {
  Cache cache(directory, 1 << 20);
  cache.store(keyOf(1), "good");
  cache.refuse(keyOf(1), "bad", "is bad");
  EXPECT_EQ(cache.load(keyOf(1)), "good");
  EXPECT_EQ(cache.takeProblem(), "");
}

TEST_F(CacheTest, EvictionTakesTheLongestUnused) {
  Cache cache(directory, 5000);
  for (int i = 0; i < 6; ++i) {
    cache.store(keyOf(i), std::string(1000, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(exists(pathOf(keyOf(2))));
  EXPECT_TRUE(cache.load(keyOf(2)));
  cache.evict();
  EXPECT_TRUE(exists(pathOf(keyOf(2)))) << "a hit keeps an entry";
  EXPECT_TRUE(exists(pathOf(keyOf(5))));
  EXPECT_FALSE(exists(pathOf(keyOf(0))));
  EXPECT_FALSE(exists(pathOf(keyOf(1))));
}

TEST_F(CacheTest, AnUnwritableDirectoryOnlySavesNothing) {
  Cache cache("/proc/no-such-place", 1 << 20);
  cache.store(keyOf(1), "x");
  EXPECT_EQ(cache.load(keyOf(1)), std::nullopt);
  EXPECT_EQ(cache.takeProblem(), "");
  EXPECT_EQ(cache.save("reproducers", "a.mlir", "x"), "");
}

TEST_F(CacheTest, ConcurrentStoresOfOneKeyLeaveOneWholeEntry) {
  const std::string payload(100000, 'p');
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      Cache cache(directory, 1 << 24);
      for (int round = 0; round < 20; ++round) {
        cache.store(keyOf(1), payload);
        EXPECT_EQ(cache.load(keyOf(1)), payload);
        EXPECT_EQ(cache.takeProblem(), "");
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(CacheSize, UnitsAreBinary) {
  EXPECT_EQ(parseByteSize("17"), 17u);
  EXPECT_EQ(parseByteSize("2k"), 2048u);
  EXPECT_EQ(parseByteSize("512M"), uint64_t(512) << 20);
  EXPECT_EQ(parseByteSize("3G"), uint64_t(3) << 30);
  EXPECT_EQ(parseByteSize("3X"), std::nullopt);
  EXPECT_EQ(parseByteSize("G"), std::nullopt);
  EXPECT_EQ(parseByteSize(""), std::nullopt);
}

Kernel::Data exampleKernel() {
  Kernel::Data data;
  data.name = "k";
  data.options.target = "sm_90a";
  data.options.disabledPasses = {"nv-expand-pipeline"};
  data.options.enabledPasses = {"nv-make-persistent"};
  data.options.numWarps = 8;
  data.args = {{ArgSpec::Kind::Pointer, "fp16", true, 16, {}},
               {ArgSpec::Kind::Scalar, "i32", false, 1, {}},
               {ArgSpec::Kind::Constant, "", false, 1, std::string("leaky")}};
  ArgSpec descriptor{ArgSpec::Kind::Descriptor, "fp16", false, 1, {}};
  descriptor.blockShape = {32, 64};
  descriptor.padsWithNan = true;
  ArgSpec tuple;
  tuple.kind = ArgSpec::Kind::Tuple;
  tuple.elements = {data.args[1], descriptor};
  tuple.fields = {"n", "x"};
  tuple.classIndex = 3;
  data.args.push_back(tuple);
  data.text = {{"ptx", ".version 8.0"}, {"tile", "module {}"}};
  data.cubin = std::string("\x7f"
                           "ELF\0\1",
                           6);
  data.sharedBytes = 98304, data.numWarps = 8, data.registers = 168, data.spills = 4;
  data.persistent = true;
  data.workspacePerCta = 131072, data.ctasPerProgram = 4;
  data.hash = keyOf(1);
  data.dependencies = {{std::string("c\0x", 3), "answer"}, {"f", ""}};
  data.written = {1, 4};
  TensorMapRecipe map;
  map.base = 1, map.element = "f16", map.swizzle = 128, map.isWritten = true;
  map.mayBeEmpty = true;
  map.offset = {{{-64, {2, 2}}}};
  map.extents = {{{{1, {2}}, {8, {}}}}, {{{1, {3}}}}};
  map.strides = {{{{2, {4}}}}};
  map.box = {64, 32}, map.nonNegative = {2, 3};
  map.multiples = {{{{{1, {3}}}}, 32}, {{{{2, {2}}, {1, {}}}}, 128}};
  map.conditions = {{{{100, {}}, {-2, {HostPolynomial::gridArg}}}}};
  data.tensorMaps = {map, map};
  data.streamK = {{{{1, {3}}, {63, {}}}}, 64, 640, 910, 7, 65536};
  return data;
}

TEST(Artifact, ComesBackWhole) {
  Kernel::Data data = exampleKernel();
  std::optional<Kernel::Data> back = parseArtifact(serializeArtifact(data));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name, data.name);
  EXPECT_EQ(back->cubin, data.cubin);
  EXPECT_EQ(back->text, data.text);
  EXPECT_EQ(back->sharedBytes, 98304);
  EXPECT_EQ(back->numWarps, 8);
  EXPECT_EQ(back->registers, 168);
  EXPECT_EQ(back->spills, 4);
  EXPECT_TRUE(back->persistent);
  EXPECT_EQ(back->workspacePerCta, 131072);
  EXPECT_EQ(back->ctasPerProgram, 4);
  EXPECT_EQ(back->tensorMaps, data.tensorMaps);
  EXPECT_EQ(back->streamK, data.streamK);
  EXPECT_EQ(back->dependencies, data.dependencies);
  EXPECT_EQ(back->written, data.written);
  EXPECT_EQ(back->options.target, "sm_90a");
  EXPECT_EQ(back->options.disabledPasses, data.options.disabledPasses);
  EXPECT_EQ(back->options.enabledPasses, data.options.enabledPasses);
  ASSERT_EQ(back->args.size(), 4u);
  EXPECT_EQ(back->args[3].fields, data.args[3].fields);
  EXPECT_EQ(back->args[3].classIndex, 3u);
  ASSERT_EQ(back->args[3].elements.size(), 2u);
  EXPECT_EQ(back->args[3].elements[1].blockShape, data.args[3].elements[1].blockShape);
  EXPECT_TRUE(back->args[3].elements[1].padsWithNan);
  EXPECT_TRUE(back->args[0].constPointer);
  EXPECT_EQ(back->args[0].divisibility, 16);
  EXPECT_EQ(back->args[2].value, ConstValue(std::string("leaky")));
  EXPECT_EQ(serializeArtifact(*back), serializeArtifact(data));
}

TEST(Artifact, NoPrefixAndNoLongerTextIsAccepted) {
  std::string bytes = serializeArtifact(exampleKernel());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(parseArtifact(std::string_view(bytes).substr(0, length))) << length;
  EXPECT_FALSE(parseArtifact(bytes + '\0'));
}

TEST(Artifact, HugeLengthsAreRefused) {
  std::string bytes = serializeArtifact(exampleKernel());
  for (size_t at = 8; at + 8 <= bytes.size(); ++at) {
    std::string bad = bytes;
    for (size_t i = 0; i < 8; ++i)
      bad[at + i] = '\xff';
    parseArtifact(bad); // must neither crash nor exhaust memory; some offsets hold plain numbers
  }
}

} // namespace
