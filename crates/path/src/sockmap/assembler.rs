//! A tiny assembler for the kernel's eBPF machine: what our two programs need, no more.
//!
//! Text that can be reviewed instead of a binary, and no compiler for it. Called by `programs` alone;
//! pure.
//!
//! # Source
//! RFC 9669, BPF Instruction Set Architecture; linux/bpf.h for map handles. Little endian only: the
//! registers' halves of a byte are swapped elsewhere.

/// One instruction, as the kernel reads it. `registers`: the target in the low half, the source in the
/// high one.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A register. `R0` is what a call gives; `R1` to `R5` are its arguments, gone afterwards; `R6` to `R9`
/// stay; `Frame` is the end of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    Frame,
}

/// A function of the kernel. Source: linux/bpf.h, `bpf_func_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    SockHashUpdate = 70,
    MsgRedirectHash = 71,
}

/// A place further down that jumps lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(usize);

/// A program that grows.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<Instruction>,
    /// Jumps by their index, and where each leads.
    jumps: Vec<(usize, Label)>,
    /// The index each label stands for.
    places: Vec<Option<usize>>,
}

const LOAD_WORD: u8 = 0x61;
const STORE_WORD: u8 = 0x63;
const STORE_WORD_IMMEDIATE: u8 = 0x62;
const LOAD_IMMEDIATE_64: u8 = 0x18;
const ATOMIC_DOUBLE_WORD: u8 = 0xdb;
const ADD_IMMEDIATE: u8 = 0x07;
const MOVE: u8 = 0xbf;
const MOVE_IMMEDIATE: u8 = 0xb7;
const TO_BIG_ENDIAN: u8 = 0xdc;
const JUMP: u8 = 0x05;
const JUMP_EQUAL: u8 = 0x15;
const JUMP_NOT_EQUAL: u8 = 0x55;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
/// Says that a 64-bit immediate is a descriptor of a map. Source: linux/bpf.h, `BPF_PSEUDO_MAP_FD`.
const MAP_FD: u8 = 1;

impl Assembler {
    fn emit(&mut self, code: u8, target: u8, source: u8, offset: i16, immediate: i32) {
        self.code.push(Instruction {
            code,
            registers: target | source << 4,
            offset,
            immediate,
        });
    }

    /// `target = source`
    pub(super) fn copy(&mut self, target: Register, source: Register) {
        self.emit(MOVE, target as u8, source as u8, 0, 0);
    }

    /// `target = number`
    pub(super) fn set(&mut self, target: Register, number: i32) {
        self.emit(MOVE_IMMEDIATE, target as u8, 0, 0, number);
    }

    /// `target += number`
    pub(super) fn add(&mut self, target: Register, number: i32) {
        self.emit(ADD_IMMEDIATE, target as u8, 0, 0, number);
    }

    /// `target = *(u32 *)(base + offset)`
    pub(super) fn load(&mut self, target: Register, base: Register, offset: i16) {
        self.emit(LOAD_WORD, target as u8, base as u8, offset, 0);
    }

    /// `*(u32 *)(base + offset) = source`
    pub(super) fn store(&mut self, base: Register, offset: i16, source: Register) {
        self.emit(STORE_WORD, base as u8, source as u8, offset, 0);
    }

    /// `*(u32 *)(base + offset) = number`
    pub(super) fn store_number(&mut self, base: Register, offset: i16, number: i32) {
        self.emit(STORE_WORD_IMMEDIATE, base as u8, 0, offset, number);
    }

    /// `*(u64 *)(base + offset) += source`, atomically.
    pub(super) fn add_atomically(&mut self, base: Register, offset: i16, source: Register) {
        self.emit(ATOMIC_DOUBLE_WORD, base as u8, source as u8, offset, 0);
    }

    /// `target = ntohl(target)`, of its lower 32 bits.
    pub(super) fn swap_network_order(&mut self, target: Register) {
        self.emit(TO_BIG_ENDIAN, target as u8, 0, 0, 32);
    }

    /// `target = the map behind this descriptor`
    pub(super) fn map(&mut self, target: Register, fd: i32) {
        self.emit(LOAD_IMMEDIATE_64, target as u8, MAP_FD, 0, fd);
        // The upper half of the number.
        self.emit(0, 0, 0, 0, 0);
    }

    /// `R0 = helper(R1, …)`
    pub(super) fn call(&mut self, helper: Helper) {
        self.emit(CALL, 0, 0, 0, helper as i32);
    }

    /// Ends with what is in `R0`.
    pub(super) fn exit(&mut self) {
        self.emit(EXIT, 0, 0, 0, 0);
    }

    /// A label that [`Self::place`] will give a place.
    pub(super) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Puts a label before the next instruction.
    pub(super) fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.code.len());
    }

    /// Goes on at the label.
    pub(super) fn jump(&mut self, to: Label) {
        self.jump_by(JUMP, 0, 0, to);
    }

    /// Goes on at the label if `register == number`.
    pub(super) fn jump_if(&mut self, register: Register, number: i32, to: Label) {
        self.jump_by(JUMP_EQUAL, register as u8, number, to);
    }

    /// Goes on at the label if `register != number`.
    pub(super) fn jump_unless(&mut self, register: Register, number: i32, to: Label) {
        self.jump_by(JUMP_NOT_EQUAL, register as u8, number, to);
    }

    fn jump_by(&mut self, code: u8, register: u8, number: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.emit(code, register, 0, 0, number);
    }

    /// The program, its jumps filled in.
    ///
    /// # Panics
    /// When a label that is jumped to has no place: a mistake in the program's text.
    pub(super) fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let place = self.places[label.0].expect("every label of our programs is placed");
            // Counted from the instruction that follows; our programs have far fewer than 32,767.
            self.code[at].offset = ((place - at - 1) as u16).cast_signed();
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by hand from RFC 9669, sections 3 to 5.
    #[test]
    fn encodes_what_the_standard_says() {
        let mut it = Assembler::default();
        let end = it.label();
        it.copy(Register::R6, Register::R1);
        it.load(Register::R2, Register::R6, 20);
        it.store(Register::Frame, -8, Register::R3);
        it.swap_network_order(Register::R4);
        it.add_atomically(Register::R0, 8, Register::R1);
        it.jump_unless(Register::R2, 5, end);
        it.map(Register::R1, 7);
        it.call(Helper::MsgRedirectHash);
        it.place(end);
        it.set(Register::R0, 1);
        it.exit();
        let words: Vec<u64> = it.finish().into_iter().map(in_memory).collect();
        assert_eq!(
            words,
            [
                0xbf16_0000_0000_0000,
                0x6162_1400_0000_0000,
                0x633a_f8ff_0000_0000,
                0xdc04_0000_2000_0000,
                0xdb10_0800_0000_0000,
                0x5502_0300_0500_0000,
                0x1811_0000_0700_0000,
                0,
                0x8500_0000_4700_0000,
                0xb700_0000_0100_0000,
                0x9500_0000_0000_0000,
            ]
        );
    }

    /// The eight bytes as they lie in memory, the first one foremost.
    fn in_memory(it: Instruction) -> u64 {
        let [low, high] = it.offset.to_le_bytes();
        let [a, b, c, d] = it.immediate.to_le_bytes();
        u64::from_be_bytes([it.code, it.registers, low, high, a, b, c, d])
    }
}
