// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// operand_address.cpp decodes at most kMostInstructions from the interrupted one on, and computes
// what they leave in the registers.
#include "runtime/numa/live/operand_address.h"
#include "smalloc/base/units.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__x86_64__) && __has_include(<Zydis/Zydis.h>)
#define SMALLOC_HAS_ZYDIS 1
#include <Zydis/Zydis.h>
#include <dlfcn.h>
#endif

namespace smalloc::numa {

size_t read_own_code(uint64_t address, unsigned char *out, size_t bytes) {
  // Reads up to a page's end at a time: the next page may hold no code.
  size_t done = 0;
  while (done < bytes) {
    const uint64_t at = address + done;
    const size_t in_page = kBasePageBytes - at % kBasePageBytes;
    const size_t piece = min_of(bytes - done, in_page);
    iovec to = {out + done, piece}, from = {reinterpret_cast<void *>(at), piece};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(piece))
      break;
    done += piece;
  }
  return done;
}

#ifdef SMALLOC_HAS_ZYDIS
namespace {

constexpr unsigned kMostInstructions = 24;
constexpr int kStackPointer = 7; // in perf_ring.h's order

struct Library {
  decltype(&ZydisDecoderInit) init;
  decltype(&ZydisDecoderDecodeFull) decode;
  decltype(&ZydisRegisterGetLargestEnclosing) enclosing;
  ZydisDecoder decoder;
};
Library g_zydis;

/// Returns the number in perf_ring.h's order; -1: no general register.
int register_number(ZydisRegister r) {
  if (r >= ZYDIS_REGISTER_R8 && r <= ZYDIS_REGISTER_R15)
    return 8 + (r - ZYDIS_REGISTER_R8);
  switch (r) {
  case ZYDIS_REGISTER_RAX:
    return 0;
  case ZYDIS_REGISTER_RBX:
    return 1;
  case ZYDIS_REGISTER_RCX:
    return 2;
  case ZYDIS_REGISTER_RDX:
    return 3;
  case ZYDIS_REGISTER_RSI:
    return 4;
  case ZYDIS_REGISTER_RDI:
    return 5;
  case ZYDIS_REGISTER_RBP:
    return 6;
  case ZYDIS_REGISTER_RSP:
    return kStackPointer;
  default:
    return -1;
  }
}

bool only_hints(const ZydisDecodedInstruction &insn) {
  return insn.meta.category == ZYDIS_CATEGORY_PREFETCH ||
         insn.meta.category == ZYDIS_CATEGORY_NOP || insn.meta.category == ZYDIS_CATEGORY_WIDENOP;
}

} // namespace

