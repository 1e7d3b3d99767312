// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests which memory a thread uses next, with short pieces of machine code as compilers emit them.
#include "runtime/numa/live/operand_address.h"

#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace smalloc::numa {
namespace {

std::vector<unsigned char> code;
constexpr uint64_t kCode = 0x400000;
size_t read_code(uint64_t address, unsigned char *out, size_t bytes) {
  if (address < kCode || address >= kCode + code.size())
    return 0;
  const size_t n = std::min(bytes, static_cast<size_t>(kCode + code.size() - address));
  memcpy(out, code.data() + (address - kCode), n);
  return n;
}
enum { ax, bx, cx, dx, si, di, bp, sp, r8 };

struct OperandAddressTest : testing::Test {
  void SetUp() override {
    if (const char *why = operands->open(read_code))
      GTEST_SKIP() << why;
    for (unsigned i = 0; i < kPerfRegisters; i++)
      registers[i] = 0x100000000 * (i + 1); // far apart: no stack by chance
  }
  uint64_t at(std::vector<unsigned char> bytes, uint64_t offset = 0) {
    code = std::move(bytes);
    operands = std::make_unique<OperandAddress>(); // forgets what it has read
    operands->open(read_code);
    return operands->next_access(kCode + offset, registers);
  }
  std::unique_ptr<OperandAddress> operands = std::make_unique<OperandAddress>();
  uint64_t registers[kPerfRegisters];
};

} // namespace

