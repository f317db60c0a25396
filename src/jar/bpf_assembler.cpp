#include "jar/bpf_assembler.h"

#include "base/assert.h"

namespace belljar::jar {
namespace {

// A branch holds its two offsets in eight bits. Making one target reachable may take one
// instruction, which moves the other target away.
constexpr std::size_t kBranchReach = 255 - 1;

}  // namespace

BpfAssembler::Label BpfAssembler::push(sock_filter instruction) {
    reversed_.push_back(instruction);
    return static_cast<Label>(reversed_.size() - 1);
}

// How many instructions lie between the one that comes next and `target`.
std::size_t BpfAssembler::distance(Label target) const {
    const std::size_t index = static_cast<std::size_t>(target);
    BJ_ASSERT(index < reversed_.size());
    return reversed_.size() - 1 - index;
}

void BpfAssembler::fall_into(Label next) {
    if (distance(next) != 0) {
        push(BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(distance(next))));
    }
}

BpfAssembler::Label BpfAssembler::within_reach(Label target) {
    if (distance(target) <= kBranchReach) {
        return target;
    }
    return push(BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(distance(target))));
}

BpfAssembler::Label BpfAssembler::finish_with(std::uint32_t value) {
    const auto known = finishes_.find(value);
    if (known != finishes_.end()) {
        return known->second;
    }
    const Label label = push(BPF_STMT(BPF_RET | BPF_K, value));
    finishes_.emplace(value, label);
    return label;
}

BpfAssembler::Label BpfAssembler::load(std::uint32_t offset, Label next) {
    fall_into(next);
    return push(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

BpfAssembler::Label BpfAssembler::mask(std::uint32_t bits, Label next) {
    fall_into(next);
    return push(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits));
}

BpfAssembler::Label BpfAssembler::branch(std::uint16_t test, std::uint32_t value, Label yes,
                                         Label no) {
    yes = within_reach(yes);
    no = within_reach(no);
    const std::size_t to_yes = distance(yes);
    const std::size_t to_no = distance(no);
    BJ_ASSERT(to_yes <= 255 && to_no <= 255);
    return push(sock_filter{.code = static_cast<std::uint16_t>(BPF_JMP | test | BPF_K),
                            .jt = static_cast<std::uint8_t>(to_yes),
                            .jf = static_cast<std::uint8_t>(to_no),
                            .k = value});
}

std::vector<sock_filter> BpfAssembler::program() const {
    return {reversed_.rbegin(), reversed_.rend()};
}

}  // namespace belljar::jar
