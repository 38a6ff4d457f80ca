//===- TargetTest.cpp - names, limits and capabilities ------------------------===//
#include "support/Target.h"

#include <gtest/gtest.h>

using pantile::Target;

TEST(Target, NamesRoundTrip) {
  for (const char *name : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_100f",
                           "sm_103a", "sm_120a", "sm_121a"}) {
    const auto target = Target::parse(name);
    ASSERT_TRUE(target) << name;
    EXPECT_EQ(target->name(), name);
    EXPECT_EQ(target->llvmCpu(), name);
  }
  for (const std::string &name : Target::names())
    EXPECT_TRUE(Target::parse(name)) << name;
}

TEST(Target, OtherTextIsRefused) {
  for (const char *name : {"", "sm_", "sm_70", "sm_90b", "sm_80a", "sm_90f", "sm_90aa", "90", "cpu",
                           "sm_9a", "sm_999999999999"})
    EXPECT_FALSE(Target::parse(name)) << name;
}

TEST(Target, SharedMemoryIsWhatABlockMayOptInto) {
  const std::pair<const char *, int> limits[] = {{"sm_80", 163},   {"sm_86", 99},
                                                 {"sm_89", 99},    {"sm_90a", 227},
                                                 {"sm_100a", 227}, {"sm_120a", 99}};
  for (auto [name, kib] : limits)
    EXPECT_EQ(Target::parse(name)->maxSharedBytes(), kib * 1024) << name;
}

TEST(Target, WgmmaLivesOnHopperAlone) {
  EXPECT_TRUE(Target::parse("sm_90a")->hasWgmma());
  for (const char *name : {"sm_80", "sm_90", "sm_100a", "sm_120a"}) {
    EXPECT_FALSE(Target::parse(name)->hasWgmma()) << name;
    EXPECT_TRUE(Target::parse(name)->hasMmaSync()) << name;
  }
}

TEST(Target, CapabilitiesGrow) {
  const auto ampere = *Target::parse("sm_80"), ada = *Target::parse("sm_89"),
             hopper = *Target::parse("sm_90a");
  EXPECT_TRUE(ampere.hasCpAsync());
  EXPECT_TRUE(ampere.hasBf16Mma());
  EXPECT_FALSE(ampere.hasTma());
  EXPECT_FALSE(ampere.hasFp8Mma());
  EXPECT_TRUE(ampere.hasFp64Mma());
  EXPECT_FALSE(ampere.hasLargeFp64Mma());
  EXPECT_TRUE(ada.hasFp8Mma());
  EXPECT_FALSE(ada.hasLargeFp64Mma());
  EXPECT_FALSE(ada.hasBf16Arithmetic());
  EXPECT_TRUE(hopper.hasTma());
  EXPECT_TRUE(hopper.hasStmatrix());
  EXPECT_TRUE(hopper.hasSetMaxRegisters());
}

TEST(Target, FeaturesAreThoseThatTheBackEndTakes) {
  EXPECT_EQ(Target::parse("sm_80")->ptxFeature(), "+ptx74");
  EXPECT_EQ(Target::parse("sm_90a")->ptxFeature(), "+ptx84");
  EXPECT_EQ(Target::parse("sm_100a")->ptxFeature(), "+ptx86");
  EXPECT_EQ(Target::parse("sm_100f")->ptxFeature(), "+ptx88");
}

TEST(Target, ADeviceGetsItsRichestTarget) {
  EXPECT_EQ(Target::forDevice(9, 0)->name(), "sm_90a");
  EXPECT_EQ(Target::forDevice(8, 6)->name(), "sm_86");
  EXPECT_EQ(Target::forDevice(12, 9)->name(), "sm_121");
  EXPECT_FALSE(Target::forDevice(7, 5));
  EXPECT_TRUE(Target::parse("sm_80")->runsOn(8, 9));
  EXPECT_FALSE(Target::parse("sm_80")->runsOn(9, 0));
  EXPECT_TRUE(Target::parse("sm_90a")->runsOn(9, 0));
  EXPECT_FALSE(Target::parse("sm_100a")->runsOn(10, 3));
  EXPECT_TRUE(Target::parse("sm_100f")->runsOn(10, 3));
}