TEST_F(OperandAddressTest, BaseIndexScaleAndDisplacement) {
  EXPECT_EQ(at({0x48, 0x8b, 0x03, 0xc3}), registers[bx]); // mov (%rbx),%rax; ret
  // mov %rax,16(%rbx,%rcx,8)
  EXPECT_EQ(at({0x48, 0x89, 0x44, 0xcb, 0x10, 0xc3}), registers[bx] + 8 * registers[cx] + 16);
  EXPECT_EQ(at({0x48, 0x8b, 0x43, 0xf8, 0xc3}), registers[bx] - 8);   // mov -8(%rbx),%rax
  EXPECT_EQ(at({0xf2, 0x41, 0x0f, 0x58, 0x00, 0xc3}), registers[r8]); // addsd (%r8),%xmm0
  // vaddpd (%rdi,%rax),%ymm0,%ymm0
  EXPECT_EQ(at({0xc5, 0xfd, 0x58, 0x04, 0x07, 0xc3}), registers[di] + registers[ax]);
}
TEST_F(OperandAddressTest, StringInstructionsUseTheirHiddenOperands) {
  EXPECT_EQ(at({0xf3, 0x48, 0xab, 0xc3}), registers[di]); // rep stosq
}
TEST_F(OperandAddressTest, LooksAheadToTheNextAccess) {
  EXPECT_EQ(at({0x0f, 0x58, 0xc1, 0x48, 0x8b, 0x03, 0xc3}),
            registers[bx]); // addps; mov (%rbx),%rax
  // mov 8(%rsp),%rax; mov (%rbx),%rcx: the stack is skipped
  EXPECT_EQ(at({0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x8b, 0x0b, 0xc3}), registers[bx]);
  // mov 16(%rip),%rax; mov (%rbx),%rcx: a scalar at a fixed address is skipped too
  EXPECT_EQ(at({0x48, 0x8b, 0x05, 0x10, 0, 0, 0, 0x48, 0x8b, 0x0b, 0xc3}), registers[bx]);
}
TEST_F(OperandAddressTest, FollowsSumsThroughRegisters) {
  EXPECT_EQ(at({0x48, 0x89, 0xc3, 0x48, 0x8b, 0x03, 0xc3}),
            registers[ax]); // mov %rax,%rbx; mov (%rbx)
  EXPECT_EQ(at({0x48, 0x83, 0xc3, 0x08, 0x48, 0x8b, 0x03, 0xc3}), registers[bx] + 8); // add $8,%rbx
  EXPECT_EQ(at({0x48, 0xff, 0xcb, 0x48, 0x8b, 0x03, 0xc3}), registers[bx] - 1);       // dec %rbx
  // lea (%r8,%rax),%rdx; mov (%rdx),%rdx
  EXPECT_EQ(at({0x49, 0x8d, 0x14, 0x00, 0x48, 0x8b, 0x12, 0xc3}), registers[r8] + registers[ax]);
  // shl $3,%rax; add %rdi,%rax; mov (%rax),%rax
  EXPECT_EQ(at({0x48, 0xc1, 0xe0, 0x03, 0x48, 0x01, 0xf8, 0x48, 0x8b, 0x00, 0xc3}),
            registers[di] + 8 * registers[ax]);
  EXPECT_EQ(at({0x48, 0x0f, 0xaf, 0xd8, 0x48, 0x8b, 0x03, 0xc3}), 0u); // imul %rax,%rbx: no sum
  EXPECT_EQ(at({0x88, 0xc3, 0x48, 0x8b, 0x03, 0xc3}), 0u);             // a byte of it changes
}
TEST_F(OperandAddressTest, AccessesOfOnePlaceTakeTurns) {
  // mov (%rbx),%rax; mov (%rcx),%rdx; ret
  EXPECT_EQ(at({0x48, 0x8b, 0x03, 0x48, 0x8b, 0x11, 0xc3}), registers[bx]);
  EXPECT_EQ(operands->next_access(kCode, registers), registers[cx]);
  EXPECT_EQ(operands->next_access(kCode, registers), registers[bx]);
  EXPECT_EQ(operands->next_access(kCode + 3, registers), registers[cx]);
}
TEST_F(OperandAddressTest, OneLoadIsFollowed) {
  // A pointer in static data, at +15: mov 8(%rip),%rax; mov (%rax,%rcx,8),%rdx; ret
  std::vector<unsigned char> text = {0x48, 0x8b, 0x05, 0x08, 0,    0,    0,   0x48,
                                     0x8b, 0x14, 0xc8, 0xc3, 0x90, 0x90, 0x90};
  for (unsigned char byte : {0x00, 0x00, 0x34, 0x12, 0x7f, 0x00, 0x00, 0x00})
    text.push_back(byte);
  EXPECT_EQ(at(text), 0x7f12340000 + 8 * registers[cx]);
  // A gather: movslq (%rsi),%rax; mov (%rdi,%rax,8),%rdx; ret; (%rsi) is in the code here, the -2
  // at its end.
  std::vector<unsigned char> gather = {0x48, 0x63, 0x06, 0x48, 0x8b, 0x14,
                                       0xc7, 0xc3, 0xfe, 0xff, 0xff, 0xff};
  registers[si] = kCode + 8;
  EXPECT_EQ(at(gather), registers[si]); // first the index, then the indexed element
  EXPECT_EQ(operands->next_access(kCode, registers), registers[di] - 16);
  registers[si] = 64; // unmapped
  EXPECT_EQ(operands->next_access(kCode, registers), 64u);
  EXPECT_EQ(operands->next_access(kCode, registers), 0u);
}
TEST_F(OperandAddressTest, TwoLoadsAreNot) {
  // mov (%rbx),%rax; mov (%rax),%rax; mov (%rax),%rcx: a list: this element and the next
  EXPECT_EQ(at({0x48, 0x8b, 0x03, 0x48, 0x8b, 0x00, 0x48, 0x8b, 0x08, 0xc3}), registers[bx]);
  EXPECT_EQ(operands->next_access(kCode, registers), 0u); // what lies at %rbx cannot be read here
  EXPECT_EQ(operands->next_access(kCode, registers), registers[bx]);
}
TEST_F(OperandAddressTest, FollowsLoopsBack) {
  // mov (%rbx),%rax; add $8,%rbx; cmp %rdx,%rbx; jne back: sampled before and after the addition
  const std::vector<unsigned char> loop = {0x48, 0x8b, 0x03, 0x48, 0x83, 0xc3,
                                           0x08, 0x48, 0x39, 0xd3, 0x75, 0xf4};
  EXPECT_EQ(at(loop, 0), registers[bx]);
  EXPECT_EQ(at(loop, 3), registers[bx] + 8);
  EXPECT_EQ(at(loop, 7), registers[bx]);
  EXPECT_EQ(at(loop, 10), registers[bx]);
  EXPECT_EQ(at({0x48, 0xff, 0xc0, 0x75, 0xfb}),
            0u); // inc %rax; jne back: no access at all, and an end
}
TEST_F(OperandAddressTest, TheStackBehindAnotherRegisterIsTheStack) {
  registers[bp] = registers[sp] + 64;
  EXPECT_EQ(at({0x48, 0x8b, 0x45, 0x08, 0xc3}), 0u); // mov 8(%rbp),%rax
}
// The kernel puts the next mapping right above a thread's stack: half of an array was never
// counted.
TEST_F(OperandAddressTest, DataAboveTheStackAreData) {
  registers[bx] = registers[sp] + 65536;
  EXPECT_EQ(at({0x48, 0x8b, 0x03, 0xc3}), registers[bx]); // mov (%rbx),%rax
}
TEST_F(OperandAddressTest, EndsAtCallsAndUnreadableCode) {
  EXPECT_EQ(at({0xc3, 0x48, 0x8b, 0x03}), 0u);        // ret
  EXPECT_EQ(at({0xff, 0xd0, 0x48, 0x8b, 0x03}), 0u);  // call *%rax pushes first
  EXPECT_EQ(at({0x0f, 0x05, 0x48, 0x8b, 0x03}), 0u);  // syscall
  EXPECT_EQ(at({0x90}), 0u);                          // nothing behind it
  EXPECT_EQ(operands->next_access(1, registers), 0u); // no code there
  EXPECT_EQ(at({0x64, 0x48, 0x8b, 0x03, 0xc3}), 0u);  // %fs: thread-local
  EXPECT_EQ(at({0x48, 0x8d, 0x03, 0xc3}), 0u);        // lea computes only
}
TEST(OwnCode, ReadsWhatIsThereAndFailsElsewhere) {
  unsigned char bytes[16];
  static const unsigned char text[] = "0123456789abcde";
  if (read_own_code(reinterpret_cast<uintptr_t>(text), bytes, 16) == 0)
    GTEST_SKIP() << "process_vm_readv(2) is not to be had here";
  EXPECT_EQ(memcmp(bytes, text, 16), 0);
  EXPECT_EQ(read_own_code(64, bytes, 16), 0u);
}

} // namespace smalloc::numa