const char *OperandAddress::open(CodeReader read) {
  read_ = read;
  if (g_zydis.decode)
    return nullptr;
  void *library = dlopen("libZydis.so.4.0", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    library = dlopen("libZydis.so.4.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return "libZydis.so.4 is not installed (apt-get install libzydis4.0)";
  g_zydis.init = reinterpret_cast<decltype(&ZydisDecoderInit)>(dlsym(library, "ZydisDecoderInit"));
  g_zydis.enclosing = reinterpret_cast<decltype(&ZydisRegisterGetLargestEnclosing)>(
      dlsym(library, "ZydisRegisterGetLargestEnclosing"));
  auto decode =
      reinterpret_cast<decltype(&ZydisDecoderDecodeFull)>(dlsym(library, "ZydisDecoderDecodeFull"));
  if (!g_zydis.init || !g_zydis.enclosing || !decode ||
      !ZYAN_SUCCESS(
          g_zydis.init(&g_zydis.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
    return "libZydis is not the version that this was built for";
  g_zydis.decode = decode;
  return nullptr;
}

namespace {

using Sum = OperandAddress::Sum;
using Expression = OperandAddress::Expression;

/// Value of a register, in terms of what the registers held when the thread was interrupted.
struct Value {
  bool known = false;
  Expression is;
};

class Registers {
public:
  Registers() {
    for (int r = 0; r < static_cast<int>(kPerfRegisters); r++) {
      value_[r].known = true;
      value_[r].is.sum.reg[0] = static_cast<int8_t>(r);
      value_[r].is.sum.scale[0] = 1;
    }
  }
  Value &operator[](int r) { return value_[r]; }

  /// Returns the address of a memory operand.
  Value address(const ZydisDecodedOperand &o, uint64_t next) const {
    Value v;
    v.known = true;
    v.is.sum.displacement = o.mem.disp.value;
    if (o.mem.base == ZYDIS_REGISTER_RIP)
      v.is.sum.displacement += static_cast<int64_t>(next);
    else if (!add(v, o.mem.base, 1))
      v.known = false;
    if (!add(v, o.mem.index, o.mem.scale))
      v.known = false;
    return v;
  }
  bool add(Value &to, ZydisRegister name, unsigned times) const {
    if (name == ZYDIS_REGISTER_NONE)
      return true;
    const int r = register_number(name);
    return r >= 0 && add(to, value_[r], times);
  }
  static bool add(Value &to, const Value &what, unsigned times) {
    if (!to.known || !what.known || (what.is.bytes && to.is.bytes) ||
        times * what.is.scale > UINT8_MAX)
      return false;
    if (what.is.bytes) { // the loaded part is taken over
      Expression e = what.is;
      e.scale = static_cast<uint8_t>(e.scale * times);
      Sum plus = to.is.sum;
      if (!plus.add(what.is.sum, times))
        return false;
      e.sum = plus;
      to.is = e;
      return true;
    }
    return to.is.sum.add(what.is.sum, times);
  }

private:
  Value value_[kPerfRegisters];
};

int destination(const ZydisDecodedOperand &o) {
  return o.type == ZYDIS_OPERAND_TYPE_REGISTER
             ? register_number(g_zydis.enclosing(ZYDIS_MACHINE_MODE_LONG_64, o.reg.value))
             : -1;
}

/// Returns the register in the second operand; -1: there is none.
int source(const ZydisDecodedInstruction &insn, const ZydisDecodedOperand *ops) {
  return insn.operand_count > 1 ? destination(ops[1]) : -1;
}

bool has_immediate(const ZydisDecodedInstruction &insn, const ZydisDecodedOperand *ops) {
  return insn.operand_count > 1 && ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

bool is_thread_local(const ZydisDecodedOperand &o) {
  return o.mem.segment == ZYDIS_REGISTER_FS || o.mem.segment == ZYDIS_REGISTER_GS;
}

/// Returns what a move leaves in its first operand.
Value moved(const ZydisDecodedInstruction &insn, const ZydisDecodedOperand *ops, uint64_t next,
            Registers &regs) {
  Value v;
  if (insn.mnemonic == ZYDIS_MNEMONIC_CDQE)
    return regs[0]; // an index that fits, as nearly all do
  if (const int from = source(insn, ops); from >= 0)
    return regs[from];
  if (has_immediate(insn, ops)) {
    v.known = true;
    v.is.sum.displacement = ops[1].imm.value.s;
  } else if (ops[1].type == ZYDIS_OPERAND_TYPE_MEMORY && !is_thread_local(ops[1])) {
    const Value at = regs.address(ops[1], next);
    if (at.known && at.is.bytes == 0) { // only one load is followed
      v.known = true;
      v.is.from = at.is.sum;
      v.is.bytes = static_cast<uint8_t>(ops[1].size / 8);
      v.is.is_signed = insn.mnemonic == ZYDIS_MNEMONIC_MOVSXD;
    }
  }
  return v;
}

/// Returns what the instruction leaves in its first operand, if that can be computed.
Value result_of(const ZydisDecodedInstruction &insn, const ZydisDecodedOperand *ops, uint64_t next,
                Registers &regs) {
  Value v;
  const int to = destination(ops[0]);
  constexpr unsigned kLeastWidth = 32; // narrower results keep the rest of the register
  if (to < 0 || ops[0].size < kLeastWidth)
    return v;
  const bool immediate = has_immediate(insn, ops);
  const int from = source(insn, ops);
  const auto shift_of = [](const ZydisDecodedOperand &o) { return o.imm.value.u & 63; };
  switch (insn.mnemonic) {
  case ZYDIS_MNEMONIC_MOV:
  case ZYDIS_MNEMONIC_MOVSXD:
  case ZYDIS_MNEMONIC_CDQE:
    return moved(insn, ops, next, regs);
  case ZYDIS_MNEMONIC_LEA:
    return regs.address(ops[1], next);
  case ZYDIS_MNEMONIC_INC:
  case ZYDIS_MNEMONIC_DEC:
    v = regs[to];
    v.is.sum.displacement += insn.mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
    return v;
  case ZYDIS_MNEMONIC_ADD:
    v = regs[to];
    if (immediate)
      v.is.sum.displacement += ops[1].imm.value.s;
    else if (from < 0 || !Registers::add(v, regs[from], 1))
      v.known = false;
    return v;
  case ZYDIS_MNEMONIC_SUB:
    v = regs[to];
    if (immediate)
      v.is.sum.displacement -= ops[1].imm.value.s;
    else
      v.known = false;
    return v;
  case ZYDIS_MNEMONIC_SHL:
    v.known = immediate && shift_of(ops[1]) < 4;
    if (v.known && !Registers::add(v, regs[to], 1u << shift_of(ops[1])))
      v.known = false;
    return v;
  case ZYDIS_MNEMONIC_XOR: // zero
    v.known = from == to;
    return v;
  default:
    return v;
  }
}

} // namespace

void OperandAddress::find(uint64_t ip, Place &place) const {
  place = Place();
  place.ip = ip;
  unsigned char code[64];
  uint64_t start = ip, at = ip;
  size_t there = read_(start, code, sizeof code);
  Registers regs;
  bool jumped = false;
  for (unsigned n = 0; n < kMostInstructions && place.count < kMostAccesses; n++) {
    constexpr size_t kLongest = 15;
    if (at + kLongest > start + there) { // read the next piece
      start = at;
      there = read_(start, code, sizeof code);
    }
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    if (at >= start + there || !ZYAN_SUCCESS(g_zydis.decode(&g_zydis.decoder, code + (at - start),
                                                            there - (at - start), &insn, ops)))
      return;
    uint64_t next = at + insn.length;
    for (unsigned i = 0; i < insn.operand_count && !only_hints(insn); i++) {
      const ZydisDecodedOperand &o = ops[i];
      if (o.type != ZYDIS_OPERAND_TYPE_MEMORY || o.mem.type != ZYDIS_MEMOP_TYPE_MEM ||
          is_thread_local(o))
        continue;
      const Value v = regs.address(o, next);
      if (v.known && !v.is.sum.uses(kStackPointer) && (v.is.bytes || !v.is.sum.constant()) &&
          place.count < kMostAccesses)
        place.access[place.count++] = v.is;
    }
    if (insn.meta.category == ZYDIS_CATEGORY_CALL || insn.meta.category == ZYDIS_CATEGORY_RET ||
        insn.meta.category == ZYDIS_CATEGORY_SYSCALL ||
        insn.meta.category == ZYDIS_CATEGORY_INTERRUPT)
      return;
    const bool conditional = insn.meta.category == ZYDIS_CATEGORY_COND_BR;
    if (conditional || insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR) {
      if (ops[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !ops[0].imm.is_relative)
        return;
      const uint64_t target = next + static_cast<uint64_t>(ops[0].imm.value.s);
      if (!conditional || target < at) { // taken once: a loop without accesses shows nothing new
        if (target < at && jumped)
          return;
        jumped |= target < at;
        next = target;
        start = next;
        there = read_(start, code, sizeof code);
      }
    }
    const Value result = result_of(insn, ops, at + insn.length, regs);
    for (unsigned i = 0; i < insn.operand_count; i++)
      if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
          (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        if (const int r = destination(ops[i]); r >= 0)
          regs[r] = i == 0 ? result : Value();
    at = next;
  }
}
#else
const char *OperandAddress::open(CodeReader) {
  return "this build decodes no instructions of this processor";
}
void OperandAddress::find(uint64_t ip, Place &place) const {
  place = Place();
  place.ip = ip;
}
#endif

bool OperandAddress::Sum::add(const Sum &other, unsigned times) {
  displacement += other.displacement * static_cast<int64_t>(times);
  for (int i = 0; i < 2 && other.reg[i] >= 0; i++) {
    const unsigned scaled = other.scale[i] * times;
    int slot = reg[0] == other.reg[i] || reg[0] < 0 ? 0 : 1;
    if (slot == 1 && reg[1] >= 0 && reg[1] != other.reg[i])
      return false;
    if (scale[slot] + scaled > UINT8_MAX)
      return false;
    reg[slot] = other.reg[i];
    scale[slot] = static_cast<uint8_t>(scale[slot] + scaled);
  }
  return true;
}

uint64_t OperandAddress::Sum::value(const uint64_t (&registers)[kPerfRegisters]) const {
  auto v = static_cast<uint64_t>(displacement);
  for (int i = 0; i < 2; i++)
    if (reg[i] >= 0)
      v += registers[reg[i]] * scale[i];
  return v;
}

uint64_t OperandAddress::next_access(uint64_t ip, const uint64_t (&registers)[kPerfRegisters]) {
  Place &place = cache_[(ip * 0x9e3779b97f4a7c15u) >> 55];
  static_assert(kCached == size_t{1} << (64 - 55));
  if (place.ip != ip)
    find(ip, place);
  if (place.count == 0) {
    undecoded_++;
    return 0;
  }
  const Expression &e = place.access[place.turn++ % place.count];
  uint64_t address = e.sum.value(registers);
  if (e.bytes) {
    unsigned char raw[8] = {};
    if ((e.bytes != 4 && e.bytes != 8) || read_(e.from.value(registers), raw, e.bytes) < e.bytes) {
      undecoded_++;
      return 0;
    }
    uint64_t loaded;
    memcpy(&loaded, raw, sizeof loaded);
    if (e.bytes == 4 && e.is_signed)
      loaded = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(loaded)));
    address += loaded * e.scale;
  }
  // Skips the thread's own frames where they are addressed by the frame pointer. The distance to
  // the stack pointer alone is no proof: data may be mapped right above a thread's stack.
  constexpr uint64_t kStackBytes = uint64_t{1} << 20;
  constexpr int kFramePointer = 6, kStackRegister = 7;
  if (!e.bytes && e.sum.uses(kFramePointer) && address - registers[kStackRegister] < kStackBytes)
    return 0;
  return address;
}

} // namespace smalloc::numa
